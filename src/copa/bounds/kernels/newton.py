"""The Newton system of the interior-point method (compiled).

The unknowns are the lower triangle of dM, listed by rows, and dg. With P_j = U_j X_j U_j' and Q_j = U_j S_j^{-1} U_j'
the operator is dM -> sum_j sym(P_j dM Q_j), bordered by the row and column of g.
"""

import numpy as np
from numba import njit

from copa.kernels.compiling import options


@njit(**options)
def pair(a, b):
    """Place of entry (a, b) of a symmetric matrix in its lower triangle listed by rows."""
    return a * (a + 1) // 2 + b if a >= b else b * (b + 1) // 2 + a


@njit(**options)
def list_triangle(matrix, out):
    """List the lower triangle by rows."""
    k = 0
    for a in range(matrix.shape[0]):
        for b in range(a + 1):
            out[k] = matrix[a, b]
            k += 1


@njit(**options)
def fill_symmetric(triangle, out):
    """Symmetric matrix from its lower triangle listed by rows."""
    k = 0
    for a in range(out.shape[0]):
        for b in range(a + 1):
            out[a, b] = triangle[k]
            out[b, a] = triangle[k]
            k += 1


@njit(**options)
def system_rhs(matrix, corner, out):
    """Right-hand side: the products of `matrix` with the unit matrices of the unknowns, then the entry of g."""
    k = 0
    for a in range(matrix.shape[0]):
        for b in range(a + 1):
            out[k] = matrix[a, b] if a == b else 2.0 * matrix[a, b]
            k += 1
    out[k] = corner


@njit(**options)
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


@njit(**options)
def system_matrix(p_triangles, q_triangles, p_columns, q_columns, corner, out):
    """Lower triangle of the symmetric system matrix.

    p_triangles, q_triangles : (J + 1, n (n + 1) / 2) triangles of P_j and Q_j, with P_0 = X_0 and Q_0 = M^{-1}
    p_columns, q_columns : (J, n) vectors U_j X_j e_1 and U_j S_j^{-1} e_1, which couple dM with dg
    corner : entry of (g, g)

    Entry ((a, b), (c, d)) is the sum over j of P_bc Q_ad + P_ad Q_bc + P_bd Q_ac + P_ac Q_bd, so that one product
    of the two lists of triangles holds all that is needed.
    """
    products = np.empty((p_triangles.shape[1], q_triangles.shape[1]))
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
