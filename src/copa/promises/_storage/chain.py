"""The chain of events: appended in one transaction that all writers wait for, checked from the first event to the last.

Only a purge deletes anything: personal data, and never an event.
"""

import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from copa._core.arrays import Flags
from copa._core.threads import stop_if_interrupted
from copa._core.words import counted, shown
from copa.exceptions import CopaError, InvalidInputError
from copa.promises import days
from copa.promises._storage.database import Database
from copa.promises._storage.layouts import pack_cells
from copa.promises._storage.queries import personal_events_of_ended, promises_query
from copa.promises._storage.tables import (
    BROKEN,
    DECIDED,
    PROMISED,
    PURGED,
    REDEEMED,
    WAIVED,
    canonical,
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
from copa.promises.record import NewPromise, Terms
from copa.promises.redeem import Promise, Redemption

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 5_000  # events that are inserted at a time
SALT_BYTES = 16
LOOKED_UP = 500  # identities that one query names
BLOCK = 10_000  # events that are checked at a time
CHECKPOINT = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")


def new_ids(n: int) -> list[str]:
    """Return ids of promises: the time, so that an index grows at its end, and 64 random bits that say nothing."""
    now = f"{int(time.time() * 1000):012x}"
    raw = os.urandom(8 * n).hex()
    return [now + raw[16 * k : 16 * k + 16] for k in range(n)]


@dataclass(frozen=True)
class NewEvent:
    """An event to append."""

    kind: str
    promise: str  # its id; "" for an event of the whole ledger
    content: Mapping[str, Any] = field(default_factory=dict)  # which says nothing of a person
    terms: int | None = None  # their number
    applicant: str = ""
    personal: Mapping[str, Any] | None = None
    identity: str | None = None  # digest by which the same promise is found again


class Writer:
    """Appends events on a connection that is in a transaction for writing, with the head of the chain locked."""

    def __init__(self, connection: sa.Connection, recorded_by: str) -> None:
        self.connection = connection
        self._recorded_by = recorded_by
        self._at = days.now().isoformat(timespec="microseconds")
        # On PostgreSQL the next writer waits here; on SQLite it waits for the transaction.
        self._ledger, self.seq, self._digest = connection.execute(
            sa.select(head.c.ledger, head.c.seq, head.c.digest).with_for_update()
        ).one()
        self._terms: dict[int, str] = {}

    def add_terms(self, shared: Terms) -> tuple[int, str]:
        """Return the number of these terms, which are stored if they are not yet there, and their digest."""
        place = self._number(layouts, {"content": shared.layout})
        names = ("model_version", "made", "valid_until", "content")
        columns = (
            shared.model_version,
            shared.made.isoformat(),
            shared.valid_until.isoformat(),
            canonical(shared.content),
        )
        number = self._number(terms, {"layout": place, **dict(zip(names, columns, strict=True))})
        self._terms[number] = terms_digest((number, place), shared.layout, columns)
        return number, self._terms[number]

    def _number(self, table: sa.Table, cells: dict[str, Any]) -> int:
        """Return the id of the row with these cells, which is inserted if it is not there."""
        number = self.connection.scalar(sa.select(table.c.id).filter_by(**cells))
        if number is None:
            number = 1 + (self.connection.scalar(sa.select(sa.func.max(table.c.id))) or 0)
            self.connection.execute(table.insert(), {"id": number, **cells})
        return int(number)

    def recorded(self, identities: Sequence[str]) -> dict[str, str]:
        """Return the ids of the promises that are there already, by identity."""
        query = sa.select(personal.c.identity, events.c.promise).join(events, events.c.seq == personal.c.seq)
        ids: dict[str, str] = {}
        for begin in range(0, len(identities), LOOKED_UP):
            some = personal.c.identity.in_(identities[begin : begin + LOOKED_UP])
            ids |= {row.identity: row.promise for row in self.connection.execute(query.where(some))}
        return ids

    def append(self, new: Sequence[NewEvent]) -> None:
        """Append events."""
        for begin in range(0, len(new), CHUNK):
            rows, people = [], []
            for event in new[begin : begin + CHUNK]:
                row, person = self._rows(event)
                rows.append(row)
                people += [] if person is None else [person]
            self.connection.execute(events.insert(), rows)
            if people:
                self.connection.execute(personal.insert(), people)

    def finish(self) -> None:
        """Move the head of the chain to the last event."""
        self.connection.execute(
            head.update().where(head.c.ledger == self._ledger).values(seq=self.seq, digest=self._digest)
        )

    def _rows(self, event: NewEvent) -> tuple[dict[str, Any], dict[str, Any] | None]:
        self.seq += 1
        content, person, digest = canonical(event.content), None, None
        if event.personal is not None:
            salt, about = secrets.token_hex(SALT_BYTES), canonical(event.personal)
            digest = personal_digest(salt, event.applicant, about)
            person = {
                "seq": self.seq,
                "salt": salt,
                "applicant": event.applicant,
                "content": about,
                "identity": event.identity,
            }
        columns = (self.seq, event.kind, event.promise, self._at, self._recorded_by, content, digest)
        shared = None if event.terms is None else self._terms[event.terms]
        self._digest = event_digest(self._digest, columns, shared)
        row = dict(zip(("seq", "kind", "promise", "at", "recorded_by", "content", "personal"), columns, strict=True))
        return row | {"terms": event.terms, "digest": self._digest}, person


@contextmanager
def appending(database: Database, recorded_by: str) -> Iterator[Writer]:
    """Begin a transaction that appends events: all of them are there when it ends, or none."""
    with database.writing() as connection:
        writer = Writer(connection, recorded_by)
        yield writer
        writer.finish()


def append_promises(writer: Writer, shared: Terms, new: list[NewPromise]) -> list[str]:
    """Append the promises that are not there, and return the ids of all."""
    if not new:
        return []
    number, digest = writer.add_terms(shared)
    identities = [identity_of(one.applicant, canonical(one.content), canonical(one.personal), digest) for one in new]
    ids = writer.recorded(identities)
    appended = []
    for one, identity, fresh in zip(new, identities, new_ids(len(new)), strict=True):
        if identity not in ids:
            ids[identity] = fresh
            appended.append(NewEvent(PROMISED, fresh, one.content, number, one.applicant, one.personal, identity))
    writer.append(appended)
    return [ids[identity] for identity in identities]


def append_redemption(
    writer: Writer,
    redemption: Redemption,
    promise: Promise,
    row: "pd.DataFrame",
    judged_by: Mapping[str, Any],
    reason: str,
) -> None:
    """Append a person's return; `judged_by` has the day, the model and the columns that could differ."""
    require_open(writer, promise.promise)
    content = {"accepted": redemption.accepted, "fulfilled": redemption.fulfilled, **judged_by}
    answer = {"differences": list(redemption.differences), "row": pack_cells(row[list(promise.layout.columns)])[0]}
    appended = [NewEvent(REDEEMED, promise.promise, content, applicant=promise.applicant, personal=answer)]
    if redemption.fulfilled:
        appended.append(NewEvent(redemption.outcome, promise.promise))
    if redemption.decision is not None:
        appended.append(_decision(promise.promise, promise.applicant, redemption.decision, reason))
    writer.append(appended)


def waive(writer: Writer, promise: str, reason: str) -> None:
    """End an open promise; the reason is kept as personal data."""
    applicant = require_open(writer, promise)
    writer.append([NewEvent(WAIVED, promise, applicant=applicant, personal=_reason(reason))])


def decide(writer: Writer, promise: str, decision: str, reason: str) -> None:
    """Record what was decided of a broken promise, once."""
    row = _find(writer, promise)
    if row.ended != BROKEN:
        raise InvalidInputError(f"promise {shown(promise)} is not broken: there is nothing to decide")
    earlier = writer.connection.scalar(
        sa.select(events.c.content).where(events.c.promise == promise, events.c.kind == DECIDED)
    )
    if earlier is not None:
        raise InvalidInputError(f"promise {shown(promise)} was decided already: {json.loads(earlier)['decision']}")
    writer.append([_decision(promise, row.applicant or "", decision, reason)])


def _decision(promise: str, applicant: str, decision: str, reason: str) -> NewEvent:
    return NewEvent(DECIDED, promise, {"decision": decision}, applicant=applicant, personal=_reason(reason))


def _reason(reason: str) -> dict[str, str] | None:
    return {"reason": reason} if reason else None


def require_open(writer: Writer, promise: str) -> str:
    """Return the applicant of a promise, or raise if an event has ended it."""
    row = _find(writer, promise)
    if row.ended is not None:
        raise InvalidInputError(f"promise {shown(promise)} is not open: it was {row.ended}")
    return row.applicant or ""


def _find(writer: Writer, promise: str) -> Any:
    row = writer.connection.execute(promises_query().where(events.c.promise == promise)).first()
    if row is None:
        raise InvalidInputError(f"the ledger has no promise {shown(promise)}")
    return row


def purge(database: Database, before: date, recorded_by: str) -> int:
    """Delete the personal data of promises that ended before a day, and record it; return how many promises."""
    with appending(database, recorded_by) as writer:
        over = personal.c.seq.in_(personal_events_of_ended(before.isoformat(), writer.seq + 1))
        promises = sa.select(sa.func.count(sa.distinct(events.c.promise)))
        n_promises = writer.connection.scalar(promises.join(personal, personal.c.seq == events.c.seq).where(over)) or 0
        if n_promises == 0:
            return 0
        writer.connection.execute(personal.delete().where(over))
        writer.append([NewEvent(PURGED, "", {"before": before.isoformat(), "promises": n_promises})])
    # Rewrite the tables, so that nothing of what was deleted stays in unused places of the files.
    rewrite = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)") if database.is_sqlite else ("VACUUM FULL personal",)
    for statement in rewrite:
        database.outside(statement)
    return n_promises


