"""How much of the score of a chosen row is left when another sample judges it."""

from statistics import NormalDist
from typing import Any

import numpy as np

from copa._core.arrays import as_floats

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
    >>> from copa.uncertainty.reliability import reliability
    >>> round(reliability([1.0, 2.0], [0.5, 1.3]), 3)
    0.75
    """
    total, kept = float(as_floats(chosen_by, "chosen_by").sum()), float(as_floats(asked, "asked").sum())
    if not total > 0.0:
        return 0.0
    half = kept / total
    return float(np.clip(2.0 * half / (1.0 + half), 0.0, 1.0)) if half > 0.0 else 0.0


def confidence_radius(confidence: float, b: float) -> float:
    """How far the mean of the next score may be from b times today's, in standard deviations of retraining.

    Today's data are one sample: with this confidence their error flatters a score by no more than the normal quantile
    of the confidence, times the root of the reliability. The number of refits plays no part.

    Parameters
    ----------
    confidence : float
        Above 0 and below 1; below one half counts as one half.
    b : float
        The reliability.

    Examples
    --------
    >>> from copa.uncertainty.reliability import confidence_radius
    >>> round(confidence_radius(0.95, 1.0), 3), round(confidence_radius(0.95, 0.81), 3)
    (1.645, 1.48)
    """
    return max(0.0, NormalDist().inv_cdf(confidence)) * float(np.sqrt(b))
