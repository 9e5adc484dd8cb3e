"""Retention: personal data of promises that ended long ago are deleted, and the chain stays as it was."""

from datetime import date

import sqlalchemy as sa

from copa.promises._storage.chain import NewEvent, appending
from copa.promises._storage.database import Database
from copa.promises._storage.listing import closing
from copa.promises._storage.tables import IS_CLOSING, PROMISED, PURGED, events, personal, terms

DELETED = 5_000  # rows at a time


def purge(database: Database, before: date, recorded_by: str) -> int:
    """Delete the personal data of promises that ended before a day, and record it; returns how many promises."""
    with appending(database, recorded_by) as writer:
        connection = writer.connection
        promises, seqs = _ended(connection, before)
        if not seqs:
            return 0
        for begin in range(0, len(seqs), DELETED):
            connection.execute(personal.delete().where(personal.c.seq.in_(seqs[begin : begin + DELETED])))
        content = {"before": before.isoformat(), "events": _ranges(seqs), "promises": promises}
        writer.append([NewEvent(PURGED, "", content)])
    _overwrite(database)
    return promises


def _ended(connection: sa.Connection, before: date) -> tuple[int, list[int]]:
    """Number of promises that ended before a day, and the numbers of all their events that hold personal data."""
    day = before.isoformat()
    own = events.alias("own")
    ended = sa.and_(closing.c.promise == events.c.promise, IS_CLOSING)
    over = sa.or_(closing.c.at < day, terms.c.valid_until < day)
    query = (
        sa.select(personal.c.seq, events.c.promise)
        .select_from(
            events.join(terms, terms.c.id == events.c.terms)
            .outerjoin(closing, ended)
            .join(own, own.c.promise == events.c.promise)
            .join(personal, personal.c.seq == own.c.seq)
        )
        .where(events.c.kind == PROMISED, over)
        .order_by(personal.c.seq)
    )
    rows = connection.execute(query).all()
    return len({row.promise for row in rows}), [row.seq for row in rows]


def _ranges(seqs: list[int]) -> list[list[int]]:
    """Ascending numbers as first and last of each run."""
    ranges: list[list[int]] = []
    for seq in seqs:
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    return ranges


def _overwrite(database: Database) -> None:
    """Write the tables anew, so that nothing of what was deleted stays in unused places of the files."""
    if not database.is_sqlite:
        database.outside("VACUUM FULL personal")
        return
    database.outside("VACUUM")
    database.outside("PRAGMA wal_checkpoint(TRUNCATE)")
