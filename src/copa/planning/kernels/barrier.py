"""The barrier problem behind the sharp descent: its slacks, its function, its first multipliers (compiled).

With a level t below every option's ratio, the minimum over the options becomes J constraints:

    min  mean cost - l1 t - l2 det K   s.t.  ratio_j >= t,  m'z_j >= needed,  lower <= z_j <= upper.

The barrier problem adds -barrier * log(slack) for each of them. Slacks are always computed from (z, t).
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa.planning.kernels.compiling import inner
from copa.planning.kernels.objective import add_diversity_gradient, diversity, proximity, ratios

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
