"""Reading promises from a ledger: those of a person, counts, and tables in blocks, of which one is in memory."""

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from copa._core.threads import stop_if_interrupted
from copa._core.words import shown
from copa.data.tables.packing import unpack_entry
from copa.exceptions import InvalidInputError
from copa.models.decisions import match_label
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
from copa.promises.outstanding import Stated
from copa.promises.promised_rows import PROMISE, join_facts
from copa.promises.redeem import Promise

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

closing = events.alias("closing")


def promises_query() -> sa.Select[Any]:
    """Select each promise, with the kind of the event that ended it, and its personal data unless purged."""
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
            personal.c.content.label("about"),
        )
        .select_from(
            events.join(terms, terms.c.id == events.c.terms)
            .outerjoin(personal, personal.c.seq == events.c.seq)
            .outerjoin(closing, ended)
        )
        .where(events.c.kind == PROMISED)
    )


def with_status(query: sa.Select[Any], status: str, as_of: date) -> sa.Select[Any]:
    """Select only promises of a status that were made by a day; one that is open after its last day is expired."""
    query = query.where(terms.c.made <= as_of.isoformat())
    in_time = terms.c.valid_until >= as_of.isoformat()
    if status == ALL:
        return query
    if status in (OPEN, EXPIRED):
        return query.where(closing.c.kind.is_(None), in_time if status == OPEN else sa.not_(in_time))
    return query.where(closing.c.kind == status)


def find_promises(connection: sa.Connection, reference: str, as_of: date) -> list[Promise]:
    """Return the open promise of an id, or all open ones of an applicant; the error says why there is none."""
    query = promises_query().order_by(events.c.seq)
    rows = connection.execute(query.where(events.c.promise == reference)).all()
    rows = rows or connection.execute(query.where(personal.c.applicant == reference)).all()
    if not rows:
        raise InvalidInputError(f"the ledger has no promise or applicant {shown(reference)}")
    all_terms = read_terms(connection)
    obstacles = [_why_not(row, all_terms[row.terms], as_of) for row in rows]
    if all(obstacles) and len(rows) > 1:
        raise InvalidInputError(f"none of the {len(rows)} promises to applicant {shown(reference)} is open on {as_of}")
    if all(obstacles):
        raise InvalidInputError(f"promise {shown(rows[0].promise)} {obstacles[0]}")
    return [
        Promise(
            row.promise,
            row.applicant,
            all_terms[row.terms],
            json.loads(row.about),
            read_layout(connection, all_terms[row.terms]["layout"]),
        )
        for row, obstacle in zip(rows, obstacles, strict=True)
        if not obstacle
    ]


def _why_not(row: Any, shared: dict[str, Any], as_of: date) -> str:
    """Say why a promise cannot be redeemed on a day; "" where it can."""
    if row.ended is not None:
        return f"is not open: it was {row.ended}"
    if shared["valid_until"] < as_of:
        return f"is not open: it was valid until {shared['valid_until']}"
    if shared["made"] > as_of:
        return f"is not open on {as_of}: it was made on {shared['made']}"
    return "was purged: there is no row to compare with" if row.about is None else ""


def personal_events_of_ended(before: str, by: int) -> sa.Select[Any]:
    """Select the events with personal data, up to a number, of promises that had ended before a day by then."""
    every = events.alias("every")
    ended_by = sa.and_(closing.c.at < before, closing.c.seq < by)
    return (
        sa.select(every.c.seq)
        .select_from(
            events.join(terms, terms.c.id == events.c.terms)
            .outerjoin(closing, sa.and_(closing.c.promise == events.c.promise, IS_CLOSING))
            .join(every, every.c.promise == events.c.promise)
        )
        .where(events.c.kind == PROMISED, sa.or_(ended_by, terms.c.valid_until < before))
        .where(every.c.seq < by, every.c.personal.is_not(None))
    )


