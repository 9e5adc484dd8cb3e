"""Checking a ledger: every event against its digest, and everything beside the chain against the events."""

import json
import re
import sqlite3
from bisect import bisect_right
from collections.abc import Generator
from contextlib import closing as closed
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from copa._core.threads import stop_if_interrupted
from copa._core.words import counted, shown
from copa.exceptions import CopaError, InvalidInputError
from copa.promises._storage.database import Database
from copa.promises._storage.queries import closing
from copa.promises._storage.tables import (
    IS_CLOSING,
    PROMISED,
    PURGED,
    event_digest,
    events,
    head,
    identity_of,
    layouts,
    metadata,
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
        self.digest = ""
        self._terms: dict[int, str] = {}
        self._used: set[int] = set()
        self._purged = _Purges()
        self.seq = 0

    def check(self, connection: sa.Connection) -> None:
        last = connection.execute(sa.select(head)).one()
        self.digest = origin(last.version, last.ledger, last.created)
        self._compare()
        raw = {row.id: row.content for row in connection.execute(sa.select(layouts))}
        all_terms = connection.execute(sa.select(terms)).all()
        self._terms = {
            row.id: terms_digest(
                (row.id, row.layout), raw[row.layout], (row.model_version, row.made, row.valid_until, row.content)
            )
            for row in all_terms
        }
        purges = sa.select(events.c.seq, events.c.at, events.c.content).where(events.c.kind == PURGED)
        self._purged = _Purges(connection.execute(purges).all())
        with closed(_rows(connection)) as rows:
            for row in rows:
                self._check_event(row)
                self._compare()
        self._require_end(last)
        if set(self._terms) != self._used or {row.layout for row in all_terms} != set(raw):
            raise _Fault("there are terms that belong to no event")
        alone = (
            sa.select(personal.c.seq)
            .outerjoin(events, events.c.seq == personal.c.seq)
            .where(events.c.personal.is_(None))
        )
        for seq in connection.scalars(alone.limit(1)):
            raise _Fault(f"there are personal data of event {seq}, which has none", seq)
        self._purged.require_ended(connection)

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
        gone = self._purged.find(row.seq) is not None
        if row.salt is None:
            if row.personal is not None and not gone:
                raise _Fault(f"the personal data of event {row.seq} are missing, and were not purged", row.seq)
            return
        if gone or row.personal != personal_digest(row.salt, row.applicant, row.said):
            what = "are there again though they were purged" if gone else "were changed"
            raise _Fault(f"the personal data of event {row.seq} {what}", row.seq)
        identity = None
        if row.kind == PROMISED and shared is not None:
            identity = identity_of(row.applicant, row.content, row.said, shared)
        if row.identity != identity:
            raise _Fault(f"the identity of event {row.seq} was changed", row.seq)

    def _compare(self) -> None:
        """Compare with what is expected, where the walk is just there."""
        if self._expected is not None and self._expected.events == self.seq and self._expected.digest != self.digest:
            raise _Fault(f"the first {counted(self.seq, 'event')} are not those of the checkpoint", self.seq or None)

    def _require_end(self, head_row: Any) -> None:
        last = self.seq
        if self._expected is not None and self._expected.events > last:
            raise _Fault(f"events {last + 1} to {self._expected.events} of the checkpoint are missing", last + 1)
        if head_row.seq > last:
            raise _Fault(f"events {last + 1} to {head_row.seq} are missing at the end", last + 1)
        if (head_row.seq, head_row.digest) != (last, self.digest):
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
        for block in result.partitions():
            stop_if_interrupted()
            yield from block


class _Purge(NamedTuple):
    """A run of events whose personal data were purged, and the event that says so."""

    first: int
    last: int
    seq: int
    before: str


class _Purges:
    """The events whose personal data were purged."""

    def __init__(self, rows: Any = ()) -> None:
        self._runs: list[_Purge] = []
        for row in rows:
            content = json.loads(row.content)
            if content["before"] > row.at[:10]:
                raise _Fault(f"event {row.seq} is a purge of a day that had not come", row.seq)
            self._runs += [_Purge(first, last, row.seq, content["before"]) for first, last in content["events"]]
        self._runs.sort()
        self._first = [run.first for run in self._runs]

    def find(self, seq: int) -> _Purge | None:
        """The purge of an event's personal data; None where they were not purged."""
        k = bisect_right(self._first, seq)
        return self._runs[k - 1] if k > 0 and seq <= self._runs[k - 1].last else None

    def require_ended(self, connection: sa.Connection) -> None:
        """Raise for a purge of a promise that had not ended before the purge's day: `Ledger.purge` makes none."""
        gone = events.alias("gone")
        query = (
            sa.select(gone.c.seq, gone.c.promise, terms.c.valid_until, closing.c.seq.label("closed"), closing.c.at)
            .select_from(
                gone.outerjoin(personal, personal.c.seq == gone.c.seq)
                .join(events, sa.and_(events.c.promise == gone.c.promise, events.c.kind == PROMISED))
                .join(terms, terms.c.id == events.c.terms)
                .outerjoin(closing, sa.and_(closing.c.promise == gone.c.promise, IS_CLOSING))
            )
            .where(gone.c.personal.is_not(None), personal.c.seq.is_(None))
        )
        with connection.execution_options(yield_per=BLOCK).execute(query) as result:
            for row in result:
                purge = self.find(row.seq)
                if purge is None:
                    continue  # the walk has said so
                closed_before = row.closed is not None and row.closed < purge.seq and row.at < purge.before
                if row.seq > purge.seq or not (closed_before or row.valid_until < purge.before):
                    raise _Fault(f"event {purge.seq} purged promise {row.promise}, which had not ended", purge.seq)


def _check_file(connection: sa.Connection) -> None:
    """Raise for what is wrong with a file of SQLite: its pages and indices, its schema."""
    for fault in connection.scalars(sa.text("PRAGMA integrity_check(1)")).all():
        if fault != "ok":
            raise _Fault(f"the file is damaged: {fault}")
    if connection.scalars(sa.text("SELECT 1 FROM pragma_foreign_key_check")).first():
        raise _Fault("the file is damaged: a row refers to another one that is not there")
    if _schema(connection) != _expected_schema():
        raise _Fault("tables or indices are not those of a ledger")


def _schema(connection: sa.Connection) -> frozenset[tuple[Any, ...]]:
    return frozenset(
        tuple(row) for row in connection.execute(sa.text("SELECT type, name, tbl_name, sql FROM sqlite_master"))
    )


@lru_cache(maxsize=1)
def _expected_schema() -> frozenset[tuple[Any, ...]]:
    """The schema of a new ledger."""
    engine = sa.create_engine("sqlite://", creator=lambda: sqlite3.connect(":memory:"))
    try:
        with engine.begin() as connection:
            metadata.create_all(connection)
            return _schema(connection)
    finally:
        engine.dispose()
