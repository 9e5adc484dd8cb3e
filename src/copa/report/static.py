"""The main figures for paper: the same numbers as in the HTML report, drawn by matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import STATUSES, shown
from copa.analysis.curves import radius_curves, radius_grid
from copa.analysis.frontier import Frontier
from copa.analysis.totals import reached_shares
from copa.exceptions import InvalidInputError, MissingPackageError
from copa.plans import Plan, PlanBatch
from copa.plans.card import STATUS_SIGNS, SUMMARY_COLUMNS
from copa.plans.frames import summary_table
from copa.plans.wording import as_asked
from copa.report.figures import BLUE, GREY, KIND_COLOURS, KIND_NAMES, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES = {"each": "-", "any": "--", "all": ":"}
SIZE = (4.2, 2.8)  # inches: one column of a paper


def status_chart(batch: PlanBatch) -> "Figure":
    """How many applicants have which status.

    Parameters
    ----------
    batch : PlanBatch

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from copa.report.static import status_chart
    >>> import copa, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0] * 9}), [False, False, True, True] * 9
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), n_models=20, random_state=0).fit(X, y)
    >>> batch = planner.audit([X.iloc[[3]], X.iloc[[2]]], X.iloc[:2])
    >>> status_chart(batch).axes[0].get_xlabel()
    'applicants'
    """
    counts = {status: int((batch.status == status).sum()) for status in STATUSES}
    signs = [as_asked(STATUS_SIGNS[status], batch.request) for status in STATUSES if counts[status]]
    names = [sign.partition(" ")[2].removesuffix(" asked for") for sign in signs]
    figure, axes = _blank()
    bars = axes.barh(np.arange(len(names)), [count for count in counts.values() if count], color=BLUE, height=0.6)
    axes.bar_label(bars, padding=3)
    axes.set_yticks(np.arange(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("applicants")
    return figure


def guarantee_distribution(batch: PlanBatch) -> "Figure":
    """Share of the plans that reach a guarantee: for the least sure option, for any and for all.

    Parameters
    ----------
    batch : PlanBatch
        With options for at least one applicant.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from copa.report.static import guarantee_distribution
    >>> import copa, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0] * 9}), [False, False, True, True] * 9
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), n_models=20, random_state=0).fit(X, y)
    >>> batch = planner.audit([X.iloc[[3]], X.iloc[[2]]], X.iloc[:2])
    >>> guarantee_distribution(batch).axes[0].get_xlabel()
    'guarantee of at least'
    """
    known = summary_table(batch)[batch.counts > 0]
    if not len(known):
        raise InvalidInputError(f"no applicant of this batch has options, so there are no guarantees: {shown(batch)}")
    figure, axes = _blank()
    for kind, column in SUMMARY_COLUMNS.items():
        levels, shares = reached_shares(known[column])
        axes.plot(levels, shares, STYLES[kind], color=KIND_COLOURS[kind], label=KIND_NAMES[kind])
    _mark(axes.axvline, batch.request.level)
    axes.set(xlabel="guarantee of at least", ylabel="share of menus", xlim=(0.0, 1.0), ylim=(0.0, 1.03))
    axes.legend(frameon=False)
    return figure


def radius_chart(plan: Plan, radii: Any = None) -> "Figure":
    """Guarantees of one plan against the radius of the ambiguity set.

    Parameters
    ----------
    plan : Plan
        With options.
    radii : array_like of shape (R,), optional
        Ascending radii to compute; None chooses them.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from copa.report.static import radius_chart
    >>> import copa, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0] * 9}), [False, False, True, True] * 9
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), n_models=20, random_state=0).fit(X, y)
    >>> batch = planner.audit([X.iloc[[3]], X.iloc[[2]]], X.iloc[:2])
    >>> radius_chart(batch[0]).axes[0].get_xlabel()
    'radius of the ambiguity set'
    """
    if not plan.n_options:
        raise InvalidInputError(f"the plan has no options, so there is nothing to bound: {shown(plan)}")
    chosen = radius_grid(plan.ambiguity, plan.points) if radii is None else np.asarray(radii, dtype=np.float64)
    curves = radius_curves(plan.points[None], plan.ambiguity, chosen)[0]
    figure, axes = _blank()
    for kind in curves.kinds:
        axes.plot(chosen, curves.lower(kind), STYLES[kind], color=KIND_COLOURS[kind], label=KIND_NAMES[kind])
    _mark(axes.axvline, plan.ambiguity.radius)
    _mark(axes.axhline, plan.request.level, linestyle="--")
    limits = (float(chosen[0]), float(chosen[-1]))
    axes.set(xlabel="radius of the ambiguity set", ylabel="holds with at least", xlim=limits, ylim=(0.0, 1.03))
    axes.legend(frameon=False)
    return figure


def frontier_chart(frontier: Frontier, level: float | None = None) -> "Figure":
    """Least effort against the level, one line per applicant and the median over those who reach a level.

    Parameters
    ----------
    frontier : Frontier
        As `copa.analysis.frontier.frontier` computes it.
    level : float, optional
        The one chosen, marked.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from copa.analysis.frontier import Frontier
    >>> from copa.report.static import frontier_chart
    >>> import numpy as np
    >>> found = Frontier(np.array([0.6, 0.8]), np.array([[1.0, 2.5], [1.5, np.nan]]), complete=True)
    >>> frontier_chart(found, level=0.8).axes[0].get_xlabel()
    'guarantee'
    """
    figure, axes = _blank()
    axes.plot(frontier.levels, frontier.effort.T, color=BLUE, alpha=0.25, linewidth=0.8)
    drawn = frontier.n_drawn
    label = f"median of the same {frontier.followed.sum()}"
    axes.plot(frontier.levels[:drawn], frontier.medians[:drawn], color=ORANGE, marker="D", markersize=4, label=label)
    _mark(axes.axvline, level)
    axes.set(xlabel="guarantee", ylabel="least effort")
    axes.set_ylim(bottom=0.0)
    axes.legend(frameon=False)
    return figure


def _mark(line: Any, value: float | None, **style: Any) -> None:
    """Draw a thin line across the figure where there is a value."""
    if value is not None:
        line(value, color=GREY, linewidth=0.8, **style)


def _blank() -> "tuple[Figure, Axes]":
    """A figure of its own, which no other part of the program knows of."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError("static figures need matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    return figure, axes
