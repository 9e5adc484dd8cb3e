"""Reliability: the share of a chosen row's score that is left when another sample judges it."""

from statistics import NormalDist
from typing import Any

import numpy as np

from copa._core.arrays import Array, as_floats

LEAST_RELIABILITY = 0.6  # below, training samples of this size gave options that later models did not keep


def reliability(chosen_by: Any, asked: Any) -> float:
    """Reliability b of today's scores, from halves of the data that choose rows and the other halves that judge them.

    A row that was chosen because half A scores it highly is scored lower by half B: the choice went by A's errors too.
    With h the sum of B's scores over that of A's, a model trained on all rows keeps b = 2 h / (1 + h) of its own
    (the formula of Spearman and Brown for twice the data). For Gaussian parameters b is the regression of the true
    score on today's.

    Parameters
    ----------
    chosen_by : array_like of shape (M,)
        Scores of M rows by the models that they were chosen with.
    asked : array_like of shape (M,)
        Their scores by the models of the other halves.

    Returns
    -------
    float
        In [0, 1]; 0 where nothing could be chosen.

    Examples
    --------
    >>> from copa.models.refits.reliability import reliability
    >>> round(reliability([1.0, 2.0], [0.5, 1.3]), 3)
    0.75
    """
    return float(reliability_of_sums(as_floats(chosen_by, "chosen_by").sum(), as_floats(asked, "asked").sum()))


def reliability_of_sums(chosen_by: Any, asked: Any) -> Array:
    """Return the reliabilities of several choices, from the sums of their scores by either side; they broadcast."""
    total, kept = np.asarray(chosen_by, dtype=np.float64), np.asarray(asked, dtype=np.float64)
    good = (total > 0.0) & (kept > 0.0)
    half = np.where(good, kept, 0.0) / np.where(good, total, 1.0)
    return np.asarray(np.minimum(2.0 * half / (1.0 + half), 1.0))


def confidence_radius(confidence: float, b: float) -> float:
    """Farthest that the mean of the next score may be from b times today's, in standard deviations of retraining.

    Today's data are one sample: with this confidence they put a score off by no more than the normal quantile of
    (1 + confidence) / 2, in either direction, times the root of the reliability. One direction alone would do for one
    option; training samples fail with many options at once, and with this quantile the share of samples that keep
    theirs is about the confidence (docs/evidence.md). The number of refits plays no part.

    Parameters
    ----------
    confidence : float
        Above 0 and below 1.
    b : float
        The reliability.

    Examples
    --------
    >>> from copa.models.refits.reliability import confidence_radius
    >>> round(confidence_radius(0.95, 1.0), 3), round(confidence_radius(0.95, 0.81), 3)
    (1.96, 1.764)
    """
    return NormalDist().inv_cdf(0.5 * (1.0 + confidence)) * float(np.sqrt(b))
