"""The objective of a plan and its derivatives (compiled).

The search works with moves z_j = W (x_j - x_0) in the n coordinates that may change, W the cost weights. There every
cost is plain, c(x_i, x_j) = |z_i - z_j| in the Euclidean or the Manhattan norm, and an option's score has mean
m'z + m_0 and variance z'A z + 2 b'z + c_0. Norms have kinks, which `rounding` turns into small bends.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner
from copa._core._kernels.small_matrices import invert_from_cholesky

LEAST_PIVOT = 1e-15  # of the similarity matrix: two options that coincide leave none
LEAST_VARIANCE = 1e-14  # relative to the applicant's own: a singular covariance may leave none


class Problem(NamedTuple):
    """What one applicant may do, and what the plan is judged by."""

    curvature: np.ndarray  # (n, n) A, of the scores' variance
    gain: np.ndarray  # (n,) m, how the mean score rises
    tilt: np.ndarray  # (n,) b
    score: float  # m_0, mean score of the applicant as is
    variance: float  # c_0
    needed: float  # least m'z
    lower: np.ndarray  # (n,) box for every move
    upper: np.ndarray  # (n,)
    validity_weight: float
    diversity_weight: float
    manhattan: bool


@njit(**allocating)
def problem_of(problems, p):
    """The problem of applicant p."""
    scores, bounds = problems.scores[p], problems.bounds[p]
    applicant = (problems.tilts[p], scores[0], scores[1], scores[2], bounds[0], bounds[1])
    weights = (problems.validity_weight, problems.diversity_weight, problems.manhattan)
    return Problem(problems.curvature, problems.gain, *(applicant + weights))


class Parts(NamedTuple):
    """The pieces of the objective at a plan, and their derivatives; P = J (J - 1) / 2 pairs, listed by rows."""

    away: np.ndarray  # (J, n) gradients of the costs
    lengths: np.ndarray  # (J,) roots that the costs are made of
    image: np.ndarray  # (J, n) A z_j + b
    deviation: np.ndarray  # (J,) standard deviations of the scores
    ratio: np.ndarray  # (J,) mean score over deviation
    rise: np.ndarray  # (J, n) gradients of the ratios
    apart: np.ndarray  # (P, n) gradients of the distances between options
    gaps: np.ndarray  # (P,) roots that these distances are made of
    similarity: np.ndarray  # (J, J) K
    factor: np.ndarray  # (J, J) its Cholesky factor
    inverse: np.ndarray  # (J, J) its inverse
    slope: np.ndarray  # (P,) how the determinant changes with each distance
    share: np.ndarray  # (J,) of the validity term that each option answers for


@njit(**allocating)
def allocate_parts(n_options, n):
    """Room for the parts of one plan."""
    n_pairs = n_options * (n_options - 1) // 2
    shape, square = (n_options, n), (n_options, n_options)
    costs = (np.zeros(shape), np.zeros(n_options))
    scores = (np.zeros(shape), np.zeros(n_options), np.zeros(n_options), np.zeros(shape))
    distances = (np.zeros((n_pairs, n)), np.zeros(n_pairs))
    matrices = (np.zeros(square), np.zeros(square), np.zeros(square))
    shares = (np.zeros(n_pairs), np.zeros(n_options))
    return Parts(*(costs + scores + distances + matrices + shares))


@njit(**inner)
def rounded_norm(vector, manhattan, rounding, gradient):
    """Norm of `vector` with its kinks rounded, and the root in it; its gradient replaces what `gradient` held.

    Euclidean: sqrt(|v|^2 + r^2) - r. Manhattan: the same for every coordinate, summed; the root is not used then.
    """
    n = vector.size
    square = rounding * rounding
    if manhattan:
        total = 0.0
        for k in range(n):
            root = math.sqrt(vector[k] * vector[k] + square)
            total += root - rounding
            gradient[k] = vector[k] / root if root > 0.0 else 0.0
        return total, total
    for k in range(n):
        square += vector[k] * vector[k]
    root = math.sqrt(square)
    scale = 1.0 / root if root > 0.0 else 0.0
    for k in range(n):
        gradient[k] = vector[k] * scale
    return root - rounding, root


@njit(**inner)
def proximity(problem, moves, rounding, parts):
    """Mean cost of the options; gradients into `parts`."""
    n_options = moves.shape[0]
    total = 0.0
    for j in range(n_options):
        cost, parts.lengths[j] = rounded_norm(moves[j], problem.manhattan, rounding, parts.away[j])
        total += cost
    return total / n_options


@njit(**inner)
def ratios(problem, moves, parts):
    """Mean score over its standard deviation of every option, into `parts`; return the least."""
    n_options, n = moves.shape
    least = math.inf
    for j in range(n_options):
        move, image, rise = moves[j], parts.image[j], parts.rise[j]
        mean = problem.score
        variance = problem.variance
        for k in range(n):
            image[k] = problem.tilt[k]
        for i in range(n):
            row, share = problem.curvature[i], move[i]
            for k in range(n):
                image[k] += row[k] * share
        for k in range(n):
            variance += (image[k] + problem.tilt[k]) * move[k]
            mean += problem.gain[k] * move[k]
        variance = max(variance, LEAST_VARIANCE * problem.variance)
        scale = 1.0 / math.sqrt(variance)
        ratio = mean * scale
        for k in range(n):
            rise[k] = (problem.gain[k] - ratio * scale * image[k]) * scale
        parts.deviation[j] = variance * scale
        parts.ratio[j] = ratio
        least = min(least, ratio)
    return least


@njit(**inner)
def diversity(problem, moves, rounding, parts):
    """Determinant of the similarities K_ij = 1 / (1 + distance); its slope in every distance into `parts`.

    One where it has no weight.
    """
    if problem.diversity_weight == 0.0:
        return 1.0
    n_options, n = moves.shape
    similarity, factor, inverse = parts.similarity, parts.factor, parts.inverse
    pair = 0
    for i in range(n_options):
        similarity[i, i] = 1.0
        for j in range(i):
            apart = parts.apart[pair]
            for k in range(n):
                apart[k] = moves[i, k] - moves[j, k]
            distance, parts.gaps[pair] = rounded_norm(apart, problem.manhattan, rounding, apart)
            similarity[i, j] = 1.0 / (1.0 + distance)
            similarity[j, i] = similarity[i, j]
            pair += 1
    # Both norms make K positive semidefinite: a pivot that is not positive is rounding, and stands for zero.
    determinant = 1.0
    for j in range(n_options):
        pivot = similarity[j, j]
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        pivot = max(pivot, LEAST_PIVOT)
        determinant *= pivot
        factor[j, j] = math.sqrt(pivot)
        for i in range(j + 1, n_options):
            total = similarity[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total / factor[j, j]
    invert_from_cholesky(factor, inverse)
    pair = 0
    for i in range(n_options):
        for j in range(i):
            parts.slope[pair] = -2.0 * determinant * inverse[i, j] * similarity[i, j] ** 2
            pair += 1
    return determinant


@njit(**inner)
def soften(ratio, weight, temperature, prior, share):
    """Soft minimum of weight * ratio, -T log sum_j prior_j exp(-weight ratio_j / T), and each option's share in it."""
    n_options = ratio.size
    least = ratio[0]
    for j in range(1, n_options):
        least = min(least, ratio[j])
    total = 0.0
    for j in range(n_options):
        share[j] = prior[j] * math.exp(-weight * (ratio[j] - least) / temperature)
        total += share[j]
    for j in range(n_options):
        share[j] /= total
    return weight * least - temperature * math.log(total)


