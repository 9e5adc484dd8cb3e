"""`Ledger`: the promises that were made to people, in a database that only grows and shows what was done to it."""

import getpass
from collections.abc import Iterator, Sequence
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from copa._core.reading import read_count, read_word
from copa.exceptions import MissingPackageError
from copa.plans import PlanBatch
from copa.promises.promised_rows import read_day
from copa.promises.record import NewPromise, Terms, promises_of, read_text, terms_of
from copa.tables.packing import unpack_entry

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from copa.promises._storage.chain import Writer
    from copa.promises._storage.database import Database

BLOCK = 50_000
PACKAGES = "pip install 'copa-recourse[ledger]'"
LOOKED_UP = 500  # promises that are looked up at a time


class Ledger:
    """Promises that were made to people, and what became of them.

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
    >>> with Ledger.open(f"sqlite:///{folder.name}/promises.db") as ledger:
    ...     ids = ledger.record(batch, model_version="2026-11", valid_for="12 months", made="2026-11-18")
    ...     again = ledger.record(batch, model_version="2026-11", valid_for="12 months", made="2026-11-18")
    ...     promises = ledger.promises(as_of="2026-12-31")
    >>> len(ids), again == ids, len(promises)
    (5, True, 5)
    >>> promises["valid_until"].astype(str).unique().tolist()
    ['2027-11-18']
    >>> folder.cleanup()
    """

    def __init__(self, database: "Database") -> None:
        self._database = database

    @classmethod
    def open(cls, url: "str | Path", *, create: bool = True, upgrade: bool = False) -> Self:
        """Open a ledger.

        Parameters
        ----------
        url : str or Path
            A URL of PostgreSQL, such as "postgresql://user:password@host/name", of SQLite, such as
            "sqlite:///promises.db", or the path of an SQLite file.
        create : bool
            Make a new ledger where there is none.
        upgrade : bool
            Bring a ledger of an older version to this one; without, it is refused.

        Raises
        ------
        InvalidInputError
            If the URL cannot be read, or there is no ledger and none is to be made.
        DataError
            If the database cannot be reached, is none of a ledger, is damaged, or is of a newer version.
        MissingPackageError
            If the packages are not installed: `pip install 'copa-recourse[ledger]'`.
        """
        try:
            from copa.promises._storage.database import Database
        except ImportError as error:
            raise MissingPackageError(f"a ledger needs {error.name}, which is not installed: {PACKAGES}") from error
        return cls(Database(url, create=create, upgrade=upgrade))  # type: ignore[arg-type]  # reads paths too

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

    @property
    def favourable(self) -> Any:
        """The label that was promised; None where there are no promises, or of models with different labels."""
        from copa.promises._storage.listing import read_terms

        with self._database.reading() as connection:
            labels = [unpack_entry(terms["favourable"]) for terms in read_terms(connection).values()]
        return labels[0] if labels and all(label == labels[0] for label in labels) else None

    def record(
        self,
        batch: PlanBatch,
        *,
        model_version: str,
        valid_for: Any,
        made: Any = None,
        model: Any = None,
        options: Any = None,
        may_differ: Sequence[str] = (),
        recorded_by: str | None = None,
    ) -> list[str]:
        """Record options as promises, all of them or none.

        Options of plans with the status "ok" or "fragile" can be promised, those that today's model accepts. What is
        recorded already, with the same dates, is not recorded again.

        Parameters
        ----------
        batch : PlanBatch
            Plans that were handed out.
        model_version : str
            What you call the model.
        valid_for : str, timedelta or date
            How long the promises are valid, such as "12 months", or their last day.
        made : date or str, optional
            Day on which they were made; default: today, in UTC. Give it where recording may be repeated on another
            day: a promise of another day is another promise.
        model : object, optional
            The model or the planner, for its fingerprint; without, the fingerprint is that of what the plans know of
            the model.
        options : int, sequence of int or Mapping, optional
            Numbers of the options to promise, for all applicants, or by applicant; default: all.
        may_differ : sequence of str
            Columns in which a person's row may later differ from the promised one, such as an age.
        recorded_by : str, optional
            Who records them; default: the user of this process.

        Returns
        -------
        list of str
            Ids of the promises, in the order of the options.
        """
        terms = terms_of(
            batch, model_version=model_version, valid_for=valid_for, made=made, model=model, may_differ=may_differ
        )
        new = list(promises_of(batch, options))
        with self._writing(recorded_by) as writer:
            return _append_promises(writer, terms, new)

    def _writing(self, recorded_by: str | None) -> Any:
        from copa.promises._storage.chain import appending

        by = read_text(current_user() if recorded_by is None else recorded_by, "recorded_by")
        return appending(self._database, by)

    def promises(self, status: str = "open", as_of: Any = None) -> "pd.DataFrame":
        """The promises of a status, one row each: facts of the promise, then the promised row.

        Parameters
        ----------
        status : {"open", "kept", "broken", "expired", "waived", "superseded", "all"}
            Which ones. A promise that is open after its last day counts as expired.
        as_of : date or str, optional
            The day on which to ask what is expired; default: today, in UTC.

        Returns
        -------
        DataFrame
            The index "promise" holds their ids. Where personal data were purged the applicant is "" and the row is
            missing.
        """
        import pandas as pd

        from copa.promises.promised_rows import join_facts

        blocks = list(self.blocks(status, as_of))
        if not blocks:
            return join_facts(pd.DataFrame(index=pd.Index([], dtype=object)), pd.DataFrame())
        return blocks[0] if len(blocks) == 1 else pd.concat(blocks)

    def blocks(self, status: str = "open", as_of: Any = None, size: int = BLOCK) -> "Iterator[pd.DataFrame]":
        """Yield what `promises` returns in parts, so that millions fit in memory.

        Parameters
        ----------
        status, as_of
            See `promises`.
        size : int
            Most promises of a part. Rows of different columns or dtypes come in parts of their own.

        Yields
        ------
        DataFrame
        """
        from copa.promises._storage.listing import read_blocks
        from copa.promises._storage.tables import ALL, STATUSES

        word = read_word(status, (*STATUSES, ALL), "status")
        day, most = read_day(as_of), read_count(size, "size")
        return self._blocks(word, day, most, read_blocks)

    def _blocks(self, status: str, day: date, size: int, read: Any) -> "Iterator[pd.DataFrame]":
        with self._database.reading() as connection:
            yield from read(connection, status, day, size)


def current_user() -> str:
    """Name of the user of this process, as far as the system knows it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _append_promises(writer: "Writer", terms: Terms, new: list[NewPromise]) -> list[str]:
    """Append those that are not there, and return the ids of all."""
    from copa.promises._storage.chain import NewEvent, new_ids
    from copa.promises._storage.digests import canonical, identity_of
    from copa.promises._storage.tables import PROMISED

    if not new:
        return []
    number = writer.add_terms(terms.layout, terms.columns)
    digest = writer.digest_of_terms(number)
    identities = [identity_of(one.applicant, canonical(one.content), canonical(one.personal), digest) for one in new]
    known = writer.known_promises(identities)
    events = []
    for one, own, fresh in zip(new, identities, new_ids(len(new)), strict=True):
        if own not in known:
            known[own] = fresh
            events.append(NewEvent(PROMISED, fresh, one.content, number, one.applicant, one.personal, own))
    writer.append(events)
    return [known[own] for own in identities]
