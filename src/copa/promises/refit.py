"""Refits of a classifier or pipeline: the plain one, taken apart, and one with weighted promised rows beside it."""

from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags, as_floats
from copa._core.words import counted, shown
from copa.exceptions import InvalidInputError
from copa.models.base import best_of, unfitted
from copa.models.decisions import accepts, decision_values
from copa.promises.constrained_logistic import Solution

if TYPE_CHECKING:
    import pandas as pd

REFIT = "the refitted model"  # in messages
# Of a broken promise, in training rows: from 1 on, held-out log loss was higher (benchmarks/keep.py).
FIRST_WEIGHT = 0.25
GROWTH = 2.0
MAX_ROUNDS = 40
LARGEST_SHARE = 1.0  # of the weight of the training rows that promised rows may have together


@dataclass(frozen=True, eq=False)
class PlainRefit:
    """A fit without promises, of which the last step can be fitted again."""

    pipelines: tuple[Any, ...]  # around the last step, from the outside in, with fitted encoders
    classifier: Any  # the last step, fitted
    named: bool  # whether the model is given tables, and not plain arrays
    encoded: Any  # n training rows as the last step is given them: array, sparse matrix or table
    labels: npt.NDArray[Any]  # (n,)
    row_weights: Array | None  # (n,)

    @classmethod
    def fit(
        cls, estimator: Any, table: "pd.DataFrame", labels: npt.NDArray[Any], row_weights: Array | None, *, named: bool
    ) -> "PlainRefit":
        """Fit a copy of a classifier or pipeline as its own `fit` does: the encoders first, then the last step."""
        inner = unfitted(best_of(estimator))
        rows: Any = table if named else table.to_numpy()
        pipelines = []
        while hasattr(inner, "steps"):
            outer = copy(inner)
            if len(inner.steps) > 1:
                head = inner[:-1]
                rows = head.fit_transform(rows, labels)
                outer.steps = [*head.steps, inner.steps[-1]]
            pipelines.append(outer)
            inner = inner.steps[-1][1]
        weights = {} if row_weights is None else {"sample_weight": row_weights}
        return cls(tuple(pipelines), inner.fit(rows, labels, **weights), named, rows, labels, row_weights)

    @property
    def model(self) -> Any:
        """The whole model, fitted."""
        return self.assembled(self.classifier)

    def assembled(self, classifier: Any) -> Any:
        """Return the whole model with another last step."""
        model = classifier
        for pipeline in reversed(self.pipelines):
            outer = copy(pipeline)
            outer.steps = [*pipeline.steps[:-1], (pipeline.steps[-1][0], model)]
            model = outer
        return model

    def encode(self, rows: "pd.DataFrame") -> Any:
        """Return promised rows as the last step is given them; the error names the first that the encoders refuse."""
        try:
            return self._transformed(rows)
        except (ValueError, TypeError, KeyError) as error:
            raise self._refusal(rows, error) from error

    def _transformed(self, rows: "pd.DataFrame") -> Any:
        encoded: Any = rows if self.named else rows.to_numpy()
        for pipeline in self.pipelines:
            if len(pipeline.steps) > 1:
                encoded = pipeline[:-1].transform(encoded)
        return encoded

    def _refusal(self, rows: "pd.DataFrame", error: Exception) -> InvalidInputError:
        """Name the first row that is refused, by halving."""
        first, end = 0, len(rows)
        while end - first > 1:
            middle = (first + end) // 2
            try:
                self._transformed(rows.iloc[first:middle])
                first = middle
            except (ValueError, TypeError, KeyError) as cause:
                end, error = middle, cause
        reason = " ".join(str(error).split())
        return InvalidInputError(
            f"promise {shown(rows.index[first])}: the encoder of the refitted model refuses its row: {reason}; give "
            "the encoder all levels (categories=...), or handle_unknown='ignore'"
        )


def as_matrix(encoded: Any) -> Array:
    """Return encoded rows as an array of floats."""
    dense = encoded.toarray() if hasattr(encoded, "toarray") else encoded
    return as_floats(dense, "the encoded rows")


def stacked(encoded: Any, more: Any) -> Any:
    """Return encoded rows of the same kind, one below the other."""
    import pandas as pd

    if hasattr(encoded, "toarray"):
        from scipy import sparse

        return sparse.vstack([encoded, more], format="csr")
    if isinstance(encoded, pd.DataFrame):
        return pd.concat([encoded, more], ignore_index=True)
    return np.concatenate([encoded, more])


@dataclass(frozen=True, eq=False)
class Outcome:
    """A refit that keeps promises, and its price."""

    classifier: Any  # last step of the model, fitted
    price: float  # in the objective of the fit, or the summed log loss of the training rows
    multipliers: Array  # price of each promise, (m,)
    weights: Array  # of the promised rows in the equivalent fit, (m,)
    reasons: dict[int, str] = field(default_factory=dict)  # why promises are not kept, by position
    path: list[dict[str, Any]] = field(default_factory=list)  # releases, or rounds, in order
    solution: Solution | None = None  # proof of the constrained optimum


