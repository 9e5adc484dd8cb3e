"""A classifier that is only queried: its score of raw rows, accepted from zero on; local linear surrogates of it."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Flags
from copa._core.representation import short_repr
from copa.data.schema.columns import ReadTable
from copa.exceptions import InvalidInputError
from copa.models.base import Model, best_of, read_classes, read_columns, read_threshold, thawed
from copa.models.direct import DirectClassifier

if TYPE_CHECKING:
    import pandas as pd


# Probabilities are cut off before their logarithms are taken, as close to 0 and 1 as the model itself tells them apart.
COARSEST, FINEST = 1e-3, 1e-9
TIE = 1e-9  # what is missing to a score where the other label wins a tie
LOOKED_AT = 2000  # rows of the data at most, to see how close


@dataclass
class Calls:
    """Count of the calls of a model, and of their rows."""

    calls: int = 0
    rows: int = 0

    def count(self, n_rows: int) -> None:
        """Count one call."""
        self.calls += 1
        self.rows += n_rows


@dataclass(frozen=True, eq=False)
class BlackBox(Model):
    """A fitted binary classifier that is only queried for its probabilities.

    Attributes
    ----------
    clip : float
        Probabilities are clipped to [clip, 1 - clip].
    calls : Calls
        Calls of the model so far, those of its refits included.
    typical : DataFrame or None
        Rows by which it can be told from other models, see `typical_rows`; None where nobody needs them.
    """

    __repr__ = short_repr

    clip: float = COARSEST
    calls: Calls = field(default_factory=Calls, repr=False)
    typical: "pd.DataFrame | None" = field(default=None, repr=False)

    @classmethod
    def read(cls, estimator: Any, columns: Any, *, threshold: Any = None, favourable: Any = None) -> "BlackBox":
        """Take a fitted classifier with `predict_proba`, or say why that cannot be; parameters as in `Model.read`."""
        estimator = thawed(best_of(estimator))
        _require_probabilities(estimator)
        classes, position = read_classes(estimator, favourable)
        used, named = read_columns(estimator, columns)
        return cls(estimator, used, named, classes, position, read_threshold(threshold, probability=True))

    def replaced(self, estimator: Any) -> "BlackBox":
        """The same for another fit of the model, whose calls are counted together with this one's."""
        return replace(self, estimator=estimator)

    def clipped_for(self, frame: "pd.DataFrame") -> "BlackBox":
        """Return the model with probabilities clipped at half of the smallest one that it has for raw rows.

        A forest says 0 and 1 where all trees agree: what is between its smallest share of votes and 0 is not known. A
        network's probabilities mean something down to where single precision ends, and far from its boundary a cut
        would make all rows look alike.
        """
        some = frame.iloc[np.linspace(0, len(frame) - 1, min(LOOKED_AT, len(frame))).astype(int)]
        chance = np.asarray(self.estimator.predict_proba(self.as_input(some)), dtype=np.float64)[:, self.position]
        away = np.minimum(chance, 1.0 - chance)
        smallest = float(away[away > 0.0].min(initial=1.0))
        return replace(self, clip=float(np.clip(0.5 * smallest, FINEST, COARSEST)))

    def scores(self, rows: "pd.DataFrame | ReadTable") -> Array:
        """Log-odds of the favourable label beyond those of the threshold, (N,): accepted from zero on.

        Where `predict` decides, the threshold is one half, and of two labels as probable as each other it takes the
        first.
        """
        table = ReadTable.of(rows)
        n_rows = len(table)
        if n_rows == 0:
            return np.zeros(0)
        self.calls.count(n_rows)
        probabilities = self._direct.probabilities(table)
        if probabilities is None:
            probabilities = np.asarray(self.estimator.predict_proba(self.as_input(table.frame)), dtype=np.float64)
        chance = probabilities[:, self.position]
        cut = 0.5 if self.threshold is None else self.threshold
        scores = log_odds(chance, self.clip) - float(np.log(cut / (1.0 - cut)))
        if self.threshold is None and self.position == 1:
            scores[scores == 0.0] = -TIE
        return scores

    @cached_property
    def _direct(self) -> DirectClassifier:
        return DirectClassifier(self.estimator, self.columns, named=self.named)

    def accepts(self, frame: "pd.DataFrame") -> Flags:
        """Return what the estimator itself says of raw rows, (N,)."""
        if len(frame) > 0:
            self.calls.count(len(frame))
        return super().accepts(frame)