class Checkpoint(NamedTuple):
    """A state of a ledger: its number of events, and the digest of the last one."""

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


class _Fault(Exception):  # noqa: N818 - a finding, no failure of the check
    """Something is wrong, from this event on; None for what stands beside the events."""

    def __init__(self, message: str, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


def verify(database: Database, expect: str | None) -> dict[str, Any]:
    """Check a whole ledger, all of it in one snapshot, and return the fields of `LedgerCheck`."""
    chain = _Chain(None if expect is None else Checkpoint.read(expect))
    try:
        with database.reading() as connection:
            chain.check(connection)
            if database.is_sqlite:
                _check_file(connection)
    except _Fault as fault:
        return {"ok": False, "first_bad": fault.seq, "events": chain.seq, "message": str(fault)}
    except CopaError as error:
        return {"ok": False, "first_bad": chain.seq + 1, "events": chain.seq, "message": str(error)}
    return {"ok": True, "first_bad": None, "events": chain.seq, "checkpoint": f"{chain.seq}:{chain.digest}"}


class _Chain:
    """Walks along the events, and keeps the number and the digest of the last good one."""

    def __init__(self, expected: Checkpoint | None) -> None:
        self._expected = expected
        self._terms: dict[int, str] = {}
        self._used: set[int] = set()
        self._purged: Flags = np.zeros(0, dtype=bool)
        self.seq, self.digest = 0, ""

    def check(self, connection: sa.Connection) -> None:
        """Raise for the first difference from what was written."""
        last = connection.execute(sa.select(head)).one()
        self.digest = origin(last.version, last.ledger, last.created)
        self._compare()
        query = sa.select(terms, layouts.c.content.label("raw")).select_from(layouts.outerjoin(terms))
        self._terms = {  # a layout without terms gives terms of no number, which no event uses
            row.id: terms_digest(
                (row.id, row.layout), row.raw, (row.model_version, row.made, row.valid_until, row.content)
            )
            for row in connection.execute(query)
        }
        self._purged = _read_purged(connection)
        query = (
            sa.select(
                events, personal.c.salt, personal.c.applicant, personal.c.content.label("about"), personal.c.identity
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
        if self._purged[row.seq] or row.personal != personal_digest(row.salt, row.applicant, row.about):
            what = "are there again though they were purged" if self._purged[row.seq] else "were changed"
            raise _Fault(f"the personal data of event {row.seq} {what}", row.seq)
        identity = None
        if row.kind == PROMISED and shared is not None:
            identity = identity_of(row.applicant, row.content, row.about, shared)
        if row.identity != identity:
            raise _Fault(f"the identity of event {row.seq} was changed", row.seq)

    def _compare(self) -> None:
        """Compare with the checkpoint, once the walk is there."""
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
    """Return, by the number of an event, whether a purge deleted its personal data.

    A purge deletes the data of all promises that had ended before its day, and of no other. Missing data of a promise
    that was open then are found, whatever an event says.
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
