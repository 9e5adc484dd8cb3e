"""The lower bound's semidefinite program, solved by a primal-dual interior-point method (compiled).

In canonical form (docs/theory.md) a plan of J options is J unit vectors u_j in R^n and J numbers 0 <= t_j < 1. With e
the last unit vector and U_j the frame of option j (`frames`), the program and its dual are

    min  g + tr M                  s.t.  M >= 0,  g >= 0,  S_j = U_j'(M - e e')U_j + g E_11 >= 0  for all j
    max  sum_j e' U_j X_j U_j' e   s.t.  X_j >= 0,  sum_j U_j X_j U_j' <= I,  sum_j (X_j)_11 <= 1

Both have the strictly feasible start written in `start`, and every iterate stays strictly feasible: the slacks S_j,
X_0 = I - sum_j U_j X_j U_j' and x_g = 1 - sum_j (X_j)_11 are always recomputed from (M, g) and {X_j}. So the method
may stop anywhere with a proven pair of bounds, and their gap is the sum of the complementarity products. Search
directions are the H..K..M ones (Helmberg et al. 1996, Kojima et al. 1997, Monteiro 1997) with Mehrotra's corrector.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner
from copa._core._kernels.small_matrices import (
    cholesky,
    cholesky_pivots,
    copy_matrix,
    dot,
    invert_from_cholesky,
    solve_cholesky,
    symmetric_product,
)
from copa.theory.bounds._kernels.newton_system import (
    add_out_of_frame,
    column_out_of_frame,
    fill_symmetric,
    into_frame,
    list_triangle,
    pair,
    reflection_axes,
    system_matrix,
    system_rhs,
)

MAX_ITERATIONS = 60
PATIENCE = 5  # iterations without a smaller gap after which the best one is kept
LEAST_SHARE = 0.1  # of the gap that the predictor is trusted to leave
STEP_PRECISION = 0.02  # relative precision to which the largest feasible step is found
MAX_CHORDS = 20  # trials spent on it per block
SHORT_CHORD = 0.1  # of the bracket, below which it is halved instead
SHORTEST_STEP = 1e-8


class Workspace(NamedTuple):
    """The arrays of one solve. Lists of blocks hold those of the options, then the one of the common space."""

    axes: np.ndarray  # (J, n) reflection axes of the frames
    slack: np.ndarray  # (J + 1, n, n) S_1 .. S_J, M
    slack_step: np.ndarray
    inverse: np.ndarray  # inverses of the slacks
    multiplier: np.ndarray  # (J + 1, n, n) X_1 .. X_J, X_0
    multiplier_step: np.ndarray
    correction: np.ndarray  # second-order terms of the corrector
    inverse_sum: np.ndarray  # (n (n + 1) / 2) triangle of the sum of the Q_j
    p_triangles: np.ndarray  # (J + 1, n (n + 1) / 2) triangles of the P_j, X_0
    q_triangles: np.ndarray
    p_columns: np.ndarray  # (J, n)
    q_columns: np.ndarray
    system: np.ndarray  # (n (n + 1) / 2 + 1) squared, and its factor
    factor: np.ndarray
    products: np.ndarray  # (n (n + 1) / 2) squared: scratch of the system
    unknowns: np.ndarray
    pivots: np.ndarray  # (2, n) of Cholesky factors
    triangle: np.ndarray  # (n (n + 1) / 2), like all below: scratch
    column: np.ndarray  # (n,)
    rhs: np.ndarray  # (n, n), like the two below
    work: np.ndarray
    small: np.ndarray


@njit(**allocating)
def allocate(n_options, n):
    """Arrays for plans of `n_options` options in R^n."""
    blocks = (n_options + 1, n, n)
    triangle = n * (n + 1) // 2
    return Workspace(
        np.zeros((n_options, n)),
        np.zeros(blocks),
        np.zeros(blocks),
        np.zeros(blocks),
        np.zeros(blocks),
        np.zeros(blocks),
        np.zeros(blocks),
        np.zeros(triangle),
        np.zeros((n_options + 1, triangle)),
        np.zeros((n_options + 1, triangle)),
        np.zeros((n_options, n)),
        np.zeros((n_options, n)),
        np.zeros((triangle + 1, triangle + 1)),
        np.zeros((triangle + 1, triangle + 1)),
        np.zeros((triangle, triangle)),
        np.zeros(triangle + 1),
        np.zeros((2, n)),
        np.zeros(triangle),
        np.zeros(n),
        np.zeros((n, n)),
        np.zeros((n, n)),
        np.zeros((n, n)),
    )


@njit(**inner)
def start(ws):
    """M = 2 I (with g = 1) and X_j = I / 2J: strictly feasible for every plan."""
    n_options, n = ws.axes.shape
    ws.slack[:] = 0.0
    ws.multiplier[:] = 0.0
    for i in range(n):
        ws.slack[n_options, i, i] = 2.0
        for j in range(n_options):
            ws.multiplier[j, i, i] = 0.5 / n_options


@njit(**inner)
def refresh(ws, g, reach):
    """Recompute S_j, P_j, X_0 and the slacks' inverses; return x_g, or a negative number outside the interior."""
    n_options, n = ws.axes.shape
    copy_matrix(ws.slack[n_options], ws.rhs)
    ws.rhs[n - 1, n - 1] -= 1.0
    x_g = 1.0
    ws.p_triangles[:] = 0.0
    for a in range(n):
        ws.p_triangles[n_options, pair(a, a)] = 1.0
    for j in range(n_options):
        into_frame(ws.rhs, ws.axes[j], reach[j], ws.slack[j])
        ws.slack[j, 0, 0] += g
        x_g -= ws.multiplier[j, 0, 0]
        add_out_of_frame(ws.multiplier[j], ws.axes[j], reach[j], ws.column, ws.p_triangles[j])
        for k in range(ws.triangle.shape[0]):
            ws.p_triangles[n_options, k] -= ws.p_triangles[j, k]
    fill_symmetric(ws.p_triangles[n_options], ws.multiplier[n_options])
    for j in range(n_options + 1):
        if not cholesky(ws.slack[j], ws.small):
            return -1.0
        invert_from_cholesky(ws.small, ws.inverse[j])
    return x_g


