"""Lower bounds for a batch of plans: canonical form, solution and proof of each (compiled)."""

import math

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, entry_point, inner
from copa._core._kernels.small_matrices import copy_matrix, triangular_rows
from copa.theory.bounds._kernels.interior_point import allocate, solve_plan
from copa.theory.bounds._kernels.newton_system import column_out_of_frame, reflection_axes

ROUNDING = 64 * 2.2e-16  # per row of a block: far above the rounding errors in forming and factorising it


@njit(**inner)
def canonical_plan(roots, means, reaches, work, directions, reach):
    """Unit vectors u_j = (root_j, mean_j) / h_j and reaches t_j = reach_j / h_j of one plan.

    `roots` (J, K) may be rotated freely, so more columns than options are folded into a triangle first.
    """
    n_options, length = roots.shape
    n = directions.shape[1]
    if length > n_options:
        copy_matrix(roots, work)
        triangular_rows(work, directions[:, : n - 1])
    else:
        copy_matrix(roots, directions)
    for j in range(n_options):
        directions[j, n - 1] = means[j]
        square = 0.0
        for k in range(n):
            square += directions[j, k] ** 2
        scale = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
        for k in range(n):
            directions[j, k] *= scale
        reach[j] = reaches[j] * scale if square > 0.0 else math.inf


@njit(**inner)
def first_broken(directions, reach):
    """Option whose mean score is least above its reach, and by how much (in the option's own scale)."""
    worst, least = 0, math.inf
    for j in range(directions.shape[0]):
        slack = directions[j, directions.shape[1] - 1] - reach[j]
        if slack < least:
            worst, least = j, slack
    return worst, least


@njit(**allocating)
def broken_plan(directions, reach, worst, axes, matrix, blocks):
    """Pair for L* = 0: M = e e', g = 0, and all the mass against one option, W = e e'."""
    n = matrix.shape[0]
    matrix[:, :] = 0.0
    matrix[n - 1, n - 1] = 1.0
    blocks[:] = 0.0
    reflection_axes(directions, axes)
    column = np.empty(n)  # H e, the last axis in the frame of the option before the reach becomes its unit
    for k in range(n):
        column[k] = -2.0 * axes[worst, n - 1] * axes[worst, k]
    column[n - 1] += 1.0
    # Along its own direction the option allows (X)_11 <= 1: exact for |mean| <= reach, a cut for a mean that rejects.
    unit = max(reach[worst], abs(column[0]))
    column[0] = column[0] / unit if unit > 0.0 else 0.0
    for a in range(n):
        for b in range(n):
            blocks[worst, a, b] = column[a] * column[b]


@njit(**inner)
def make_safe(g, matrix, blocks):
    """Move an interior pair away from the boundary by more than rounding errors can amount to; return g."""
    n = matrix.shape[0]
    size = 1.0 + g
    for i in range(n):
        size += matrix[i, i]
    margin = ROUNDING * n * size
    for i in range(n):
        matrix[i, i] += margin
    shrink = 1.0 - ROUNDING * n
    for j in range(blocks.shape[0]):
        for a in range(n):
            for b in range(n):
                blocks[j, a, b] *= shrink
    return g + margin


@njit(**allocating)
def attack_weights(blocks, axes, reach, weights):
    """Write lambda_j = e' U_j X_j U_j' e, the mass against each option; return their sum."""
    n_options, n = axes.shape
    image = np.empty(n)
    e_in_frame = np.empty(n)
    total = 0.0
    for j in range(n_options):
        image[:] = 0.0
        image[n - 1] = 1.0
        column_out_of_frame(image, axes[j], 1.0, e_in_frame)  # H is its own inverse
        e_in_frame[0] *= reach[j]
        mass = 0.0
        for a in range(n):
            for b in range(n):
                mass += e_in_frame[a] * blocks[j, a, b] * e_in_frame[b]
        weights[j] = mass
        total += mass
    return total


SIGNATURE = (
    "void(float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64, int64[::1], float64[:, :, ::1],"
    " float64[:, ::1], float64[:, :, ::1], float64[::1], float64[:, :, :, ::1], float64[:, ::1], float64[::1],"
    " float64[::1])"
)


@entry_point(SIGNATURE)
def lower_bounds(
    roots, means, reaches, tolerance, stop, directions, reach, matrices, penalties, blocks, weights, lower, ceiling
):
    """Solve every plan of a batch and report only what is proven.

    Parameters
    ----------
    roots : (N, J, K) rows whose inner products are the covariances of the options' scores
    means : (N, J) mean scores
    reaches : (N, J) how far each score can be moved at the cost of the whole radius
    tolerance : gap at which a plan counts as solved
    stop : (1,) not zero once the solution is not wanted any more; the plan at work then keeps what is
        proven of it, and those after it are left as they are
    directions, reach : (N, J, n), (N, J); receive the canonical form, n = min(J, K) + 1
    matrices, penalties : (N, n, n), (N,); receive M and g
    blocks : (N, J, n, n); receives the X_j
    weights : (N, J); receives lambda_j
    lower, ceiling : (N,); receive the proven lower and upper value of L*
    """
    n_plans, n_options, length = roots.shape
    n = matrices.shape[1]
    ws = allocate(n_options, n)
    work = np.empty((n_options, length))
    for p in range(n_plans):
        if stop[0] != 0:
            break
        canonical_plan(roots[p], means[p], reaches[p], work, directions[p], reach[p])
        worst, slack = first_broken(directions[p], reach[p])
        if not slack > 0.0:
            broken_plan(directions[p], reach[p], worst, ws.axes, matrices[p], blocks[p])
            penalties[p] = 0.0
            weights[p] = 0.0
            weights[p, worst] = 1.0
            lower[p] = 0.0
            ceiling[p] = 0.0
            continue
        g, _ = solve_plan(directions[p], reach[p], tolerance, stop, ws, matrices[p], blocks[p])
        penalties[p] = make_safe(g, matrices[p], blocks[p])
        lower[p] = 1.0 - penalties[p]
        for i in range(n):
            lower[p] -= matrices[p, i, i]
        ceiling[p] = 1.0 - attack_weights(blocks[p], ws.axes, reach[p], weights[p])
        lower[p] = max(lower[p], 0.0)
