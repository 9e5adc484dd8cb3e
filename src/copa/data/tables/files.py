"""Tables in files, CSV or Parquet, read without guessing: a cell of a CSV file stays the text that it is.

In the CSV files that COPA writes, text that a spreadsheet would run as a formula is quoted; `read_options` undoes it.
"""

import csv
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.archive import parse_json
from copa._core.files import digest_of_file
from copa._core.progress import stage
from copa._core.words import hint, listed, shown
from copa.data.tables.casting import INTEGER, TEXT, ColumnReader, kinds_of
from copa.exceptions import DataError, InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 10_000  # rows that are read at a time
PARQUET = (".parquet", ".pq")
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

QUOTE = "'"
OWN_COLUMNS = frozenset({"option", "plan_status"})  # by which a table of plans is known that COPA wrote

_BLANK = r"[\s\x00-\x1f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
_FORMULA = re.compile(rf"'*({_BLANK}*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

Cells = list[list[Any]]  # of some rows, column by column


class NamedColumns:
    """The columns of a file by their names, without those that are left out.

    Blanks around names are taken away, with a note, unless two names would become the same; a column is also found by
    its name with the blanks, which a model may know it by.

    Attributes
    ----------
    path : Path
    notes : list of str
        What a person should know of the names.
    """

    path: Path

    def read_names(self, given: Sequence[str]) -> None:
        """Take the names in the order of the columns."""
        names = [name.strip() for name in given]
        self._given, self.notes = list(given), list[str]()
        if names != self._given and len(set(names)) == len(set(self._given)):
            padded = [name for name in given if name != name.strip()]
            self.notes.append(f"blanks around the names of columns are left out: {listed(padded)}")
        else:
            names = self._given
        self._trimmed, self._left_out = names, set[int]()

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [name for k, name in enumerate(self._trimmed) if k not in self._left_out]

    def leave_out(self, columns: Iterable[str]) -> None:
        """Leave out columns by name, or by position from 1: "#3" is the third, if no column is called so."""
        for column in columns:
            if column in self._trimmed:
                self._left_out |= {k for k, name in enumerate(self._trimmed) if name == column}
                continue
            number = column.removeprefix("#")
            if number == column or not number.isdecimal():
                raise InvalidInputError(f"{self.path} has no column {shown(column)}; {hint(column, self.names)}")
            if not 1 <= int(number) <= len(self._trimmed):
                raise InvalidInputError(f"{self.path} has {len(self._trimmed)} columns, there is no number {column}")
            self._left_out.add(int(number) - 1)

    def require_distinct(self) -> None:
        """Raise if two of the columns have the same name."""
        for name in self.names:
            self.place(name)

    def place(self, name: str) -> int:
        """Position in the file of the column of a name, which must be the only one."""
        places = [k for k, own in enumerate(self._trimmed) if own == name and k not in self._left_out]
        places = places or [k for k, own in enumerate(self._given) if own == name]
        if len(places) > 1:
            numbers = " and ".join(str(place + 1) for place in places)
            raise DataError(
                f"{self.path} has more than one column {shown(name)}, numbers {numbers} of {len(self._given)}; rename "
                f'one of them, or leave one out of `copa fit`: --drop "#{places[-1] + 1}"'
            )
        if not places:
            others = [other for other in self.names if other != name]
            raise DataError(f"{self.path} lacks the column {shown(name)}; {hint(name, others)}")
        return places[0]

    def has(self, name: str) -> bool:
        """Return whether there is a column of a name."""
        return name in self.names or name in self._given

    def digest(self) -> str:
        """Return the SHA-256 of the file."""
        return digest_of_file(self.path)

    def number_of(self, name: str) -> str:
        """Name a column by its position."""
        return f"#{self.place(name) + 1}"


class CsvFile(NamedColumns):
    """A CSV file with a header line. Cells stay the text that they are; every line must have as many as the header.

    Parameters
    ----------
    path : Path
    delimiter : str, default ","
        Character between two cells.
    """

    def __init__(self, path: Path, delimiter: str = ",") -> None:
        self.path, self.delimiter = path, delimiter
        with self._lines() as (lines, _):
            self.read_names(self._header(lines))

    @contextmanager
    def _lines(self) -> Iterator[tuple[Any, Any]]:
        """The lines as lists of cells, and the bytes below; whatever is wrong is a DataError that names the place."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets begin with a byte order mark
                reader = csv.reader(file, strict=True, delimiter=self.delimiter)
                try:
                    yield reader, file.buffer
                except csv.Error as error:
                    raise DataError(f"{self.path} is not a CSV file: line {reader.line_num}: {error}") from error
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.path} is not text in UTF-8 ({error.reason}: {error.object[error.start : error.end]!r}); "
                "save it as CSV in UTF-8"
            ) from error
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror}") from error

    def _header(self, lines: Any) -> list[str]:
        names: list[str] = next(lines, [])
        if not "".join(names).strip():
            raise DataError(f"{self.path} is empty; its first line must hold the names of the columns")
        if len(names) == 1:
            for other, separators in DELIMITERS.items():
                if other != self.delimiter and other in names[0]:
                    raise DataError(
                        f"{self.path} has a single column {shown(names[0])}: its cells seem to be separated by "
                        f"{separators}; add --delimiter {other!r}"
                    )
        if any(not name.isprintable() for name in names):
            raise DataError(
                f"{self.path} is not a CSV file: its first line holds {shown(names[0])}, not names of columns"
            )
        return names

    def chunks(self, columns: Sequence[str]) -> Iterator[Cells]:
        """Yield the cells of some columns, some rows at a time."""
        places, width = [self.place(name) for name in columns], len(self._given)
        size = self.path.stat().st_size
        with self._lines() as (lines, below), stage("reading the table", size) as advance:
            next(lines)
            rows: list[list[str]] = []
            seen = 0
            for cells in lines:
                if not cells:  # an empty line, often the last one
                    continue
                if len(cells) != width:
                    raise DataError(
                        f"{self.path} is not a table: line {lines.line_num} has {len(cells)} cells, the header "
                        f"{width}; put quotes around text with {shown(self.delimiter)} in it"
                    )
                rows.append(cells)
                if len(rows) == CHUNK:
                    yield [[row[k] for row in rows] for k in places]
                    rows = []
                    place = below.tell() if size else 0  # a pipe has neither
                    advance(place - seen)
                    seen = place
            if rows:
                yield [[row[k] for row in rows] for k in places]


class ParquetFile(NamedColumns):
    """A Parquet file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        try:
            self._file = pq.ParquetFile(path)
        except pa.ArrowException as error:
            raise DataError(f"{path} is not a Parquet file, or is damaged: {error}") from error
        self.read_names([str(name) for name in self._file.schema_arrow.names])
        self.n_rows: int = self._file.metadata.num_rows

    def chunks(self, columns: Sequence[str]) -> Iterator[Cells]:
        """Yield the values of some columns, some rows at a time."""
        import pyarrow as pa

        places = [self.place(name) for name in columns]
        names = [self._given[place] for place in places]
        # Of columns that have the same name all are read, and those that are left out are passed over.
        ranks = [self._given[:place].count(name) for place, name in zip(places, names, strict=True)]
        try:
            with stage("reading the table", self.n_rows, "rows") as advance:
                for batch in self._file.iter_batches(batch_size=CHUNK, columns=[*dict.fromkeys(names)]):
                    alike = {name: batch.schema.get_all_field_indices(name) for name in set(names)}
                    arrays = (batch.column(alike[name][rank]) for name, rank in zip(names, ranks, strict=True))
                    yield [column.to_pylist() for column in arrays]
                    advance(len(batch))
        except pa.ArrowException as error:
            raise DataError(f"{self.path} is damaged: {error}") from error


class ParquetFolder(NamedColumns):
    """The Parquet files of a folder as one table, in the order of their names; hidden files are left out.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InvalidInputError
        If there is none.
    """

    def __init__(self, path: Path) -> None:
        tables = [file for file in path.rglob("*") if file.suffix.lower() in PARQUET and file.is_file()]
        shown_ones = [file for file in tables if not any(part[0] in "._" for part in file.relative_to(path).parts)]
        if not shown_ones:
            raise InvalidInputError(
                f"the folder {shown(str(path))} holds no Parquet file; its files must end in .parquet"
            )
        self.path = path
        self.files = sorted(shown_ones, key=lambda file: file.relative_to(path).parts)
        self.n_rows = sum(ParquetFile(file).n_rows for file in self.files)  # not kept open: there can be thousands
        first = ParquetFile(self.files[0])
        self.read_names(first.names)
        self.notes = first.notes

    def chunks(self, columns: Sequence[str]) -> Iterator[Cells]:
        """Yield the values of some columns, some rows at a time."""
        with stage("reading the table", self.n_rows, "rows"):
            for file in self.files:
                yield from ParquetFile(file).chunks(columns)

    def digest(self) -> str:
        """Return the SHA-256 of the files and their names."""
        digest = hashlib.sha256()
        for file in self.files:
            digest.update(f"{digest_of_file(file)} {file.relative_to(self.path).as_posix()}\n".encode())
        return digest.hexdigest()


TableFile = CsvFile | ParquetFile | ParquetFolder


def open_table(path: Path, delimiter: str = ",") -> TableFile:
    """Open a table by the ending of its name.

    Parameters
    ----------
    path : Path
        A .csv, .tsv, .txt, .parquet or .pq file, or a folder of the latter.
    delimiter : str, default ","
        Character between two cells of a CSV file.

    Raises
    ------
    InvalidInputError
        If there is no such file, or its name has another ending.
    DataError
        If it is no table.
    """
    if not path.exists():
        raise InvalidInputError(f"the file {path} does not exist (looked for {path.absolute()})")
    if path.is_dir():
        return ParquetFolder(path)
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        delimiter = "\t" if delimiter == "\\t" or (suffix == ".tsv" and delimiter == ",") else delimiter
        if len(delimiter) != 1:
            raise InvalidInputError(f"--delimiter must be one character, got {shown(delimiter)}")
        return CsvFile(path, delimiter)
    if suffix in PARQUET:
        return ParquetFile(path)
    raise InvalidInputError(f"a table must be a .csv or .parquet file, got {path.name}")


def read_table(
    table: TableFile, columns: Sequence[str], kinds: Mapping[str, str]
) -> tuple["pd.DataFrame", dict[str, str]]:
    """Read some columns; kinds that are not given are told from the cells.

    Parameters
    ----------
    table : CsvFile or ParquetFile
    columns : sequence of str
    kinds : Mapping from str to str
        Kinds of columns, as far as they are known.

    Returns
    -------
    table : DataFrame
        Rows are numbered from 0.
    kinds : dict from str to str
        Kinds of all its columns.
    """
    import pandas as pd

    readers = [ColumnReader(name, kinds.get(name)) for name in columns]
    _fill(table, readers)
    all_kinds = {reader.name: reader.kind for reader in readers}
    return pd.DataFrame({reader.name: reader.series(all_kinds[reader.name]) for reader in readers}), all_kinds


def read_applicants(
    table: TableFile,
    template: "pd.DataFrame",
    *,
    label: str | None = None,
    group: str | None = None,
) -> "pd.DataFrame":
    """Read applicants, in the dtypes of a template as far as their cells allow it.

    Parameters
    ----------
    table : CsvFile or ParquetFile
    template : DataFrame
        Columns that are read, in their dtypes; its rows do not matter.
    label : str, optional
        Column whose cells name the applicants; without it they are numbered from 0.
    group : str, optional
        Another column to keep, as text where the template lacks it.
    """
    import pandas as pd

    kinds = kinds_of(template)
    readers = [ColumnReader(name, kind) for name, kind in (({} if group is None else {group: TEXT}) | kinds).items()]
    labels = None if label is None else ColumnReader(label)
    _fill(table, readers if labels is None else [*readers, labels])
    frame = pd.DataFrame({reader.name: reader.series() for reader in readers})
    if labels is not None:
        frame.index = _index(labels, table)
    return frame


def _index(labels: ColumnReader, table: TableFile) -> "pd.Index[Any]":
    import pandas as pd

    missing = [k for k, label in enumerate(labels.cells) if label is None or label == ""]
    if missing:
        raise DataError(f"{table.path}: row {missing[0]} has no {shown(labels.name)}")
    return pd.Index(labels.series(INTEGER if labels.kind == INTEGER else TEXT), name=None)


def _fill(table: TableFile, readers: Sequence[ColumnReader]) -> None:
    """Let readers of columns read a table, in one pass."""
    columns = [reader.name for reader in readers]
    _require_columns(table, columns)
    n_rows = 0
    for chunk in table.chunks(columns):
        for reader, cells in zip(readers, chunk, strict=True):
            reader.add(cells)
        n_rows += len(chunk[0])
    if n_rows == 0:
        raise DataError(f"{table.path} has no rows")


def _require_columns(table: TableFile, columns: Sequence[str]) -> None:
    missing = [name for name in columns if not table.has(name)]
    if missing:
        others = [name for name in table.names if name not in columns]
        rest = f"; {hint(missing[0], others)}" if others else ""
        raise DataError(f"{table.path} lacks the column{'s' * (len(missing) > 1)} {listed(missing)}{rest}")


def read_options(path: Path, delimiter: str = ",", *, raw_cells: bool = False) -> "pd.DataFrame":
    """Read a table of options, cells as they are; an empty one is a missing value.

    Of a table that COPA wrote, lines of applicants without options are left out, and in a CSV file the quotes before
    text that begins a formula are taken away.

    Parameters
    ----------
    path : Path
    delimiter : str, default ","
    raw_cells : bool, default False
        Leave quotes before formulas where they are.

    Raises
    ------
    InvalidInputError
        If the file is no table.
    """
    import pandas as pd

    try:
        table = open_table(path, delimiter)
        chunks = [
            pd.DataFrame(dict(zip(table.names, _without_empty(chunk), strict=True)), dtype=object)
            for chunk in table.chunks(table.names)
        ]
    except DataError as error:
        raise InvalidInputError(str(error)) from error
    frame = pd.concat(chunks, ignore_index=True) if chunks else pd.DataFrame(columns=table.names, dtype=object)
    if not is_own_table(frame):
        return frame
    frame = frame[frame["option"].notna()]
    return unquoted_table(frame) if isinstance(table, CsvFile) and not raw_cells else frame


def _without_empty(chunk: Cells) -> Cells:
    return [[None if cell == "" else cell for cell in cells] for cells in chunk]


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


def begins_formula(text: str) -> bool:
    """Return whether a spreadsheet might run this text; a plain number, such as -5, is none."""
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
    """Return whether a table of options is one that COPA wrote."""
    return set(table.columns) >= OWN_COLUMNS


def _mapped(table: "pd.DataFrame", change: Callable[[Any], Any]) -> "pd.DataFrame":
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns = {}
    for name in table.columns:
        column = table[name]
        # Numbers, and true and false, are no text; a negative number stays one.
        columns[change(name)] = column if is_numeric_dtype(column.dtype) else _mapped_text(column, change)
    return pd.DataFrame(columns, index=table.index)


def _mapped_text(column: "pd.Series[Any]", change: Callable[[Any], Any]) -> "pd.Series[Any]":
    """The entries of a column as `change` has them; where all are text, each distinct one is changed once."""
    import pandas as pd
    from pandas.api.types import infer_dtype

    entries = column.astype(object)
    if infer_dtype(entries, skipna=True) != "string":
        return entries.map(change)
    positions, distinct = pd.factorize(entries.to_numpy())
    changed = entries.to_numpy(copy=True)
    present = positions >= 0
    changed[present] = np.array([*map(change, distinct), None], dtype=object)[positions[present]]
    return pd.Series(changed, index=entries.index, dtype=object)
