"""The section for model validators: bounds at other radii, how long a level lasts, what breaks a plan first."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.records import Positions
from copa._core.words import rounded_down, rounded_up
from copa.analysis.attribution import Attribution, Attributor
from copa.analysis.curves import RadiusCurves, ShelfLife, batch_curves, shelf_lives
from copa.analysis.frontier import Frontier
from copa.data.tables.cells import as_text
from copa.plans import Plan, PlanBasis, PlanBatch, PlanRequest
from copa.plans.wording import WHOM, around_radius, condition, expectation, rounded_radius
from copa.report import figures
from copa.theory.sets.ambiguity import AmbiguitySet, is_exact

if TYPE_CHECKING:
    from copa.planner import RecoursePlanner

MOST_PROVEN = 50  # applicants whose plans are bounded at many radii
MOST_PARTS = 8  # of a score; the others are put together
DRAWN_FROM = {
    "parameters": "model's parameters",
    "scores": "scores",
    "surrogate": "surrogate's parameters",
    "assumed": "scores",
}

View = dict[str, Any]  # what a template shows; "figures" are drawn by the page's script


def validators(kept: PlanBatch, planner: "RecoursePlanner | None", cost: Frontier | None, tried: Positions) -> View:
    """Return the section for validators: the assumption, and the first applicants with options at other radii.

    `kept` are the applicants of the list, `tried` the positions in it of those whom `cost` is about. Without a planner,
    nothing is said of what breaks a plan.
    """
    ambiguity, basis = kept.ambiguity, kept.basis
    places = np.flatnonzero(kept.counts > 0)[:MOST_PROVEN]
    proven = kept.select(places)
    attributor = None if planner is None else Attributor(planner.strategy_)
    curves = batch_curves(proven, n_jobs=None if planner is None else planner.n_jobs)
    efforts = {} if cost is None else dict(zip(tried.tolist(), _own_frontiers(cost), strict=True))
    people, level = [], kept.request.level
    for i, plan, curve in zip(places.tolist(), proven, curves, strict=True):
        lives = {} if curve is None or level is None else shelf_lives(plan, curve, level)
        attribution = None if attributor is None else attributor.attribute(plan)
        people.append(_applicant(i, plan, curve, lives, attribution, efforts.get(i)))
    return {
        "assumption": assumption_sentences(ambiguity, basis, kept.request),
        "radius": f"{ambiguity.radius:.3g}",
        "radius_source": basis.radius_source,
        "applicants": people,
        "comparison": attributor.comparison if attributor and any("attribution" in it for it in people) else "",
        "n_more": int((kept.counts > 0).sum()) - len(people),
        "slider": slider(curves, ambiguity.radius),
        "figures": {key: figure for person in people for key, figure in person["figures"].items()},
    }


def assumption_sentences(ambiguity: AmbiguitySet, basis: PlanBasis, request: PlanRequest) -> list[str]:
    """State the assumption behind every guarantee in full: the condition, what lies outside of it, what to expect."""
    outside = "About other distributions nothing is promised."
    if is_exact(ambiguity):
        outside = (
            f"The ball holds every distribution of the {DRAWN_FROM[basis.subject]} whose mean and covariance are that "
            "close, whatever its shape; about models outside it nothing is promised."
        )
    expected = expectation(ambiguity, basis, request).strip() if request.level is not None else ""
    first = (
        "Every guarantee on this page is conditional: a proven lower bound on the probability that an option still "
        f"gets the favourable answer, {condition(ambiguity, basis)}."
    )
    return [first, *filter(None, [outside, expected])]


def _applicant(
    i: int,
    plan: Plan,
    curves: RadiusCurves | None,
    lives: dict[str, ShelfLife],
    attribution: Attribution | None,
    frontier: tuple[Array, Array] | None,
) -> View:
    """Return the view of the applicant at place i of the list."""
    view: View = {"i": i, "label": as_text(plan.label), "n_options": plan.n_options, "figures": {}}
    if curves is None:
        return view
    view |= _at_radii(plan, curves, lives)
    view["figures"][f"radius-{i}"] = figures.radius_figure(curves, view["level"])
    if frontier is not None and np.isfinite(frontier[1]).any():
        view["frontier"], view["figures"][f"frontier-{i}"] = _frontier(plan, *frontier)
    if attribution is not None and len(attribution.parts) > 1 and attribution.today.sum() > 0.0:
        view["attribution"] = attribution.in_words()
        view["figures"][f"attribution-{i}"] = _attribution_figure(attribution)
    return view


def _at_radii(plan: Plan, curves: RadiusCurves, lives: dict[str, ShelfLife]) -> View:
    """Return bounds at the assumed radius, at other radii, and how long the level lasts."""
    radius, whom, single = plan.ambiguity.radius, plan.request.guarantee_for, plan.n_options == 1
    assumed, least = _position(curves.radii, radius), curves.lower(whom)
    lines = [(f"Option {j + 1}", "each") for j in range(plan.n_options)]
    lines += [(WHOM[kind].capitalize(), kind) for kind in curves.kinds[1:]]
    upper = curves.table(upper=True)
    rows = zip(lines, curves.table()[assumed], upper[assumed], strict=True)
    return {
        "level": plan.request.level,
        "whom": "the option" if single else WHOM[whom],
        "radius": rounded_radius(radius),
        "slider": {"last": len(curves.radii) - 1, "own": assumed},
        "around_radius": around_radius(plan.ambiguity, plan.basis),
        "bounds": [
            {"name": name, "is_asked": kind == whom, "least": rounded_down(low), "most": rounded_up(high)}
            for (name, kind), low, high in rows
        ],
        "has_upper": bool(upper.min() < 1.0),  # at some radius
        "ends": {"least": least[[0, -1]].tolist(), "farthest": curves.radii[-1]},
        "lives": [life_words(kind, lives[kind], radius, single=single) for kind in curves.kinds if lives],
    }


def _position(radii: Array, radius: float) -> int:
    return int((radii < radius).sum())


def life_words(kind: str, life: ShelfLife, assumed: float, *, single: bool = False) -> str:
    """Say how long a level lasts, in a sentence."""
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


def _own_frontiers(cost: Frontier) -> list[tuple[Array, Array]]:
    """Return for each applicant the levels at which there was time to plan, and the efforts."""
    tried = np.ones(cost.effort.shape, dtype=np.bool_) if cost.tried is None else cost.tried
    return [(cost.levels[some], efforts[some]) for efforts, some in zip(cost.effort, tried, strict=True)]


def _frontier(plan: Plan, levels: Array, effort: Array) -> tuple[View, figures.Figure]:
    kind = plan.request.guarantee_for
    reached = {"each": plan.option_lower.min(), "any": plan.any_lower, "all": plan.lower}[kind]
    low, high = np.flatnonzero(np.isfinite(effort))[[0, -1]]
    words = {
        "whom": WHOM[kind],
        "low": (levels[low], effort[low]),
        "high": (levels[high], effort[high]),
        "beyond": levels[high + 1] if high + 1 < len(effort) else None,
    }
    return words, figures.frontier_figure(levels, effort, (reached, plan.effort.min()))


def _attribution_figure(attribution: Attribution) -> figures.Figure:
    """Draw the largest parts of what the worst case takes from the score."""
    order = np.argsort(-np.abs(attribution.change), kind="stable")
    names, change = [attribution.parts[k] for k in order[:MOST_PARTS]], attribution.change[order[:MOST_PARTS]]
    if len(order) > MOST_PARTS:
        names, change = [*names, "everything else"], np.append(change, attribution.change[order[MOST_PARTS:]].sum())
    return figures.attribution_figure(names, change)


def slider(curves: list[RadiusCurves | None], own: float) -> View:
    """Return the data of the slider: bounds in thousandths, rounded to the safe side.

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
