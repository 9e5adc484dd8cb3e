"""Models that vary as the next one does: the held-out refits of a planner, or models that are given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Flags
from copa._core.words import hint, shown
from copa.exceptions import InvalidInputError
from copa.models.base import best_of
from copa.models.decisions import refusals
from copa.promises.deciding_model import DecidingModel

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 10  # models from which on a share of promises has a distribution


@dataclass(frozen=True, eq=False)
class NextModels:
    """K models that vary as the next one does, and the versions before today's.

    Attributes
    ----------
    n_models : int
        K.
    source : str
        Which models they are, in words.
    columns : sequence of str
        Raw columns that they need, as far as they know them by name.
    scores : callable
        From a table of M raw rows to the scores of the models, (K, M): accepted from 0 on, NaN where there are none.
    past : callable
        From the columns of a table to the past versions as they decide on its rows.
    decides : callable, optional
        From a table of M raw rows to whether each model accepts it, (K, M); None where the scores say so.
    scores_of_points : callable, optional
        From M points of the planner's ambiguity set to scores, (K, M); None where only rows have scores.
    strategy : object, optional
        What the planner has learned; None for models that are given.
    """

    n_models: int
    source: str
    columns: Sequence[str]
    scores: Callable[["pd.DataFrame"], Array]
    past: Callable[[Any], list[DecidingModel]]
    decides: Callable[["pd.DataFrame"], Flags] | None = None
    scores_of_points: Callable[[Array], Array] | None = None
    strategy: Any = None

    def accepts(self, rows: "pd.DataFrame", points: Array | None) -> Flags:
        """Return whether each model accepts raw rows, (K, M).

        Parameters
        ----------
        rows : DataFrame
            M rows.
        points : ndarray of shape (M, ...), optional
            The same as points of the planner's ambiguity set, where a batch of it holds them.
        """
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


def next_models(planner: Any, favourable: Any, history: Sequence[Any] | None) -> NextModels:
    """Take a fitted planner or a list of fitted models, or say why neither can be asked.

    Parameters
    ----------
    planner : RecoursePlanner or sequence of object
    favourable : object or None
        The label that was promised.
    history : sequence of object or None
        Past versions; None for those of the planner.
    """
    if isinstance(planner, (list, tuple)):
        return _given(planner, favourable, history or ())
    if not hasattr(planner, "_fitted"):
        kind = shown(type(planner).__name__)
        raise InvalidInputError(f"portfolio_risk needs a fitted RecoursePlanner or a list of models, got {kind}")
    return _held_out(planner, planner._fitted(), favourable, history)  # noqa: SLF001 - says that it is not fitted


def _given(models: Sequence[Any], favourable: Any, history: Sequence[Any]) -> NextModels:
    """Ask models that a caller gives by their own `predict`."""
    if len(models) < FEWEST:
        raise InvalidInputError(f"at least {FEWEST} models are needed to see how they vary, got {len(models)}")

    def read(rows: "pd.DataFrame") -> list[DecidingModel]:
        return _read("model", models, rows.columns, favourable)

    return NextModels(
        n_models=len(models),
        source=f"the {len(models)} models given",
        columns=getattr(best_of(models[0]), "feature_names_in_", ()),
        scores=lambda rows: np.stack([model.scores(rows) for model in read(rows)]),
        past=lambda columns: _read("past version", history, columns, favourable),
        decides=lambda rows: np.stack([model.accepts(rows) for model in read(rows)]),
    )


def _held_out(planner: Any, strategy: Any, favourable: Any, history: Sequence[Any] | None) -> NextModels:
    """Ask the refits that the planner held out: parameters of linear models, or black boxes."""
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
    return NextModels(
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
    """Read models, each of which messages call by its number."""
    return [
        DecidingModel.read(model, columns, threshold=threshold, favourable=favourable, role=f"{word} {k}")
        for k, model in enumerate(models, 1)
    ]
