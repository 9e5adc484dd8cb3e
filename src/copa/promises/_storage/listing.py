"""Tables of promises, read from a ledger in blocks: what is in memory is one block, however many promises there are."""

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from copa._core.threads import stop_if_interrupted
from copa.promises._storage.layouts import unpack_cells, unpack_layout
from copa.promises._storage.tables import (
    ALL,
    EXPIRED,
    IS_CLOSING,
    OPEN,
    PROMISED,
    STATUSES,
    events,
    layouts,
    personal,
    terms,
)
from copa.promises.promised_rows import PROMISE, join_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

closing = events.alias("closing")


def promises_query() -> sa.Select[Any]:
    """One row for each promise, with the kind of the event that ended it, and its personal data unless purged."""
    ended = sa.and_(closing.c.promise == events.c.promise, IS_CLOSING)
    return (
        sa.select(
            events.c.seq,
            events.c.promise,
            events.c.recorded_by,
            events.c.terms,
            events.c.content,
            closing.c.kind.label("ended"),
            personal.c.applicant,
            personal.c.content.label("said"),
        )
        .select_from(
            events.join(terms, terms.c.id == events.c.terms)
            .outerjoin(personal, personal.c.seq == events.c.seq)
            .outerjoin(closing, ended)
        )
        .where(events.c.kind == PROMISED)
    )


def with_status(query: sa.Select[Any], status: str, as_of: date) -> sa.Select[Any]:
    """Only promises of a status that were made by a day; one that is open beyond its last day is expired."""
    query = query.where(terms.c.made <= as_of.isoformat())
    in_time = terms.c.valid_until >= as_of.isoformat()
    if status == ALL:
        return query
    if status in (OPEN, EXPIRED):
        return query.where(closing.c.kind.is_(None), in_time if status == OPEN else sa.not_(in_time))
    return query.where(closing.c.kind == status)


def read_counts(connection: sa.Connection, as_of: date) -> dict[str, int]:
    """Number of promises of each status; no promise is read."""
    in_time = (terms.c.valid_until >= as_of.isoformat()).label("in_time")
    query = with_status(promises_query(), ALL, as_of)
    query = query.with_only_columns(closing.c.kind, in_time, sa.func.count()).group_by(closing.c.kind, in_time)
    counts = dict.fromkeys(STATUSES, 0)
    for kind, is_valid, number in connection.execute(query):
        counts[kind or (OPEN if is_valid else EXPIRED)] += number
    return counts


def read_blocks(
    connection: sa.Connection,
    status: str,
    as_of: date,
    size: int,
    applicant: str | None = None,
    model_version: str | None = None,
) -> "Iterator[pd.DataFrame]":
    """Yield tables of up to so many promises, each of rows of one layout, in the order in which they were recorded."""
    known = read_terms(connection)
    wanted = promises_query()
    if model_version is not None:
        wanted = wanted.where(terms.c.model_version == model_version)
    if applicant is not None:
        wanted = wanted.where(personal.c.applicant == applicant)
    for place in connection.scalars(sa.select(layouts.c.id).order_by(layouts.c.id)).all():
        raw = connection.scalar(sa.select(layouts.c.content).where(layouts.c.id == place))
        query = with_status(wanted, status, as_of).where(terms.c.layout == place).order_by(events.c.seq)
        with connection.execution_options(yield_per=size).execute(query) as result:
            for rows in result.partitions(size):
                stop_if_interrupted()
                yield as_table(rows, known, unpack_layout(raw), as_of)


def read_terms(connection: sa.Connection) -> dict[int, dict[str, Any]]:
    """All terms by their numbers."""
    return {
        row.id: json.loads(row.content)
        | {
            "layout": row.layout,
            "model_version": row.model_version,
            "made": date.fromisoformat(row.made),
            "valid_until": date.fromisoformat(row.valid_until),
        }
        for row in connection.execute(sa.select(terms))
    }


def as_table(rows: Any, known: dict[int, dict[str, Any]], layout: "pd.DataFrame", as_of: date) -> "pd.DataFrame":
    """Facts and rows of promises; where personal data were purged, the row is missing and the applicant is ""."""
    import pandas as pd

    own = [known[row.terms] for row in rows]
    told = [json.loads(row.content) for row in rows]
    said = [None if row.said is None else json.loads(row.said) for row in rows]
    texts: dict[str, list[Any]] = {
        "applicant": ["" if row.applicant is None else row.applicant for row in rows],
        "status": [status_of(row.ended, term["valid_until"], as_of) for row, term in zip(rows, own, strict=True)],
        **{name: [term[name] for term in own] for name in ("model_version", "model_fingerprint", "schema_digest")},
        "certificate_digest": ["" if entry is None else entry["certificate"] for entry in said],
        **{name: [term[name] for term in own] for name in ("made", "valid_until")},
        "recorded_by": [row.recorded_by for row in rows],
    }
    numbers = {
        "option": np.array([entry["option"] for entry in told], dtype=np.int64),
        "option_guarantee": np.array([entry["guarantee"] for entry in told], dtype=np.float64),
        "confidence": np.array(
            [np.nan if term["confidence"] is None else term["confidence"] for term in own], dtype=np.float64
        ),
    }
    index = pd.Index([row.promise for row in rows], name=PROMISE, dtype=object)
    facts = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in texts.items()} | numbers)
    there = [entry is not None for entry in said]
    cells = unpack_cells([entry["row"] for entry in said if entry is not None], layout)
    if not all(there):
        cells = cells.set_axis(pd.Index(np.flatnonzero(there))).reindex(range(len(rows)))
    return join_facts(facts.set_axis(index), cells)


def status_of(ended: str | None, valid_until: date, as_of: date) -> str:
    """Status of a promise on a day."""
    return ended or (OPEN if valid_until >= as_of else EXPIRED)
