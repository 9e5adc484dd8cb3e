"""What the cells of a column are: whole numbers, numbers, true and false, or text; and one dtype for all blocks.

A file is read in blocks, but the dtype of a column must not depend on where a block ends. So the kinds are fixed when
the model is fitted, and a column of a new file is looked at as a whole before its first block is made.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.tables.values import text_of

if TYPE_CHECKING:
    import pandas as pd

INTEGER, NUMBER, TRUTH, TEXT = KINDS = ("integer", "number", "truth", "text")

# Words for "nothing" in a column of numbers. In a column of text they are text: NA may be Namibia.
MISSING_WORDS = frozenset({"", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"})
TRUTHS = {"true": True, "false": False}
MORE_TRUTHS = TRUTHS | {"1": True, "0": False, "1.0": True, "0.0": False}

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_CODE = re.compile(r"[+-]?0[0-9]+|[+-]?[0-9]{19,}")  # leading zeros, or more digits than a number keeps
_LARGEST = 2**63 - 1


def infer_kind(cells: Iterable[Any]) -> str:
    """Tell the kind of a column from all its cells, text or values."""
    kinds = {_kind_of(cell) for cell in cells} - {None}
    if not kinds:
        return NUMBER
    if len(kinds) == 1:
        return str(kinds.pop())
    return NUMBER if kinds == {INTEGER, NUMBER} else TEXT


def _kind_of(cell: Any) -> str | None:  # noqa: PLR0911 - a line per kind reads better than a table
    """Kind of one cell, None where it is missing."""
    if isinstance(cell, str):
        text = cell.strip()
        if text in MISSING_WORDS:
            return None
        if _CODE.fullmatch(text):
            return TEXT
        if _WHOLE.fullmatch(text):
            return INTEGER
        return NUMBER if _NUMBER.fullmatch(text) else TRUTH if text.lower() in TRUTHS else TEXT
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN is not itself
        return None
    if isinstance(cell, (bool, np.bool_)):
        return TRUTH
    return INTEGER if isinstance(cell, int) else NUMBER if isinstance(cell, float) else TEXT


def read_cell(kind: str, cell: Any) -> Any:  # noqa: PLR0911 - a line per kind reads better than a table
    """Return a cell as a value of a kind; None where it is missing, text as it stands where it is no such value."""
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN is not itself
        return None
    if kind == TEXT:
        return None if cell == "" else cell if isinstance(cell, str) else text_of(cell) or str(cell)
    if isinstance(cell, str):
        text = cell.strip()
        if text in MISSING_WORDS:
            return None
        if kind == TRUTH:
            return MORE_TRUTHS.get(text.lower(), cell)
        return _number_in(text, cell)
    if kind == TRUTH:
        return MORE_TRUTHS.get(str(text_of(cell)).lower(), cell)
    return int(cell) if isinstance(cell, (bool, np.bool_)) else cell


def _number_in(text: str, cell: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return cell
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


class ColumnReader:
    """Reads one column of a file: `look` at all its cells, then `series` of any of them, always of one dtype.

    Parameters
    ----------
    name : of the column
    kind : "integer", "number", "truth" or "text"
    """

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind = name, kind
        self._types: set[type] = set()
        self._large = False

    def look(self, cells: Iterable[Any]) -> None:
        """Take note of what there is."""
        for cell in cells:
            value = read_cell(self.kind, cell)
            self._types.add(type(value))
            self._large |= isinstance(value, int) and abs(value) > _LARGEST

    @property
    def dtype(self) -> Any:
        """The dtype that holds all that was looked at: text that is no number makes a column of objects."""
        import pandas as pd

        types = self._types
        if self.kind == TEXT:
            return pd.Series(["text"]).dtype
        if self.kind == TRUTH:
            return np.dtype(bool if types <= {bool} else object)
        if str in types or not types <= {int, float, type(None)}:
            return np.dtype(object)
        whole = self.kind == INTEGER and types <= {int} and not self._large
        return np.dtype(np.int64 if whole else np.float64)

    def series(self, cells: Sequence[Any]) -> "pd.Series[Any]":
        """Some cells as a column."""
        import pandas as pd

        values = [read_cell(self.kind, cell) for cell in cells]
        if self.dtype == np.float64:
            values = [np.nan if value is None else float(value) for value in values]
        return pd.Series(values, dtype=self.dtype, name=self.name)
