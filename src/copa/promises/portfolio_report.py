"""`PortfolioRisk`: the distribution of the share of promises that the next model breaks, and its statistics."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import counted

ROUNDING = 1e-9


@dataclass(frozen=True)
class PastBound:
    """A bound by past versions on the share that the next breaks, if it is exchangeable with them.

    Attributes
    ----------
    share : float
        Share of the promises that one of the versions would break.
    probability : float
        The next breaks a larger share with at most this probability.

    Examples
    --------
    >>> from copa.promises.portfolio_report import past_bounds
    >>> past_bounds([0.1, 0.0, 0.3])[-1]
    PastBound(share=0.3, probability=0.25)
    """

    share: float
    probability: float


def guarantees_in_words(expected_share: float) -> str:
    """Return what the guarantees of promises say of all of them together."""
    return (
        f"One minus the mean guarantee is {expected_share:.1%}: where the assumptions of the guarantees hold, later "
        "models break no larger share on average, though a single one may."
    )


@dataclass(frozen=True, eq=False, repr=False)
class PortfolioRisk:
    """Distribution of the share of promises that the next model breaks.

    Parameters
    ----------
    mean : float
        Mean share broken.
    quantiles : dict of float to float
        By level, a share that the next model exceeds with at most one minus the level, as far as it is another one of
        the refits: of K of them, the ceil(level (K + 1))-th smallest share; NaN where K is too small for the level.
    effective_number : float
        Independent promises that would vary as much; NaN where all refits break the same share.
    shares : ndarray of shape (K,)
        Share of the promises that each refit breaks.
    n_promises : int
    expected_share : float or None
        Mean of one minus the guarantees; None where a promise has no guarantee. Where the assumptions of the guarantees
        hold, later models break no larger share on average; a single one may.
    past : tuple of PastBound
        By the past versions, the smallest share first; empty where there are none.
    direction : tuple of tuple of str and float
        How the mean score of the promises changes, by column, in a model that breaks one standard deviation more of
        them; the largest loss first.
    source : str
        Which models the shares are of, in words.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.promises import portfolio_risk
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame(rng.normal(size=(300, 2)).round(1), columns=["income", "savings"])
    >>> y = X.sum(axis=1) + rng.normal(size=300) > 0
    >>> later = copa.LaterModels(n_refits=200)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), later_models=later, guarantee=0.6).fit(X, y)
    >>> risk = portfolio_risk(planner, pd.DataFrame({"income": [0.2, -0.3], "savings": [-0.1, 0.5]}))
    >>> risk.mean <= risk.quantiles[0.95], 1.0 <= risk.effective_number <= 2.0
    (True, True)
    """

    mean: float
    quantiles: dict[float, float]
    effective_number: float
    shares: Array
    n_promises: int
    expected_share: float | None = None
    past: tuple[PastBound, ...] = ()
    direction: tuple[tuple[str, float], ...] = ()
    source: str = ""

    def __repr__(self) -> str:
        worth = "" if np.isnan(self.effective_number) else f" worth {_number(self.effective_number)} independent ones"
        return (
            f"PortfolioRisk({counted(self.n_promises, 'promise')}{worth}: {self.mean:.3f} broken on average, "
            f"{self.quantiles[0.95]:.3f} at 95 %)"
        )

    def _repr_html_(self) -> str:
        from copa._core.html import facts_html

        return facts_html("Portfolio of promises", [("", sentence) for sentence in self.in_words()])

    def in_words(self) -> list[str]:
        """Return the distribution in plain sentences."""
        high = self.quantiles[0.95]
        above = f", and more than {high:.1%} in at most one case of twenty" if np.isfinite(high) else ""
        forecast = (
            f"The next model is expected to break {self.mean:.1%} of {counted(self.n_promises, 'promise')}{above}. "
            f"This is a forecast, from {self.source}: a frequency, no guarantee."
        )
        sentences = [forecast]
        if np.isnan(self.effective_number):
            sentences.append("All of these models break the same share, so that nothing is seen of how it varies.")
        elif self.n_promises > 1:
            sentences.append(
                f"One model hits all promises together: these {self.n_promises:,} are worth "
                f"{_number(self.effective_number)} independent ones."
            )
        if self.expected_share is not None:
            sentences.append(guarantees_in_words(self.expected_share))
        if self.past:
            most = self.past[-1]
            sentences.append(
                f"Of {counted(len(self.past), 'past version')} none would break more than {most.share:.1%}; if the "
                f"next is exchangeable with them, it breaks more with probability at most {most.probability:.2g}."
            )
        losses = [f"{name} {change:+.2f}" for name, change in self.direction[:3] if change < 0.0]
        if losses:
            total = sum(change for _, change in self.direction)
            sentences.append(
                "What would hurt most: in a model that breaks one standard deviation more of them, their scores change "
                f"by {total:+.2f} on average, most of it through {', '.join(losses)}."
            )
        return sentences

    def allows(self, broken_share: float) -> bool:
        """Return whether a share lies within the forecast: up to the 95 % quantile, or the largest of few shares.

        Parameters
        ----------
        broken_share : float
            Of the same promises, that a candidate breaks.
        """
        return broken_share <= self._upper

    @property
    def _upper(self) -> float:
        high = self.quantiles[0.95]
        return high if np.isfinite(high) else float(self.shares.max())

    def beside(self, broken_share: float) -> list[str]:
        """Return the forecast beside what a candidate does; of one outside of it, only that.

        Parameters
        ----------
        broken_share : float
            Of the same promises, that the candidate breaks.
        """
        if self.allows(broken_share):
            return [
                f"The candidate's {broken_share:.1%} lies within the forecast for retrained models.",
                *self.in_words(),
            ]
        rarely = "at most one in twenty" if np.isfinite(self.quantiles[0.95]) else "none"
        outside = (
            f"The candidate is outside the forecast: it breaks {broken_share:.1%} of the promises, and of "
            f"{self.source} {rarely} breaks more than {self._upper:.1%}. What the forecast says of retrained models "
            "does not hold for this one."
        )
        return [outside]

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as JSON has it."""
        return {
            "mean": self.mean,
            "quantiles": {f"{level:g}": _plain(share) for level, share in self.quantiles.items()},
            "effective_number": _plain(self.effective_number),
            "shares": self.shares.tolist(),
            "n_promises": self.n_promises,
            "expected_share": self.expected_share,
            "past": [dict(vars(bound)) for bound in self.past],
            "direction": [{"part": name, "change": change} for name, change in self.direction],
            "source": self.source,
        }


