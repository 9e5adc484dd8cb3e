"""The list of applicants to choose from, and their pages."""

from typing import Any

from copa.plans import Plan
from copa.plans.cells import as_text
from copa.plans.consistency import STATUSES
from copa.plans.markup import safe
from copa.plans.plan_html import STATUS_SIGNS
from copa.plans.probabilities import rounded_down, rounded_up
from copa.report.content import Content, Section
from copa.report.curves import RadiusCurves
from copa.report.sections.applicant import applicant_section
from copa.report.sections.pieces import note
from copa.report.words import counted, rounded_radius


def applicants_section(content: Content) -> Section:
    """Everybody who is shown one by one."""
    plans = list(content.kept)
    if not plans:
        return Section("", {})
    pages = [applicant_section(content, i, plan) for i, plan in enumerate(plans)]
    more = ""
    if content.totals.n_applicants > len(plans):
        more = note(
            f"The first {len(plans):,} of {content.totals.n_applicants:,} applicants are listed here; the figures "
            "above are about all of them, and the saved plans hold every menu."
        )
    statuses = [status for status in STATUSES if any(plan.status == status for plan in plans)]
    choices = "".join(f'<option value="{status}">{STATUS_SIGNS[status]}</option>' for status in statuses)
    items = "".join(_item(i, plan) for i, plan in enumerate(plans))
    html = (
        f'<section id="applicants"><h2>One by one</h2>{more}<div class="browser">'
        '<nav class="list" aria-label="Applicants"><label class="search">Search'
        '<input type="search" id="search" placeholder="name or column" autocomplete="off"></label>'
        '<label class="search">Status<select id="status" autocomplete="off">'
        f'<option value="">all</option>{choices}</select></label><p class="note" id="found" role="status">'
        f"{counted(len(plans), 'applicant')}</p><ul>{items}</ul></nav>"
        f'<div class="pages">{"".join(page.html for page in pages)}</div></div></section>'
    )
    return Section(html, {key: drawn for page in pages for key, drawn in page.figures.items()})


def _item(i: int, plan: Plan) -> str:
    """A line of the list: who, what became of the search, and how sure the least sure option is."""
    words = STATUS_SIGNS[plan.status]
    detail = f"{words} · {counted(plan.n_options, 'option')}" if plan.n_options else words
    columns = sorted({change.title for j in range(plan.n_options) for change in plan.changes(j + 1)})
    haystack = " ".join([as_text(plan.label), words, *columns]).casefold()
    return (
        f'<li><button type="button" class="choose" data-applicant="{i}" data-status="{plan.status}" '
        f'data-text="{safe(haystack)}"><b>{safe(as_text(plan.label))}</b><span>{detail}</span></button></li>'
    )


def slider_data(curves: list[RadiusCurves | None], own: float) -> dict[str, Any]:
    """What the script needs to follow the slider: bounds in thousandths, rounded to the safe side.

    `lower[i][r]` holds those of applicant i at radius r: each option, then (if there are several) any, then all.
    """
    known = [curve for curve in curves if curve is not None]
    if not known:
        return {"radii": [], "names": [], "own": 0, "lower": [], "upper": []}
    radii = known[0].radii
    return {
        "radii": [float(f"{radius:.6g}") for radius in radii.tolist()],
        "names": [rounded_radius(radius) for radius in radii.tolist()],
        "own": int((radii < own).sum()),
        "lower": [None if curve is None else _thousandths(curve, upper=False) for curve in curves],
        "upper": [None if curve is None else _thousandths(curve, upper=True) for curve in curves],
    }


def _thousandths(curve: RadiusCurves, *, upper: bool) -> list[list[int]] | None:
    each, some, every = (
        (curve.option_upper, curve.any_upper, curve.all_upper)
        if upper
        else (curve.option_lower, curve.any_lower, curve.all_lower)
    )
    if upper and each.min() >= 1.0 and every.min() >= 1.0:
        return None  # all of them are 1: nothing to follow
    rounding = rounded_up if upper else rounded_down
    rows = []
    for r in range(len(curve.radii)):
        values = [*each[r], some[r], every[r]] if each.shape[1] > 1 else [each[r, 0]]
        rows.append([round(1000.0 * float(rounding(value))) for value in values])
    return rows
