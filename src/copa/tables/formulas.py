"""Text that a spreadsheet would run as a formula, quoted in the CSV files that COPA writes, and back."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


QUOTE = "'"
OWN_COLUMNS = frozenset({"option", "plan_status"})  # by which a table of plans is known that COPA wrote

_BLANK = r"[\s\x00-\x1f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
_FORMULA = re.compile(rf"'*({_BLANK}*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def begins_formula(text: str) -> bool:
    """Whether a spreadsheet might run this text; a plain number, such as -5, is none."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def quoted(cell: Any) -> Any:
    """Return a cell as it is written: text that begins a formula with an apostrophe, all else as it is."""
    return f"{QUOTE}{cell}" if isinstance(cell, str) and begins_formula(cell) else cell


def unquoted(cell: Any) -> Any:
    """Return the cell that `quoted` was given."""
    is_quoted = isinstance(cell, str) and cell.startswith(QUOTE) and begins_formula(cell)
    return cell[len(QUOTE) :] if is_quoted else cell


def quoted_table(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table with the text of its cells and the names of its columns quoted."""
    return _mapped(table, quoted)


def unquoted_table(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the table that `quoted_table` was given, as far as text goes."""
    return _mapped(table, unquoted)


def is_own_table(table: "pd.DataFrame") -> bool:
    """Whether a table of options is one that COPA wrote."""
    return set(table.columns) >= OWN_COLUMNS


def _mapped(table: "pd.DataFrame", change: Callable[[Any], Any]) -> "pd.DataFrame":
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns = {}
    for name in table.columns:
        column = table[name]
        # Numbers, and true and false, are no text; a negative number stays one.
        columns[change(name)] = column if is_numeric_dtype(column.dtype) else column.astype(object).map(change)
    return pd.DataFrame(columns, index=table.index)