N_TYPICAL = 48
SHARES = np.linspace(0.05, 0.95, 10)  # of a column of numbers, the values at these shares of its order
MOST_FREQUENT = 10  # values of any other column, if at least two people have them
SEED = 20


def typical_rows(table: "pd.DataFrame") -> "pd.DataFrame":
    """Rows of the columns' typical values, each column drawn by itself: what goes with what is not kept."""
    import pandas as pd

    rng = np.random.default_rng(SEED)
    columns = {}
    for name in table:
        places = _typical_places(table[name])
        columns[name] = table[name].iloc[rng.choice(places, N_TYPICAL)].reset_index(drop=True)
    return pd.DataFrame(columns, columns=table.columns)


def _typical_places(column: "pd.Series[Any]") -> Any:
    """Positions of entries that stand for a column."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype):
        present = np.flatnonzero(column.notna())
        order = present[np.argsort(column.iloc[present].to_numpy(), kind="stable")]
        return order[np.rint(SHARES * (len(order) - 1)).astype(int)] if len(order) else np.arange(1)
    try:
        codes = column.array.factorize()[0]
    except TypeError:  # lists and the like
        return np.arange(1)
    values, first, counts = np.unique(codes, return_index=True, return_counts=True)
    shared = np.flatnonzero((values >= 0) & (counts > 1))
    frequent = shared[np.argsort(-counts[shared], kind="stable")[:MOST_FREQUENT]]
    return first[frequent] if len(frequent) else np.arange(1)


def log_odds(chance: Array, clip: float) -> Array:
    """Logarithm of the odds of probabilities, finite also at 0 and 1."""
    cut = np.clip(chance, clip, 1.0 - clip)
    odds: Array = np.log(cut) - np.log1p(-cut)
    return odds


def _require_probabilities(estimator: Any) -> None:
    from sklearn.pipeline import Pipeline

    if isinstance(estimator, type):
        raise InvalidInputError(f"the model must be a fitted classifier, got the class {estimator.__name__}")
    if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "predict"):
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        raise InvalidInputError(
            f"the model must be linear or have predict_proba, and {type(last).__name__} is neither; fit it with "
            "probabilities, or wrap it in CalibratedClassifierCV"
        )


# Prior precision of the weights relative to a typical row: enough to keep columns that were never varied at zero.
PRIOR = 1e-3


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Linear surrogates of K models, fitted to the same rows.

    Attributes
    ----------
    weights : ndarray of shape (K, D)
        Parameters of each, the intercept first.
    cov : ndarray of shape (D, D)
        Posterior covariance of the first one's parameters, from the misfit at the rows.
    """

    weights: Array
    cov: Array

    def scores(self, rows: Array) -> Array:
        """Scores of rows (M, D) by the surrogates, (K, M)."""
        scores: Array = self.weights @ rows.T
        return scores


def fit_locally(rows: Array, scores: Array, nearness: Array) -> LocalFit:
    """Fit the scores of K models by linear functions of the rows, near rows more than far ones.

    Parameters
    ----------
    rows : ndarray of shape (M, D)
        With a leading 1.
    scores : ndarray of shape (K, M)
        Of each model.
    nearness : ndarray of shape (M,)
        Weights, not negative.

    Returns
    -------
    LocalFit
    """
    share = nearness / max(nearness.sum(), 1e-300)
    weighted = rows * share[:, None]
    gram = weighted.T @ rows
    precision = gram + PRIOR * max(np.trace(gram) / len(gram), 1e-300) * _penalised(len(gram))
    inverse = np.linalg.pinv(precision, hermitian=True)
    weights: Array = (inverse @ (weighted.T @ scores.T)).T
    misfit = float(share @ (scores[0] - rows @ weights[0]) ** 2)
    effective = 1.0 / max(float(share @ share), 1e-300)  # number of rows that the weights amount to
    return LocalFit(weights, misfit / effective * inverse)


def _penalised(n_parameters: int) -> Array:
    """The prior is on the weights, hardly on the intercept."""
    diagonal = np.ones(n_parameters)
    diagonal[0] = 1e-6
    return np.diag(diagonal)
