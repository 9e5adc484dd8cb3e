"""The view of a plan, a card per option, that notebooks, reports and the explorer draw; and the HTML of a notebook."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.html import render
from copa._core.words import STATUSES, counted, rounded_down, rounded_up, visible
from copa.data.tables.cells import as_text
from copa.plans.changes import Change
from copa.plans.frames import summary_table
from copa.plans.wording import (
    WHOM,
    as_asked,
    assumption,
    makes_promises,
    obstacle_words,
    ranges_words,
    rates_words,
    request_words,
    status_notes,
    unusual_words,
)

if TYPE_CHECKING:
    from copa.plans.records import BatchRecord, PlanRecord

    Plan = PlanRecord
    PlanBatch = BatchRecord[PlanRecord]

# A sign and words, so that a status can be read without its colour.
STATUS_SIGNS = {
    "ok": "✓ options found",
    "already_valid": "✓ accepted already",
    "fragile": "! below the guarantee asked for",
    "infeasible": "✕ no option",
    "time_limit": "◷ time limit",
    "error": "✕ error",
}
CALM = ("ok", "already_valid")
IN_A_ROW = 4  # cards; five are shown as three and two
SHOWN = 10  # plans of a batch; a notebook with more is slow to scroll
BINS = 10
BAR_WORDS = {"option": "guarantee", "any": "at least one option holds", "all": "all options hold"}
LEAST_SHOWN = 0.001  # "at least 0.000" says nothing
AT_LEAST, AT_MOST, NOTHING = "at least", "at most", "none"
SUMMARY_COLUMNS = {"each": "lowest_option", "any": "any", "all": "all"}  # of `PlanBatch.summary`, by whom it is for

View = dict[str, Any]


def plan_html(plan: "Plan") -> str:
    """Return a plan as HTML that needs nothing from elsewhere."""
    terms = _terms(plan) if makes_promises(plan) else ""
    return render("plans/templates/plan.html.j2", plan=plan_view(plan), terms=terms)


def batch_html(batch: "PlanBatch") -> str:
    """Return a batch as HTML that needs nothing from elsewhere."""
    counts = {status: int((batch.status == status).sum()) for status in STATUSES}
    known = summary_table(batch)[batch.counts > 0]
    guarantees = {kind: known[column].to_numpy() for kind, column in SUMMARY_COLUMNS.items() if len(known)}
    return render(
        "plans/templates/batch.html.j2",
        title=f"{counted(len(batch), 'applicant')}, {counted(len(batch.options), 'option')}",
        statuses=[
            (as_asked(STATUS_SIGNS[s], batch.request), count, f"{100.0 * count / len(batch):.1f} %")
            for s, count in counts.items()
            if count
        ],
        quantiles=[
            (WHOM[kind], [rounded_down(np.quantile(values, q, method="lower")) for q in (0.0, 0.5, 1.0)])
            for kind, values in guarantees.items()
            if values.max() >= LEAST_SHOWN
        ],
        histogram=_histogram(batch, guarantees) if guarantees else None,
        plans=list(plan_views(batch[:SHOWN])),
        rest=len(batch) - SHOWN,
        terms=_terms(batch),
    )


def plan_view(plan: "Plan") -> View:
    """Return what the templates of the notebook and of the report show of a plan."""
    return next(plan_views(plan.batch[plan.row : plan.row + 1]))


def plan_views(batch: "PlanBatch") -> Iterator[View]:
    """Yield the view of each plan of a batch."""
    changes = [[_worded(change) for change in changes] for changes in batch.changes_of()]
    return (_view(plan, changes[plan.own_rows]) for plan in batch)


def _view(plan: "Plan", changes: list[list[View]]) -> View:
    n = plan.n_options
    known = [(whom, rounded_down(least)) for whom, least in (("any", plan.any_lower), ("all", plan.lower))]
    parts = [counted(n, "option"), *(f"{whom} {AT_LEAST} {least}" for whom, least in known if float(least))]
    first = plan.breaks_first
    return {
        "label": visible(as_text(plan.label)),
        "status": plan.status,
        "sign": as_asked(STATUS_SIGNS[plan.status], plan.request),
        "is_calm": plan.status in CALM,
        "summary": f" · {', '.join(parts)}" if n else "",
        "notes": status_notes(plan, technical=False),
        "technical": obstacle_words(plan.message),
        "columns": cards_in_a_row(n),
        "cards": [
            {
                "effort": f"{plan.effort[j]:.2f}",
                "accepted": bool(plan.accepted[j]),
                "breaks_first": j + 1 == first,
                "expected": _expected(plan, j),
                "unusual": unusual_words(plan.plausibility[j]),
                "changes": changes[j],
                "bar": _bar("option", AT_LEAST, rounded_down(plan.option_lower[j]), _level(plan, "each")),
            }
            for j in range(n)
        ],
        "whole": _whole(plan) if n > 1 else [],
        "ranges": ranges_words(plan),
        "rates": rates_words(plan),
    }


def cards_in_a_row(n_options: int) -> int:
    """Return the number of cards in a row, so that rows are of about the same length."""
    return min(max(n_options if n_options <= IN_A_ROW else -(-n_options // 2), 2), IN_A_ROW)


def _worded(change: Change) -> View:
    return {
        "title": change.title,
        "before": change.before_text,
        "after": change.after_text,
        "range": change.range_text,
    }


def _expected(plan: "Plan", j: int) -> str:
    """Return the expected rate of an option, "" where it is not known."""
    rate = plan.expected_rate[j]
    return "" if np.isnan(rate) else rounded_down(rate)


def _whole(plan: "Plan") -> list[View]:
    """Return the bars of the plan as a whole, of what says something: not at least 0, not at most 1."""
    lower = [("any", rounded_down(plan.any_lower)), ("all", rounded_down(plan.lower))]
    bars = [_bar(whom, AT_LEAST, least, _level(plan, whom)) for whom, least in lower if float(least)]
    most = rounded_up(plan.upper)
    return [*bars, _bar("all", AT_MOST, most)] if float(most) < 1.0 else bars


def _bar(whom: str, side: str, bound: str, level: float | None = None) -> View:
    value = f"{side} {bound}" if side == AT_MOST or float(bound) else NOTHING
    return {"words": BAR_WORDS[whom], "value": value, "width": bar_width(bound), "level": level}


def bar_width(bound: str) -> str:
    """Return how long the bar of a rounded probability is, in percent."""
    return f"{100.0 * float(bound):.1f}"


def _level(plan: "Plan | PlanBatch", whom: str) -> float | None:
    """Return the level asked for, where it was asked of these options."""
    return plan.request.level if plan.request.guarantee_for == whom else None


def _terms(plan: "Plan | PlanBatch") -> str:
    """Say what was asked for and what the probabilities rest on."""
    legend = " It is marked on the bars." if plan.request.level is not None else ""
    return f"{request_words(plan.request)}{legend} {assumption(plan.ambiguity, plan.basis, plan.request)}"


def _histogram(batch: "PlanBatch", guarantees: dict[str, Any]) -> View:
    """Return the histogram of the plans' guarantees, of the kind that was asked for."""
    whom = batch.request.guarantee_for
    places = np.minimum((guarantees[whom] * BINS).astype(np.intp), BINS - 1)
    counts = np.bincount(places, minlength=BINS).tolist()
    bins = [
        {
            "title": f"{counted(count, 'menu')} from {k / BINS:g} to {(k + 1) / BINS:g}",
            "count": count,
            "height": f"{80.0 * count / max(counts):.1f}",
        }
        for k, count in enumerate(counts)
    ]
    return {"whom": WHOM[whom], "bins": bins, "level": _level(batch, whom)}