@njit(**inner)
def factorise_system(ws, g, x_g, reach):
    """Form and factorise the Newton system, after `refresh`; return 1/g + sum_j (S_j^{-1})_11, or -1 on failure."""
    n_options = ws.axes.shape[0]
    corner, inverse_corner = x_g / g, 1.0 / g
    ws.q_triangles[:] = 0.0
    list_triangle(ws.inverse[n_options], ws.q_triangles[n_options])
    list_triangle(ws.inverse[n_options], ws.inverse_sum)
    for j in range(n_options):
        add_out_of_frame(ws.inverse[j], ws.axes[j], reach[j], ws.column, ws.q_triangles[j])
        for k in range(ws.triangle.shape[0]):
            ws.inverse_sum[k] += ws.q_triangles[j, k]
        column_out_of_frame(ws.multiplier[j, 0], ws.axes[j], reach[j], ws.p_columns[j])
        column_out_of_frame(ws.inverse[j, 0], ws.axes[j], reach[j], ws.q_columns[j])
        corner += ws.multiplier[j, 0, 0] * ws.inverse[j, 0, 0]
        inverse_corner += ws.inverse[j, 0, 0]
    system_matrix(ws.p_triangles, ws.q_triangles, ws.p_columns, ws.q_columns, corner, ws.products, ws.system)
    return inverse_corner if cholesky(ws.system, ws.factor) else -1.0


