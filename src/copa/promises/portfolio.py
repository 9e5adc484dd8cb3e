"""`portfolio_risk`: what share of all promises the next model breaks, since one model hits them all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import counted
from copa.data.tables.frames import with_columns
from copa.plans import PlanBatch
from copa.promises.column_effects import EVERYONE, TOGETHER, column_effects, typical_row
from copa.promises.days import read_day
from copa.promises.next_models import NextModels, next_models
from copa.promises.outstanding import Outstanding
from copa.promises.promised_rows import PromisedRows

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (0.5, 0.9, 0.95, 0.99)
ROWS = 5_000  # promises that all refits are asked about at once
N_EXPLAINED = 60  # promises by which the direction that hurts most is found
ROUNDING = 1e-9


@dataclass(frozen=True)
class PastBound:
    """What past versions say of the next, if it is exchangeable with them.

    Attributes
    ----------
    share : float
        Share of the promises that one of the versions would break.
    probability : float
        The next breaks a larger share with at most this probability.

    Examples
    --------
    >>> from copa.promises.portfolio import past_bounds
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
        """The distribution in plain sentences."""
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
        """All of it as JSON has it."""
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


def portfolio_risk(
    planner: Any,
    promises: Any,
    *,
    history: Sequence[Any] | None = None,
    favourable: Any = None,
    as_of: Any = None,
    model_version: str | None = None,
) -> PortfolioRisk:
    """Distribution of the share of promises that the next model breaks.

    Options are promised one by one, and one model decides on all of them. So the share that is broken varies far more
    than by chance: refits on thirds of the training data, which vary around today's model as the next model does, say
    how much.

    Parameters
    ----------
    planner : RecoursePlanner or sequence of object
        Fitted planner, whose held-out refits are asked; or fitted models that vary as the next one may, at least 10.
    promises : Ledger, PlanBatch or DataFrame
        As in `gate`.
    history : sequence of object, optional
        Past versions of the model; None takes those that the planner was given.
    favourable : object, optional
        The label that was promised, where models are given and nothing else says it.
    as_of : date or str, optional
        Day on which the promises are outstanding; None is today, in UTC.
    model_version : str, optional
        Only promises made with this version of the model; None for all.

    Returns
    -------
    PortfolioRisk

    Raises
    ------
    InvalidInputError
        If there is no outstanding promise, or no refit to ask.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.promises import portfolio_risk
    >>> rng = np.random.default_rng(0)
    >>> def model():
    ...     X = pd.DataFrame({"income": rng.normal(40, 10, 100)})
    ...     return LogisticRegression().fit(X, X["income"] + rng.normal(0, 5, 100) > 40)
    >>> risk = portfolio_risk([model() for _ in range(40)], pd.DataFrame({"income": [41.0, 42.0, 45.0]}))
    >>> len(risk.shares), risk.direction[-1][0]
    (40, 'income')
    """
    outstanding = Outstanding(promises, read_day(as_of), model_version)
    models = next_models(planner, outstanding.favourable(favourable, planner), history)
    counts = _Counts(models)
    for block, points in _blocks(promises, outstanding, models):
        outstanding.require_columns(models.columns, block.rows.columns, "the model")
        counts.add(block, points)
    outstanding.require_any()
    return counts.result()


def quantile(shares: Array, level: float) -> float:
    """Return the ceil(level (K + 1))-th smallest of K shares: one more exceeds it with at most 1 - level; NaN for few.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.portfolio import quantile
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


def _blocks(promises: Any, outstanding: Outstanding, models: NextModels) -> Iterator[tuple[PromisedRows, Array | None]]:
    """Yield promises in small blocks, with the points of a batch that the planner itself has made."""
    points: Array | None = None
    if isinstance(promises, PlanBatch) and models.strategy is not None:
        ambiguity = models.strategy.ambiguity(promises.ambiguity.dimension - 1)
        points = promises.points if promises.ambiguity.same_as(ambiguity) else None
    first = 0
    for block in outstanding:
        for start in range(0, len(block), ROWS):
            some = slice(start, start + ROWS)
            part = PromisedRows(block.facts.iloc[some], block.rows.iloc[some], block.favourable)
            yield part, None if points is None else points[first : first + len(part)]
            first += len(part)


class _Counts:
    """What is counted block by block."""

    def __init__(self, models: NextModels) -> None:
        self.models = models
        self.n, self.variances, self.expected = 0, 0.0, 0.0
        self.broken = np.zeros(models.n_models)
        self.past: list[int] | None = None
        self.some: pd.DataFrame | None = None
        self.typical: pd.DataFrame | None = None

    def add(self, block: PromisedRows, points: Array | None) -> None:
        """Ask all models about a block of promises."""
        if len(block) == 0:
            return
        broken = ~self.models.accepts(block.rows, points)
        shares = broken.mean(axis=0)
        self.broken += broken.sum(axis=1)
        self.variances += float((shares * (1.0 - shares)).sum())
        guarantees = block.facts["option_guarantee"].to_numpy(dtype=np.float64, na_value=np.nan)
        self.expected += float((1.0 - guarantees).sum())  # not a number from the first unknown one on
        self.n += len(block)
        refused = [int((~version.accepts(block.rows)).sum()) for version in self.models.past(block.rows.columns)]
        self.past = refused if self.past is None else [a + b for a, b in zip(self.past, refused, strict=True)]
        if self.some is None:
            places = np.unique(np.linspace(0, len(block) - 1, N_EXPLAINED).astype(np.intp))
            self.some = block.rows.iloc[places].reset_index(drop=True)
            self.typical = self._typical(block.rows)

    def _typical(self, rows: "pd.DataFrame") -> "pd.DataFrame":
        """Return what columns are compared with: a typical row that the model accepts, or else of these."""
        accepted = getattr(self.models.strategy, "accepted_row", None)
        typical = typical_row(rows)
        return (
            typical
            if accepted is None
            else with_columns(typical, {name: accepted[name].to_numpy() for name in accepted})
        )

    def result(self) -> PortfolioRisk:
        """Return the distribution of the shares that were counted."""
        shares = self.broken / self.n
        return PortfolioRisk(
            mean=float(shares.mean()),
            quantiles={level: quantile(shares, level) for level in LEVELS},
            effective_number=effective_number(shares, self.variances, self.n),
            shares=shares,
            n_promises=self.n,
            expected_share=self.expected / self.n if np.isfinite(self.expected) else None,
            past=past_bounds(np.array(self.past or []) / self.n),
            direction=self._direction(shares),
            source=self.models.source,
        )

    def _direction(self, shares: Array) -> tuple[tuple[str, float], ...]:
        """Return the covariance of the columns' parts of the mean score with the share broken, over its spread."""
        spread = float(shares.std(ddof=1))
        if spread <= ROUNDING or self.some is None or self.typical is None:
            return ()
        columns = [str(name) for name in self.some.columns]
        _, base, effects = column_effects(self.models.scores, self.some, self.typical, columns)
        parts = np.concatenate([effects.mean(axis=1), base], axis=1)
        if not np.isfinite(parts).all():
            return ()
        away = shares - shares.mean()
        changes = away @ (parts - parts.mean(axis=0)) / (shares.size - 1.0) / spread
        names = [*columns, TOGETHER, EVERYONE]
        order = np.argsort(changes, kind="stable").tolist()
        return tuple((names[k], float(changes[k])) for k in order if abs(changes[k]) > ROUNDING)


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 10.0 else f"{value:,.0f}"


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
