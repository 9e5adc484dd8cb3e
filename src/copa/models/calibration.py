"""Calibrated linear classifiers: the score from which on a calibrated probability reaches the threshold."""

from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa.exceptions import InvalidInputError
from copa.models.base import thawed
from copa.models.parameters import parameter_vector

HALVINGS = 80
WIDEST = 1e6  # scores beyond are no scores


def is_calibrated(classifier: Any) -> bool:
    """Whether a classifier is scikit-learn's CalibratedClassifierCV."""
    return hasattr(classifier, "calibrated_classifiers_")


def base_classifier(classifier: Any) -> Any:
    """The linear classifier whose refits stand for the next models: that under the calibration, where there is one."""
    if not is_calibrated(classifier):
        return thawed(classifier)
    given = classifier.estimator  # None where scikit-learn's own choice was left as it is
    return thawed(classifier.calibrated_classifiers_[0].estimator if given is None else given)


def calibrated_parameters(classifier: Any, sign: float, threshold: float | None) -> tuple[Array, float]:
    """Oriented parameters and cutoff of a CalibratedClassifierCV over a linear classifier.

    Of several members (one per fold) these are the means: the average of their probabilities is not a function of one
    score, so the mean decides the search, and the classifier itself judges every row delivered.
    """
    wanted = 0.5 if threshold is None else threshold
    thetas, cutoffs = [], []
    for member in classifier.calibrated_classifiers_:
        base = thawed(getattr(member, "estimator", None))
        if base is None or not hasattr(base, "coef_"):
            raise InvalidInputError(
                f"the base of a CalibratedClassifierCV must be a linear classifier, got {type(base).__name__}"
            )
        thetas.append(sign * parameter_vector(base))
        cutoffs.append(sign * _score_at(member, wanted if sign > 0.0 else 1.0 - wanted))
    theta = np.mean(thetas, axis=0)
    cutoff = float(np.mean(cutoffs))
    theta[0] -= cutoff
    return theta, cutoff


def _score_at(member: Any, probability: float) -> float:
    """The score at which a member's calibrated probability of `classes_[1]` reaches a value (bisection)."""
    calibrator = member.calibrators[0]
    low, high = -WIDEST, WIDEST
    ends = np.asarray(calibrator.predict(np.array([low, high])), dtype=float).ravel()
    if not ends[0] < probability <= ends[-1]:
        raise InvalidInputError(
            f"the calibrated probability lies in [{ends[0]:.4g}, {ends[-1]:.4g}] and never reaches the threshold "
            f"{probability:.4g}; choose one inside"
        )
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = float(np.ravel(calibrator.predict(np.array([middle])))[0]) >= probability
        low, high = (low, middle) if reached else (middle, high)
    return high
