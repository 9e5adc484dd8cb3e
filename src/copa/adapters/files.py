"""Files that plans come in, read without guessing: a cell of a CSV file stays the text that it is."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa.adapters.formulas import is_own_table, unquoted_table
from copa.archive import parse_json
from copa.exceptions import InvalidInputError
from copa.schema.names import shown

if TYPE_CHECKING:
    import pandas as pd


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
