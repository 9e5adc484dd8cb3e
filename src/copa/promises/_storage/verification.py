"""Checking a ledger: every event against its digest, and everything beside the chain against the events."""

import json
from bisect import bisect_right
from collections.abc import Generator
from contextlib import closing
from typing import Any

import sqlalchemy as sa

from copa._core.words import counted
from copa.exceptions import CopaError
from copa.promises._storage.checkpoint import Checkpoint
from copa.promises._storage.database import Database
from copa.promises._storage.digests import event_digest, identity_of, origin, personal_digest, terms_digest
from copa.promises._storage.sqlite_file import file_digest, file_faults
from copa.promises._storage.tables import PROMISED, PURGED, events, head, layouts, personal, terms
from copa.promises.ledger_check import LedgerCheck

BLOCK = 10_000


class _Fault(Exception):  # noqa: N818 - what is found, not what goes wrong here
    """Something is wrong, from this event on (None: beside the events)."""

    def __init__(self, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


def verify(database: Database, checkpoint: Checkpoint | None) -> LedgerCheck:
    """Check a whole ledger; see `Ledger.verify`."""
    chain = _Chain(checkpoint)
    try:
        with database.reading() as connection:
            chain.check(connection)
            faults = list(file_faults(database, connection)) if database.is_sqlite else []
            faults += _byte_faults(database, checkpoint, chain.seq)
        if faults:
            return LedgerCheck(ok=False, first_bad=None, events=chain.seq, message=faults[0])
    except _Fault as fault:
        return LedgerCheck(ok=False, first_bad=fault.seq, events=chain.seq, message=str(fault))
    except CopaError as error:
        return LedgerCheck(ok=False, first_bad=chain.seq + 1, events=chain.seq, message=str(error))
    return LedgerCheck(ok=True, first_bad=None, events=chain.seq)


def _byte_faults(database: Database, checkpoint: Checkpoint | None, n_events: int) -> list[str]:
    """Compare an SQLite file to which no event was added since the checkpoint with what it was then, byte by byte.

    This finds what no query can see: changes in unused places of the file.
    """
    if database.file is None or checkpoint is None or checkpoint.file is None or checkpoint.events != n_events:
        return []
    digest = file_digest(database.file)
    if digest in (None, checkpoint.file):
        return []
    return ["the file is not, byte by byte, the one of the checkpoint, although no event was added"]


class _Chain:
    """Walks along the events, and remembers how far it came."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self._checkpoint = checkpoint
        self._digest = ""
        self._terms: dict[int, str] = {}
        self._used: set[int] = set()
        self._purged = _Ranges()
        self.seq = 0

    def check(self, connection: sa.Connection) -> None:
        own = connection.execute(sa.select(head)).one()
        self._digest = origin(own.ledger, own.created)
        self._compare(own.ledger)
        raw = {row.id: row.content for row in connection.execute(sa.select(layouts))}
        known = connection.execute(sa.select(terms)).all()
        self._terms = {
            row.id: terms_digest(raw[row.layout], (row.model_version, row.made, row.valid_until, row.content))
            for row in known
        }
        self._purged = _Ranges(connection.scalars(sa.select(events.c.content).where(events.c.kind == PURGED)).all())
        with closing(_rows(connection)) as rows:
            for row in rows:
                self._check_event(row)
                self._compare(own.ledger)
        self._require_end(own)
        if set(self._terms) != self._used or {row.layout for row in known} != set(raw):
            raise _Fault("there are terms that belong to no event")
        alone = (
            sa.select(personal.c.seq)
            .outerjoin(events, events.c.seq == personal.c.seq)
            .where(events.c.personal.is_(None))
        )
        for seq in connection.scalars(alone.limit(1)):
            raise _Fault(f"there are personal data of event {seq}, which has none", seq)

    def _check_event(self, row: Any) -> None:
        expected = self.seq + 1
        if row.seq != expected:
            raise _Fault(f"event {expected} is missing: event {row.seq} comes after event {self.seq}", expected)
        columns = (row.seq, row.kind, row.promise, row.at, row.recorded_by, row.content, row.personal)
        own = None if row.terms is None else self._terms.get(row.terms, "missing")
        digest = event_digest(self._digest, columns, own)
        if digest != row.digest:
            raise _Fault(f"event {expected} was changed, or the one before it was", expected)
        if row.terms is not None:
            self._used.add(row.terms)
        self._check_person(row, own)
        self.seq, self._digest = expected, digest

    def _check_person(self, row: Any, own: str | None) -> None:
        gone = row.seq in self._purged
        if row.salt is None:
            if row.personal is not None and not gone:
                raise _Fault(f"the personal data of event {row.seq} are missing, and were not purged", row.seq)
            return
        if gone or row.personal != personal_digest(row.salt, row.applicant, row.said):
            what = "are there again though they were purged" if gone else "were changed"
            raise _Fault(f"the personal data of event {row.seq} {what}", row.seq)
        same = None
        if row.kind == PROMISED and own is not None:
            same = identity_of(row.applicant, row.content, row.said, own)
        if row.identity != same:
            raise _Fault(f"the identity of event {row.seq} was changed", row.seq)

    def _compare(self, ledger: str) -> None:
        """Compare with the checkpoint, where the walk is just there."""
        known = self._checkpoint
        if known is None or known.events != self.seq:
            return
        if known.ledger != ledger or known.digest != self._digest:
            raise _Fault(f"the first {counted(self.seq, 'event')} are not those of the checkpoint", self.seq or None)

    def _require_end(self, own: Any) -> None:
        last = self.seq
        if self._checkpoint is not None and self._checkpoint.events > last:
            said = self._checkpoint.events
            raise _Fault(f"events {last + 1} to {said} are missing, which the checkpoint counts", last + 1)
        if own.seq > last:
            raise _Fault(f"events {last + 1} to {own.seq} are missing at the end", last + 1)
        if (own.seq, own.digest) != (last, self._digest):
            raise _Fault(f"the head of the ledger is not its last event, {last}", last or None)


def _rows(connection: sa.Connection) -> Generator[Any]:
    query = (
        sa.select(
            events,
            personal.c.salt,
            personal.c.applicant,
            personal.c.content.label("said"),
            personal.c.identity,
        )
        .select_from(events.outerjoin(personal, personal.c.seq == events.c.seq))
        .order_by(events.c.seq)
    )
    with connection.execution_options(yield_per=BLOCK).execute(query) as result:
        yield from result


class _Ranges:
    """Numbers of events whose personal data were purged."""

    def __init__(self, contents: Any = ()) -> None:
        ranges = sorted(tuple(part) for content in contents for part in json.loads(content)["events"])
        self._first, self._last = [first for first, _ in ranges], [last for _, last in ranges]

    def __contains__(self, seq: int) -> bool:
        k = bisect_right(self._first, seq)
        return k > 0 and seq <= self._last[k - 1]
