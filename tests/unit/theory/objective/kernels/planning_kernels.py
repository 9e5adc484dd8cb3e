"""Problems of one applicant, and the pure-NumPy statements that the kernels' inner functions must equal."""

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """What one applicant may do, and what the plan is judged by."""

    curvature: np.ndarray
    gain: np.ndarray
    tilt: np.ndarray
    score: float
    variance: float
    needed: float
    lower: np.ndarray
    upper: np.ndarray
    validity_weight: float
    diversity_weight: float
    manhattan: bool


def draw_problem(seed, n=4, *, weights=(0.7, 3.0), manhattan=False, box=False):
    """A random applicant's problem in moves."""
    rng = np.random.default_rng([31, seed])
    factor = rng.standard_normal((n + 1, 2 * n + 2))
    cov = factor @ factor.T / (2 * n + 2)
    mean, origin = rng.standard_normal(n + 1), rng.standard_normal(n + 1)
    origin[0] = 1.0
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if box:
        lower, upper = -rng.uniform(0.2, 2.0, n), rng.uniform(0.2, 2.0, n)
    return Problem(
        cov[1:, 1:].copy(),
        mean[1:].copy(),
        (cov @ origin)[1:],
        mean @ origin,
        origin @ cov @ origin,
        0.5,
        lower,
        upper,
        *weights,
        manhattan,
    )


def rounded_norms(vectors, manhattan, rounding):
    """Norms of vectors (..., n) with their kinks rounded."""
    if manhattan:
        return (np.sqrt(vectors**2 + rounding**2) - rounding).sum(axis=-1)
    return np.sqrt((vectors**2).sum(axis=-1) + rounding**2) - rounding


def ratios(problem, moves):
    variances = np.einsum("jk,ki,ji->j", moves, problem.curvature, moves) + 2.0 * moves @ problem.tilt
    return (problem.score + moves @ problem.gain) / np.sqrt(variances + problem.variance)


def determinant(problem, moves, rounding):
    distances = rounded_norms(moves[:, None] - moves[None], problem.manhattan, rounding)
    return np.linalg.det(1.0 / (1.0 + distances))


def smooth_value(problem, moves, temperature, prior, rounding):
    """Mean cost - soft minimum of weighted ratios - weighted determinant."""
    value = rounded_norms(moves, problem.manhattan, rounding).mean()
    weighted = problem.validity_weight * ratios(problem, moves)
    value += temperature * np.log(np.sum(prior * np.exp(-weighted / temperature)))
    return value - problem.diversity_weight * determinant(problem, moves, rounding)


def differences(function, point, step=1e-6):
    """Central differences of a function of an array, in the array's shape (and the function's after it)."""
    slopes = []
    for place in np.ndindex(*point.shape):
        ahead, behind = point.copy(), point.copy()
        ahead[place] += step
        behind[place] -= step
        slopes.append((np.asarray(function(ahead)) - np.asarray(function(behind))) / (2.0 * step))
    return np.array(slopes).reshape(*point.shape, *np.shape(slopes[0]))