def quantile(shares: Array, level: float) -> float:
    """Return the ceil(level (K + 1))-th smallest of K shares: one more exceeds it with at most 1 - level; NaN for few.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.portfolio_report import quantile
    >>> quantile(np.arange(1, 20) / 20, 0.95), quantile(np.arange(5) / 5, 0.95)
    (0.95, nan)
    """
    place = int(np.ceil(level * (shares.size + 1) - ROUNDING))
    return float(np.sort(shares)[place - 1]) if place <= shares.size else float("nan")


def effective_number(shares: Array, variances: float, n_promises: int) -> float:
    """Return how many independent promises would have a broken share that varies as much.

    Parameters
    ----------
    shares : ndarray of shape (K,)
        Share broken by each of K models.
    variances : float
        Sum over the promises of p (1 - p), p the share of the models that break it.
    n_promises : int

    Returns
    -------
    float
        From 1 to `n_promises`; NaN where the shares do not vary.
    """
    n_models = shares.size
    variance = float(shares.var(ddof=1))
    if variance <= ROUNDING**2:
        return float("nan")
    alone = variances / n_promises**2 * n_models / (n_models - 1.0)  # the mean of p(1 - p) over samples is too small
    return float(np.clip(n_promises * alone / variance, 1.0, n_promises))


def past_bounds(shares: Any) -> tuple[PastBound, ...]:
    """Return that P(next > j-th smallest of n shares) <= 1 - j / (n + 1), if the next is exchangeable with them.

    Parameters
    ----------
    shares : array_like of shape (n,)
        Share broken by each past version.
    """
    ordered = sorted(float(share) for share in shares)
    return tuple(PastBound(share, 1.0 - (j + 1) / (len(ordered) + 1)) for j, share in enumerate(ordered))


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 10.0 else f"{value:,.0f}"


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
