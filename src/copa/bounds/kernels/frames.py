"""Seeing a matrix in the frame of an option, and back (compiled).

The frame of option j is U_j = H_j diag(t_j, 1, ..., 1): H_j reflects the first axis onto the option's direction u_j
(up to sign), and t_j, its reach, is the unit of length along it. `copa.bounds.canonical` has the same in NumPy.
"""

import math

from numba import njit

from copa.bounds.kernels.small_matrices import options, reflect, scale_first


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
def out_of_frame(block, axis, reach, work, out):
    """Write U B U' into `out`."""
    for i in range(block.shape[0]):
        for k in range(block.shape[0]):
            work[i, k] = block[i, k]
    scale_first(work, reach)
    reflect(work, axis, out)


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


@njit(**options)
def sum_out_of_frames(blocks, axes, reach, work, image, total):
    """Write sum_j U_j B_j U_j' into `total`, over the options (further blocks are ignored)."""
    total[:, :] = 0.0
    for j in range(axes.shape[0]):
        out_of_frame(blocks[j], axes[j], reach[j], work, image)
        for i in range(total.shape[0]):
            for k in range(total.shape[0]):
                total[i, k] += image[i, k]