@njit(**inner)
def direction(ws, target, inverse_corner, correction_g, reach):
    """Newton direction towards complementarity products equal to `target`; return dg and dx_g.

    A target of 0 is the predictor's: it has no second-order terms, whatever `ws.correction` holds.
    """
    n_options, n = ws.axes.shape
    corrected = target > 0.0
    corner = target * inverse_corner - 1.0 - correction_g
    ws.triangle[:] = 0.0
    if corrected:
        list_triangle(ws.correction[n_options], ws.triangle)
        for j in range(n_options):
            add_out_of_frame(ws.correction[j], ws.axes[j], reach[j], ws.column, ws.triangle)
            corner -= ws.correction[j, 0, 0]
    for k in range(ws.triangle.shape[0]):
        ws.triangle[k] = target * ws.inverse_sum[k] - ws.triangle[k]
    fill_symmetric(ws.triangle, ws.rhs)
    for a in range(n):
        ws.rhs[a, a] -= 1.0
    system_rhs(ws.rhs, corner, ws.unknowns)
    solve_cholesky(ws.factor, ws.unknowns)
    step_g = ws.unknowns[ws.unknowns.shape[0] - 1]
    fill_symmetric(ws.unknowns, ws.slack_step[n_options])

    step_x_g = 0.0
    ws.triangle[:] = 0.0
    for j in range(n_options):
        into_frame(ws.slack_step[n_options], ws.axes[j], reach[j], ws.slack_step[j])
        ws.slack_step[j, 0, 0] += step_g
        symmetric_product(ws.multiplier[j], ws.slack_step[j], ws.inverse[j], ws.work, ws.multiplier_step[j])
        for a in range(n):
            for b in range(n):
                newton = target * ws.inverse[j, a, b] - ws.multiplier[j, a, b] - ws.multiplier_step[j, a, b]
                ws.multiplier_step[j, a, b] = newton - ws.correction[j, a, b] if corrected else newton
        step_x_g -= ws.multiplier_step[j, 0, 0]
        add_out_of_frame(ws.multiplier_step[j], ws.axes[j], reach[j], ws.column, ws.triangle)
    for k in range(ws.triangle.shape[0]):
        ws.triangle[k] = -ws.triangle[k]
    fill_symmetric(ws.triangle, ws.multiplier_step[n_options])
    return step_g, step_x_g


@njit(**inner)
def failing_pivot(value, change, step, work, factor, pivots):
    """Factorise value + step * change; return the row of the first pivot that is not positive, or -1."""
    n = value.shape[0]
    for i in range(n):
        for k in range(i + 1):
            work[i, k] = value[i, k] + step * change[i, k]
    return cholesky_pivots(work, factor, pivots)


@njit(**inner)
def largest_step(blocks, changes, number, number_change, ws):
    """Step in [0, 1], close to the largest one that keeps the blocks positive definite and the number positive.

    A pivot is a concave function of the step as long as those before it are positive. So where one fails, the chord
    from a step at which all are positive meets zero at a step that is safe for it: a few chords lead near its root.
    """
    step = 1.0 if number_change >= -number else -number / number_change
    pivots, safe_pivots = ws.pivots[0], ws.pivots[1]
    for b in range(blocks.shape[0]):
        row = failing_pivot(blocks[b], changes[b], step, ws.work, ws.small, pivots)
        if row < 0:
            continue
        safe, above, deficit = 0.0, step, pivots[row]
        failing_pivot(blocks[b], changes[b], 0.0, ws.work, ws.small, safe_pivots)
        for _ in range(MAX_CHORDS):
            chord = safe_pivots[row] / (safe_pivots[row] - deficit)
            # A very short chord says little: an earlier pivot may be near zero at `above`, and this one far below.
            trial = safe + (0.999 * chord if chord > SHORT_CHORD else 0.5) * (above - safe)
            found = failing_pivot(blocks[b], changes[b], trial, ws.work, ws.small, pivots)
            if found >= 0:
                row, above, deficit = found, trial, pivots[found]
                continue
            gain = trial - safe
            safe = trial
            for i in range(pivots.shape[0]):
                safe_pivots[i] = pivots[i]
            if above - safe < STEP_PRECISION * above or (chord > SHORT_CHORD and gain < STEP_PRECISION * trial):
                break
        step = safe
    return step


