"""The main figures for paper: the same numbers as in the HTML report, drawn by matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.records import reduce_segments
from copa._core.words import STATUSES, shown
from copa.analysis.curves import KINDS, radius_curves, radius_grid
from copa.analysis.frontier import Frontier
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.plans import Plan, PlanBatch
from copa.report.figures import BLUE, GREY, KIND_COLOURS, KIND_NAMES, ORANGE, reached_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {"each": "-", "any": "--", "all": ":"}
SIZE = (4.2, 2.8)  # inches: one column of a paper
STATUS_NAMES = {
    "ok": "options found",
    "already_valid": "accepted already",
    "fragile": "below the level",
    "infeasible": "no option",
    "time_limit": "time limit",
    "error": "error",
}


def status_chart(batch: PlanBatch) -> "Figure":
    """How many applicants have which status."""
    figure, axes = _blank()
    counts = [(STATUS_NAMES[status], int((batch.status == status).sum())) for status in STATUSES]
    counts = [(name, count) for name, count in counts if count]
    places = np.arange(len(counts))
    bars = axes.barh(places, [count for _, count in counts], color=BLUE, height=0.6)
    axes.bar_label(bars, padding=3)
    axes.set_yticks(places, [name for name, _ in counts])
    axes.invert_yaxis()
    axes.set_xlabel("applicants")
    return figure


def guarantee_distribution(batch: PlanBatch) -> "Figure":
    """Share of the menus that reach a guarantee: for the least sure option, for any and for all."""
    some = batch.counts > 0
    if not some.any():
        raise InvalidInputError(f"no applicant of this batch has options, so there are no guarantees: {shown(batch)}")
    lowest = reduce_segments(np.minimum, batch.option_lower, batch.counts)
    figure, axes = _blank()
    for kind, values in (("each", lowest), ("any", batch.any_lower), ("all", batch.lower)):
        levels, shares = reached_shares(values[some])
        axes.plot(levels, shares, STYLES[kind], color=KIND_COLOURS[kind], label=KIND_NAMES[kind])
    if batch.terms.objective == "level":
        axes.axvline(batch.terms.guarantee, color=GREY, linewidth=0.8)
    axes.set(xlabel="guarantee of at least", ylabel="share of menus", xlim=(0.0, 1.0), ylim=(0.0, 1.03))
    axes.legend(frameon=False)
    return figure


def radius_chart(plan: Plan, radii: Any = None) -> "Figure":
    """Guarantees of one plan against the radius of the ball.

    Parameters
    ----------
    plan : with options
    radii : ascending radii to compute; None chooses them
    """
    if not plan.n_options:
        raise InvalidInputError(f"the plan has no options, so there is nothing to bound: {shown(plan)}")
    chosen = radius_grid(plan.ball, plan.points) if radii is None else np.asarray(radii, dtype=np.float64)
    curves = radius_curves(plan.points[None], plan.ball, chosen)[0]
    figure, axes = _blank()
    for kind in KINDS[:1] if plan.n_options == 1 else KINDS:
        axes.plot(chosen, curves.lower(kind), STYLES[kind], color=KIND_COLOURS[kind], label=KIND_NAMES[kind])
    axes.axvline(plan.ball.radius, color=GREY, linewidth=0.8)
    if plan.terms.objective == "level":
        axes.axhline(plan.terms.guarantee, color=GREY, linewidth=0.8, linestyle="--")
    axes.set(xlabel="radius of the ball", ylabel="holds with at least", ylim=(0.0, 1.03))
    axes.set_xlim(float(chosen[0]), float(chosen[-1]))
    axes.legend(frameon=False)
    return figure


def frontier_chart(frontier: Frontier, level: float | None = None) -> "Figure":
    """Least effort against the level, one line per applicant and the median over those who reach a level.

    Parameters
    ----------
    frontier : as `copa.analysis.frontier.frontier` computes it
    level : the one chosen, marked
    """
    figure, axes = _blank()
    axes.plot(frontier.levels, frontier.effort.T, color=BLUE, alpha=0.25, linewidth=0.8)
    reached = np.flatnonzero(np.isfinite(frontier.effort).any(axis=0))
    medians = [np.nanmedian(frontier.effort[:, k]) for k in reached]
    axes.plot(frontier.levels[reached], medians, color=ORANGE, marker="D", markersize=4, label="median")
    if level is not None:
        axes.axvline(level, color=GREY, linewidth=0.8)
    axes.set(xlabel="guarantee", ylabel="least effort")
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False)
    return figure


def _blank() -> "tuple[Figure, Axes]":
    """A figure of its own, which no other part of the program knows of."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            "static figures are drawn by matplotlib, which is not installed: pip install matplotlib"
        ) from error
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    return figure, axes
