"""A plan as HTML for a notebook: a card per option."""

from typing import TYPE_CHECKING

from copa.bounds.ambiguity import AmbiguityBall
from copa.plans.cells import as_text
from copa.plans.markup import STYLE, labelled_bar, safe
from copa.plans.probabilities import rounded_down, rounded_up
from copa.plans.terms import PlanTerms
from copa.plans.wording import asked, assumption, makes_promises, status_notes, tried_words

if TYPE_CHECKING:
    from copa.plans.plan import Plan

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


def plan_html(plan: "Plan") -> str:
    """Return a plan as HTML that needs nothing from elsewhere."""
    return f'<div class="copa">{STYLE}{plan_title(plan)}{plan_body(plan)}</div>'


def plan_title(plan: "Plan") -> str:
    """Return the applicant and the status."""
    return f'<div class="copa-title">Applicant {safe(as_text(plan.label))} · {STATUS_SIGNS[plan.status]}</div>'


def plan_body(plan: "Plan", *, assumptions: bool = True) -> str:
    """Return everything below the title, with or without what the probabilities rest on."""
    footer = terms_html(plan.ball, plan.terms) if assumptions and makes_promises(plan) else ""
    tried = tried_words(plan)
    trials = f'<div class="copa-small">{safe(tried)}</div>' if tried else ""
    return f"{notes_html(plan)}{cards_html(plan)}{_whole(plan)}{trials}{footer}"


def notes_html(plan: "Plan") -> str:
    """Return what became of the search, where there is more to say than the options do."""
    notes = "".join(f"<p>{safe(note)}</p>" for note in status_notes(plan))
    tone = "" if plan.status in CALM else " copa-warn"
    return f'<div class="copa-note{tone}">{notes}</div>' if notes else ""


def cards_html(plan: "Plan") -> str:
    """Return the menu as cards, in rows of about the same length."""
    if not plan.n_options:
        return ""
    columns = plan.n_options if plan.n_options <= IN_A_ROW else -(-plan.n_options // 2)
    cards = "".join(_card(plan, number) for number in range(1, plan.n_options + 1))
    return f'<div class="copa-cards" style="--copa-columns:{min(max(columns, 2), IN_A_ROW)}">{cards}</div>'


def terms_html(ball: AmbiguityBall, terms: PlanTerms) -> str:
    """Return what was asked for and what the probabilities rest on."""
    legend = " It is marked on the bars." if terms.objective == "level" else ""
    meaning = "A guarantee is a probability that options hold with the next model."
    return f'<div class="copa-small">{meaning} {safe(asked(terms))}{legend} {safe(assumption(ball, terms))}</div>'


def _level(plan: "Plan", whom: str) -> float | None:
    """The level asked for, where it was asked of these options."""
    wanted = plan.terms.objective == "level" and plan.terms.guarantee_for == whom
    return plan.terms.guarantee if wanted else None


def _card(plan: "Plan", option: int) -> str:
    j = option - 1
    items = [
        f'<li><span class="copa-name">{safe(change.title)}</span>'
        f'{safe(change.before_text)} → <span class="copa-to">{safe(change.after_text)}</span></li>'
        for change in plan.changes(option)
    ]
    notes = ["✓ accepted today" if plan.accepted[j] else "! not accepted today"]
    if option == plan.breaks_first:
        notes.append('<span class="copa-tag">breaks first</span>')
    least = float(plan.option_lower[j])
    holds = labelled_bar("guarantee", f"at least {rounded_down(least)}", least, _level(plan, "each"))
    return (
        f'<div class="copa-card"><div class="copa-head"><b>Option {option}</b>'
        f'<span class="copa-small">effort {plan.effort[j]:.2f}</span></div>'
        f'{holds}<div class="copa-small">{" · ".join(notes)}</div>'
        f'<ul class="copa-changes">{"".join(items) or "<li>nothing changes</li>"}</ul></div>'
    )


def _whole(plan: "Plan") -> str:
    """Return the bars of the menu as a whole."""
    if plan.n_options < 2:
        return ""
    bars = [
        labelled_bar(
            "at least one option holds", f"at least {rounded_down(plan.any_lower)}", plan.any_lower, _level(plan, "any")
        ),
        labelled_bar("all options hold", f"at least {rounded_down(plan.lower)}", plan.lower, _level(plan, "all")),
    ]
    if plan.upper < 1.0:
        bars.append(labelled_bar("all options hold", f"at most {rounded_up(plan.upper)}", plan.upper))
    return f'<div class="copa-whole">{"".join(bars)}</div>'
