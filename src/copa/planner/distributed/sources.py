"""Applicants in partitions: files that workers read themselves, or tables that are cut up and sent to them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from copa._core.files import digest_of_file
from copa._core.words import shown
from copa.data.tables.files import ParquetFile, common_dtypes, read_applicants
from copa.exceptions import DataError, InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
PARTITION_ROWS = 5000  # applicants of a file that is cut up: some seconds of work, and a file of a megabyte or so


@dataclass(frozen=True)
class Reading:
    """How applicants are read from files.

    Parameters
    ----------
    template : DataFrame
        Columns that are read, in their dtypes; without rows.
    label, group : str, optional
        Columns, as in `copa.data.tables.files.read_applicants`.
    at_least : DataFrame, optional
        Dtypes that the whole table needs, once they are known.
    """

    template: "pd.DataFrame"
    label: str | None = None
    group: str | None = None
    at_least: "pd.DataFrame | None" = None


class Task(Protocol):
    """A partition, as a worker is given it."""

    @property
    def n_rows(self) -> int | None:
        """Number of applicants; None where it is not known before they are read."""

    @property
    def place(self) -> str:
        """Where its applicants are, in words."""

    def read(self) -> "pd.DataFrame":
        """Return the applicants."""


@dataclass(frozen=True)
class FileRows:
    """Consecutive rows of a Parquet file.

    Parameters
    ----------
    path : Path
    rows : range
        Of the file.
    first : int
        Number of its first applicant among all of them.
    reading : Reading
    """

    path: Path
    rows: range
    first: int
    reading: Reading

    @property
    def n_rows(self) -> int:
        """Number of applicants."""
        return len(self.rows)

    @property
    def place(self) -> str:
        """Where its applicants are, in words."""
        return f"{self.path}, rows {self.rows.start:,} to {self.rows.stop - 1:,}"

    def read(self) -> "pd.DataFrame":
        """Return the applicants, who are numbered through all partitions if no column names them."""
        import pandas as pd

        how = self.reading
        table = ParquetFile(self.path).only(self.rows)
        frame = read_applicants(table, how.template, label=how.label, group=how.group, at_least=how.at_least)
        if how.label is None:
            frame.index = pd.RangeIndex(self.first, self.first + len(frame))
        return frame

    def survey(self) -> "pd.DataFrame":
        """Return a table without rows in the dtypes that these rows need."""
        return self.read().iloc[:0]


@dataclass(frozen=True, eq=False)
class SentRows:
    """Rows of a table that are sent along.

    Parameters
    ----------
    table : DataFrame
    place : str
        Where they come from, in words.
    """

    table: "pd.DataFrame"
    place: str

    @property
    def n_rows(self) -> int:
        """Number of applicants."""
        return len(self.table)

    def read(self) -> "pd.DataFrame":
        """Return the applicants."""
        return self.table


@dataclass(frozen=True, eq=False)
class DaskRows:
    """A partition of a Dask DataFrame, which the cluster computes.

    Parameters
    ----------
    rows : Delayed
    place : str
        Which one it is, in words.
    """

    rows: Any
    place: str
    n_rows = None

    def read(self) -> "pd.DataFrame":
        """Return the applicants, computed here."""
        table: pd.DataFrame = self.rows.compute()
        return table


class Source(Protocol):
    """Applicants in partitions."""

    @property
    def origin(self) -> str:
        """Digest of the applicants."""

    @property
    def partitions(self) -> Sequence[Task]:
        """The partitions, in order."""


class ParquetFolder:
    """A Parquet file, or a folder of them, which is read by the workers.

    Parameters
    ----------
    path : Path
    reading : Reading
    partition_rows : int
        Most rows of a partition; no partition has rows of two files.
    """

    def __init__(self, path: Path, reading: Reading, partition_rows: int = PARTITION_ROWS) -> None:
        self.paths = parquet_files(path)
        self._root = path if path.is_dir() else path.parent
        self.partitions: list[FileRows] = []
        first = 0
        for file in self.paths:
            n_rows = ParquetFile(file).n_rows
            for begin in range(0, n_rows, partition_rows):
                rows = range(begin, min(begin + partition_rows, n_rows))
                self.partitions.append(FileRows(file.absolute(), rows, first + begin, reading))
            first += n_rows
        if not self.partitions:
            raise DataError(f"{path} has no rows")

    @property
    def origin(self) -> str:
        """Digest of the files and their names."""
        digest = hashlib.sha256()
        for path in self.paths:
            digest.update(f"{digest_of_file(path)} {path.relative_to(self._root).as_posix()}\n".encode())
        return digest.hexdigest()

    def with_dtypes(self, surveys: "Iterable[pd.DataFrame]") -> None:
        """Let all partitions be read in the dtypes that hold the cells of every one of them."""
        common = common_dtypes(surveys)
        self.partitions = [replace(part, reading=replace(part.reading, at_least=common)) for part in self.partitions]


class CutTable:
    """A table in memory, cut up and sent to the workers: a CSV file has no parts that they could read by themselves.

    Parameters
    ----------
    table : DataFrame
    name : str
        What it is called.
    origin : str
        Digest of what it was read from.
    partition_rows : int
    """

    def __init__(self, table: "pd.DataFrame", name: str, origin: str, partition_rows: int = PARTITION_ROWS) -> None:
        self.origin = origin
        self.partitions = [
            SentRows(table.iloc[begin : begin + partition_rows], f"{name}, rows {begin:,} to {end - 1:,}")
            for begin in range(0, len(table), partition_rows)
            for end in [min(begin + partition_rows, len(table))]
        ]


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files at a path, those of a folder in the order of their names; hidden ones are left out.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    if not path.exists():
        raise InvalidInputError(f"the file {path} does not exist (looked for {path.absolute()})")
    if not path.is_dir():
        return [path]
    found = [file for file in path.rglob("*") if file.suffix.lower() in PARQUET and file.is_file()]
    shown_ones = [file for file in found if not any(part[0] in "._" for part in file.relative_to(path).parts)]
    if not shown_ones:
        raise InvalidInputError(f"the folder {shown(str(path))} holds no Parquet file; its files must end in .parquet")
    return sorted(shown_ones, key=lambda file: file.relative_to(path).parts)


class DaskTable:
    """A Dask DataFrame; its partitions stay as they are.

    Parameters
    ----------
    table : dask.dataframe.DataFrame
        Its index names the applicants.
    """

    def __init__(self, table: Any) -> None:
        self.origin = hashlib.sha256(str(table._name).encode()).hexdigest()  # noqa: SLF001 - which tells tables apart
        self.partitions = [
            DaskRows(rows, f"partition {number:,} of the Dask DataFrame")
            for number, rows in enumerate(table.to_delayed())
        ]
