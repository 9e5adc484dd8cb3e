"""`Ledger`: the promises that were made to people, in a database that only grows and shows what was done to it."""

import getpass
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from copa._core.reading import read_count, read_word
from copa._core.words import counted
from copa.exceptions import FragilePlanWarning, InvalidInputError, MissingPackageError
from copa.plans import PlanBatch
from copa.promises.days import read_day, read_past_day
from copa.promises.deciding_model import model_and_threshold
from copa.promises.outstanding import Stated
from copa.promises.promised_rows import concat_facts
from copa.promises.record import n_fragile, promises_of, read_columns, read_text, terms_of
from copa.promises.redeem import (
    DECISIONS,
    Redemption,
    choose,
    judged,
    model_fingerprint,
    read_decision,
    read_reference,
    read_row,
)

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from copa.promises._storage.database import Database

PACKAGES = "pip install 'copa-recourse[ledger]'"
BLOCK = 50_000  # promises that are read at a time


@dataclass(frozen=True)
class LedgerCheck:
    """The result of `Ledger.verify`.

    Parameters
    ----------
    ok : bool
        True if every event is as it was recorded.
    first_bad : int or None
        Number of the first event that was changed, removed or put elsewhere; None where no event is.
    events : int
        Events that were checked.
    message : str
        What is wrong, in words; "" if nothing is.
    checkpoint : str
        Number of events and digest of the last one, for `verify(expect=...)` later; "" if something is wrong.

    Examples
    --------
    >>> from copa.promises import LedgerCheck
    >>> LedgerCheck(ok=False, first_bad=17, events=16, message="event 17 was changed").first_bad
    17
    """

    ok: bool
    first_bad: int | None
    events: int
    message: str = ""
    checkpoint: str = ""

    def __bool__(self) -> bool:
        return self.ok


