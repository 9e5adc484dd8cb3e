"""Seeing a matrix in the frame of an option, and back (compiled).

The frame of option j is U_j = H_j diag(t_j, 1, ..., 1): H_j reflects the first axis onto the option's direction u_j
(up to sign), and t_j, its reach, is the unit of length along it. `copa.bounds.canonical` has the same in NumPy.
"""

import math

from numba import njit

from copa.kernels.compiling import options
from copa.kernels.small_matrices import reflect, scale_first


@njit(**options)
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


@njit(**options)
def into_frame(matrix, axis, reach, out):
    """Write U' A U into `out`."""
    reflect(matrix, axis, out)
    scale_first(out, reach)


@njit(**options)
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


@njit(**options)
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
