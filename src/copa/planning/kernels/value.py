"""The objective of plans in full vectors, as the paper states it (compiled)."""

import math

import numpy as np
from numba import njit

from copa.kernels.compiling import options
from copa.planning.kernels.compiling import inner


@njit(**inner)
def cost_between(first, second, weights, manhattan):
    """Weighted Euclidean or Manhattan distance."""
    total = 0.0
    for k in range(first.size):
        change = abs(weights[k] * (first[k] - second[k]))
        total += change if manhattan else change * change
    return total if manhattan else math.sqrt(total)


@njit(**inner)
def surety(point, mean, cov):
    """Mean score over its standard deviation; infinite where there is no deviation, NaN where there is neither."""
    score = 0.0
    variance = 0.0
    for i in range(point.size):
        image = 0.0
        for k in range(point.size):
            image += cov[i, k] * point[k]
        variance += image * point[i]
        score += mean[i] * point[i]
    return score / math.sqrt(max(variance, 0.0))


@njit(**inner)
def determinant(matrix):
    """Determinant by elimination with row exchanges; the matrix is overwritten."""
    n = matrix.shape[0]
    product = 1.0
    for j in range(n):
        pivot = j
        for i in range(j + 1, n):
            if abs(matrix[i, j]) > abs(matrix[pivot, j]):
                pivot = i
        if matrix[pivot, j] == 0.0:
            return 0.0
        if pivot != j:
            product = -product
            for k in range(n):
                matrix[j, k], matrix[pivot, k] = matrix[pivot, k], matrix[j, k]
        product *= matrix[j, j]
        for i in range(j + 1, n):
            share = matrix[i, j] / matrix[j, j]
            for k in range(j, n):
                matrix[i, k] -= share * matrix[j, k]
    return product


SIGNATURE = (
    "void(float64[:, :, ::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1], float64, float64, boolean,"
    " float64[::1])"
)


@njit(SIGNATURE, **options)
def plan_values(points, origins, mean, cov, weights, validity_weight, diversity_weight, manhattan, out):
    """Write the objective of every plan (N, J, D) into `out` (N,); a term of weight zero is not looked at."""
    n_plans, n_options, _ = points.shape
    similarity = np.zeros((n_options, n_options))
    for p in range(n_plans):
        total = 0.0
        for j in range(n_options):
            total += cost_between(points[p, j], origins[p], weights, manhattan)
        value = total / n_options
        if validity_weight > 0.0:
            least = math.inf
            for j in range(n_options):
                ratio = surety(points[p, j], mean, cov)
                least = ratio if not ratio >= least else least  # NaN stays
            value -= validity_weight * least
        if diversity_weight > 0.0:
            for i in range(n_options):
                for j in range(n_options):
                    similarity[i, j] = 1.0 / (1.0 + cost_between(points[p, i], points[p, j], weights, manhattan))
            value -= diversity_weight * determinant(similarity)
        out[p] = value