class Ledger:
    """Promises that were made to people, and how they ended.

    A ledger holds events and never changes one: an option was promised, a person came back, the promise was kept or
    broken. Each event has the digest of the one before it, so that `verify` finds what was changed, removed or put in
    another order.

    Parameters
    ----------
    database : Database
        Use `Ledger.open`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.promises import Ledger
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, n_options=2, random_state=0, progress=False).fit(X, y)
    >>> batch = planner.plan(X[~model.predict(X)].head(3))
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger.open(f"sqlite:///{folder.name}/promises.db", create=True) as ledger:
    ...     ids = ledger.record(batch, model_version="2026-11", valid_for="12 months", made="2026-11-18")
    ...     again = ledger.record(batch, model_version="2026-11", valid_for="12 months", made="2026-11-18")
    ...     promises = ledger.promises(as_of="2026-12-31")
    >>> len(ids), again == ids, len(promises)
    (4, True, 4)
    >>> promises["promise_valid_until"].astype(str).unique().tolist()
    ['2027-11-18']
    >>> folder.cleanup()
    """

    def __init__(self, database: "Database") -> None:
        self._database = database

    @classmethod
    def open(cls, url: "str | Path", *, create: bool = False) -> Self:
        """Open a ledger.

        Parameters
        ----------
        url : str or Path
            A URL of PostgreSQL, such as "postgresql://user:password@host/name", of SQLite, such as
            "sqlite:///promises.db", or the path of an SQLite file.
        create : bool
            Make a new ledger where there is none. By default a mistyped URL is an error.

        Raises
        ------
        InvalidInputError
            If the URL cannot be read, or there is no ledger and none is to be made.
        DataError
            If the database cannot be reached, holds something else, is damaged, or is of another version.
        MissingPackageError
            If the packages are not installed: `pip install 'copa-recourse[ledger]'`.
        """
        try:
            from copa.promises._storage.database import Database
        except ImportError as error:
            raise MissingPackageError(f"a ledger needs {error.name}, which is not installed: {PACKAGES}") from error
        return cls(Database(url, create=create))  # type: ignore[arg-type]  # reads paths too

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._database.name!r})"

    def record(  # noqa: PLR0913 - what is promised and how, all but the batch by keyword
        self,
        batch: PlanBatch,
        *,
        model_version: str,
        valid_for: Any,
        made: Any = None,
        model: Any = None,
        options: Any = None,
        include_fragile: bool = False,
        may_differ: Sequence[str] = (),
        recorded_by: str | None = None,
    ) -> list[str]:
        """Record options as promises, all of them or none.

        An option can be promised if its plan has the status "ok" and today's model accepts it. A promise that is there
        already, with the same dates, is not recorded again. Options of fragile plans do not reach the guarantee that
        was asked for: they are left out, with a `FragilePlanWarning` that says how many.

        Parameters
        ----------
        batch : PlanBatch
            Plans that were handed out.
        model_version : str
            Your name for the model.
        valid_for : str, timedelta or date
            Span for which the promises are valid, such as "12 months", or their last day.
        made : date or str, optional
            Day on which they were made; default: today, in UTC. Give it where recording may be repeated on another
            day: a promise of another day is another promise.
        model : object, optional
            The model or the planner, for its fingerprint; without it, the fingerprint is that of the facts that the
            plans rest on.
        options : int, sequence of int or Mapping, optional
            Numbers of the options to promise, for all applicants, or by applicant; default: all.
        include_fragile : bool
            Promise options of fragile plans too.
        may_differ : sequence of str
            Columns in which a person's row may later differ from the promised one, such as an age.
        recorded_by : str, optional
            Name of the person who records them; default: the user of this process.

        Returns
        -------
        list of str
            Ids of the promises, in the order of the options.
        """
        from copa.promises._storage.chain import append_promises

        terms = terms_of(
            batch, model_version=model_version, valid_for=valid_for, made=made, model=model, may_differ=may_differ
        )
        new = list(promises_of(batch, options, include_fragile=include_fragile))
        left_out = 0 if include_fragile else n_fragile(batch, options)
        if left_out:
            warnings.warn(
                f"{counted(left_out, 'option')} of fragile plans left out; include_fragile=True records them too",
                FragilePlanWarning,
                stacklevel=2,
            )
        with self._writing(recorded_by) as writer:
            return append_promises(writer, terms, new)

    def _writing(self, recorded_by: str | None) -> Any:
        from copa.promises._storage.chain import appending

        return appending(self._database, _recorder(recorded_by))

    def redeem(  # noqa: PLR0913 - how a return is judged, all but the first three by keyword
        self,
        promise_id: str,
        row: Any,
        model: Any,
        *,
        decision: str | None = None,
        reason: str = "",
        may_differ: Sequence[str] = (),
        threshold: float | None = None,
        as_of: Any = None,
        recorded_by: str | None = None,
    ) -> Redemption:
        """Judge and record the return of a person: whether the row fulfils the promise, and the model's answer.

        A row that does not fulfil the promise leaves it open. One that does ends it: kept if the model accepts the row,
        broken if not.

        Parameters
        ----------
        promise_id : str
            Id of the promise; or the applicant, for the open promise to this person that the row fulfils.
        row : DataFrame of one row, Series or Mapping
            The person as of today, in the columns of the promised row.
        model : object
            Today's model, which decides by its own `predict`; or a planner, whose model accepts at its threshold.
        decision : {"honour", "refuse"}, optional
            Decision if the promise is broken; `decide` can record it later.
        reason : str
            Reason of the decision; a refusal needs one.
        may_differ : sequence of str
            Columns that may differ from the promised row, beside those named when it was recorded.
        threshold : float, optional
            Probability of the promised label from which on the model accepts. A model alone needs it where the promise
            was made at a threshold.
        as_of : date or str, optional
            Day of the return, not later than today; default: today, in UTC.
        recorded_by : str, optional
            Name of the person who records it; default: the user of this process.

        Returns
        -------
        Redemption

        Raises
        ------
        InvalidInputError
            If there is no such promise, it is not open or not valid on that day, the row has other columns, or the
            model cannot be asked; nothing is recorded then.
        """
        from copa.promises._storage.chain import append_redemption
        from copa.promises._storage.queries import find_promises

        decision, reason = read_decision(decision, reason)
        reference, day = read_reference(promise_id), read_past_day(as_of)
        with self._database.reading() as connection:
            candidates = find_promises(connection, reference, day)
        promise = choose(candidates, reference, row, model, may_differ)
        person = read_row(row, promise.layout, model)
        redemption = judged(promise, person, model, threshold, may_differ, decision)
        judged_by = {
            "as_of": day.isoformat(),
            "may_differ": read_columns(may_differ, promise.layout.columns, "may_differ"),
            "model_fingerprint": model_fingerprint(model),
            "threshold": model_and_threshold(model, threshold)[1],
        }
        with self._writing(recorded_by) as writer:
            append_redemption(writer, redemption, promise, person, judged_by, reason)
        return redemption

    def decide(self, promise_id: str, decision: str, reason: str = "", *, recorded_by: str | None = None) -> None:
        """Record the decision on a broken promise.

        Parameters
        ----------
        promise_id : str
            Id of the promise.
        decision : {"honour", "refuse"}
            Whether it is honoured although the model does not accept the person.
        reason : str
            Reason of the decision; a refusal needs one.
        recorded_by : str, optional
            Name of the person who records it; default: the user of this process.
        """
        from copa.promises._storage.chain import decide

        word, why = read_decision(read_word(decision, DECISIONS, "decision"), reason)
        with self._writing(recorded_by) as writer:
            decide(writer, read_reference(promise_id), str(word), why)

    def waive(self, promise_id: str, reason: str = "", *, recorded_by: str | None = None) -> None:
        """End a promise that binds no more, because the person gave it up or another one takes its place.

        Parameters
        ----------
        promise_id : str
            Id of the promise.
        reason : str
            Why.
        recorded_by : str, optional
            Name of the person who records it; default: the user of this process.
        """
        from copa.promises._storage.chain import waive

        _, why = read_decision(None, reason)
        with self._writing(recorded_by) as writer:
            waive(writer, read_reference(promise_id), why)

    @property
    def favourable(self) -> Any:
        """The label that the promises open today are about; None where there are none, or several labels."""
        labels = self.stated().labels
        return labels[0] if len(labels) == 1 else None

    def promises(self, status: str = "open", as_of: Any = None, *, model_version: str | None = None) -> "pd.DataFrame":
        """Return the promises of a status, one row each: facts of the promise, then the promised row.

        Parameters
        ----------
        status : {"open", "kept", "broken", "expired", "waived", "all"}
            Status of the promises to return, of those made by the day `as_of`. An open promise expires after its last
            day.
        as_of : date or str, optional
            Day of the status; default: today, in UTC.
        model_version : str, optional
            Only promises that were made with this model, by the name it has in `record`; default: all.

        Returns
        -------
        DataFrame
            The index "promise" holds their ids; names of facts begin with "promise_". Where personal data were purged
            the applicant is "" and the row is missing. A ledger of several tables gives one of all their columns, with
            missing cells.
        """
        return concat_facts(self.blocks(status, as_of, model_version=model_version))

    def stated(self, as_of: Any = None, model_version: str | None = None) -> Stated:
        """Return the labels, thresholds and tables that the open promises state.

        Parameters
        ----------
        as_of, model_version : object
            See `promises`.

        Returns
        -------
        Stated
        """
        from copa.promises._storage.queries import read_stated

        day = read_day(as_of)
        with self._database.reading() as connection:
            return read_stated(connection, day, model_version)

    def counts(self, as_of: Any = None) -> dict[str, int]:
        """Count the promises of each status, without reading them.

        Parameters
        ----------
        as_of : date or str, optional
            Day of the status; default: today, in UTC. Promises of a later day are not counted.

        Returns
        -------
        dict of str to int
            From each status to the number of its promises.
        """
        from copa.promises._storage.queries import read_counts

        day = read_day(as_of)
        with self._database.reading() as connection:
            return read_counts(connection, day)

    def blocks(
        self,
        status: str = "open",
        as_of: Any = None,
        size: int = BLOCK,
        applicant: str | None = None,
        *,
        model_version: str | None = None,
    ) -> Iterator["pd.DataFrame"]:
        """Yield the table of `promises` in parts, so that millions fit in memory.

        Parameters
        ----------
        status, as_of, model_version
            See `promises`.
        size : int
            Promises in a part at most. Rows of different columns or dtypes come in parts of their own.
        applicant : str, optional
            Only promises to this person; default: to anyone.

        Yields
        ------
        DataFrame
        """
        from copa.promises._storage.queries import read_blocks
        from copa.promises._storage.tables import ALL, STATUSES

        word = read_word(status, (*STATUSES, ALL), "status")
        day, most = read_day(as_of), read_count(size, "size")
        person = None if applicant is None else read_text(applicant, "applicant")
        version = None if model_version is None else read_text(model_version, "model_version")

        def read() -> Iterator["pd.DataFrame"]:
            with self._database.reading() as connection:
                yield from read_blocks(connection, word, day, most, person, version)

        return read()

    def verify(self, expect: str | None = None) -> LedgerCheck:
        """Find any event that was changed, removed or reordered, and any change beside the events.

        The ledger is read in one snapshot, while others may write.

        Parameters
        ----------
        expect : str, optional
            The `checkpoint` of an earlier check, kept elsewhere. Only a checkpoint reveals that the last events were
            removed together with their trace in the head, or that the whole ledger was written anew.

        Returns
        -------
        LedgerCheck
        """
        from copa.promises._storage.chain import verify

        return LedgerCheck(**verify(self._database, expect))

    def purge(self, before: Any, *, recorded_by: str | None = None) -> int:
        """Delete the personal data of promises that ended before a day; their events and digests stay.

        It deletes applicants, rows and reasons, with the salts of their digests, and records the purge as an event.
        Copies and backups of the database are not reached.

        Parameters
        ----------
        before : date or str
            Promises that ended before this day, by an event or by their last day; not later than today, so that none
            of them is open.
        recorded_by : str, optional
            Name of the person who records it; default: the user of this process.

        Returns
        -------
        int
            Number of promises.
        """
        from copa.promises._storage.chain import purge

        if before is None:
            raise InvalidInputError("before must be a date, such as 2026-11-18, got None")
        return purge(self._database, read_past_day(before, "before"), _recorder(recorded_by))


def _recorder(given: str | None) -> str:
    """Return who records: the name given, or that of the user of this process as far as the system knows it."""
    if given is not None:
        return read_text(given, "recorded_by")
    try:
        return read_text(getpass.getuser(), "recorded_by")
    except (KeyError, OSError):
        return "unknown"
