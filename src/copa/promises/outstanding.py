"""The promises that bind on a day, a block at a time, and the labels, thresholds and tables that they state."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from copa._core.words import counted, listed, shown
from copa.exceptions import InvalidInputError
from copa.models.decisions import match_label
from copa.plans import PlanBatch
from copa.promises.promised_rows import OPEN, PromisedRows, promised_rows, split_facts

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 50_000  # promises that are tried at once


@dataclass(frozen=True)
class Stated:
    """Facts that promises state about the model that they were made with.

    Attributes
    ----------
    labels : tuple
        Labels that were promised, each once.
    thresholds : tuple of float or None
        Thresholds at which the model accepted, each once; None stands for its own `predict`.
    tables : tuple of tuple of str and tuple of str
        Of a ledger, each model version with the columns of its rows.

    Examples
    --------
    >>> from copa.promises.outstanding import Stated
    >>> Stated(labels=("good",), thresholds=(0.6,)).labels
    ('good',)
    """

    labels: tuple[Any, ...] = ()
    thresholds: tuple[float | None, ...] = ()
    tables: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Outstanding:
    """Promises that bind on a day, read in blocks: made by then, and not ended as far as is known.

    Parameters
    ----------
    promises : Ledger, PlanBatch, DataFrame or PromisedRows
        Anything with `blocks` counts as a ledger.
    as_of : date
        The day.
    model_version : str, optional
        Only promises made with this version of the model; None for all.

    Attributes
    ----------
    n_binding : int
        Promises that bind, of those read so far.
    n_purged : int
        Promises that were passed over so far, because their personal data were purged: there is no row to try.
    unknown_statuses : Counter
        Promises that bind although their status is not "open", by that status: what is unknown binds.

    Examples
    --------
    >>> from datetime import date
    >>> import pandas as pd
    >>> from copa.promises.outstanding import Outstanding
    >>> promised = pd.DataFrame({"income": [30, 42]}, index=["ann", "bob"])
    >>> [len(block) for block in Outstanding(promised, date(2026, 11, 18))]
    [2]
    """

    def __init__(self, promises: Any, as_of: date, model_version: str | None = None) -> None:
        if model_version is not None and not isinstance(model_version, str):
            raise InvalidInputError(f"model_version must be text or None, got {shown(model_version)}")
        self._as_of, self._version = as_of, model_version
        self._read = getattr(promises, "blocks", None)
        self._promises = promises if callable(self._read) else promised_rows(promises)
        self.stated = _stated(promises, as_of, model_version)
        self.n_binding = self.n_purged = self._n_read = 0
        self.unknown_statuses: Counter[str] = Counter()
        self._seen: set[str] = set()

    def __iter__(self) -> Iterator[PromisedRows]:
        for block in self._blocks():
            versions = block.facts["model_version"]
            self._seen |= {str(name) for name in versions.dropna().unique()}
            binds = block.binds(self._as_of)
            if self._version is not None:
                binds = binds & (versions == self._version).to_numpy(dtype=bool)
            nameless = block.facts["applicant"].isna() | (block.facts["applicant"] == "")  # of a file, of a ledger
            listed_ones = nameless & block.facts["status"].notna()  # a table of rows alone has nothing that was purged
            purged = binds & listed_ones.to_numpy(dtype=bool) & block.rows.isna().all(axis=1).to_numpy()
            self.n_purged += int(purged.sum())
            binds = binds & ~purged
            self._note_unknown(block.facts["status"][binds])
            self._n_read += len(block)
            self.n_binding += int(binds.sum())
            yield block if binds.all() else block.select(binds)

    def _note_unknown(self, statuses: "pd.Series[Any]") -> None:
        """Count what is neither open nor ended; rows alone have no status at all."""
        if statuses.notna().any():
            self.unknown_statuses.update(map(str, statuses[~statuses.isin([OPEN])].fillna("")))

    def _blocks(self) -> Iterator[PromisedRows]:
        if callable(self._read):
            for table in self._read(status="open", as_of=self._as_of, size=BLOCK):
                yield PromisedRows(*split_facts(table))
            return
        promised = self._promises
        for first in range(0, len(promised), BLOCK):
            some = slice(first, first + BLOCK)
            yield PromisedRows(promised.facts.iloc[some], promised.rows.iloc[some], promised.favourable)

    def favourable(self, given: Any, current: Any = None) -> Any:
        """Return the label that was promised: stated by promises, given, or wanted by the planner in force; else None.

        Two different labels are an error.
        """
        fitted = getattr(current, "strategy_", None)
        labels = self.stated.labels
        if len(labels) > 1:
            raise InvalidInputError(
                f"some promises are of the label {shown(labels[0])}, others of {shown(labels[1])}; choose some with "
                "model_version="
            )
        claims = [(f"{shown(label)} was promised", label) for label in labels]
        claims += [] if given is None else [(f"favourable={shown(given)}", given)]
        if fitted is not None:
            claims.append((f"the planner in force wants {shown(fitted.model.favourable)}", fitted.model.favourable))
        for claim, label in claims[1:]:
            if match_label(label, [claims[0][1]]) is None:
                raise InvalidInputError(f"{claim}, but {claims[0][0]}")
        return given if given is not None or not claims else claims[0][1]

    def require_columns(self, needed: Sequence[Any], columns: Sequence[Any], who: str) -> None:
        """Raise where a ledger has promises of several tables, and a block of them lacks columns that `who` needs."""
        there = {str(name) for name in columns}
        lacking = [str(name) for name in needed if str(name) not in there]
        if not lacking or len({table for _, table in self.stated.tables}) < 2:
            return
        fitting = [name for name, table in self.stated.tables if {str(column) for column in needed} <= set(table)]
        which = f", such as {shown(fitting[0])}" if fitting else ""
        word = "column" if len(lacking) == 1 else "columns"
        raise InvalidInputError(
            f"{who} needs the {word} {listed(lacking)}, which some promises lack: the ledger holds promises of several "
            f"tables; choose those of one with model_version={which}"
        )

    def require_any(self) -> None:
        """Raise unless a promise that binds was read."""
        if self.n_binding:
            return
        of = "" if self._version is None else f" of model version {shown(self._version)}"
        others = sorted(self._seen - {self._version})
        beside = f"; there are promises of {listed(others)}" if self._version is not None and others else ""
        gone = f", and the rows of {self.n_purged:,} were purged" if self.n_purged else ""
        raise InvalidInputError(
            f"there is no outstanding promise{of} as of {self._as_of.isoformat()}: "
            f"of {counted(self._n_read, 'promise')} none binds then{gone}{beside}"
        )


def _stated(promises: Any, as_of: date, model_version: str | None) -> Stated:
    """Return the facts that a ledger, a batch or rows state."""
    if isinstance(promises, PlanBatch):
        return Stated((promises.basis.favourable,), (promises.basis.threshold,))
    if isinstance(promises, PromisedRows):
        return Stated() if promises.favourable is None else Stated((promises.favourable,))
    of_ledger = getattr(promises, "stated", None)
    return of_ledger(as_of, model_version) if callable(of_ledger) else Stated()
