"""Looking promises up, and ending them."""

import json
from datetime import date
from typing import Any

import sqlalchemy as sa

from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.promises._storage.chain import NewEvent, Writer
from copa.promises._storage.layouts import unpack_layout
from copa.promises._storage.listing import promises_query, read_terms
from copa.promises._storage.tables import BROKEN, DECIDED, WAIVED, events, layouts, personal
from copa.promises.redeem import Promise, promise_from


def find_promises(connection: sa.Connection, reference: str, as_of: date) -> list[Promise]:
    """The open promise of an id, or all those of an applicant; an InvalidInputError says why there is none."""
    rows = connection.execute(promises_query().where(events.c.promise == reference)).all()
    if not rows:
        rows = connection.execute(
            promises_query().where(personal.c.applicant == reference).order_by(events.c.seq)
        ).all()
    if not rows:
        raise InvalidInputError(f"the ledger has no promise or applicant {shown(reference)}")
    known = read_terms(connection)
    ready = [row for row in rows if _why_not(row, known[row.terms], as_of) == ""]
    if not ready and len(rows) > 1:
        raise InvalidInputError(f"none of the {len(rows)} promises to applicant {shown(reference)} is open on {as_of}")
    if not ready:
        raise InvalidInputError(f"promise {shown(rows[0].promise)} {_why_not(rows[0], known[rows[0].terms], as_of)}")
    return [promise_from(row, known[row.terms], _layout(connection, known[row.terms]["layout"])) for row in ready]


def _why_not(row: Any, own: dict[str, Any], as_of: date) -> str:
    """Why a promise cannot be redeemed on a day; "" where it can."""
    if row.ended is not None:
        return f"is not open: it was {row.ended}"
    if own["valid_until"] < as_of:
        return f"is not open: it was valid until {own['valid_until']}"
    if own["made"] > as_of:
        return f"is not open on {as_of}: it was made on {own['made']}"
    return "was purged: there is no row to compare with" if row.said is None else ""


def _layout(connection: sa.Connection, place: int) -> Any:
    return unpack_layout(connection.scalar(sa.select(layouts.c.content).where(layouts.c.id == place)))


def require_open(writer: Writer, promise: str) -> str:
    """Return the applicant of a promise that no event has ended; an InvalidInputError says what it is."""
    row = writer.connection.execute(promises_query().where(events.c.promise == promise)).first()
    if row is None:
        raise InvalidInputError(f"the ledger has no promise {shown(promise)}")
    if row.ended is not None:
        raise InvalidInputError(f"promise {shown(promise)} is not open: it was {row.ended}")
    return row.applicant or ""


def waive(writer: Writer, promise: str, reason: str) -> None:
    """End an open promise; the reason is kept as personal data."""
    applicant = require_open(writer, promise)
    said = {"reason": reason} if reason else None
    writer.append([NewEvent(WAIVED, promise, applicant=applicant, personal=said)])


def decide(writer: Writer, promise: str, decision: str, reason: str) -> None:
    """Record what was decided of a broken promise, once."""
    row = writer.connection.execute(promises_query().where(events.c.promise == promise)).first()
    if row is None:
        raise InvalidInputError(f"the ledger has no promise {shown(promise)}")
    if row.ended != BROKEN:
        raise InvalidInputError(f"promise {shown(promise)} is not broken: there is nothing to decide")
    earlier = writer.connection.scalar(
        sa.select(events.c.content).where(events.c.promise == promise, events.c.kind == DECIDED)
    )
    if earlier is not None:
        raise InvalidInputError(
            f"of promise {shown(promise)} it was decided already: {json.loads(earlier)['decision']}"
        )
    writer.append([decided(promise, row.applicant or "", decision, reason)])


def decided(promise: str, applicant: str, decision: str, reason: str) -> NewEvent:
    """The event of a decision; the reason is kept as personal data."""
    said = {"reason": reason} if reason else None
    return NewEvent(DECIDED, promise, {"decision": decision}, applicant=applicant, personal=said)
