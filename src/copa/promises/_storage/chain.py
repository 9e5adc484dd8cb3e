"""Appending events to the chain, in one transaction that all writers wait for."""

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from copa.promises import days
from copa.promises._storage.database import Database
from copa.promises._storage.digests import canonical, event_digest, personal_digest, terms_digest
from copa.promises._storage.tables import events, head, layouts, personal, terms

CHUNK = 5_000  # events that are inserted at a time
SALT_BYTES = 16
LOOKED_UP = 500  # identities that one query names


def new_ids(n: int) -> list[str]:
    """Ids of promises: the time, so that an index grows at its end, and 64 random bits. They say nothing of anyone."""
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

    def add_terms(self, layout: bytes, columns: Sequence[str]) -> int:
        """Return the number of these terms, which are stored if they are not yet there."""
        connection = self.connection
        place = connection.scalar(sa.select(layouts.c.id).where(layouts.c.content == layout))
        if place is None:
            place = 1 + (connection.scalar(sa.select(sa.func.max(layouts.c.id))) or 0)
            connection.execute(layouts.insert(), {"id": place, "content": layout})
        model_version, made, valid_until, content = columns
        own = {
            "layout": place,
            "model_version": model_version,
            "made": made,
            "valid_until": valid_until,
            "content": content,
        }
        number = connection.scalar(sa.select(terms.c.id).filter_by(**own))
        if number is None:
            number = 1 + (connection.scalar(sa.select(sa.func.max(terms.c.id))) or 0)
            connection.execute(terms.insert(), {"id": number, **own})
        self._terms[number] = terms_digest((number, place), layout, columns)
        return int(number)

    def digest_of_terms(self, number: int) -> str:
        """Digest of terms that were added."""
        return self._terms[number]

    def known_promises(self, identities: Sequence[str]) -> dict[str, str]:
        """Ids of the promises that are there already, by identity."""
        known: dict[str, str] = {}
        query = sa.select(personal.c.identity, events.c.promise).join(events, events.c.seq == personal.c.seq)
        for begin in range(0, len(identities), LOOKED_UP):
            asked = list(identities[begin : begin + LOOKED_UP])
            known |= {
                row.identity: row.promise
                for row in self.connection.execute(query.where(personal.c.identity.in_(asked)))
            }
        return known

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
        own = None if event.terms is None else self._terms[event.terms]
        self._digest = event_digest(self._digest, columns, own)
        row = dict(zip(("seq", "kind", "promise", "at", "recorded_by", "content", "personal"), columns, strict=True))
        return row | {"terms": event.terms, "digest": self._digest}, person


@contextmanager
def appending(database: Database, recorded_by: str) -> Iterator[Writer]:
    """A transaction that appends events: all of them are there when it ends, or none."""
    with database.writing() as connection:
        writer = Writer(connection, recorded_by)
        yield writer
        writer.finish()
