"""The cards of many plans as compact JSON, column by column: what `cards.js` draws in a browser."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import STATUSES, rounded_down, rounded_up, visible
from copa.data.tables.cells import as_text, cells_of
from copa.plans.card import AT_LEAST, AT_MOST, BAR_WORDS, CALM, NOTHING, STATUS_SIGNS
from copa.plans.changes import Change
from copa.plans.units import heading, value_text
from copa.plans.wording import as_asked, obstacle_words, ranges_words, rates_words, status_notes, unusual_words

if TYPE_CHECKING:
    from copa.plans.records import BatchRecord, PlanRecord

    PlanBatch = BatchRecord[PlanRecord]

Data = dict[str, Any]


def card_data(batch: "PlanBatch") -> Data:
    """Return what `plan_view` says of each plan of a batch, and each applicant's row, as JSON holds it.

    Texts are numbers of entries in "strings", the first of which is empty; guarantees are thousandths, rounded to the
    safe side. `assets/cards.js` of the report makes the view of one plan of it, and draws it.

    Parameters
    ----------
    batch : PlanBatch

    Returns
    -------
    dict of str to object
        "level" and "level_for", what was asked; "words", those of the bars; "statuses", in the order of their numbers;
        "strings"; "applicants", "options" and "changes", one list per column; "counts" are numbers of options of an
        applicant and of changes of an option; "today", titles of columns and each applicant's cells.
    """
    strings = _Strings()
    request = batch.request
    return {
        "level": request.level,
        "level_for": request.guarantee_for,
        "words": {**BAR_WORDS, "at_least": AT_LEAST, "at_most": AT_MOST, "nothing": NOTHING},
        "statuses": [
            {"name": status, "sign": as_asked(STATUS_SIGNS[status], request), "is_calm": status in CALM}
            for status in STATUSES
        ],
        "applicants": _applicants(batch, strings),
        **_options(batch, strings),
        "today": _today(batch, strings),
        "strings": strings.texts,
    }


class _Strings:
    """Texts that are written once, and referred to by number."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(visible(text), len(self._numbers))

    @property
    def texts(self) -> list[str]:
        return list(self._numbers)


def _applicants(batch: "PlanBatch", strings: _Strings) -> Data:
    columns: dict[str, list[int]] = {
        name: [] for name in ("label", "headline", "reason", "technical", "first", "ranges", "rates")
    }
    for plan in batch:
        notes = [*status_notes(plan, technical=False), "", ""]
        texts = {"label": as_text(plan.label), "headline": notes[0], "reason": notes[1]}
        texts |= {"technical": obstacle_words(plan.message), "ranges": ranges_words(plan), "rates": rates_words(plan)}
        for name, text in texts.items():
            columns[name].append(strings(text))
        columns["first"].append(plan.breaks_first or 0)
    places = {status: k for k, status in enumerate(STATUSES)}
    return {
        "status": [places[status] for status in batch.status.tolist()],
        "counts": batch.counts.tolist(),
        "any": _thousandths(batch.any_lower),
        "all": _thousandths(batch.lower),
        "upper": _thousandths(batch.upper, up=True),
        **columns,
    }


def _options(batch: "PlanBatch", strings: _Strings) -> Data:
    """Columns of the options and of their changes, the changes in the order of option and column."""
    flags = batch.changed
    option, column = np.nonzero(flags)
    changes = {name: np.zeros(len(option), dtype=np.int64) for name in ("title", "before", "after", "range")}
    for k in np.flatnonzero(flags.any(axis=0)).tolist():
        here, rows = np.flatnonzero(column == k), np.flatnonzero(flags[:, k])
        for name, values in zip(changes, zip(*_worded(batch, k, rows, strings), strict=True), strict=True):
            changes[name][here] = values
    return {
        "options": {
            "effort": [strings(f"{effort:.2f}") for effort in batch.effort.tolist()],
            "accepted": batch.accepted.astype(np.int64).tolist(),
            "lower": _thousandths(batch.option_lower),
            "expected": _thousandths(batch.expected_rate) if batch.n_held_out else [],
            "unusual": [strings(unusual_words(share)) for share in batch.plausibility.tolist()],
            "counts": flags.sum(axis=1).tolist(),
        },
        "changes": {name: numbers.tolist() for name, numbers in changes.items()},
    }


def _worded(batch: "PlanBatch", k: int, rows: Any, strings: _Strings) -> list[tuple[int, ...]]:
    """Return numbers of the texts of changes in the k-th column: title, value today, new value, range, row by row."""
    name, schema = batch.options.columns[k], batch.basis.schema
    feature = schema[name] if name in schema else None  # noqa: SIM401 - a schema has no get
    ends = [batch.interval(row, k) for row in rows.tolist()]
    before = cells_of(batch.applicants.iloc[batch.owner[rows], k])
    numbers: dict[tuple[Any, ...], tuple[int, ...]] = {}
    worded = []
    for cells in zip(before, cells_of(batch.options.iloc[rows, k]), ends, strict=True):
        key = (
            *(f"{type(cell)}{cell!r}" for cell in cells[:2]),
            cells[2],
        )  # 1, 1.0 and True are equal, and not the same
        if key not in numbers:
            change = Change(name, cells[0], cells[1], feature, cells[2])
            texts = (change.title, change.before_text, change.after_text, change.range_text)
            numbers[key] = tuple(map(strings, texts))
        worded.append(numbers[key])
    return worded


def _today(batch: "PlanBatch", strings: _Strings) -> Data:
    """Titles of all columns, and the cells of each, in people's words."""
    schema, cells = batch.basis.schema, []
    for name in batch.applicants:
        numbers: dict[str, int] = {}
        column = []
        for value in cells_of(batch.applicants[name]):
            key = f"{type(value)}{value!r}"
            if key not in numbers:
                numbers[key] = strings(value_text(schema, name, value))
            column.append(numbers[key])
        cells.append(column)
    return {"titles": [strings(heading(schema, name)) for name in batch.applicants], "cells": cells}


def _thousandths(bounds: Array, *, up: bool = False) -> list[int]:
    """Probabilities in thousandths, rounded to the safe side; -1 where one is not known."""
    rounding = rounded_up if up else rounded_down
    return [-1 if np.isnan(bound) else round(1000.0 * float(rounding(bound))) for bound in bounds.tolist()]
