"""What the templates of the page show: words and numbers, laid out from what was analysed before."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import STATUSES, counted, rounded_down, rounded_up
from copa.analysis.attribution import Attribution
from copa.analysis.curves import KINDS, RadiusCurves, ShelfLife
from copa.analysis.frontier import Frontier
from copa.analysis.totals import Corrections, Totals, compare_groups
from copa.plans import Plan, PlanBatch, PlanRequest
from copa.plans.card import STATUS_SIGNS, plan_view
from copa.plans.units import heading, value_text
from copa.plans.wording import (
    MEANINGS,
    WHOM,
    around_radius,
    as_asked,
    condition,
    favourable,
    percent,
    request_fact,
    rounded_radius,
)
from copa.report import figures
from copa.schema import FeatureSchema
from copa.tables.cells import cells_of
from copa.uncertainty.ambiguity import is_exact

if TYPE_CHECKING:
    import pandas as pd

MOST_FEATURES = 15
MOST_DRAWN = 30  # corrected plans
MOST_PARTS = 8  # of a score; the others are put together
DRAWN_FROM = {
    "parameters": "model's parameters",
    "scores": "scores",
    "surrogate": "surrogate's parameters",
    "assumed": "scores",
}

View = dict[str, Any]  # what a template shows; "figures" are drawn by the page's script


def header(batch: PlanBatch, totals: Totals) -> View:
    """What was asked, and what the probabilities rest on."""
    request, basis, ambiguity = batch.request, batch.basis, batch.ambiguity
    facts = [
        ("Applicants", f"{totals.n_applicants:,}", ""),
        ("Guarantee asked for", *request_fact(request)),
        ("Options asked for", f"up to {request.n_options}", "per applicant"),
        ("Favourable answer", *favourable(basis)),
        ("Radius of the ambiguity set", f"{ambiguity.radius:.3g}", basis.radius_source),
    ]
    drawn_from = DRAWN_FROM[basis.subject] if is_exact(ambiguity) else ""  # the ball, whatever the form
    return {"facts": facts, "condition": condition(ambiguity, basis), "drawn_from": drawn_from}


def overview(totals: Totals, batch: PlanBatch, frontier: Frontier | None) -> View:
    """Key numbers, statuses and figures about all applicants."""
    level, known, n = batch.request.level, totals.with_options, totals.n_applicants
    counts = [(status, totals.statuses[status]) for status in STATUSES if totals.statuses[status]]
    view: View = {
        "n_applicants": n,
        "level": level,
        "ok": _status("ok", totals.statuses["ok"], totals.statuses["ok"] / max(n, 1), batch.request),
        "statuses": [_status(status, count, count / n, batch.request) for status, count in counts],
        "sampled": "" if totals.sample.is_complete else f"{len(totals.sample):,}",
        "figures": {},
    }
    if len(known):
        view |= _guarantees(known, batch.request)
        view["figures"] |= {
            "guarantees": figures.guarantees_figure(known[[*KINDS]], level),
            "efforts": figures.efforts_figure(known["effort"].to_numpy()),
        }
    if totals.options_changing:
        frequent = totals.options_changing.most_common(MOST_FEATURES)
        names = [heading(batch.basis.schema, column) for column, _ in frequent]
        shares = np.array([count for _, count in frequent]) / totals.n_options
        n_people, n_more = totals.applicants_changing[frequent[0][0]], len(totals.options_changing) - len(frequent)
        view["features"] = {"first": names[0], "share": percent(shares[0]), "n_people": n_people, "n_more": n_more}
        view["figures"]["features"] = figures.features_figure(names, shares)
    if frontier is not None and level is not None and frontier.n_reached.any():
        view["frontier"] = {"found": frontier, "highest": int(np.flatnonzero(frontier.n_reached)[-1])}
        view["figures"]["frontier"] = figures.overall_frontier_figure(frontier, level)
    return view


def _status(status: str, count: int, share: float, request: PlanRequest) -> View:
    sign, meaning = as_asked(STATUS_SIGNS[status], request), as_asked(MEANINGS[status], request)
    words = {"name": status, "sign": sign, "meaning": meaning}
    return words | {"count": f"{count:,}", "share": share, "percent": percent(share)}


def _guarantees(known: "pd.DataFrame", request: PlanRequest) -> View:
    """Medians, the shares that reach the level, and the middle half of the efforts."""
    at = 0.9 if request.level is None else request.level
    kinds = (request.guarantee_for, "any" if request.guarantee_for == "all" else "all")
    return {
        "at": at,
        "medians": [(WHOM[kind], known[kind].median()) for kind in kinds],
        "reached": {kind: percent((known[kind] >= at).mean()) for kind in KINDS},
        "efforts": known["effort"].quantile([0.25, 0.5, 0.75]).tolist(),
    }


def groups(totals: Totals, schema: FeatureSchema) -> View | None:
    """A table and a figure by group; None where no group was asked for."""
    if totals.group is None or not len(totals.sample):
        return None
    table = compare_groups(totals.sample.rows, totals.group, schema)
    some = table[table["with_options"] > 0]
    return {
        "name": heading(schema, totals.group),
        "head": [*(f"median, {WHOM[kind]}" for kind in KINDS), "median effort"],
        "rows": [_group_row(str(group), numbers) for group, numbers in table.iterrows()],
        "medians": sorted(some[0.5].items(), key=lambda group: group[1]),
        "figures": {"groups": figures.groups_figure(some)} if len(some) else {},
    }


def _group_row(name: str, numbers: "pd.Series[float]") -> list[str]:
    size, with_options, ok = (int(numbers[column]) for column in ("size", "with_options", "at_level"))
    row = [name, f"{size:,}", f"{with_options:,}", f"{ok:,} ({percent(ok / size)})" if size else "0"]
    if not with_options:
        return [*row, "-", "-", "-", "-"]
    return [*row, *(rounded_down(numbers[kind]) for kind in KINDS), f"{numbers[0.5]:.2f}"]


def corrections(made: Corrections | None) -> View | None:
    """Totals, and the plans one by one; None where no corrections were added."""
    if made is None or not made.n_plans:
        return None if made is None else {"made": made, "figures": {}}
    rows = list(zip(made.names, made.before.tolist(), made.after.tolist(), made.moved.tolist(), strict=True))
    drawn = figures.corrections_figure(made.names[:MOST_DRAWN], made.before[:MOST_DRAWN], made.after[:MOST_DRAWN])
    return {
        "made": made,
        "best": rows[int(np.argmax(made.after - made.before))],
        "first": f"The first {len(rows)} of {made.n_plans:,} plans" if made.n_plans > len(rows) else "Plan by plan",
        "rows": [[name, rounded_down(old), rounded_down(new), f"{far:.2f}"] for name, old, new, far in rows],
        "figures": {"corrections": drawn},
    }


def applicant(
    i: int,
    plan: Plan,
    curves: RadiusCurves | None,
    lives: dict[str, ShelfLife],
    attribution: Attribution | None,
    frontier: tuple[Array, Array] | None,
) -> View:
    """The page of the i-th applicant who is shown.

    Parameters
    ----------
    i : int
    plan : Plan
    curves : RadiusCurves or None
        None where the plan has no options.
    lives : dict from str to ShelfLife
        Empty where no level was asked for.
    attribution : Attribution or None
    frontier : tuple of two ndarray of shape (L,), or None
        Levels, and the least efforts of this applicant at them.
    """
    view, schema = plan_view(plan), plan.basis.schema
    titles = {change["title"] for card in view["cards"] for change in card["changes"]}
    view |= {
        "i": i,
        "searched": " ".join([view["label"], view["sign"], *sorted(titles)]).casefold(),
        "detail": f"{view['sign']} · {counted(plan.n_options, 'option')}" if plan.n_options else view["sign"],
        "today": [(heading(schema, n), value_text(schema, n, cells_of(plan.factual[n])[0]), "") for n in plan.factual],
        "figures": {},
    }
    if curves is None:
        return view
    view |= _at_radii(plan, curves, lives)
    view["figures"][f"radius-{i}"] = figures.radius_figure(curves, view["level"])
    if frontier is not None and np.isfinite(frontier[1]).any():
        view["frontier"], view["figures"][f"frontier-{i}"] = _frontier(plan, *frontier)
    if attribution is not None and len(attribution.parts) > 1 and attribution.today.sum() > 0.0:
        view["attribution"], view["figures"][f"attribution-{i}"] = _attribution(attribution)
    return view


def _at_radii(plan: Plan, curves: RadiusCurves, lives: dict[str, ShelfLife]) -> View:
    """Bounds at the radius assumed, how they go on, and how long the level lasts."""
    radius, whom, single = plan.ambiguity.radius, plan.request.guarantee_for, plan.n_options == 1
    own, least = _position(curves.radii, radius), curves.lower(whom)
    lines = [(f"Option {j + 1}", "each") for j in range(plan.n_options)]
    lines += [(WHOM[kind].capitalize(), kind) for kind in curves.kinds[1:]]
    rows = zip(lines, curves.table()[own], curves.table(upper=True)[own], strict=True)
    return {
        "level": plan.request.level,
        "whom": "the option" if single else WHOM[whom],
        "radius": rounded_radius(radius),
        "slider": {"last": len(curves.radii) - 1, "own": own},
        "around_radius": around_radius(plan.ambiguity, plan.basis),
        "bounds": [
            {"name": name, "is_asked": kind == whom, "least": rounded_down(low), "most": rounded_up(high)}
            for (name, kind), low, high in rows
        ],
        "ends": {"least": least[[0, -1]].tolist(), "farthest": curves.radii[-1]},
        "lives": [life_words(kind, lives[kind], radius, single=single) for kind in curves.kinds if lives],
    }


def _position(radii: Array, radius: float) -> int:
    return int((radii < radius).sum())


def life_words(kind: str, life: ShelfLife, assumed: float, *, single: bool = False) -> str:
    """How long a level lasts, as a sentence."""
    whom = "The option" if single else WHOM[kind].capitalize()
    keeps = "keep" if kind == "all" else "keeps"
    if np.isnan(life.radius):
        return f"{whom}: not reached, even if the estimated moments are exactly right (radius 0)."
    more = "at least " if life.open_ended else ""
    sentence = f"{whom} {keeps} it up to {more}radius {rounded_radius(life.radius)}"
    if assumed == 0.0:
        return f"{sentence}; radius 0 is what was assumed."
    times = np.floor(100.0 * life.radius / assumed + 1e-9) / 100.0
    if life.radius < assumed:
        return f"{sentence} only: {times:.2f} times as far as assumed."
    return f"{sentence}: the next models may drift {more}{times:.2f} times as far as assumed."


def _frontier(plan: Plan, levels: Array, effort: Array) -> tuple[View, figures.Figure]:
    kind = plan.request.guarantee_for
    own = {"each": plan.option_lower.min(), "any": plan.any_lower, "all": plan.lower}[kind]
    low, high = np.flatnonzero(np.isfinite(effort))[[0, -1]]
    words = {
        "whom": WHOM[kind],
        "low": (levels[low], effort[low]),
        "high": (levels[high], effort[high]),
        "beyond": levels[high + 1] if high + 1 < len(effort) else None,
    }
    return words, figures.frontier_figure(levels, effort, (own, plan.effort.min()))


def _attribution(found: Attribution) -> tuple[View, figures.Figure]:
    """What a model that refuses the option does differently; the parts of the score that change most are drawn."""
    order = np.argsort(-np.abs(found.change), kind="stable")
    names, change = [found.parts[k] for k in order[:MOST_PARTS]], found.change[order[:MOST_PARTS]]
    if len(order) > MOST_PARTS:
        names, change = [*names, "everything else"], np.append(change, found.change[order[MOST_PARTS:]].sum())
    return {"option": found.option, "causes": found.causes}, figures.attribution_figure(names, change)


def slider(curves: list[RadiusCurves | None], own: float) -> View:
    """What the script needs to follow the slider: bounds in thousandths, rounded to the safe side.

    `lower[i][r]` holds those of applicant i at radius r, as `RadiusCurves.table` has them; None stands for bounds that
    are all 1, and for applicants without options.
    """
    radii = next((curve.radii for curve in curves if curve is not None), np.zeros(0))
    return {
        "radii": [float(f"{radius:.6g}") for radius in radii.tolist()],
        "names": [rounded_radius(radius) for radius in radii.tolist()],
        "own": _position(radii, own),
        "lower": [None if curve is None else _thousandths(curve.table(), rounded_down) for curve in curves],
        "upper": [None if curve is None else _thousandths(curve.table(upper=True), rounded_up) for curve in curves],
    }


def _thousandths(table: Array, rounding: Callable[[float], str]) -> list[list[int]] | None:
    if table.min() >= 1.0:
        return None
    return [[round(1000.0 * float(rounding(value))) for value in row] for row in table.tolist()]
