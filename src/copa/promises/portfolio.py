"""`portfolio_risk`: what share of all promises the next model breaks, since one model decides on them all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Flags
from copa._core.words import hint, shown
from copa.data.tables.frames import with_columns
from copa.exceptions import InvalidInputError
from copa.models.base import best_of
from copa.models.decisions import refusals
from copa.plans import PlanBatch
from copa.promises.column_effects import EVERYONE, TOGETHER, column_effects, typical_row
from copa.promises.days import read_day
from copa.promises.deciding_model import DecidingModel
from copa.promises.outstanding import Outstanding
from copa.promises.portfolio_report import ROUNDING, PortfolioRisk, effective_number, past_bounds, quantile
from copa.promises.promised_rows import PromisedRows

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (0.5, 0.9, 0.95, 0.99)
FEWEST = 10  # models from which on a share of promises has a distribution
ROWS = 5_000  # promises that all refits are asked about at once
N_EXPLAINED = 60  # promises by which the direction that hurts most is found


def portfolio_risk(
    planner: Any,
    promises: Any,
    *,
    history: Sequence[Any] | None = None,
    favourable: Any = None,
    as_of: Any = None,
    model_version: str | None = None,
) -> PortfolioRisk:
    """Return the distribution of the share of promises that the next model breaks.

    Options are promised one by one, and one model decides on all of them. The share that is broken therefore varies far
    more than by chance. Refits on thirds of the training data, which vary around today's model as the next model does,
    show how much.

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
    models = _next_models(planner, outstanding.favourable(favourable, planner), history)
    counts = _Counts(models)
    for block, points in _blocks(promises, outstanding, models):
        outstanding.require_columns(models.columns, block.rows.columns, "the model")
        counts.add(block, points)
    outstanding.require_any()
    return counts.result()


@dataclass(frozen=True, eq=False)
class _NextModels:
    """K models that vary as the next one does, and the versions before today's."""

    n_models: int
    source: str  # which models they are, in words
    columns: Sequence[str]  # raw columns that they need, as far as they know them by name
    scores: Callable[["pd.DataFrame"], Array]  # of M raw rows, (K, M): accepted from 0 on, NaN where there are none
    past: Callable[[Any], list[DecidingModel]]  # past versions, read for rows of these columns
    decides: Callable[["pd.DataFrame"], Flags] | None = None  # on M raw rows, (K, M); None where the scores decide
    scores_of_points: Callable[[Array], Array] | None = None  # of M points of the planner's ambiguity set, (K, M)
    strategy: Any = None  # of the planner; None for models that are given

    def accepts(self, rows: "pd.DataFrame", points: Array | None) -> Flags:
        """Return whether each model accepts M raw rows, (K, M); `points` are the same rows in the planner's own set."""
        if points is not None and self.scores_of_points is not None:
            return np.asarray(self.scores_of_points(points) >= 0.0)
        for name in self.columns:
            if name not in rows.columns:
                near = hint(name, [str(column) for column in rows.columns])
                raise InvalidInputError(f"the promised rows lack the column {shown(name)} of the model; {near}")
        if self.decides is not None:
            return self.decides(rows)
        scores = self.scores(rows)
        unread = np.isnan(scores).any(axis=0)
        if unread.any():
            promise = shown(rows.index[int(unread.argmax())])
            raise InvalidInputError(f"the model cannot read the row of promise {promise}: a value is missing")
        return np.asarray(scores >= 0.0)


def _next_models(planner: Any, favourable: Any, history: Sequence[Any] | None) -> _NextModels:
    """Read a fitted planner or a list of fitted models; `history` of None stands for the planner's own."""
    if isinstance(planner, (list, tuple)):
        return _given(planner, favourable, history or ())
    if not hasattr(planner, "_fitted"):
        kind = shown(type(planner).__name__)
        raise InvalidInputError(f"portfolio_risk needs a fitted RecoursePlanner or a list of models, got {kind}")
    return _held_out(planner, planner._fitted(), favourable, history)  # noqa: SLF001 - says that it is not fitted


def _given(models: Sequence[Any], favourable: Any, history: Sequence[Any]) -> _NextModels:
    """Read models that a caller gives, which decide by their own `predict`."""
    if len(models) < FEWEST:
        raise InvalidInputError(f"at least {FEWEST} models are needed to see how they vary, got {len(models)}")

    def read(rows: "pd.DataFrame") -> list[DecidingModel]:
        return _read("model", models, rows.columns, favourable)

    return _NextModels(
        n_models=len(models),
        source=f"the {len(models)} models given",
        columns=getattr(best_of(models[0]), "feature_names_in_", ()),
        scores=lambda rows: np.stack([model.scores(rows) for model in read(rows)]),
        past=lambda columns: _read("past version", history, columns, favourable),
        decides=lambda rows: np.stack([model.accepts(rows) for model in read(rows)]),
    )


