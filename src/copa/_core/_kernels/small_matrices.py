"""Dense linear algebra for matrices of a few rows, where a call to LAPACK would cost more than the work.

Results are written into arrays that the caller has allocated. Matrices are symmetric unless said otherwise.
"""

import math

from numba import njit

from copa._core._kernels.compiling import inner

LARGE = 40  # rows from which a Cholesky factorisation goes by blocks
BLOCK = 64  # rows that a Cholesky factorisation updates together
STRIP = 256  # columns that it updates at a time: so many of both fit into a core's own cache


@njit(**inner)
def dot(left, right):
    """Inner product of two vectors, with four accumulators that are added in a fixed order."""
    n = left.shape[0]
    grouped = n // 4 * 4
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for k in range(0, grouped, 4):
        first += left[k] * right[k]
        second += left[k + 1] * right[k + 1]
        third += left[k + 2] * right[k + 2]
        fourth += left[k + 3] * right[k + 3]
    for k in range(grouped, n):
        first += left[k] * right[k]
    return (first + second) + (third + fourth)


@njit(**inner)
def copy_vector(source, out):
    """Copy entry by entry (see `copy_matrix`)."""
    for k in range(source.shape[0]):
        out[k] = source[k]


@njit(**inner)
def copy_matrix(source, out):
    """Copy entry by entry: assigning one slice to another brings in an error message that takes seconds to compile."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            out[i, k] = source[i, k]


@njit(**inner)
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


@njit(**inner)
def subtract_rows(factor, i, above, below, left, right):
    """Subtract the rows from `above` up to `below`, each times its entry in column i, from row i; `left` up to `right`.

    Four rows at a time, and along the row: the order of every sum is written down, and yet it vectorises.
    """
    row = factor[i, left:right]
    grouped = above + (below - above) // 4 * 4
    for k in range(above, grouped, 4):
        first, second = factor[k, left:right], factor[k + 1, left:right]
        third, fourth = factor[k + 2, left:right], factor[k + 3, left:right]
        a, b, c, d = factor[k, i], factor[k + 1, i], factor[k + 2, i], factor[k + 3, i]
        for j in range(row.size):
            row[j] = row[j] - a * first[j] - b * second[j] - c * third[j] - d * fourth[j]
    for k in range(grouped, below):
        only = factor[k, left:right]
        share = factor[k, i]
        for j in range(row.size):
            row[j] -= share * only[j]


@njit(**inner)
def cholesky_by_blocks(matrix, factor):
    """Lower Cholesky factor by blocks of rows of its transpose, which vectorise; False if a pivot is not positive."""
    n = matrix.shape[0]
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        for i in range(first, last):
            for j in range(i, n):
                factor[i, j] = matrix[j, i]
        for left in range(first, n, STRIP):  # what earlier blocks take from this one
            right = min(left + STRIP, n)
            for above in range(0, first, BLOCK):
                for i in range(first, min(last, right)):
                    subtract_rows(factor, i, above, above + BLOCK, max(left, i), right)
        for i in range(first, last):
            subtract_rows(factor, i, first, i, i, n)
            if not factor[i, i] > 0.0:
                return False
            pivot = math.sqrt(factor[i, i])
            scale = 1.0 / pivot
            factor[i, i] = pivot
            row = factor[i, i + 1 :]
            for j in range(row.size):
                row[j] *= scale
    for i in range(n):
        for j in range(i):
            factor[i, j] = factor[j, i]
            factor[j, i] = 0.0
    return True


@njit(**inner)
def cholesky(matrix, factor):
    """Lower Cholesky factor; False as soon as a pivot is not positive (or is NaN).

    A small one is found column by column, four rows at a time, a large one by blocks.
    """
    n = matrix.shape[0]
    if n >= LARGE:
        return cholesky_by_blocks(matrix, factor)
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


@njit(**inner)
def solve_cholesky(factor, rhs):
    """Solve L L' x = rhs in place."""
    n = factor.shape[0]
    for i in range(n):
        first, second, third, fourth = rhs[i], 0.0, 0.0, 0.0
        grouped = i // 4 * 4
        for k in range(0, grouped, 4):
            first -= factor[i, k] * rhs[k]
            second -= factor[i, k + 1] * rhs[k + 1]
            third -= factor[i, k + 2] * rhs[k + 2]
            fourth -= factor[i, k + 3] * rhs[k + 3]
        for k in range(grouped, i):
            first -= factor[i, k] * rhs[k]
        rhs[i] = ((first + second) + (third + fourth)) / factor[i, i]
    for i in range(n - 1, -1, -1):
        rhs[i] /= factor[i, i]
        for k in range(i):
            rhs[k] -= factor[i, k] * rhs[i]


@njit(**inner)
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


@njit(**inner)
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


@njit(**inner)
def scale_first(matrix, scale):
    """Multiply the first row and the first column by `scale`, in place."""
    for i in range(matrix.shape[0]):
        matrix[0, i] *= scale
        matrix[i, 0] *= scale


@njit(**inner)
def symmetric_product(left, middle, right, work, out):
    """Write the symmetric part of left @ middle @ right into `out`."""
    n = left.shape[0]
    for i in range(n):
        for j in range(n):
            work[i, j] = left[i, 0] * middle[0, j]
        for k in range(1, n):
            share = left[i, k]
            for j in range(n):
                work[i, j] += share * middle[k, j]
        for j in range(n):
            out[i, j] = work[i, 0] * right[0, j]
        for k in range(1, n):
            share = work[i, k]
            for j in range(n):
                out[i, j] += share * right[k, j]
    for i in range(n):
        for j in range(i):
            mean = 0.5 * (out[i, j] + out[j, i])
            out[i, j] = mean
            out[j, i] = mean


@njit(**inner)
def triangular_rows(rows, out):
    """Rotate J rows of length K > J into a lower triangle of J columns, keeping all their inner products.

    Householder reflections from the right; `rows` is overwritten. Each row keeps its length to rounding,
    however different the rows' lengths are.
    """
    n_rows, length = rows.shape
    for k in range(n_rows):
        row = rows[k, k:]
        norm = math.sqrt(dot(row, row))
        if norm > 0.0:
            head = math.copysign(norm, rows[k, k])
            rows[k, k] += head
            square = 2.0 * (norm * norm + norm * abs(rows[k, k] - head))
            for i in range(k + 1, n_rows):
                other = rows[i, k:]
                share = dot(row, other) * 2.0 / square
                for c in range(length - k):
                    other[c] -= share * row[c]
            rows[k, k] = -head
        for i in range(k, n_rows):
            out[i, k] = rows[i, k]
        for i in range(k):
            out[i, k] = 0.0
