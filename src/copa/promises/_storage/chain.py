"""Writing to a ledger: events are appended in one transaction that all writers wait for, and only a purge deletes."""

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from copa._core.words import shown
from copa.exceptions import InvalidInputError
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


def new_ids(n: int) -> list[str]:
    """Return ids of promises: the time, so that an index grows at its end, and 64 random bits that say nothing."""
    now = f"{int(time.time() * 1000):012x}"
    raw = os.urandom(8 * n).hex()
    return [now + raw[16 * k : 16 * k + 16] for k in range(n)]


@dataclass(frozen=True)
class NewEvent:
    """An event to append.

    Parameters
    ----------
    kind : str
    promise : str
        Id of the promise; "" for an event of the whole ledger.
    content : Mapping
        What it says, of nobody in particular.
    terms : int, optional
        Number of the terms.
    applicant : str
        Whom it is about.
    personal : Mapping, optional
        What it says of a person; None for nothing.
    identity : str, optional
        Digest by which the same promise is found again.
    """

    kind: str
    promise: str
    content: Mapping[str, Any] = field(default_factory=dict)
    terms: int | None = None
    applicant: str = ""
    personal: Mapping[str, Any] | None = None
    identity: str | None = None


class Writer:
    """Appends events in one transaction, in which the head of the chain is locked.

    Parameters
    ----------
    connection : Connection
        In a transaction for writing.
    recorded_by : str
        Who records the events.
    """

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
            salt, said = secrets.token_hex(SALT_BYTES), canonical(event.personal)
            digest = personal_digest(salt, event.applicant, said)
            person = {
                "seq": self.seq,
                "salt": salt,
                "applicant": event.applicant,
                "content": said,
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
    """Append a person's return; `judged_by` is the day, the model and the columns that might differ."""
    require_open(writer, promise.promise)
    content = {"accepted": redemption.accepted, "fulfilled": redemption.fulfilled, **judged_by}
    said = {"differences": list(redemption.differences), "row": pack_cells(row[list(promise.layout.columns)])[0]}
    appended = [NewEvent(REDEEMED, promise.promise, content, applicant=promise.applicant, personal=said)]
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
        raise InvalidInputError(
            f"of promise {shown(promise)} it was decided already: {json.loads(earlier)['decision']}"
        )
    writer.append([_decision(promise, row.applicant or "", decision, reason)])


def _decision(promise: str, applicant: str, decision: str, reason: str) -> NewEvent:
    return NewEvent(DECIDED, promise, {"decision": decision}, applicant=applicant, personal=_reason(reason))


def _reason(reason: str) -> dict[str, str] | None:
    return {"reason": reason} if reason else None


def require_open(writer: Writer, promise: str) -> str:
    """Return the applicant of a promise that no event has ended; an InvalidInputError says what it is."""
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
    # The tables are written anew, so that nothing of what was deleted stays in unused places of the files.
    rewrite = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)") if database.is_sqlite else ("VACUUM FULL personal",)
    for statement in rewrite:
        database.outside(statement)
    return n_promises
