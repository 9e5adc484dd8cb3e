"""Plans as HTML for a notebook: a card per option."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.html import render
from copa._core.words import STATUSES, counted, rounded_down, rounded_up
from copa.plans.frames import summary_table
from copa.plans.wording import (
    WHOM,
    as_asked,
    assumption,
    makes_promises,
    plausibility_words,
    ranges_words,
    request_words,
    status_notes,
    tried_words,
)
from copa.tables.cells import as_text

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
        ],
        histogram=_histogram(batch, guarantees) if guarantees else None,
        plans=[plan_view(plan) for plan in batch[:SHOWN]],
        rest=len(batch) - SHOWN,
        terms=_terms(batch),
    )


def plan_view(plan: "Plan") -> View:
    """Return what the templates of the notebook and of the report show of a plan."""
    n = plan.n_options
    columns = n if n <= IN_A_ROW else -(-n // 2)
    holds = f"any at least {rounded_down(plan.any_lower)}, all at least {rounded_down(plan.lower)}"
    return {
        "label": as_text(plan.label),
        "status": plan.status,
        "sign": as_asked(STATUS_SIGNS[plan.status], plan.request),
        "is_calm": plan.status in CALM,
        "summary": f" · {counted(n, 'option')}, {holds}" if n else "",
        "notes": status_notes(plan),
        "columns": min(max(columns, 2), IN_A_ROW),
        "cards": [_card(plan, number) for number in range(1, n + 1)],
        "whole": _whole(plan) if n > 1 else [],
        "ranges": ranges_words(plan),
        "tried": tried_words(plan),
    }


def _card(plan: "Plan", option: int) -> View:
    least = float(plan.option_lower[option - 1])
    changes = [
        {"title": c.title, "before": c.before_text, "after": c.after_text, "range": c.range_text}
        for c in plan.changes(option)
    ]
    return {
        "effort": f"{plan.effort[option - 1]:.2f}",
        "accepted": bool(plan.accepted[option - 1]),
        "breaks_first": option == plan.breaks_first,
        "plausibility": plausibility_words(plan.plausibility[option - 1]),
        "changes": changes,
        "bar": _bar("guarantee", f"at least {rounded_down(least)}", least, _level(plan, "each")),
    }


def _whole(plan: "Plan") -> list[View]:
    """Return the bars of the plan as a whole."""
    some, every = "at least one option holds", "all options hold"
    bars = [
        _bar(some, f"at least {rounded_down(plan.any_lower)}", plan.any_lower, _level(plan, "any")),
        _bar(every, f"at least {rounded_down(plan.lower)}", plan.lower, _level(plan, "all")),
    ]
    return [*bars, _bar(every, f"at most {rounded_up(plan.upper)}", plan.upper)] if plan.upper < 1.0 else bars


def _bar(words: str, value: str, least: float, level: float | None = None) -> View:
    return {"words": words, "value": value, "width": bar_width(least), "level": level}


def bar_width(least: float) -> str:
    """Return how long the bar of a probability is, in percent: never longer than the probability."""
    return f"{int(1000.0 * least) / 10.0:.1f}"


def _level(plan: "Plan | PlanBatch", whom: str) -> float | None:
    """Return the level asked for, where it was asked of these options."""
    return plan.request.level if plan.request.guarantee_for == whom else None


def _terms(plan: "Plan | PlanBatch") -> str:
    """Say what was asked for and what the probabilities rest on."""
    legend = " It is marked on the bars." if plan.request.level is not None else ""
    return f"{request_words(plan.request)}{legend} {assumption(plan.ambiguity, plan.basis, plan.request)}"


def _histogram(batch: "PlanBatch", guarantees: dict[str, Any]) -> View:
    """How many plans have which guarantee, of the kind that was asked for."""
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
