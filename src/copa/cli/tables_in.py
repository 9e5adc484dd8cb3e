"""Tables in files, CSV or Parquet, read in blocks: memory does not grow with the file, nor do dtypes depend on it."""

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa._core.words import hint, listed, shown
from copa.cli.messages import MisuseError
from copa.exceptions import DataError
from copa.tables.kinds import INTEGER, TEXT, ColumnReader, infer_kind

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 250  # applicants: a few seconds of work, which is what an interruption costs at most
DELIMITERS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

Columns = list[list[Any]]  # the cells of a block, column by column


class CsvFile:
    """A CSV file with a header line. Cells stay the text that they are; every line must have as many as the header."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self.path, self.delimiter = path, delimiter
        with self._lines() as lines:
            self.names = self._header(lines)

    @contextmanager
    def _lines(self) -> Iterator[Any]:
        """The lines as lists of cells; whatever is wrong with them is a DataError that names the place."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets begin with a byte order mark
                reader = csv.reader(file, strict=True, delimiter=self.delimiter)
                try:
                    yield reader
                except csv.Error as error:
                    raise DataError(f"{self.path} is not a CSV file: line {reader.line_num}: {error}") from error
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.path} is not text in UTF-8 ({error.reason}: {error.object[error.start : error.end]!r}); "
                "save it as CSV in UTF-8"
            ) from error

    def _header(self, lines: Any) -> list[str]:
        names: list[str] = next(lines, [])
        if not "".join(names).strip():
            raise DataError(f"{self.path} is empty; its first line must hold the names of the columns")
        if len(names) == 1:
            for other in DELIMITERS:
                if other != self.delimiter and other in names[0]:
                    raise DataError(
                        f"{self.path} has a single column {shown(names[0])}: its cells seem to be separated by "
                        f"{NAMES[other]}; add --delimiter {other!r}"
                    )
        if any(not name.isprintable() for name in names):
            raise DataError(
                f"{self.path} is not a CSV file: its first line holds {shown(names[0])}, not names of columns"
            )
        twice = [name for k, name in enumerate(names) if name in names[:k]]
        if twice:
            raise DataError(f"{self.path} has more than one column {shown(twice[0])}; rename one of them")
        return names

    def blocks(self, columns: Sequence[str], size: int = BLOCK) -> Iterator[Columns]:
        """Yield the cells of some columns, block by block."""
        places = [self.names.index(name) for name in columns]
        with self._lines() as lines:
            next(lines)
            rows: list[list[str]] = []
            for cells in lines:
                if not cells:  # an empty line, often the last one
                    continue
                if len(cells) != len(self.names):
                    raise DataError(
                        f"{self.path} is not a table: line {lines.line_num} has {len(cells)} cells, the header "
                        f"{len(self.names)}; put quotes around text with {shown(self.delimiter)} in it"
                    )
                rows.append(cells)
                if len(rows) == size:
                    yield [[row[k] for row in rows] for k in places]
                    rows = []
            if rows:
                yield [[row[k] for row in rows] for k in places]


class ParquetFile:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.path = path
        try:
            self._file = pq.ParquetFile(path)
        except pa.ArrowException as error:
            raise DataError(f"{path} is not a Parquet file, or is damaged: {error}") from error
        self.names = [str(name) for name in self._file.schema_arrow.names]

    def blocks(self, columns: Sequence[str], size: int = BLOCK) -> Iterator[Columns]:
        """Yield the values of some columns, block by block."""
        import pyarrow as pa

        waiting: Columns = [[] for _ in columns]  # a batch may end early, where a group of rows does
        try:
            for batch in self._file.iter_batches(batch_size=size, columns=list(columns)):
                for k, name in enumerate(columns):
                    waiting[k] += batch.column(name).to_pylist()
                while len(waiting[0]) >= size:
                    yield [cells[:size] for cells in waiting]
                    waiting = [cells[size:] for cells in waiting]
            if waiting[0]:
                yield waiting
        except pa.ArrowException as error:
            raise DataError(f"{self.path} is damaged: {error}") from error


TableFile = CsvFile | ParquetFile