def read_counts(connection: sa.Connection, as_of: date) -> dict[str, int]:
    """Return the number of promises of each status; no promise is read."""
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
    all_terms = read_terms(connection)
    wanted = with_status(promises_query(), status, as_of).order_by(events.c.seq)
    if model_version is not None:
        wanted = wanted.where(terms.c.model_version == model_version)
    if applicant is not None:
        wanted = wanted.where(personal.c.applicant == applicant)
    for place in connection.scalars(sa.select(layouts.c.id).order_by(layouts.c.id)).all():
        layout = read_layout(connection, place)
        query = wanted.where(terms.c.layout == place)
        with connection.execution_options(yield_per=size).execute(query) as result:
            for rows in result.partitions(size):
                stop_if_interrupted()
                yield _as_table(rows, all_terms, layout, as_of)


def read_layout(connection: sa.Connection, place: int) -> "pd.DataFrame":
    """Return the columns and dtypes of promised rows, as a table without rows."""
    return unpack_layout(connection.scalar(sa.select(layouts.c.content).where(layouts.c.id == place)))


def read_terms(connection: sa.Connection) -> dict[int, dict[str, Any]]:
    """Return all terms by their numbers."""
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


def read_stated(connection: sa.Connection, as_of: date, model_version: str | None) -> Stated:
    """Return the facts that promises which are open on a day state in their terms."""
    all_terms = {
        number: shared
        for number, shared in read_terms(connection).items()
        if shared["made"] <= as_of <= shared["valid_until"] and model_version in (None, shared["model_version"])
    }
    if len({(str(shared["favourable"]), shared["threshold"], shared["layout"]) for shared in all_terms.values()}) > 1:
        # Terms that differ may belong to promises that an event has ended: only those of open ones count.
        query = with_status(promises_query(), OPEN, as_of).with_only_columns(events.c.terms).distinct()
        used = set(connection.scalars(query))
        all_terms = {number: shared for number, shared in all_terms.items() if number in used}
    labels: list[Any] = []
    for shared in all_terms.values():
        label = unpack_entry(shared["favourable"])
        labels += [label] if match_label(label, labels) is None else []
    layouts_used = {place: read_layout(connection, place) for place in {one["layout"] for one in all_terms.values()}}
    columns = {place: tuple(str(name) for name in layout.columns) for place, layout in layouts_used.items()}
    return Stated(
        tuple(labels),
        tuple(dict.fromkeys(shared["threshold"] for shared in all_terms.values())),
        tuple(dict.fromkeys((shared["model_version"], columns[shared["layout"]]) for shared in all_terms.values())),
    )


def _as_table(rows: Any, all_terms: dict[int, dict[str, Any]], layout: "pd.DataFrame", as_of: date) -> "pd.DataFrame":
    """Return facts and rows; where personal data were purged, the row is missing and the applicant is ""."""
    import pandas as pd

    shared = [all_terms[row.terms] for row in rows]
    contents = [json.loads(row.content) for row in rows]
    personal_data = [None if row.about is None else json.loads(row.about) for row in rows]
    statuses = [
        row.ended or (OPEN if one["valid_until"] >= as_of else EXPIRED) for row, one in zip(rows, shared, strict=True)
    ]
    facts: dict[str, Any] = {
        "applicant": pd.Series(["" if row.applicant is None else row.applicant for row in rows], dtype=object),
        "option": np.array([entry["option"] for entry in contents], dtype=np.int64),
        "status": pd.Series(statuses, dtype=object),
        "option_guarantee": np.array([entry["guarantee"] for entry in contents], dtype=np.float64),
        "confidence": np.array([one["confidence"] for one in shared], dtype=np.float64),
        "certificate_digest": pd.Series(
            ["" if entry is None else entry["certificate"] for entry in personal_data], dtype=object
        ),
        "recorded_by": pd.Series([row.recorded_by for row in rows], dtype=object),
    }
    for name in ("model_version", "model_fingerprint", "schema_digest", "made", "valid_until"):
        facts[name] = pd.Series([one[name] for one in shared], dtype=object)
    there = np.array([entry is not None for entry in personal_data])
    cells = unpack_cells([entry["row"] for entry in personal_data if entry is not None], layout)
    if not there.all():
        cells = cells.set_axis(pd.Index(np.flatnonzero(there))).reindex(range(len(rows)))
    index = pd.Index([row.promise for row in rows], name=PROMISE, dtype=object)
    return join_facts(pd.DataFrame(facts).set_axis(index), cells)
