"""The Newton system of the interior-point method (compiled).

The unknowns are the lower triangle of dM, listed by rows, and dg. With P_j = U_j X_j U_j' and Q_j = U_j S_j^{-1} U_j'
the operator is dM -> sum_j sym(P_j dM Q_j), bordered by the row and column of g.
"""

import math

from numba import njit

from copa._core._kernels.compiling import inner
from copa._core._kernels.small_matrices import reflect, scale_first


@njit(**inner)
def pair(a, b):
    """Place of entry (a, b) of a symmetric matrix in its lower triangle listed by rows."""
    return a * (a + 1) // 2 + b if a >= b else b * (b + 1) // 2 + a


@njit(**inner)
def list_triangle(matrix, out):
    """List the lower triangle by rows."""
    k = 0
    for a in range(matrix.shape[0]):
        for b in range(a + 1):
            out[k] = matrix[a, b]
            k += 1


@njit(**inner)
def fill_symmetric(triangle, out):
    """Symmetric matrix from its lower triangle listed by rows."""
    k = 0
    for a in range(out.shape[0]):
        for b in range(a + 1):
            out[a, b] = triangle[k]
            out[b, a] = triangle[k]
            k += 1


@njit(**inner)
def system_rhs(matrix, corner, out):
    """Right-hand side: the products of `matrix` with the unit matrices of the unknowns, then the entry of g."""
    k = 0
    for a in range(matrix.shape[0]):
        for b in range(a + 1):
            out[k] = matrix[a, b] if a == b else 2.0 * matrix[a, b]
            k += 1
    out[k] = corner


@njit(**inner)
def multiply_lists(left, right, out):
    """Write left' right of two lists of vectors (K, T) into `out` (T, T), along its rows and in the order of the lists.

    Not by BLAS, whose sums may depend on the processor and on the number of its threads.
    """
    length = left.shape[0]
    grouped = length // 4 * 4
    for i in range(out.shape[0]):
        row = out[i]
        row[:] = 0.0
        for k in range(0, grouped, 4):
            first, second, third, fourth = right[k], right[k + 1], right[k + 2], right[k + 3]
            a, b, c, d = left[k, i], left[k + 1, i], left[k + 2, i], left[k + 3, i]
            for j in range(row.size):
                row[j] = row[j] + a * first[j] + b * second[j] + c * third[j] + d * fourth[j]
        for k in range(grouped, length):
            only = right[k]
            share = left[k, i]
            for j in range(row.size):
                row[j] += share * only[j]


@njit(**inner)
def system_matrix(p_triangles, q_triangles, p_columns, q_columns, corner, products, out):
    """Lower triangle of the symmetric system matrix.

    p_triangles, q_triangles : (J + 1, n (n + 1) / 2) triangles of P_j and Q_j, with P_0 = X_0 and Q_0 = M^{-1}
    p_columns, q_columns : (J, n) vectors U_j X_j e_1 and U_j S_j^{-1} e_1, which couple dM with dg
    corner : entry of (g, g)
    products : (n (n + 1) / 2) squared, scratch

    Entry ((a, b), (c, d)) is the sum over j of P_bc Q_ad + P_ad Q_bc + P_bd Q_ac + P_ac Q_bd, so that one product
    of the two lists of triangles holds all that is needed.
    """
    multiply_lists(p_triangles, q_triangles, products)
    n = p_columns.shape[1]
    size = products.shape[0]
    row = 0
    for a in range(n):
        for b in range(a + 1):
            column = 0
            for c in range(a + 1):
                for d in range(min(c, b if c == a else c) + 1):
                    bc, ad, bd, ac = pair(b, c), pair(a, d), pair(b, d), pair(a, c)
                    entry = products[bc, ad] + products[ad, bc] + products[bd, ac] + products[ac, bd]
                    if a == b:
                        entry *= 0.5
                    if c == d:
                        entry *= 0.5
                    out[row, column] = entry
                    column += 1
            entry = 0.0
            for j in range(p_columns.shape[0]):
                entry += p_columns[j, a] * q_columns[j, b] + p_columns[j, b] * q_columns[j, a]
            out[size, row] = 0.5 * entry if a == b else entry
            row += 1
    out[size, size] = corner


@njit(**inner)
def reflection_axes(directions, axes):
    """Write the unit vectors w_j of H_j = I - 2 w_j w_j' for unit directions u_j."""
    n_options, n = directions.shape
    for j in range(n_options):
        square = 0.0
        for k in range(n):
            axes[j, k] = directions[j, k]
        axes[j, 0] += math.copysign(1.0, directions[j, 0])  # the sign that avoids cancellation
        for k in range(n):
            square += axes[j, k] ** 2
        for k in range(n):
            axes[j, k] /= math.sqrt(square)


@njit(**inner)
def into_frame(matrix, axis, reach, out):
    """Write U' A U into `out`."""
    reflect(matrix, axis, out)
    scale_first(out, reach)


@njit(**inner)
def add_out_of_frame(block, axis, reach, work, triangle):
    """Add the lower triangle of U B U', listed by rows, to `triangle`; `work` is a vector.

    With A = diag(t, 1, ..., 1) B diag(t, 1, ..., 1) it is that of H A H = A - w y' - y w', y = 2 A w - 2 (w'A w) w.
    """
    n = block.shape[0]
    curvature = 0.0
    for i in range(n):
        total = block[i, 0] * (axis[0] * reach)
        for k in range(1, n):
            total += block[i, k] * axis[k]
        work[i] = total
    work[0] *= reach
    for i in range(n):
        curvature += axis[i] * work[i]
    for i in range(n):
        work[i] = 2.0 * (work[i] - curvature * axis[i])
    triangle[0] += block[0, 0] * reach * reach - 2.0 * axis[0] * work[0]
    row = 1
    for i in range(1, n):
        triangle[row] += block[i, 0] * reach - axis[i] * work[0] - axis[0] * work[i]
        for k in range(1, i + 1):
            triangle[row + k] += block[i, k] - axis[i] * work[k] - axis[k] * work[i]
        row += i + 1


@njit(**inner)
def column_out_of_frame(column, axis, reach, out):
    """Write U c into `out`."""
    n = column.shape[0]
    dot = 0.0
    for k in range(n):
        out[k] = column[k]
    out[0] *= reach
    for k in range(n):
        dot += axis[k] * out[k]
    for k in range(n):
        out[k] -= 2.0 * dot * axis[k]
