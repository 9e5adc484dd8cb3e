"""A plan as HTML for a notebook: a card per option."""

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.records import reduce_segments
from copa._core.words import STATUSES, counted, rounded_down, rounded_up, visible
from copa.plans.request import PlanTerms
from copa.plans.wording import asked, assumption, makes_promises, status_notes, tried_words
from copa.tables.cells import as_text
from copa.uncertainty.ambiguity import MomentBall

if TYPE_CHECKING:
    from copa.plans.records import BatchRecord, PlanRecord

    Plan = PlanRecord
    PlanBatch = BatchRecord[PlanRecord]


# Colours are those that every kind of colour vision tells apart, half-way between light and dark so that they stand out
# on both; text and background are the notebook's own. No meaning is in a colour alone.
STYLE = """<style>
.copa{--copa-fill:#2f7fc1;--copa-warn:#d17b00;--copa-line:rgba(128,128,128,.4);--copa-soft:rgba(128,128,128,.13);
font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-size:14px;line-height:1.45;color:inherit;
max-width:76rem;overflow-wrap:anywhere;text-align:left}
.copa *{box-sizing:border-box}
.copa .copa-title{font-size:1.15em;font-weight:600;margin:.2em 0 .5em}
.copa .copa-note{margin:0 0 .8em;padding:.5em .8em;border:1px solid var(--copa-line);
border-left:5px solid var(--copa-fill);border-radius:4px;background:var(--copa-soft)}
.copa .copa-note.copa-warn{border-left-color:var(--copa-warn)}
.copa .copa-note p{margin:0}
.copa .copa-cards{--copa-columns:4;display:grid;gap:.9em;margin:0 0 1em;grid-template-columns:repeat(auto-fill,
minmax(min(100%,max(13rem,calc((100% - (var(--copa-columns) - 1)*.9em)/var(--copa-columns)))),1fr))}
.copa .copa-card{border:1px solid var(--copa-line);border-top:3px solid var(--copa-fill);border-radius:6px 6px 8px 8px;
padding:.7em .95em .8em;display:flex;flex-direction:column;gap:.55em;min-width:0}
.copa .copa-head{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:baseline;gap:0 1em}
.copa .copa-head b{font-size:1.1em}
.copa .copa-tag{display:inline-block;border:1px solid var(--copa-warn);border-radius:1em;padding:0 .6em;font-weight:600}
.copa .copa-small{font-size:.87em;opacity:.8}
.copa ul.copa-changes{list-style:none;margin:.2em 0 0;padding:.1em 0 0;border-top:1px solid var(--copa-line)}
.copa ul.copa-changes li{margin:0;padding:.35em 0;border-top:1px solid var(--copa-soft)}
.copa ul.copa-changes li:first-child{border-top:0}
.copa .copa-name{display:block;font-size:.87em;opacity:.8}
.copa .copa-to{font-weight:600}
.copa .copa-line{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 .6em;overflow-wrap:normal}
.copa .copa-line b{white-space:nowrap}
.copa .copa-track{position:relative;height:.7em;border:1px solid var(--copa-line);border-radius:3px;
background:var(--copa-soft);overflow:hidden;margin-top:.15em}
.copa .copa-fill{height:100%;background:var(--copa-fill)}
.copa .copa-mark{position:absolute;top:0;bottom:0;width:2px;background:currentColor}
.copa .copa-whole{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,19rem),1fr));gap:.6em 1.6em;
margin:0 0 .8em}
.copa table.copa-table{border-collapse:collapse;margin:0 0 .8em;font-size:1em;color:inherit;background:none;border:0}
.copa table.copa-table th,.copa table.copa-table td{padding:.2em 1em .2em 0;text-align:left;border:0;
background:none;font-weight:400;vertical-align:baseline}
.copa table.copa-table td.copa-number{text-align:right;font-variant-numeric:tabular-nums}
.copa table.copa-table thead th{font-size:.87em;opacity:.8;text-align:right}
.copa .copa-bins{position:relative;display:flex;align-items:flex-end;gap:3px;height:6.5em;max-width:26rem;
border-bottom:1px solid var(--copa-line)}
.copa .copa-bin{flex:1;display:flex;flex-direction:column;justify-content:flex-end;align-items:center;height:100%}
.copa .copa-bin div{width:100%;background:var(--copa-fill);border-radius:2px 2px 0 0}
.copa .copa-axis{display:flex;max-width:26rem;justify-content:space-between;margin:0 0 .8em}
.copa details{border:1px solid var(--copa-line);border-radius:8px;margin:0 0 .5em;padding:.1em .9em}
.copa details>summary{cursor:pointer;padding:.45em 0}
.copa .copa-split{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,19rem),1fr));gap:0 2em}
</style>"""


def safe(value: Any) -> str:
    """Return text with every character that means something in HTML, or steers a screen, made harmless."""
    return escape(visible(value), quote=True)


def level_mark(asked: float) -> str:
    """Return a line at the probability asked for."""
    return f'<div class="copa-mark" style="left:calc({100.0 * asked:.1f}% - 1px)" title="asked for: {asked:g}"></div>'