@njit(**inner)
def add_diversity_gradient(problem, parts, gradient):
    """Subtract the diversity weight times the gradient of the determinant."""
    weight = problem.diversity_weight
    if weight == 0.0:
        return
    n_options, n = gradient.shape
    pair = 0
    for i in range(n_options):
        for j in range(i):
            slope = -weight * parts.slope[pair]
            for k in range(n):
                gradient[i, k] += slope * parts.apart[pair, k]
                gradient[j, k] -= slope * parts.apart[pair, k]
            pair += 1


@njit(**inner)
def smooth_objective(problem, moves, temperature, prior, rounding, parts, gradient):
    """The objective with its kinks rounded and a soft minimum, and its gradient.

    `prior` (J,) weighs the options in the soft minimum: at the optimal weights its minimiser is the hard one's.
    """
    n_options, n = moves.shape
    value = proximity(problem, moves, rounding, parts)
    for j in range(n_options):
        for k in range(n):
            gradient[j, k] = parts.away[j, k] / n_options
    if problem.validity_weight > 0.0:
        ratios(problem, moves, parts)
        value -= soften(parts.ratio, problem.validity_weight, temperature, prior, parts.share)
        for j in range(n_options):
            pull = problem.validity_weight * parts.share[j]
            for k in range(n):
                gradient[j, k] -= pull * parts.rise[j, k]
    determinant = diversity(problem, moves, rounding, parts)
    add_diversity_gradient(problem, parts, gradient)
    return value - problem.diversity_weight * determinant


@njit(**inner)
def hard_objective(problem, moves, parts):
    """The objective itself, nothing rounded; `parts` is overwritten."""
    value = proximity(problem, moves, 0.0, parts)
    if problem.validity_weight > 0.0:
        value -= problem.validity_weight * ratios(problem, moves, parts)
    return value - problem.diversity_weight * diversity(problem, moves, 0.0, parts)
