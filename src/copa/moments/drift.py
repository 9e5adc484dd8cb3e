"""The shape of drift: how far, and in which directions, retraining has moved the parameters so far."""

from typing import Any

import numpy as np

from copa.arrays import Array
from copa.models.parameters import parameter_history


def estimate_drift(history: Any) -> Array:
    """Estimate the matrix Q of a transport cost s'Q^{-1}s from past parameter changes.

    Parameters
    ----------
    history : array_like of shape (V, D) or sequence of fitted linear classifiers
        Versions of the parameters, oldest first, V >= 3.

    Returns
    -------
    ndarray of shape (D, D)
        Positive semidefinite. Its diagonal is the mean squared change of each parameter from one version to
        the next; its correlations are shrunk. A parameter that never changed has a row of zeros: it cannot
        move.

    Notes
    -----
    **Not centred.** The ball lies around today's parameters, and what must be covered is the whole change to
    the next version, E[change change']: a trend that repeats from version to version is drift, not a nuisance
    to subtract.

    **Shrunk.** V - 1 changes rarely determine D(D+1)/2 numbers, and directions never seen so far would be
    declared impossible. Every change is divided by its parameter's root mean square, the second moments of
    the results are shrunk to the identity with the intensity of Ledoit and Wolf (2004), at least 1/V, and the
    units are put back. So a feature measured in other units gives the same Q in those units.

    **Normalisation.** sqrt(x'Qx) is the root mean square change of the score x'theta in one retraining (up to
    the shrinkage), and a ball of radius r moves the mean of that score by at most r times it: the radius
    counts standard deviations of drift *of any one score*. The change of the whole vector has a mean squared
    length of D in this cost, so a ball meant to hold whole vectors needs a radius of about sqrt(D);
    `radius_from_history` measures it.
    """
    from sklearn.covariance import ledoit_wolf_shrinkage

    changes = np.diff(parameter_history(history, minimum=3), axis=0)
    scale = np.sqrt(np.mean(changes**2, axis=0))
    moved = scale > 0.0
    if not moved.any():
        return np.zeros((scale.size, scale.size))
    unitless = changes[:, moved] / scale[moved]
    intensity = max(ledoit_wolf_shrinkage(unitless, assume_centered=True), 1.0 / (len(changes) + 1))
    correlations = np.zeros((scale.size, scale.size))
    correlations[np.ix_(moved, moved)] = (1.0 - intensity) * (unitless.T @ unitless) / len(changes)
    correlations[moved, moved] = 1.0
    drift: Array = correlations * np.outer(scale, scale)
    return drift