def _held_out(planner: Any, strategy: Any, favourable: Any, history: Sequence[Any] | None) -> _NextModels:
    """Read the refits that the planner held out: parameters of linear models, or black boxes."""
    from copa.planner.later_models import read_later_models
    from copa.planner.strategies.black_box import score_all

    model, thirds = strategy.model, getattr(strategy, "thirds", ())
    is_linear = len(thirds) >= FEWEST
    refits = thirds if is_linear else getattr(strategy, "held_out", ())
    if len(refits) < FEWEST:
        raise InvalidInputError(
            "this planner has no held-out refits to ask: fit it with y (and not with surrogate='lime'), or give a list "
            "of fitted models"
        )
    certifies = is_linear or strategy.reliability is not None  # these refits, and not others, span the ambiguity set

    def of_points(points: Array) -> Array:
        return np.asarray(refits @ points.T) if is_linear else points.T

    def scores(rows: "pd.DataFrame") -> Array:
        with refusals(model.estimator, "predict", "the model"):
            return of_points(model.encode(rows)) if is_linear else score_all(refits, rows, planner.n_jobs)

    if history is None:
        history = read_later_models(planner.later_models).versions(model)
    return _NextModels(
        n_models=len(refits),
        source=f"{len(refits)} refits on {'thirds' if certifies else 'bootstrap samples'} of the training rows",
        columns=model.columns,
        scores=scores,
        past=lambda columns: _read("past version", history, columns, favourable, planner.threshold),
        scores_of_points=of_points if certifies else None,
        strategy=strategy,
    )


def _read(
    word: str, models: Sequence[Any], columns: Any, favourable: Any, threshold: float | None = None
) -> list[DecidingModel]:
    """Read models, which messages call by their numbers."""
    return [
        DecidingModel.read(model, columns, threshold=threshold, favourable=favourable, role=f"{word} {k}")
        for k, model in enumerate(models, 1)
    ]


def _blocks(
    promises: Any, outstanding: Outstanding, models: _NextModels
) -> Iterator[tuple[PromisedRows, Array | None]]:
    """Yield promises in small blocks, with the points of a batch that the planner itself has made."""
    points: Array | None = None
    if isinstance(promises, PlanBatch) and models.strategy is not None:
        ambiguity = models.strategy.ambiguity(promises.ambiguity.dimension - 1)
        points = promises.encoded if promises.ambiguity.same_as(ambiguity) else None
    first = 0
    for block in outstanding:
        for start in range(0, len(block), ROWS):
            some = slice(start, start + ROWS)
            part = PromisedRows(block.facts.iloc[some], block.rows.iloc[some], block.favourable)
            yield part, None if points is None else points[first : first + len(part)]
            first += len(part)


class _Counts:
    """Counts of broken promises, taken block by block."""

    def __init__(self, models: _NextModels) -> None:
        self.models = models
        self.n, self.variances, self.expected = 0, 0.0, 0.0
        self.broken = np.zeros(models.n_models)
        self.past: list[int] | None = None
        self.sample: pd.DataFrame | None = None  # rows by which the direction is explained
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
        if self.sample is None:
            places = np.unique(np.linspace(0, len(block) - 1, N_EXPLAINED).astype(np.intp))
            self.sample = block.rows.iloc[places].reset_index(drop=True)
            self.typical = self._typical(block.rows)

    def _typical(self, rows: "pd.DataFrame") -> "pd.DataFrame":
        """Return the row that columns are compared with: a typical row that the model accepts, or else one of these."""
        accepted = getattr(self.models.strategy, "accepted_row", None)
        known = {} if accepted is None else {name: accepted[name].to_numpy() for name in accepted}
        return with_columns(typical_row(rows), known)

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
        """Return the covariances of the columns' parts of the mean score with the share broken, over its spread."""
        spread = float(shares.std(ddof=1))
        if spread <= ROUNDING or self.sample is None or self.typical is None:
            return ()
        columns = [str(name) for name in self.sample.columns]
        _, base, effects = column_effects(self.models.scores, self.sample, self.typical, columns)
        parts = np.concatenate([effects.mean(axis=1), base], axis=1)
        if not np.isfinite(parts).all():
            return ()
        away = shares - shares.mean()
        changes = away @ (parts - parts.mean(axis=0)) / (shares.size - 1.0) / spread
        names = [*columns, TOGETHER, EVERYONE]
        order = np.argsort(changes, kind="stable").tolist()
        return tuple((names[k], float(changes[k])) for k in order if abs(changes[k]) > ROUNDING)