class WeightedRefit:
    """Refits of a last step on the training rows and weighted promised rows, which have the favourable label."""

    def __init__(
        self, refit: PlainRefit, encoded: Any, favourable: Any, position: int, threshold: float | None = None
    ) -> None:
        from sklearn.utils.validation import has_fit_parameter

        name = type(refit.classifier).__name__
        if not has_fit_parameter(refit.classifier, "sample_weight"):
            raise InvalidInputError(
                f"{name} takes no sample_weight, so that its promises cannot be kept by a refit; use a learner that "
                "does (logistic regression, forests, boosting, support vector machines), or release the promises"
            )
        self._refit, self._encoded, self._favourable = refit, encoded, favourable
        self._sign = 1.0 if position == 1 else -1.0
        self._threshold = threshold
        self._n_promises = encoded.shape[0]
        self._row_weights = np.ones(len(refit.labels)) if refit.row_weights is None else refit.row_weights

    def keep(self, margin: float, n_broken: int = 0) -> Outcome:
        """Raise the weights of broken promises until at most `n_broken` are broken, or the weights at their limit.

        A promise is broken where its row scores less than the margin, in log-odds or values of the decision function.
        """
        limit = LARGEST_SHARE * float(self._row_weights.sum())
        weights = np.zeros(self._n_promises)
        best_weights, best = weights, self._refit.classifier
        broken = self._broken(best, margin)
        fewest, path = int(broken.sum()), list[dict[str, Any]]()
        for number in range(1, MAX_ROUNDS + 1):
            if fewest <= n_broken:
                break
            raised = np.where(broken, np.maximum(GROWTH * weights, FIRST_WEIGHT), weights)
            if raised.sum() > limit:
                break
            weights = raised
            classifier = self.fit(weights)
            broken = self._broken(classifier, margin)
            left = int(broken.sum())
            path.append({"round": number, "total_weight": float(weights.sum()), "n_broken": left})
            if left < fewest:
                fewest, best, best_weights = left, classifier, weights
        reasons = {
            k: self._reason(k, weights[k], limit, within=fewest <= n_broken)
            for k in np.flatnonzero(self._broken(best, margin)).tolist()
        }
        price = self._loss(best) - self._loss(self._refit.classifier)
        return Outcome(best, price, best_weights, best_weights, reasons, path)

    def fit(self, weights: Array) -> Any:
        """Return the last step, fitted with promised rows of the weights given, (m,); those of weight 0 stay out."""
        from sklearn.base import clone

        used = np.flatnonzero(weights > 0.0)
        encoded = self._encoded.iloc[used] if hasattr(self._encoded, "iloc") else self._encoded[used]
        promised = np.full(len(used), self._favourable, dtype=self._refit.labels.dtype)
        labels = np.concatenate([self._refit.labels, promised])
        rows = stacked(self._refit.encoded, encoded)
        return clone(self._refit.classifier).fit(
            rows, labels, sample_weight=np.concatenate([self._row_weights, weights[used]])
        )

    def _broken(self, classifier: Any, margin: float) -> Flags:
        """Return the promises that a fitted last step does not accept by the margin, (m,)."""
        from scipy.special import logit

        refused: Flags = ~accepts(classifier, self._encoded, self._favourable, self._threshold, REFIT)
        has_decisions = hasattr(classifier, "decision_function")
        if hasattr(classifier, "predict_proba") and (self._threshold is not None or not has_decisions):
            chances = decision_values(classifier, self._encoded, self._favourable, REFIT)
            scores = logit(chances) - logit(0.5 if self._threshold is None else self._threshold)
        elif has_decisions:
            decisions = self._sign * np.ravel(classifier.decision_function(self._encoded))
            scores = decisions - (0.0 if self._threshold is None else self._threshold)
        else:
            return refused
        refused |= scores < margin
        return refused

    def _loss(self, classifier: Any) -> float:
        """Return the summed log loss of the training rows; NaN for a learner without probabilities."""
        if not hasattr(classifier, "predict_proba"):
            return float("nan")
        chances = classifier.predict_proba(self._refit.encoded)[:, 1]
        right = np.where(self._refit.labels == classifier.classes_[1], chances, 1.0 - chances)
        return float(-self._row_weights @ np.log(np.maximum(right, np.finfo(float).eps)))

    def _reason(self, k: int, weight: float, limit: float, *, within: bool) -> str:
        """Say why a promise is not kept."""
        if within:
            return f"released: a weight of {weight:.3g} training rows was not enough, and no more was needed"
        twins = self._other_twins(k)
        beside = "" if twins == 0 else f"; {counted(twins, 'training row')} with the same values have the other label"
        return (
            f"a weight of {weight:.3g} training rows was not enough, and all promises together may weigh {limit:.6g}"
            f"{beside}"
        )

    def _other_twins(self, k: int) -> int:
        """Count training rows with the values of a promised one and the other label."""
        try:
            same = (as_matrix(self._refit.encoded) == as_matrix(self._encoded)[k]).all(axis=1)
        except (InvalidInputError, ValueError, TypeError):  # a learner that reads text and categories itself
            return 0
        return int((same & (self._refit.labels != self._favourable)).sum())
