"""The section of a page about promises taken together: the distribution of the share that the next model breaks."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import OK
from copa.exceptions import InvalidInputError
from copa.report import figures

if TYPE_CHECKING:
    from copa.planner import RecoursePlanner
    from copa.plans import PlanBatch
    from copa.promises.portfolio_report import PortfolioRisk

BINS = 20
FEWEST, MOST_ASKED = 5, 2_000  # options that a report looks at together; of black boxes, no more
MOST_PARTS = 8  # of the direction that hurts most

View = dict[str, Any]


def portfolio_view(risk: "PortfolioRisk", broken_share: float | None = None) -> View:
    """Return sentences, tables and the figure of a section, beside the share that a candidate breaks, if any."""
    levels = [(f"{level:.0%}", _share(share)) for level, share in risk.quantiles.items()]
    return {
        "sentences": risk.in_words() if broken_share is None else risk.beside(broken_share),
        "levels": levels,
        "direction": [(name, f"{change:+.3f}") for name, change in risk.direction[:MOST_PARTS]],
        "past": [(f"{bound.share:.1%}", f"{bound.probability:.3g}") for bound in risk.past],
        "figures": {"portfolio": shares_figure(risk)},
    }


def plans_together(planner: "RecoursePlanner", batch: "PlanBatch") -> View | None:
    """Return a view of what the next model would do to all options that reach the level; None if that is unknown."""
    from copa.promises import portfolio_risk

    promised = batch.select(batch.status == OK)
    slow = not hasattr(planner.strategy_, "thirds")
    if len(promised.options) < FEWEST or (slow and len(promised.options) > MOST_ASKED):
        return None
    try:
        return portfolio_view(portfolio_risk(planner, promised))
    except InvalidInputError:  # a planner without refits
        return None


def shares_figure(risk: "PortfolioRisk") -> figures.Figure:
    """Draw the share broken by each refit, and what as many independent promises would do."""
    from scipy.stats import binom

    top = max(float(risk.shares.max()), 1.0 / risk.n_promises)
    counts, edges = np.histogram(risk.shares, bins=BINS, range=(0.0, top))
    inside = np.diff(binom.cdf(np.floor(edges * risk.n_promises + 1e-9), risk.n_promises, risk.mean))
    inside[0] += binom.cdf(0, risk.n_promises, risk.mean)
    middles = figures.numbers(0.5 * (edges[:-1] + edges[1:]))
    bars = figures.trace(
        "bar",
        middles,
        figures.numbers(counts / risk.shares.size),
        "%{y:.1%} of the refits break about %{x:.1%}",
        name="refits: one model hits all",
        width=figures.numbers(np.diff(edges), 6),
        marker={"color": figures.BLUE, "line": {"color": "#ffffff", "width": 1}},
    )
    line = figures.trace(
        "scatter",
        middles,
        figures.numbers(inside),
        "independent promises: %{y:.1%}",
        mode="lines",
        name="if promises were independent",
        line={"color": figures.ORANGE, "width": 2.5, "dash": "dash"},
    )
    high = risk.quantiles[0.95]
    return figures.figure(
        [bars, line],
        xaxis=figures.axis("share of the promises broken", tickformat=".0%", rangemode="tozero"),
        yaxis=figures.axis("share of next models", tickformat=".0%", rangemode="tozero"),
        shapes=[figures.level_line(high, "x", "y")] if np.isfinite(high) else [],
        showlegend=True,
        bargap=0.0,
    )


def portfolio_figure(risk: "PortfolioRisk") -> Any:
    """Draw the distribution of the share of promises that a next model breaks, for a notebook.

    Parameters
    ----------
    risk : PortfolioRisk

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.promises import portfolio_risk
    >>> from copa.report import portfolio_figure
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] + draw.normal(0, 5, 300) > 25
    >>> model = LogisticRegression().fit(X, y)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, n_options=2, later_models=later, progress=False).fit(X, y)
    >>> risk = portfolio_risk(planner, planner.plan(X[~model.predict(X)].head(10)))
    >>> len(portfolio_figure(risk).data)
    2
    """
    return figures.as_plotly(shares_figure(risk))


def _share(value: float) -> str:
    return "too few refits" if np.isnan(value) else f"{value:.1%}"
