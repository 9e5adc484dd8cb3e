"""Promises kept by any learner with `sample_weight`: promised rows as accepted, their weights raised until kept."""

from typing import Any

import numpy as np

from copa._core.arrays import Array, Flags
from copa._core.words import counted
from copa.exceptions import InvalidInputError
from copa.models.decisions import accepts, decision_values
from copa.promises.exact_refit import Outcome
from copa.promises.plain_refit import REFIT, PlainRefit, as_matrix, stacked

FIRST_WEIGHT = (
    0.25  # of a broken promise, in training rows: from 1 on, held-out log loss was higher (benchmarks/keep.py)
)
GROWTH = 2.0
MAX_ROUNDS = 40
LARGEST_SHARE = 1.0  # of the weight of the training rows that promised rows may have together


class WeightedRefit:
    """Refits of a last step on the training rows and the promised ones, with weights.

    Parameters
    ----------
    refit : PlainRefit
        Without promises.
    encoded : object
        Promised rows as the last step is given them.
    favourable : object
        Label that they are given.
    position : int
        Of that label in the classes.
    threshold : float, optional
        Probability of that label (or decision value) from which on the model accepts; None for what `predict` says.

    Raises
    ------
    InvalidInputError
        If the last step takes no weights.
    """

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
        """Raise the weights of broken promises until at most `n_broken` are, or their sum is at its limit.

        Parameters
        ----------
        margin : float
            Least score of a promised row: of the decision function, or the log-odds.
        n_broken : int
            Promises that may be broken.
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
