"""Writers of plans into files, batch after batch: whole files or none, in memory that does not grow with them."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from copa._core.files import whole_file
from copa._core.words import listed
from copa.data.tables.files import quoted_table
from copa.exceptions import DataError
from copa.plans.changes import Change
from copa.plans.document import DocumentWriter
from copa.plans.frames import option_numbers
from copa.plans.storage import PartsWriter

if TYPE_CHECKING:
    import pandas as pd

    from copa.plans.batch import PlanBatch

TABLES = (".csv", ".parquet")
BATCH_FILES = (*TABLES, ".json", ".zip", ".copa")
PAGES = (".html",)

# Facts about an option, before the columns of its row.
OWN_COLUMNS = (
    "applicant",
    "option",
    "plan_status",
    "plan_message",
    "option_guarantee",
    "option_expected_rate",
    "any_guarantee",
    "all_guarantee",
    "option_effort",
    "option_accepted",
    "option_plausibility",
    "option_changes",
)


class Writer(Protocol):
    """Writer of plans."""

    def add(self, batch: "PlanBatch") -> None:
        """Write a batch."""

    def close(self) -> None:
        """Finish the file."""


class CsvWriter:
    """Writer of CSV: one line per option, and one line for an applicant without options.

    Text that a spreadsheet would run as a formula is quoted, except with `raw_cells`.
    """

    def __init__(self, file: IO[str], *, raw_cells: bool = False) -> None:
        self._file, self._raw_cells, self._begun = file, raw_cells, False

    def add(self, batch: "PlanBatch") -> None:
        """Write the options of a batch."""
        table = written_table(batch) if self._raw_cells else quoted_table(written_table(batch))
        table.to_csv(self._file, index=False, header=not self._begun, lineterminator="\n")
        self._begun = True

    def close(self) -> None:
        """Do nothing: all is written."""


class ParquetWriter:
    """Writer of the same table as Parquet, a group of rows per batch."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._writer: Any = None

    def add(self, batch: "PlanBatch") -> None:
        """Write the options of a batch."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame = typed_table(batch)
        schema = pa.Schema.from_pandas(frame, preserve_index=False) if self._writer is None else self._writer.schema
        table = pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def typed_table(batch: "PlanBatch") -> "pd.DataFrame":
    """Return the table of `written_table`, each column of one kind: one with numbers beside text becomes text."""
    frame = written_table(batch)
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = frame[name].map(str, na_action="ignore").astype("string")
    return frame


def written_table(batch: "PlanBatch") -> "pd.DataFrame":
    """Return a table with one line per option: facts about it, then its whole row; applicants without options have one.

    Columns of the row have nullable dtypes, the same for every batch of the same applicants.
    """
    import pandas as pd

    require_free_names(batch.applicants.columns)
    none = np.flatnonzero(batch.counts == 0)
    owner = np.concatenate([batch.owner, none])
    option = np.concatenate([option_numbers(batch), np.zeros(len(none), dtype=np.intp)])
    order = np.lexsort((option, owner))
    place = np.concatenate([np.arange(len(batch.owner)), np.full(len(none), -1)])[order]
    owner, option = owner[order], option[order]
    has = place >= 0
    words: list[str | None] = ["; ".join(map(_change_words, changes)) for changes in batch.changes_of()]
    words.append(None)  # at place -1
    table = pd.DataFrame(
        {
            "applicant": batch.applicants.index.take(owner),
            "option": pd.array(option, dtype="Int64"),
            "plan_status": pd.array(batch.status[owner].tolist(), dtype="string"),
            "plan_message": pd.array(batch.message[owner].tolist(), dtype="string"),
            "option_guarantee": _where(has, batch.option_lower, place),
            "option_expected_rate": _where(has, batch.expected_rate, place),
            "any_guarantee": np.where(has, batch.any_lower[owner], np.nan),
            "all_guarantee": np.where(has, batch.lower[owner], np.nan),
            "option_effort": _where(has, batch.effort, place),
            "option_accepted": pd.arrays.BooleanArray(np.append(batch.accepted, False)[place], ~has),
            "option_plausibility": _where(has, batch.plausibility, place),
            "option_changes": pd.array([words[k] for k in place.tolist()], dtype="string"),
        }
    )
    table.loc[~has, "option"] = pd.NA
    rows = batch.options.take(np.maximum(place, 0)) if len(batch.options) else batch.applicants.take(owner)
    rows = rows.reset_index(drop=True)
    return pd.concat([table, *(_nullable(rows[name]).mask(~has) for name in rows.columns)], axis=1)


def _nullable(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the same cells in a dtype that can hold a missing one, so that no whole number becomes a float."""
    return column.astype({"int64": "Int64", "bool": "boolean"}.get(str(column.dtype), column.dtype))


def _where(has: Any, values: Any, place: Any) -> Any:
    """Return values of the options, NaN where there is none."""
    padded = np.append(values, np.nan)
    return np.where(has, padded[place], np.nan)


def _change_words(change: Change) -> str:
    also = f" ({change.range_text})" if change.range_text else ""
    return f"{change.column}: {change.before} -> {change.after}{also}"


def require_free_names(columns: Sequence[Any]) -> None:
    """Raise if a column of the applicants has the name of one of our own."""
    taken = [name for name in columns if name in OWN_COLUMNS]
    if taken:
        raise DataError(
            f"the applicants have the columns {listed(taken)}, which a table of plans needs for itself; rename them, "
            "or write the plans as .json"
        )


@contextmanager
def plans_into(path: Path, *, certificates: bool = False, raw_cells: bool = False) -> Iterator[Writer]:
    """Open a writer of plans by the suffix of a file; the file appears when all is written, or not at all."""
    suffix = path.suffix.lower()
    binary = suffix not in (".csv", ".json")
    with whole_file(path, binary=binary) as file, ExitStack() as stack:
        writer: Writer
        if suffix == ".csv":
            writer = CsvWriter(file, raw_cells=raw_cells)
        elif suffix == ".json":
            writer = DocumentWriter(file, certificates=certificates)
        elif suffix == ".parquet":
            writer = ParquetWriter(file)
            stack.callback(writer.close)  # where something goes wrong, before the file is closed and thrown away
        else:
            writer = PartsWriter(stack.enter_context(zipfile.ZipFile(file, "w")))
        yield writer
        writer.close()
