"""Cells into values: what kind of values a column holds, and each cell as one of them, never as another value.

A cell of a file is text, and a cell of JSON or of another tool's table has lost its type. `read_cell` says what value
of a kind it is. Everything else here puts values together to columns: one dtype for a whole file (`ColumnReader`), or
the dtype that the model knows (`cast_like`).
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.words import shown
from copa.data.tables.cells import text_of
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

INTEGER, NUMBER, TRUTH, TEXT = KINDS = ("integer", "number", "truth", "text")

# Words for "nothing" in a column of numbers. In a column of text they are text: NA may be Namibia.
MISSING_WORDS = frozenset({"", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL", "None"})
TRUTHS = {"true": True, "false": False}
MORE_TRUTHS = TRUTHS | {"1": True, "0": False, "1.0": True, "0.0": False}

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
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


def kinds_of(template: "pd.DataFrame") -> dict[str, str]:
    """Return the kinds of the columns of a table, by their dtypes."""
    from pandas.api import types

    kinds = {}
    for name, dtype in template.dtypes.items():
        whole, number = types.is_integer_dtype(dtype), types.is_float_dtype(dtype)
        kinds[str(name)] = TRUTH if types.is_bool_dtype(dtype) else INTEGER if whole else NUMBER if number else TEXT
    return kinds


def template_of(kinds: Mapping[str, str]) -> "pd.DataFrame":
    """Return a table without rows whose columns are of these kinds."""
    import pandas as pd

    return pd.DataFrame({name: pd.Series([], dtype=_dtype_of(kind)) for name, kind in kinds.items()})


def _dtype_of(kind: str) -> Any:
    import pandas as pd

    dtypes = {INTEGER: np.dtype(np.int64), NUMBER: np.dtype(np.float64), TRUTH: np.dtype(bool)}
    return dtypes[kind] if kind in dtypes else pd.Series(["text"]).dtype


class ColumnReader:
    """Reads one column of a file, some cells at a time; its dtype is one that holds them all.

    Parameters
    ----------
    name : str
    kind : str, optional
        "integer", "number", "truth" or "text"; without it the kind is told from all cells.
    """

    def __init__(self, name: str, kind: str | None = None) -> None:
        self.name = name
        self._kind = kind
        self._chunks: list[npt.NDArray[Any]] = []
        self._texts: dict[str, str] = {}  # each text is kept once

    def add(self, cells: Iterable[Any]) -> None:
        """Read some cells."""
        values = cells if self._kind is None else [read_cell(self._kind, cell) for cell in cells]
        same = [self._texts.setdefault(value, value) if isinstance(value, str) else value for value in values]
        self._chunks.append(_compact(same))

    @property
    def cells(self) -> list[Any]:
        """All that was read: cells as they are, or values of the kind if that was known."""
        return [cell for chunk in self._chunks for cell in chunk.tolist()]

    @property
    def kind(self) -> str:
        """Kind of the column."""
        if self._kind is not None:
            return self._kind
        return infer_kind([*self._texts, *(cell for cell in self.cells if not isinstance(cell, str))])

    def series(self, kind: str | None = None) -> "pd.Series[Any]":
        """Return the whole column; text that is no number makes a column of numbers one of objects.

        Parameters
        ----------
        kind : str, optional
            Another kind than that of the cells.
        """
        import pandas as pd

        kind = self.kind if kind is None else kind
        values = self.cells
        if kind != self._kind:
            known = {text: read_cell(kind, text) for text in self._texts}  # most texts are there many times
            values = [known[cell] if isinstance(cell, str) else read_cell(kind, cell) for cell in values]
        dtype = _dtype_for(kind, values)
        if dtype == np.float64:
            values = [np.nan if value is None else float(value) for value in values]
        return pd.Series(values, dtype=dtype, name=self.name)


def _compact(values: list[Any]) -> npt.NDArray[Any]:
    """Return the values as an array, of 8 bytes each where they are numbers of one type."""
    types = set(map(type, values))
    if types in ({int}, {float}, {bool}) and not any(_is_large(value) for value in values):
        return np.array(values)
    kept = np.empty(len(values), dtype=object)
    kept[:] = values
    return kept


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and abs(value) > _LARGEST


def _dtype_for(kind: str, values: list[Any]) -> Any:
    """The dtype of a kind, or a wider one that holds all values."""
    types = set(map(type, values))
    if kind == TRUTH:
        return np.dtype(bool if types <= {bool} else object)
    if kind == TEXT:
        return _dtype_of(kind)
    if not types <= {int, float, type(None)}:
        return np.dtype(object)
    whole = kind == INTEGER and types <= {int} and not any(_is_large(value) for value in values)
    return np.dtype(np.int64 if whole else np.float64)


def cast_like(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Series[Any]":  # noqa: PLR0911 - one per kind of dtype
    """Return `column` in the dtype of `like`, undoing what a file, JSON or another tool did to its values.

    Numbers may come as text, whole numbers as floats, truth values and numbers in a category as text or numbers. Where
    the dtype cannot hold every value - a fraction or a missing value among whole numbers, an unknown category - the
    column stays one that does (float or object), for whoever checks the options to see. Raises if a column of numbers
    or truth values holds something else.
    """
    import pandas as pd
    from pandas.api import types

    dtype = like.dtype
    if types.is_object_dtype(dtype):
        return _cast_as_seen(column, like)
    if column.dtype == dtype:
        return column
    if isinstance(dtype, pd.CategoricalDtype):
        return _cast_choices(column, dtype)
    if types.is_bool_dtype(dtype):
        return _cast_truths(column, dtype)
    if types.is_numeric_dtype(dtype):
        return _cast_numbers(column, dtype)
    if types.is_string_dtype(dtype):
        return _cast_text(column).astype(dtype)
    try:
        return column.astype(dtype)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"column {shown(column.name)} must hold values of dtype {dtype}: {error}") from error


def _cast_as_seen(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Series[Any]":
    """Cast to the one kind of values that the object column `like` holds; leave the values where it holds several.

    Among numbers, one cell that is none must not make text of the others.
    """
    seen = like.dropna()
    if all(isinstance(value, str) for value in seen):
        return _cast_text(column)
    kind = seen.infer_objects()
    if kind.dtype != object:
        return cast_like(column, kind).astype(object)
    numbers = seen[[not isinstance(value, (str, bool)) for value in seen]].infer_objects()
    return _mapped(column, as_number).astype(object) if numbers.dtype.kind in "iuf" else column.astype(object)


def as_number(value: Any) -> Any:
    """Return the number that a text says, or the value itself."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


