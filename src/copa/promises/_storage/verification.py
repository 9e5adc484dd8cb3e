"""Checking a ledger: every event against its digest, and everything beside the chain against the events."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from copa._core.arrays import Flags
from copa._core.threads import stop_if_interrupted
from copa._core.words import counted, shown
from copa.exceptions import CopaError, InvalidInputError
from copa.promises._storage.database import Database
from copa.promises._storage.queries import personal_events_of_ended
from copa.promises._storage.tables import (
    PROMISED,
    PURGED,
    event_digest,
    events,
    head,
    identity_of,
    layouts,
    origin,
    personal,
    personal_digest,
    terms,
    terms_digest,
)

BLOCK = 10_000
CHECKPOINT = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")


class Checkpoint(NamedTuple):
    """How far a ledger was: number of events, and digest of the last one."""

    events: int
    digest: str

    @classmethod
    def read(cls, text: Any) -> "Checkpoint":
        """Read a checkpoint that `verify` gave."""
        parts = CHECKPOINT.fullmatch(text.strip()) if isinstance(text, str) else None
        if parts is None:
            raise InvalidInputError(
                f"expect must be a checkpoint that `verify` gave, number of events and digest as 12:9f86d0..., got "
                f"{shown(text)}"
            )
        return cls(int(parts[1]), parts[2])


class Verification(NamedTuple):
    """The result of a check, in the words of `LedgerCheck`."""

    ok: bool
    first_bad: int | None
    events: int
    message: str
    checkpoint: str = ""


class _Fault(Exception):  # noqa: N818 - what is found, not what goes wrong here
    """Something is wrong, from this event on (None: beside the events)."""

    def __init__(self, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


def verify(database: Database, expect: str | None) -> Verification:
    """Check a whole ledger, all of it in one snapshot; see `Ledger.verify`."""
    chain = _Chain(None if expect is None else Checkpoint.read(expect))
    try:
        with database.reading() as connection:
            chain.check(connection)
            if database.is_sqlite:
                _check_file(connection)
    except _Fault as fault:
        return Verification(ok=False, first_bad=fault.seq, events=chain.seq, message=str(fault))
    except CopaError as error:
        return Verification(ok=False, first_bad=chain.seq + 1, events=chain.seq, message=str(error))
    return Verification(ok=True, first_bad=None, events=chain.seq, message="", checkpoint=f"{chain.seq}:{chain.digest}")


class _Chain:
    """Walks along the events, and remembers how far it came."""

    def __init__(self, expected: Checkpoint | None) -> None:
        self._expected = expected
        self._terms: dict[int, str] = {}
        self._used: set[int] = set()
        self._purged: Flags = np.zeros(0, dtype=bool)
        self.seq, self.digest = 0, ""

    def check(self, connection: sa.Connection) -> None:
        """Raise for the first thing that is not as it was written."""
        last = connection.execute(sa.select(head)).one()
        self.digest = origin(last.version, last.ledger, last.created)
        self._compare()
        every = sa.select(terms, layouts.c.content.label("raw")).select_from(layouts.outerjoin(terms))
        self._terms = {  # a layout without terms gives terms of no number, which no event uses
            row.id: terms_digest(
                (row.id, row.layout), row.raw, (row.model_version, row.made, row.valid_until, row.content)
            )
            for row in connection.execute(every)
        }
        self._purged = _read_purged(connection)
        query = (
            sa.select(
                events, personal.c.salt, personal.c.applicant, personal.c.content.label("said"), personal.c.identity
            )
            .select_from(events.outerjoin(personal, personal.c.seq == events.c.seq))
            .order_by(events.c.seq)
        )
        with connection.execution_options(yield_per=BLOCK).execute(query) as result:
            for block in result.partitions():
                stop_if_interrupted()
                for row in block:
                    self._check_event(row)
                    self._compare()
        self._require_end(last.seq, last.digest)
        if set(self._terms) != self._used:
            raise _Fault("there are terms that belong to no event")

    def _check_event(self, row: Any) -> None:
        expected = self.seq + 1
        if row.seq != expected:
            raise _Fault(f"event {expected} is missing: event {row.seq} comes after event {self.seq}", expected)
        columns = (row.seq, row.kind, row.promise, row.at, row.recorded_by, row.content, row.personal)
        shared = None if row.terms is None else self._terms.get(row.terms, "missing")
        digest = event_digest(self.digest, columns, shared)
        if digest != row.digest:
            raise _Fault(f"event {expected} was changed, or the one before it was", expected)
        if row.terms is not None:
            self._used.add(row.terms)
        self._check_person(row, shared)
        self.seq, self.digest = expected, digest

    def _check_person(self, row: Any, shared: str | None) -> None:
        if row.salt is None:
            if row.personal is not None and not self._purged[row.seq]:
                raise _Fault(f"the personal data of event {row.seq} are missing, and were not purged", row.seq)
            return
        if self._purged[row.seq] or row.personal != personal_digest(row.salt, row.applicant, row.said):
            what = "are there again though they were purged" if self._purged[row.seq] else "were changed"
            raise _Fault(f"the personal data of event {row.seq} {what}", row.seq)
        identity = None
        if row.kind == PROMISED and shared is not None:
            identity = identity_of(row.applicant, row.content, row.said, shared)
        if row.identity != identity:
            raise _Fault(f"the identity of event {row.seq} was changed", row.seq)

    def _compare(self) -> None:
        """Compare with the checkpoint, where the walk is just there."""
        if self._expected is not None and self._expected.events == self.seq and self._expected.digest != self.digest:
            raise _Fault(f"the first {counted(self.seq, 'event')} are not those of the checkpoint", self.seq or None)

    def _require_end(self, n_events: int, digest: str) -> None:
        """Raise unless the head and the checkpoint know no later event than the last one."""
        last = self.seq
        if self._expected is not None and self._expected.events > last:
            raise _Fault(f"events {last + 1} to {self._expected.events} of the checkpoint are missing", last + 1)
        if n_events > last:
            raise _Fault(f"events {last + 1} to {n_events} are missing at the end", last + 1)
        if (n_events, digest) != (last, self.digest):
            raise _Fault(f"the head of the ledger is not its last event, {last}", last or None)


def _read_purged(connection: sa.Connection) -> Flags:
    """Return by the number of an event whether a purge deleted its personal data.

    A purge deletes all of the promises that had ended before its day, and of no other: data that are missing of a
    promise that was open then are found, whatever an event says.
    """
    n_events = connection.scalar(sa.select(sa.func.count()).select_from(events)) or 0
    purged = np.zeros(1 + n_events, dtype=bool)
    query = sa.select(events.c.seq, events.c.at, events.c.content).where(events.c.kind == PURGED)
    for row in connection.execute(query.order_by(events.c.seq)).all():
        before = json.loads(row.content)["before"]
        if before > row.at[:10]:
            raise _Fault(f"event {row.seq} is a purge of a day that had not come", row.seq)
        purged[connection.scalars(personal_events_of_ended(before, row.seq)).all()] = True
    return purged


def _check_file(connection: sa.Connection) -> None:
    """Raise for a file of SQLite whose pages, indices or references are damaged."""
    for fault in connection.scalars(sa.text("PRAGMA integrity_check(1)")).all():
        if fault != "ok":
            raise _Fault(f"the file is damaged: {fault}")
    if connection.scalars(sa.text("SELECT 1 FROM pragma_foreign_key_check")).first():
        raise _Fault("the file is damaged: a row refers to another one that is not there")
