"""Files that plans come in, read without guessing: a cell of a CSV file stays the text that it is."""

import csv
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.archive import parse_json
from copa._core.words import shown
from copa.exceptions import InvalidInputError

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


def read_csv(path: Path) -> "pd.DataFrame":
    """Read a CSV file with a header line as a table of text; an empty cell is a missing value.

    In a table of plans that the command `copa` wrote, the quotes before text that begins a formula are taken away.
    """
    import pandas as pd

    rows: list[list[str | None]] = []
    header: list[str] = []
    reader = csv.reader(io.StringIO(_text_of_file(path), newline=""), strict=True)
    try:
        for cells in reader:
            if not header:
                header = cells
            elif cells and len(cells) != len(header):
                raise InvalidInputError(
                    f"{path} is not a table: line {reader.line_num} has {len(cells)} cells, the header {len(header)}; "
                    "put quotes around text with commas in it"
                )
            elif cells:
                rows.append([cell or None for cell in cells])
    except csv.Error as error:
        raise InvalidInputError(f"{path} is not a CSV file: line {reader.line_num}: {error}") from error
    if not header:
        raise InvalidInputError(f"{path} is empty; its first line must hold the names of the columns")
    table = pd.DataFrame(rows, columns=header, dtype=object)
    return unquoted_table(table) if is_own_table(table) else table


def read_json_file(path: Path) -> Mapping[str, Any]:
    """Read a file of one JSON object."""
    return read_json_text(_text_of_file(path), str(path))


def read_json_text(text: str, where: str) -> Mapping[str, Any]:
    """Read one JSON object from text."""
    try:
        value = parse_json(text)
    except ValueError as error:
        raise InvalidInputError(f"{where} is not JSON: {error}; it starts with {shown(text[:60])}") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where} must be a JSON object, got {shown(value)}")
    return value


def _text_of_file(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")  # spreadsheets put a byte order mark in front
    except FileNotFoundError as error:
        raise InvalidInputError(f"the file {path} does not exist (looked for {path.absolute()})") from error
    except OSError as error:
        raise InvalidInputError(f"the file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the file {path} is not UTF-8 text ({error.reason} at byte {error.start})") from error