def _cast_text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return _mapped(column, lambda value: value if isinstance(value, str) else text_of(value) or str(value))


def _cast_choices(column: "pd.Series[Any]", dtype: Any) -> "pd.Series[Any]":
    by_text = {text_of(choice) or str(choice): choice for choice in dtype.categories}

    def choice(value: Any) -> Any:
        spellings = (text_of(value), text_of(_number_of(value)), str(value))
        return next((by_text[text] for text in spellings if text in by_text), value)

    values = _mapped(column, choice)
    held = values.isin(dtype.categories) | values.isna()
    return values.astype(dtype) if held.all() else values


def _cast_truths(column: "pd.Series[Any]", dtype: Any) -> "pd.Series[Any]":
    values = _mapped(column, lambda value: read_cell(TRUTH, value))
    _refuse_others(column, values, lambda value: isinstance(value, bool), "true or false")
    return values.astype(dtype) if _holds_missing(dtype) or not values.isna().any() else values


def _cast_numbers(column: "pd.Series[Any]", dtype: Any) -> "pd.Series[Any]":
    from pandas.api.types import is_float_dtype

    values = _mapped(column, lambda value: read_cell(NUMBER, value))
    _refuse_others(
        column, values, lambda value: not isinstance(value, str) and _number_of(value) is not None, "numbers"
    )
    floats = values.astype(np.float64)
    if is_float_dtype(dtype):
        return floats.astype(dtype)
    present = floats.dropna()
    whole = bool((np.isfinite(present) & (np.floor(present) == present)).all())
    if not whole or (len(present) < len(values) and not _holds_missing(dtype)):
        return floats
    exact = _mapped(values, int)  # with all its digits, also those beyond a float
    limits = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    return exact.astype(dtype) if exact.dropna().between(limits.min, limits.max).all() else floats


def _number_of(value: Any) -> float | None:
    """Return the number that a value is or spells, None if there is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _mapped(column: "pd.Series[Any]", change: "Callable[[Any], Any]") -> "pd.Series[Any]":
    """Change every value that is not missing, as a column of objects."""
    import pandas as pd

    missing = column.isna().to_numpy(dtype=bool)
    cells = [None if gone else change(cell) for cell, gone in zip(column, missing, strict=True)]
    return pd.Series(cells, index=column.index, name=column.name, dtype=object)


def _holds_missing(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype)  # numpy's whole numbers and truth values cannot, pandas' own dtypes can


def _refuse_others(
    column: "pd.Series[Any]", values: "pd.Series[Any]", is_good: "Callable[[Any], bool]", allowed: str
) -> None:
    """Raise for the first value that is neither missing nor good, naming the cell that it was read from."""
    for row, (cell, value) in enumerate(zip(column, values, strict=True)):
        if value is not None and not is_good(value):
            raise InvalidInputError(
                f"column {shown(column.name)} must hold {allowed}, as that of the applicants does; "
                f"got {shown(cell)} in row {row}"
            )
