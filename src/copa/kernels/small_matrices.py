"""Dense linear algebra for matrices of a few rows, where a call to LAPACK would cost more than the work.

Results are written into arrays that the caller has allocated. Matrices are symmetric unless said otherwise.
"""

import math
from typing import Any

from numba import njit

# Sums may be reordered (so that they vectorise), but NaN and infinity keep their meaning.
options: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}


@njit(**options)
def copy_matrix(source, out):
    """Copy entry by entry: assigning one slice to another brings in an error message that takes seconds to compile."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            out[i, k] = source[i, k]


@njit(**options)
def cholesky_pivots(matrix, factor, pivots):
    """Lower Cholesky factor and its pivots; return the row of the first that is not positive (or is NaN), or -1."""
    n = matrix.shape[0]
    for j in range(n):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        pivots[j] = pivot
        if not pivot > 0.0:
            return j
        pivot = math.sqrt(pivot)
        factor[j, j] = pivot
        scale = 1.0 / pivot
        for i in range(j + 1, n):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total * scale
    return -1


@njit(**options)
def cholesky(matrix, factor):
    """Lower Cholesky factor; False as soon as a pivot is not positive (or is NaN).

    Four rows at a time: from some 60 rows on (the Newton system of ten options) it saves a third of the time.
    """
    n = matrix.shape[0]
    for j in range(n):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= factor[j, k] * factor[j, k]
        if not pivot > 0.0:
            return False
        pivot = math.sqrt(pivot)
        factor[j, j] = pivot
        scale = 1.0 / pivot
        grouped = j + 1 + (n - j - 1) // 4 * 4
        for i in range(j + 1, grouped, 4):
            first, second, third, fourth = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            for k in range(j):
                entry = factor[j, k]
                first -= factor[i, k] * entry
                second -= factor[i + 1, k] * entry
                third -= factor[i + 2, k] * entry
                fourth -= factor[i + 3, k] * entry
            factor[i, j] = first * scale
            factor[i + 1, j] = second * scale
            factor[i + 2, j] = third * scale
            factor[i + 3, j] = fourth * scale
        for i in range(grouped, n):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total * scale
    return True


@njit(**options)
def solve_cholesky(factor, rhs):
    """Solve L L' x = rhs in place."""
    n = factor.shape[0]
    for i in range(n):
        total = rhs[i]
        for k in range(i):
            total -= factor[i, k] * rhs[k]
        rhs[i] = total / factor[i, i]
    for i in range(n - 1, -1, -1):
        rhs[i] /= factor[i, i]
        for k in range(i):
            rhs[k] -= factor[i, k] * rhs[i]


@njit(**options)
def invert_from_cholesky(factor, inverse):
    """Inverse of L L' from its lower factor L."""
    n = factor.shape[0]
    # The rows of L^{-1} first, in the lower triangle of `inverse` (all inner loops run along rows) ...
    for i in range(n):
        scale = 1.0 / factor[i, i]
        for j in range(i):
            inverse[i, j] = 0.0
        for k in range(i):
            share = -factor[i, k] * scale
            for j in range(k + 1):
                inverse[i, j] += share * inverse[k, j]
        inverse[i, i] = scale
    # ... then L^{-T} L^{-1} over it: row i needs only rows k >= i, which are still untouched.
    for i in range(n):
        pivot = inverse[i, i]
        for j in range(i + 1):
            inverse[i, j] *= pivot
        for k in range(i + 1, n):
            share = inverse[k, i]
            for j in range(i + 1):
                inverse[i, j] += share * inverse[k, j]
    for i in range(n):
        for j in range(i):
            inverse[j, i] = inverse[i, j]


@njit(**options)
def reflect(matrix, axis, out):
    """Write H A H into `out` (not `matrix` itself), where H = I - 2 w w' and w = `axis` is a unit vector.

    A two-sided reflection is a symmetric rank-two update, so it costs n^2 and not n^3 operations.
    """
    n = matrix.shape[0]
    curvature = 0.0
    for i in range(n):
        total = 0.0
        for k in range(n):
            total += matrix[i, k] * axis[k]
        out[0, i] = 2.0 * total  # the first row holds 2 A w until it is written last
        curvature += axis[i] * total
    for i in range(n):
        out[0, i] -= 2.0 * curvature * axis[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            out[i, j] = matrix[i, j] - axis[i] * out[0, j] - axis[j] * out[0, i]
    for i in range(n):
        for j in range(i):
            out[j, i] = out[i, j]


@njit(**options)
def scale_first(matrix, scale):
    """Multiply the first row and the first column by `scale`, in place."""
    for i in range(matrix.shape[0]):
        matrix[0, i] *= scale
        matrix[i, 0] *= scale


@njit(**options)
def symmetric_product(left, middle, right, work, out):
    """Write the symmetric part of left @ middle @ right into `out`."""
    n = left.shape[0]
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += left[i, k] * middle[j, k]
            work[i, j] = total
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += work[i, k] * right[j, k]
            out[i, j] = total
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (out[i, j] + out[j, i])
            out[i, j] = mean
            out[j, i] = mean


@njit(**options)
def triangular_rows(rows, out):
    """Rotate J rows of length K > J into a lower triangle of J columns, keeping all their inner products.

    Householder reflections from the right; `rows` is overwritten. Each row keeps its length to rounding,
    however different the rows' lengths are.
    """
    n_rows, length = rows.shape
    for k in range(n_rows):
        norm = 0.0
        for c in range(k, length):
            norm += rows[k, c] ** 2
        norm = math.sqrt(norm)
        if norm > 0.0:
            head = math.copysign(norm, rows[k, k])
            rows[k, k] += head
            square = 2.0 * (norm * norm + norm * abs(rows[k, k] - head))
            for i in range(k + 1, n_rows):
                dot = 0.0
                for c in range(k, length):
                    dot += rows[k, c] * rows[i, c]
                dot *= 2.0 / square
                for c in range(k, length):
                    rows[i, c] -= dot * rows[k, c]
            rows[k, k] = -head
        for i in range(k, n_rows):
            out[i, k] = rows[i, k]
        for i in range(k):
            out[i, k] = 0.0
