"""The Gelbrich distance between two pairs of moments."""

import math
from typing import Any

import numpy as np

from copa._core.arrays import Array, as_symmetric, as_vector, semidefinite_root

# Directions whose drift, in units in which each parameter's is 1, is below this share of the largest cannot move.
NULL_SPACE = 1e-10
# Means and standard deviations that agree along the null space of the drift to this share of their size count
# as equal there: the root of a rounding error of 1e-12 in a covariance.
NULL_SPACE_SLACK = 1e-6


def gelbrich_distance(mean_a: Any, cov_a: Any, mean_b: Any, cov_b: Any, drift: Any = None) -> float:
    """Return the least root mean square move that turns one pair of moments into the other.

    The Gelbrich distance (paper, Section 2) is the 2-Wasserstein distance of the Gaussians with these
    moments, and a lower bound of that of any other distributions with them::

        d^2 = |mean_a - mean_b|^2 + tr(cov_a + cov_b - 2 (cov_a^{1/2} cov_b cov_a^{1/2})^{1/2})

    Parameters
    ----------
    mean_a, mean_b : array_like of shape (D,)
    cov_a, cov_b : array_like of shape (D, D)
        Positive semidefinite; may be singular.
    drift : array_like of shape (D, D), optional
        Positive semidefinite Q: a move s costs s'Q^{-1}s instead of s's. Nothing can move along the null
        space of Q (eigenvalues below 1e-10 of the largest), so the distance is infinite if means or standard
        deviations differ there by more than 1e-6 of their size.

    Returns
    -------
    float
        In the units of theta; with a drift, in roots of the drift.

    Examples
    --------
    >>> import copa
    >>> cov = [[1.0, 0.0], [0.0, 4.0]]
    >>> copa.gelbrich_distance([0.0, 0.0], cov, [3.0, 4.0], cov)
    5.0
    >>> copa.gelbrich_distance([0.0], [[1.0]], [0.0], [[9.0]], drift=[[4.0]])
    1.0
    """
    mean_a = as_vector(mean_a, "mean_a")
    mean_b = as_vector(mean_b, "mean_b", mean_a.size)
    cov_a = as_symmetric(cov_a, "cov_a", mean_a.size)
    cov_b = as_symmetric(cov_b, "cov_b", mean_a.size)
    root_a, root_b = semidefinite_root(cov_a, "cov_a"), semidefinite_root(cov_b, "cov_b")
    move = mean_a - mean_b
    if drift is None:
        return math.hypot(float(np.linalg.norm(move)), _root_distance(root_a, root_b))

    drift = as_symmetric(drift, "drift", mean_a.size)
    units = _units(drift, mean_a, mean_b, root_a, root_b)
    mean_a, mean_b, move = mean_a / units, mean_b / units, move / units
    root_a, root_b = root_a / units[:, None], root_b / units[:, None]
    fixed, free = _split(drift / units[:, None] / units)
    size = np.sqrt(max(mean_a @ mean_a + (root_a**2).sum(), mean_b @ mean_b + (root_b**2).sum()))
    slack = NULL_SPACE_SLACK * float(size)
    if np.linalg.norm(fixed @ move) > slack or _root_distance(fixed @ root_a, fixed @ root_b) > slack:
        return math.inf
    common, rest_a, rest_b = _held_in_place(fixed @ root_a, free @ root_a, fixed @ root_b, free @ root_b, slack)
    return math.hypot(float(np.linalg.norm(free @ move)), common, _root_distance(rest_a, rest_b))


def _root_distance(root_a: Array, root_b: Array) -> float:
    """Return the distance of two centred laws from any roots F of their covariances F F', each (D, k).

    d = min |F_a - F_b U| over orthogonal U. The nuclear norm of F_b'F_a gives the same number by a formula
    that subtracts traces; taking the difference of the roots instead keeps small distances accurate.
    """
    return float(np.linalg.norm(root_a - root_b @ _alignment(root_a, root_b)))


def _alignment(root_a: Array, root_b: Array) -> Array:
    """Return the orthogonal U (k, k) that minimises |F_a - F_b U| (the Procrustes problem)."""
    left, _, right = np.linalg.svd(root_b.T @ root_a)
    rotation: Array = left @ right
    return rotation


def _held_in_place(
    fixed_a: Array, free_a: Array, fixed_b: Array, free_b: Array, slack: float
) -> tuple[float, Array, Array]:
    """Couple two centred laws so that the coordinates which cannot move stay equal.

    The rows of a root are the coordinates as vectors, and a coupling is a rotation of one root's rows. Those
    of the fixed coordinates must fall on each other, which settles the rotation in their span: what the free
    coordinates have there (the part that the fixed ones explain) differs by the number returned first. The
    parts outside the span, returned next, may still be rotated freely.
    """
    free_b = free_b @ _alignment(fixed_a, fixed_b)
    _, lengths, axes = np.linalg.svd(fixed_a)
    rank = int((lengths > slack).sum())
    span, rest = axes[:rank].T, axes[rank:].T
    return float(np.linalg.norm((free_a - free_b) @ span)), free_a @ rest, free_b @ rest


def _units(drift: Array, *others: Array) -> Array:
    """Return a unit for each parameter: its drift, or, where that is zero, its size.

    The distance does not depend on units, but what counts as zero along the null space of the drift does.
    """
    drifts = np.sqrt(np.maximum(np.diag(drift), 0.0))
    sizes = np.max([np.linalg.norm(other.reshape(len(drift), -1), axis=1) for other in others], axis=0)
    return np.where(drifts > 0.0, drifts, np.where(sizes > 0.0, sizes, 1.0))


def _split(drift: Array) -> tuple[Array, Array]:
    """Return the maps from theta to the coordinates that cannot move, and to those that can, rescaled."""
    semidefinite_root(drift, "drift")
    values, vectors = np.linalg.eigh(drift)
    moves = values > NULL_SPACE * max(values[-1], 0.0)
    return vectors[:, ~moves].T, (vectors[:, moves] / np.sqrt(values[moves])).T
