"""Models that vary as the next one does: the held-out refits of a planner, or models that are given."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import hint, shown
from copa.exceptions import InvalidInputError
from copa.models.base import best_of
from copa.promises.deciding_model import DecidingModel
from copa.uncertainty.versions import refit_versions

if TYPE_CHECKING:
    import pandas as pd

    from copa._core.arrays import Flags

FEWEST = 10  # models from which on a share of promises has a distribution


class NextModels(ABC):
    """K models that vary as the next one does, and the versions before today's.

    Attributes
    ----------
    n_models : int
        K.
    source : str
        Which models they are, in words.
    strategy : object or None
        What a planner has learned.
    columns : sequence of str
        Raw columns that they need, as far as they know them by name.
    """

    n_models: int
    source: str
    strategy: Any = None
    columns: Sequence[str] = ()

    @staticmethod
    def read(planner: Any, favourable: Any, history: Sequence[Any] | None) -> "NextModels":
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
            return GivenModels(planner, favourable, history or ())
        if not hasattr(planner, "_fitted"):
            kind = shown(type(planner).__name__)
            raise InvalidInputError(f"portfolio_risk needs a fitted RecoursePlanner or a list of models, got {kind}")
        strategy = planner._fitted()  # noqa: SLF001 - says in one line that it is not fitted
        for refits in (Thirds, HeldOut):
            if len(refits.models_of(strategy)) >= FEWEST:
                found: NextModels = refits(planner, strategy, favourable, history)
                return found
        raise InvalidInputError(
            "this planner has no held-out refits to ask: fit it with y (and not with surrogate='lime'), or give a list "
            "of fitted models"
        )

    @abstractmethod
    def scores(self, rows: "pd.DataFrame") -> Array:
        """Scores of raw rows, (K, M): accepted from 0 on; NaN where there are none."""

    def accepts(self, rows: "pd.DataFrame", points: Array | None) -> "Flags":
        """Whether each model accepts raw rows, (K, M).

        Parameters
        ----------
        rows : DataFrame
            M rows.
        points : ndarray of shape (M, ...), optional
            The same as points of the planner's ambiguity set, where a batch of it holds them.
        """
        if points is not None:
            return np.asarray(self.scores_of_points(points, rows) >= 0.0)
        for name in self.columns:
            if name not in rows.columns:
                near = hint(name, [str(column) for column in rows.columns])
                raise InvalidInputError(f"the promised rows lack the column {shown(name)} of the model; {near}")
        try:
            scores = self.scores(rows)
        except (ValueError, TypeError) as error:
            raise InvalidInputError(f"the model refuses promised rows: {' '.join(str(error).split())}") from error
        unread = np.isnan(scores).any(axis=0)
        if unread.any():
            promise = shown(rows.index[int(unread.argmax())])
            raise InvalidInputError(f"the model cannot read the row of promise {promise}: a value is missing")
        return np.asarray(scores >= 0.0)

    @abstractmethod
    def scores_of_points(self, points: Array, rows: "pd.DataFrame") -> Array:
        """The same as `scores`, by the points of a batch."""

    @abstractmethod
    def past(self, columns: Any) -> list[DecidingModel]:
        """The past versions, for rows with these columns."""


class Refits(NextModels, ABC):
    """Refits that a planner holds out.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted.
    strategy : Strategy
        What it has learned.
    favourable : object or None
    history : sequence of object or None
    """

    def __init__(self, planner: Any, strategy: Any, favourable: Any, history: Sequence[Any] | None) -> None:
        self.planner, self.strategy = planner, strategy
        self.favourable, self.history = favourable, history
        self.columns = strategy.model.columns
        self.n_models = len(self.models_of(strategy))
        self.source = f"{self.n_models} refits on {self.kind_of(strategy)} of the training rows"

    @staticmethod
    @abstractmethod
    def models_of(strategy: Any) -> Any:
        """The refits that a planner has learned, or none."""

    @staticmethod
    def kind_of(strategy: Any) -> str:  # noqa: ARG004 - of others it is told by the strategy
        """What they were fitted to."""
        return "thirds"

    def past(self, columns: Any) -> list[DecidingModel]:
        """Those given, else the planner's, refitted where it was given their data."""
        if self.history is None:
            data = self.planner.history_data
            self.history = self.planner.history or (refit_versions(self.strategy.model, data) if data else ())
        return [
            DecidingModel.read(
                model, columns, threshold=self.planner.threshold, favourable=self.favourable, role=f"past version {k}"
            )
            for k, model in enumerate(self.history, 1)
        ]


class Thirds(Refits):
    """Parameters of refits on thirds of the rows, of a model that is linear in its encoded columns."""

    @staticmethod
    def models_of(strategy: Any) -> Any:
        """Of a strategy that has some."""
        return getattr(strategy, "thirds", ())

    def scores(self, rows: "pd.DataFrame") -> Array:
        """Products of encoded rows and parameters."""
        return self.scores_of_points(self.strategy.model.encode(rows), rows)

    def scores_of_points(self, points: Array, rows: "pd.DataFrame") -> Array:  # noqa: ARG002 - points are enough
        """Products of encoded rows and parameters."""
        return np.asarray(self.strategy.thirds @ points.T)


class HeldOut(Refits):
    """Refits of a black box that the search did not go by."""

    @staticmethod
    def models_of(strategy: Any) -> Any:
        """Of a strategy that has some."""
        return getattr(strategy, "held_out", ())

    @staticmethod
    def kind_of(strategy: Any) -> str:
        """Thirds, unless a number was given for the radius."""
        return "bootstrap samples" if strategy.reliability is None else "thirds"

    def scores(self, rows: "pd.DataFrame") -> Array:
        """What the refits say."""
        from copa.planner.strategies.black_box import score_all

        return score_all(self.strategy.held_out, rows, self.planner.n_jobs)

    def scores_of_points(self, points: Array, rows: "pd.DataFrame") -> Array:
        """The points themselves, where the refits certify."""
        return self.scores(rows) if self.strategy.reliability is None else points.T


class GivenModels(NextModels):
    """Fitted models that a caller gives.

    Parameters
    ----------
    models : sequence of object
    favourable : object or None
    history : sequence of object
    """

    def __init__(self, models: Sequence[Any], favourable: Any, history: Sequence[Any]) -> None:
        if len(models) < FEWEST:
            raise InvalidInputError(f"at least {FEWEST} models are needed to see how they vary, got {len(models)}")
        self._given = {"model": models, "past version": history}
        self._favourable = favourable
        self.columns = getattr(best_of(models[0]), "feature_names_in_", ())
        self.n_models, self.source = len(models), f"the {len(models)} models given"

    def _read(self, word: str, columns: Any) -> list[DecidingModel]:
        return [
            DecidingModel.read(model, columns, favourable=self._favourable, role=f"{word} {k}")
            for k, model in enumerate(self._given[word], 1)
        ]

    def accepts(self, rows: "pd.DataFrame", points: Array | None) -> "Flags":  # noqa: ARG002 - their `predict` decides
        """What their own `predict` says."""
        return np.stack([model.accepts(rows) for model in self._read("model", rows.columns)])

    def scores(self, rows: "pd.DataFrame") -> Array:
        """Their scores, as far as they have some."""
        return np.stack([model.scores(rows) for model in self._read("model", rows.columns)])

    def scores_of_points(self, points: Array, rows: "pd.DataFrame") -> Array:  # noqa: ARG002 - they know nothing of points
        """Their scores of the rows."""
        return self.scores(rows)

    def past(self, columns: Any) -> list[DecidingModel]:
        """Those given."""
        return self._read("past version", columns)