def bar(least: float, asked: float | None = None) -> str:
    """Return a bar as long as a probability, with a mark at the one asked for; the number stands beside it as text."""
    mark = "" if asked is None else level_mark(asked)
    width = int(1000.0 * least) / 10.0
    return (
        f'<div class="copa-track" aria-hidden="true"><div class="copa-fill" style="width:{width:.1f}%"></div>'
        f"{mark}</div>"
    )


def labelled_bar(words: str, value: str, least: float, asked: float | None = None) -> str:
    """Return a bar below a line that says what it is and how long."""
    return f'<div><div class="copa-line"><span>{safe(words)}</span><b>{safe(value)}</b></div>{bar(least, asked)}</div>'


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


def terms_html(ball: MomentBall, terms: PlanTerms) -> str:
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


SHOWN = 10  # menus; a notebook with more is slow to scroll
BINS = 10


def batch_html(batch: "PlanBatch") -> str:
    """Return a batch as HTML that needs nothing from elsewhere."""
    title = f"{counted(len(batch), 'applicant')}, {counted(len(batch.options), 'option')}"
    menus = "".join(_menu(plan) for plan in batch[:SHOWN])
    rest = len(batch) - SHOWN
    more = f'<div class="copa-small">and {rest} more: batch[i], batch.summary(), batch.to_frame()</div>'
    return (
        f'<div class="copa">{STYLE}<div class="copa-title">Plans for {title}</div>'
        f'<div class="copa-split"><div>{_statuses(batch)}{_quantiles(batch)}</div>{_histogram(batch)}</div>'
        f"{menus}{more if rest > 0 else ''}"
        f"{terms_html(batch.ball, batch.terms)}</div>"
    )


def _statuses(batch: "PlanBatch") -> str:
    rows = []
    for status in STATUSES:
        count = int((batch.status == status).sum())
        if count:
            share = 100.0 * count / len(batch)
            rows.append(
                f'<tr><th scope="row">{STATUS_SIGNS[status]}</th><td class="copa-number">{count}</td>'
                f'<td class="copa-number">{share:.1f} %</td></tr>'
            )
    return f'<table class="copa-table"><tbody>{"".join(rows)}</tbody></table>' if rows else ""


def _guarantees(batch: "PlanBatch") -> dict[str, tuple[str, Array]]:
    """Bounds of the applicants who have options: of the least sure option, of any, and of all together."""
    some = batch.counts > 0
    lowest = reduce_segments(np.minimum, batch.option_lower, batch.counts)
    return {
        "each": ("each option", lowest[some]),
        "any": ("at least one option", batch.any_lower[some]),
        "all": ("all options together", batch.lower[some]),
    }


def _quantiles(batch: "PlanBatch") -> str:
    rows = []
    for words, values in _guarantees(batch).values():
        if values.size:
            cells = [rounded_down(np.quantile(values, q, method="lower")) for q in (0.0, 0.5, 1.0)]
            numbers = "".join(f'<td class="copa-number">{cell}</td>' for cell in cells)
            rows.append(f'<tr><th scope="row">{words}</th>{numbers}</tr>')
    if not rows:
        return ""
    return (
        '<table class="copa-table"><thead><tr><th style="text-align:left">guarantee for</th><th>lowest</th>'
        f"<th>median</th><th>highest</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _histogram(batch: "PlanBatch") -> str:
    """How many menus have which guarantee, of the kind that was asked for."""
    words, values = _guarantees(batch)[batch.terms.guarantee_for]
    if not values.size:
        return ""
    counts = np.bincount(np.minimum((values * BINS).astype(np.intp), BINS - 1), minlength=BINS)
    mark = level_mark(batch.terms.guarantee) if batch.terms.objective == "level" else ""
    bins = []
    for k, count in enumerate(counts.tolist()):
        height = 80.0 * count / counts.max()
        title = f"{counted(count, 'menu')} from {k / BINS:g} to {(k + 1) / BINS:g}"
        number = f'<span class="copa-small">{count}</span>' if count else ""
        bins.append(f'<div class="copa-bin" title="{title}">{number}<div style="height:{height:.1f}%"></div></div>')
    return (
        f'<div><div class="copa-small">number of menus by guarantee for {words}</div>'
        f'<div class="copa-bins">{"".join(bins)}{mark}</div>'
        '<div class="copa-axis copa-small"><span>0</span><span>0.5</span><span>1</span></div></div>'
    )


def _menu(plan: "Plan") -> str:
    title = f"<b>{safe(as_text(plan.label))}</b> · {STATUS_SIGNS[plan.status]}"
    if plan.n_options:
        holds = f"any at least {rounded_down(plan.any_lower)}, all at least {rounded_down(plan.lower)}"
        title = f"{title} · {counted(plan.n_options, 'option')}, {holds}"
    return f"<details><summary>{title}</summary>{plan_body(plan, assumptions=False)}</details>"
