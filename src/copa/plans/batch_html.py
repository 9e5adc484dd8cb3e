"""A batch as HTML for a notebook: what became of everybody, how sure the menus are, and the first of them."""

from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array
from copa.plans.cells import as_text
from copa.plans.consistency import STATUSES
from copa.plans.markup import STYLE, level_mark, safe
from copa.plans.plan_html import STATUS_SIGNS, plan_body, terms_html
from copa.plans.probabilities import rounded_down
from copa.plans.segments import reduce_segments

if TYPE_CHECKING:
    from copa.plans.batch import PlanBatch
    from copa.plans.plan import Plan

SHOWN = 10  # menus; a notebook with more is slow to scroll
BINS = 10


def batch_html(batch: "PlanBatch") -> str:
    """Return a batch as HTML that needs nothing from elsewhere."""
    title = f"{_counted(len(batch), 'applicant')}, {_counted(len(batch.options), 'option')}"
    menus = "".join(_menu(plan) for plan in batch[:SHOWN])
    rest = len(batch) - SHOWN
    more = f'<div class="copa-small">and {rest} more: batch[i], batch.summary(), batch.to_frame()</div>'
    return (
        f'<div class="copa">{STYLE}<div class="copa-title">Plans for {title}</div>'
        f'<div class="copa-split"><div>{_statuses(batch)}{_quantiles(batch)}</div>{_histogram(batch)}</div>'
        f"{menus}{more if rest > 0 else ''}"
        f"{terms_html(batch.ball, batch.terms)}</div>"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


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
        title = f"{_counted(count, 'menu')} from {k / BINS:g} to {(k + 1) / BINS:g}"
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
        title = f"{title} · {_counted(plan.n_options, 'option')}, {holds}"
    return f"<details><summary>{title}</summary>{plan_body(plan, assumptions=False)}</details>"
