"""Verdicts on a history of promises: whether later versions keep the promised share of them.

One model answers all promises of its time at once, so that they are kept or broken together. The unit is therefore the
version, not the promise: s_t is the share of the promises that version t keeps, and what is judged is its mean, the
share that a version keeps in expectation. Nothing else is assumed of the s_t than that they lie between 0 and 1.
"""

import math
from typing import Any

import numpy as np

from copa._core.arrays import Array

KEPT, NOT_KEPT, CLEAR, UNKNOWN, FORECAST = (
    "kept",
    "not kept",
    "nothing against it",
    "too few transitions to say",
    "forecast only",
)
ERROR = 0.01  # most probability of "not kept" where the mean share is at least the level
CONFIDENCE = 0.95  # of the lower bound that must reach the level for "kept"
N_BETS = 50


def log_e_value(shares: Any, level: float) -> Array:
    """Logarithm of the evidence that versions keep less than the level on average: an e-value.

    It is the mean over a grid of bets l in (0, 1 / (1 - level)) of prod_t (1 + l (level - s_t)). If each version keeps
    at least the level in expectation, given the versions before it, every such product has an expectation of at most
    1. The same holds for independent versions that keep the level on average over all of them, because the geometric
    mean is at most the arithmetic one. By Markov's inequality an e-value reaches 1 / a with probability a at most.

    Parameters
    ----------
    shares : array_like of shape (..., n)
        Of the promises that each of n versions keeps.
    level : float
        Promised, below 1.

    Returns
    -------
    ndarray of shape (...)

    Examples
    --------
    >>> from copa.analysis.verdicts import log_e_value
    >>> log_e_value([[1.0, 0.2, 1.0], [0.3, 0.2, 0.4]], level=0.9).round(2).tolist()
    [-0.09, 4.59]
    """
    from scipy.special import logsumexp

    bets = (np.arange(N_BETS) + 0.5) / N_BETS / (1.0 - level)
    gains = level - np.asarray(shares, dtype=np.float64)
    wealth = np.log1p(bets[:, None] * gains[..., None, :]).sum(axis=-1)
    return np.asarray(logsumexp(wealth, axis=-1) - math.log(N_BETS))


def lower_bound(shares: Any) -> Array:
    """Lower bound, with 95 % confidence, on the share of promises that a version keeps in expectation.

    It is the geometric mean of the s_t times .05^(1/n): for a mean m, prod_t (s_t / m) has an expectation of at most 1
    (under the conditions of `log_e_value`), and so exceeds 20 with probability 5 % at most.

    Parameters
    ----------
    shares : array_like of shape (..., n)

    Returns
    -------
    ndarray of shape (...)
        0 where there is no version.

    Examples
    --------
    >>> from copa.analysis.verdicts import lower_bound
    >>> lower_bound([[1.0] * 29, [0.95] * 29]).round(4).tolist()
    [0.9019, 0.8568]
    """
    array = np.asarray(shares, dtype=np.float64)
    n = array.shape[-1]
    return np.asarray(highest_level(n) * np.prod(array ** (1.0 / max(n, 1)), axis=-1))


def highest_level(n_versions: int) -> float:
    """Highest level that versions can support: what `lower_bound` is where they keep every promise.

    Parameters
    ----------
    n_versions : int
    """
    return float((1.0 - CONFIDENCE) ** (1.0 / n_versions)) if n_versions else 0.0


def versions_needed(level: float) -> int:
    """Versions that must keep every promise before a level can be called kept.

    Parameters
    ----------
    level : float

    Examples
    --------
    >>> from copa.analysis.verdicts import versions_needed
    >>> [versions_needed(level) for level in (0.8, 0.9, 0.95)]
    [14, 29, 59]
    """
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log(level))


def verdict(shares: Any, level: float) -> str:
    """Return the verdict on the shares that versions kept.

    Parameters
    ----------
    shares : array_like of shape (n,)
    level : float

    Returns
    -------
    {"kept", "not kept", "nothing against it", "too few transitions to say"}
        The last two where neither can be said: as the mean share reaches the level or not.

    Examples
    --------
    >>> from copa.analysis.verdicts import verdict
    >>> [verdict(shares, 0.9) for shares in ([1.0] * 29, [1.0] * 9, [1.0, 0.2, 1.0], [0.3, 0.2, 0.4, 0.3])]
    ['kept', 'nothing against it', 'too few transitions to say', 'not kept']
    """
    if log_e_value(shares, level) >= -math.log(ERROR):
        return NOT_KEPT
    if lower_bound(shares) >= level:
        return KEPT
    return CLEAR if len(shares) and np.mean(shares) >= level - 1e-12 else UNKNOWN
