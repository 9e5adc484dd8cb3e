"""The barrier problem behind the sharp descent: its slacks, its function, its first multipliers (compiled).

With a level t below every option's ratio, the minimum over the options becomes J constraints:

    min  mean cost - l1 t - l2 det K   s.t.  ratio_j >= t,  m'z_j >= needed,  lower <= z_j <= upper.

The barrier problem adds -barrier * log(slack) for each of them. Slacks are always computed from (z, t).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner
from copa._core._kernels.small_matrices import cholesky, solve_cholesky
from copa.objective._kernels.curvature import add_diversity, add_proximity, add_ratios
from copa.objective._kernels.objective import add_diversity_gradient, diversity, proximity, ratios

LEVEL_TRIALS = 50


class Interior(NamedTuple):
    """The arrays of one solve; N = J n + 1, and "pull" is short for the multipliers of a kind of constraint."""

    plan: np.ndarray  # (J, n) the iterate
    held: np.ndarray  # (J, n) bool, coordinates that stay where they are
    trial: np.ndarray  # (J, n)
    gradient: np.ndarray  # (J, n) of the objective without its validity term
    level_slack: np.ndarray  # (J,)
    level_pull: np.ndarray  # (J,)
    level_change: np.ndarray  # (J,) of the pull
    score_slack: np.ndarray  # (J,)
    score_pull: np.ndarray  # (J,)
    score_change: np.ndarray  # (J,)
    box_slack: np.ndarray  # (2, J, n) infinite where there is no bound or a coordinate is held
    box_pull: np.ndarray  # (2, J, n)
    box_change: np.ndarray  # (2, J, n)
    matrix: np.ndarray  # (N, N)
    shifted: np.ndarray  # (N, N)
    factor: np.ndarray  # (N, N)
    descent: np.ndarray  # (N,) minus the gradient of the barrier function
    step: np.ndarray  # (N,)
    bend: np.ndarray  # (N,) second-order part of the step
    ratio: np.ndarray  # (J,) at the iterate, like the three below
    ratio_step: np.ndarray  # (J,) first-order change of the ratio
    rise: np.ndarray  # (J, n)
    stiffness: np.ndarray  # (J,) multiplier over slack
    pairs: np.ndarray  # (P, P)
    along: np.ndarray  # (P, n)


@njit(**inner)
def allocate_interior(n_options, n):
    """Room for solves of plans of `n_options` options with n coordinates."""
    size = n_options * n + 1
    n_pairs = n_options * (n_options - 1) // 2
    return Interior(
        np.zeros((n_options, n)),
        np.zeros((n_options, n), np.bool_),
        np.zeros((n_options, n)),
        np.zeros((n_options, n)),
        np.zeros(n_options),
        np.zeros(n_options),
        np.zeros(n_options),
        np.zeros(n_options),
        np.zeros(n_options),
        np.zeros(n_options),
        np.zeros((2, n_options, n)),
        np.zeros((2, n_options, n)),
        np.zeros((2, n_options, n)),
        np.zeros((size, size)),
        np.zeros((size, size)),
        np.zeros((size, size)),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros(n_options),
        np.zeros(n_options),
        np.zeros((n_options, n)),
        np.zeros(n_options),
        np.zeros((n_pairs, n_pairs)),
        np.zeros((n_pairs, n)),
    )


@njit(**inner)
def best_level(ratio, weight, barrier):
    """The level t that minimises -weight t - barrier sum_j log(ratio_j - t)."""
    least = ratio[0]
    for j in range(1, ratio.size):
        least = min(least, ratio[j])
    low = least - ratio.size * barrier / weight
    high = least - barrier / weight
    for _ in range(LEVEL_TRIALS):
        level = 0.5 * (low + high)
        total = 0.0
        for j in range(ratio.size):
            total += barrier / (ratio[j] - level)
        if total < weight:
            low = level
        else:
            high = level
    return 0.5 * (low + high)


@njit(**inner)
def find_slacks(problem, plan, ws):
    """Slacks of the scores and the box; return the sum of their logarithms, minus infinity if one is not positive."""
    n_options, n = plan.shape
    total = 0.0
    for j in range(n_options):
        score = -problem.needed
        for k in range(n):
            score += problem.gain[k] * plan[j, k]
            if not ws.held[j, k]:
                for side in range(2):
                    slack = plan[j, k] - problem.lower[k] if side == 0 else problem.upper[k] - plan[j, k]
                    ws.box_slack[side, j, k] = slack
                    if not slack > 0.0:
                        return -math.inf
                    if slack < math.inf:
                        total += math.log(slack)
        ws.score_slack[j] = score
        if not score > 0.0:
            return -math.inf
        total += math.log(score)
    return total


@njit(**inner)
def barrier_function(problem, plan, barrier, rounding, parts, ws):
    """Objective plus barrier at the plan and its best level, infinite outside, and the determinant.

    Slacks and parts are left behind. The level follows the plan: were it to take the Newton step's own, the curvature
    of the ratios would allow only steps of the root of the barrier's length.
    """
    logarithms = find_slacks(problem, plan, ws)
    if logarithms == -math.inf:
        return math.inf, 0.0
    level = 0.0
    if problem.validity_weight > 0.0:
        ratios(problem, plan, parts)
        level = best_level(parts.ratio, problem.validity_weight, barrier)
        for j in range(plan.shape[0]):
            ws.level_slack[j] = parts.ratio[j] - level
            logarithms += math.log(ws.level_slack[j])
    value = proximity(problem, plan, rounding, parts) - problem.validity_weight * level
    determinant = 1.0
    if problem.diversity_weight > 0.0 and plan.shape[0] > 1:
        determinant = diversity(problem, plan, rounding, parts)
    return value - problem.diversity_weight * determinant - barrier * logarithms, determinant


@njit(**inner)
def start_pulls(problem, barrier, ws):
    """Multipliers barrier / slack."""
    for j in range(ws.score_slack.size):
        ws.level_pull[j] = barrier / ws.level_slack[j] if problem.validity_weight > 0.0 else 0.0
        ws.score_pull[j] = barrier / ws.score_slack[j]
        for side in range(2):
            for k in range(ws.plan.shape[1]):
                ws.box_pull[side, j, k] = barrier / ws.box_slack[side, j, k]


@njit(**inner)
def set_gradient(problem, parts, ws):
    """Gradient of the objective without its validity term."""
    n_options, n = ws.plan.shape
    for j in range(n_options):
        for k in range(n):
            ws.gradient[j, k] = parts.away[j, k] / n_options
    if problem.diversity_weight > 0.0 and n_options > 1:
        add_diversity_gradient(ws.plan, problem.diversity_weight, parts, ws.gradient)


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