@njit(**inner)
def advance(blocks, changes, step):
    """Add step * changes to the blocks, in place."""
    for j in range(blocks.shape[0]):
        for i in range(blocks.shape[1]):
            for k in range(blocks.shape[2]):
                blocks[j, i, k] += step * changes[j, i, k]


@njit(**inner)
def inner_product(a, b):
    """Sum of the products of all entries of two lists of blocks."""
    return dot(a.reshape(-1), b.reshape(-1))


@njit(**inner)
def centering(ws, g, x_g, step_g, step_x_g, gap, step_s, step_x):
    """Mehrotra's rule: the square of the share of the gap that the predictor would leave."""
    left = (g + step_s * step_g) * (x_g + step_x * step_x_g)
    left += gap - g * x_g + step_s * inner_product(ws.slack_step, ws.multiplier)
    left += step_x * inner_product(ws.slack, ws.multiplier_step)
    left += step_s * step_x * inner_product(ws.slack_step, ws.multiplier_step)
    share = min(max(left / gap, LEAST_SHARE), 1.0)
    return share * share


@njit(**inner)
def solve_plan(directions, reach, tolerance, stop, ws, matrix, blocks):
    """Minimise g + tr M for one plan.

    Parameters
    ----------
    directions : (J, n) unit vectors u_j
    reach : (J,) numbers t_j in [0, 1)
    tolerance : stop when the gap is below it
    stop : (1,) stop when it is not zero; it may be set from outside while the method runs
    ws : workspace from `allocate`
    matrix : (n, n), receives M
    blocks : (J, n, n), receives the X_j in the frames of the options

    Returns
    -------
    g, iterations : of the pair with the smallest gap seen, which is written to `matrix` and `blocks`
    """
    n_options = directions.shape[0]
    order = ws.slack.shape[0] * ws.slack.shape[1] + 1
    reflection_axes(directions, ws.axes)
    start(ws)
    g, best_g = 1.0, 1.0
    best_gap, best_iteration = np.inf, 0
    for iteration in range(MAX_ITERATIONS + 1):
        x_g = refresh(ws, g, reach)
        if not x_g > 0.0:
            break
        gap = inner_product(ws.slack, ws.multiplier) + g * x_g
        if gap < best_gap:
            best_gap, best_iteration, best_g = gap, iteration, g
            copy_matrix(ws.slack[n_options], matrix)
            for j in range(n_options):
                copy_matrix(ws.multiplier[j], blocks[j])
        if gap < tolerance or iteration - best_iteration >= PATIENCE or stop[0] != 0:
            break
        inverse_corner = factorise_system(ws, g, x_g, reach)
        if not inverse_corner > 0.0:
            break

        step_g, step_x_g = direction(ws, 0.0, inverse_corner, 0.0, reach)
        step_s = largest_step(ws.slack, ws.slack_step, g, step_g, ws)
        step_x = largest_step(ws.multiplier, ws.multiplier_step, x_g, step_x_g, ws)
        target = centering(ws, g, x_g, step_g, step_x_g, gap, step_s, step_x) * gap / order
        for j in range(n_options + 1):
            symmetric_product(ws.multiplier_step[j], ws.slack_step[j], ws.inverse[j], ws.work, ws.correction[j])
        step_g, step_x_g = direction(ws, target, inverse_corner, step_g * step_x_g / g, reach)
        part = 0.9 + 0.09 * min(step_s, step_x)  # of the way to the boundary: the surer the direction, the further
        step_s = part * largest_step(ws.slack, ws.slack_step, g, step_g, ws)
        step_x = part * largest_step(ws.multiplier, ws.multiplier_step, x_g, step_x_g, ws)
        if max(step_s, step_x) < SHORTEST_STEP:
            break
        g += step_s * step_g
        advance(ws.slack, ws.slack_step, step_s)
        advance(ws.multiplier, ws.multiplier_step, step_x)
    return best_g, best_iteration