def open_table(path: Path, delimiter: str = ",") -> TableFile:
    """Open a table by the ending of its name."""
    if not path.is_file():
        raise MisuseError(f"the file {path} does not exist (looked for {path.absolute()})")
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        delimiter = "\t" if delimiter == "\\t" or (suffix == ".tsv" and delimiter == ",") else delimiter
        if len(delimiter) != 1:
            raise MisuseError(f"--delimiter must be one character, got {shown(delimiter)}")
        return CsvFile(path, delimiter)
    if suffix in (".parquet", ".pq"):
        return ParquetFile(path)
    raise MisuseError(f"a table must be a .csv or .parquet file, got {path.name}")


def require_columns(table: TableFile, columns: Sequence[str]) -> None:
    """Raise if the table lacks one of the columns."""
    missing = [name for name in columns if name not in table.names]
    if missing:
        others = [name for name in table.names if name not in columns]
        rest = f"; {hint(missing[0], others)}" if others else ""
        raise DataError(f"{table.path} lacks the column{'s' * (len(missing) > 1)} {listed(missing)}{rest}")


def read_whole(
    table: TableFile, columns: Sequence[str], kinds: Mapping[str, str]
) -> tuple["pd.DataFrame", dict[str, str]]:
    """Read some columns at once; kinds that are not given are told from the cells.

    Returns
    -------
    The table, its rows numbered from 0, and the kinds of all its columns
    """
    import pandas as pd

    require_columns(table, columns)
    cells: Columns = [[] for _ in columns]
    for block in table.blocks(columns, size=10_000):
        for whole, part in zip(cells, block, strict=True):
            whole.extend(part)
    found, series = {}, {}
    for name, own in zip(columns, cells, strict=True):
        found[name] = kinds.get(name) or infer_kind(own)
        reader = ColumnReader(name, found[name])
        reader.look(own)
        series[name] = reader.series(own)
    if not cells or not cells[0]:
        raise DataError(f"{table.path} has no rows")
    return pd.DataFrame(series), found


class ApplicantStream:
    """Applicants in a file, block by block, every block with the same dtypes.

    Parameters
    ----------
    table : their file
    kinds : kinds of the columns that are needed
    label : column whose cells name the applicants; None numbers them from 0
    group : another column to keep, as text where it has no kind
    """

    def __init__(
        self, table: TableFile, kinds: Mapping[str, str], *, label: str | None = None, group: str | None = None
    ) -> None:
        kinds = dict(kinds) if group is None else {group: TEXT} | dict(kinds)
        wanted = list(kinds) if label is None or label in kinds else [*kinds, label]
        require_columns(table, wanted)
        self._table, self._columns, self._label = table, wanted, label
        self._readers = [ColumnReader(name, kind) for name, kind in kinds.items()]
        self.n_rows = 0
        whole = True
        for block in table.blocks(wanted):
            for reader, cells in zip(self._readers, block, strict=False):
                reader.look(cells)
            labels = block[wanted.index(label)] if label is not None else [0]
            whole = whole and infer_kind(labels) == INTEGER
            self._require_labels(labels)
            self.n_rows += len(block[0])
        if self.n_rows == 0:
            raise DataError(f"{table.path} has no rows, and so no applicants")
        self._labels = ColumnReader(label or "", INTEGER if whole else TEXT)

    def _require_labels(self, labels: list[Any]) -> None:
        missing = [k for k, label in enumerate(labels) if label is None or label == ""]
        if missing:
            raise DataError(f"{self._table.path}: row {self.n_rows + missing[0]} has no {shown(self._label)}")

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_rows // BLOCK)

    def blocks(self, finished: frozenset[int] = frozenset()) -> Iterator[tuple[int, "pd.DataFrame"]]:
        """Yield numbers and tables of the blocks that are not finished yet."""
        for number, block in enumerate(self._table.blocks(self._columns)):
            if number not in finished:
                yield number, self._frame(number, block)

    def _frame(self, number: int, block: Columns) -> "pd.DataFrame":
        import pandas as pd

        series = {reader.name: reader.series(cells) for reader, cells in zip(self._readers, block, strict=False)}
        frame = pd.DataFrame(series)
        if self._label is None:
            start = number * BLOCK
            frame.index = pd.RangeIndex(start, start + len(frame))
        else:
            cells = block[self._columns.index(self._label)]
            self._labels.look(cells)
            frame.index = pd.Index(self._labels.series(cells), name=None)
        return frame

    def whole(self) -> "pd.DataFrame":
        """All applicants as one table."""
        import pandas as pd

        return pd.concat([frame for _, frame in self.blocks()])


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
