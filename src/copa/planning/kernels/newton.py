"""The Newton system of the barrier problem (compiled)."""

from numba import njit

from copa.kernels.small_matrices import cholesky, solve_cholesky
from copa.planning.kernels.compiling import inner
from copa.planning.kernels.curvature import add_diversity, add_proximity, add_ratios

FIRST_SHIFT = 1e-6
SHIFT_GROWTH = 3.0
MAX_SHIFTS = 30


@njit(**inner)
def set_system(problem, determinant, barrier, rounding, parts, ws):
    """The Newton matrix of the barrier problem, multipliers eliminated, and minus the barrier function's gradient."""
    n_options, n = ws.plan.shape
    last = n_options * n
    for i in range(last + 1):
        for k in range(i + 1):
            ws.matrix[i, k] = 0.0
    add_proximity(problem, rounding, parts, ws.matrix)
    if problem.validity_weight > 0.0:
        add_ratios(problem, parts, ws.level_pull, ws.level_slack, ws.matrix)
    else:
        ws.matrix[last, last] = 1.0
    if problem.diversity_weight > 0.0 and n_options > 1:
        add_diversity(problem, determinant, rounding, parts, ws.pairs, ws.along, ws.matrix)
    ws.descent[last] = problem.validity_weight
    for j in range(n_options):
        stiffness = ws.score_pull[j] / ws.score_slack[j]
        rise_push = 0.0
        if problem.validity_weight > 0.0:
            rise_push = barrier / ws.level_slack[j]
            ws.descent[last] -= rise_push
        score_push = barrier / ws.score_slack[j]
        for k in range(n):
            row = ws.matrix[j * n + k]
            for i in range(k + 1):
                row[j * n + i] += stiffness * problem.gain[k] * problem.gain[i]
            push = rise_push * parts.rise[j, k] + score_push * problem.gain[k] - ws.gradient[j, k]
            if not ws.held[j, k]:
                push += barrier / ws.box_slack[0, j, k] - barrier / ws.box_slack[1, j, k]
                for side in range(2):
                    row[j * n + k] += ws.box_pull[side, j, k] / ws.box_slack[side, j, k]
            ws.descent[j * n + k] = push
    for j in range(n_options):
        for k in range(n):
            if ws.held[j, k]:
                hold(ws, j * n + k)


@njit(**inner)
def hold(ws, place):
    """Keep one unknown where it is."""
    for i in range(place):
        ws.matrix[place, i] = 0.0
    for i in range(place + 1, ws.matrix.shape[0]):
        ws.matrix[i, place] = 0.0
    ws.matrix[place, place] = 1.0
    ws.descent[place] = 0.0


@njit(**inner)
def solve_system(shift, ws):
    """Newton step; return the shift that made the matrix positive definite (the next trial's start), or -1."""
    size = ws.step.size
    tried = 0.0
    for _ in range(MAX_SHIFTS):
        for i in range(size):
            for k in range(i):
                ws.shifted[i, k] = ws.matrix[i, k]
            ws.shifted[i, i] = ws.matrix[i, i] + tried
        if cholesky(ws.shifted, ws.factor):
            for i in range(size):
                ws.step[i] = ws.descent[i]
            solve_cholesky(ws.factor, ws.step)
            return tried
        tried = max(FIRST_SHIFT, shift / SHIFT_GROWTH) if tried == 0.0 else tried * SHIFT_GROWTH
    return -1.0


@njit(**inner)
def set_changes(problem, barrier, parts, ws):
    """The multipliers' part of the Newton step; and what it expects of the ratios."""
    n_options, n = ws.plan.shape
    last = ws.step[n_options * n]
    for j in range(n_options):
        along_rise = -last
        along_gain = 0.0
        for k in range(n):
            step = ws.step[j * n + k]
            along_rise += parts.rise[j, k] * step
            ws.rise[j, k] = parts.rise[j, k]
            along_gain += problem.gain[k] * step
            for side in range(2):
                slack, pull = ws.box_slack[side, j, k], ws.box_pull[side, j, k]
                ws.box_change[side, j, k] = (barrier - pull * (step if side == 0 else -step)) / slack - pull
        if problem.validity_weight > 0.0:
            pull = ws.level_pull[j]
            ws.ratio[j] = parts.ratio[j]
            ws.ratio_step[j] = along_rise + last
            ws.stiffness[j] = pull / ws.level_slack[j]
            ws.level_change[j] = (barrier - pull * along_rise) / ws.level_slack[j] - pull
        pull = ws.score_pull[j]
        ws.score_change[j] = (barrier - pull * along_gain) / ws.score_slack[j] - pull
