"""The barrier problem of the interior-point descent: its function and its Newton system (compiled).

With a level t below every option's ratio, the minimum over the options becomes J constraints:

    min  mean cost - l1 t - l2 det K   s.t.  ratio_j >= t,  m'z_j >= needed,  lower <= z_j <= upper.

The barrier problem adds -barrier * log(slack) for each of them. Slacks are always computed from (z, t). Matrices are
filled in their lower triangles.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner
from copa._core._kernels.small_matrices import cholesky, solve_cholesky
from copa.theory.objective._kernels.objective import add_diversity_gradient, diversity, proximity, ratios

# Constraints of an option, in a row of C = 2 + 2 n: its level, its score, then the lower and upper bound of each move.
LEVEL, SCORE, BOX = 0, 1, 2
LEVEL_TRIALS = 50
FIRST_SHIFT = 1e-6
SHIFT_GROWTH = 3.0
MAX_SHIFTS = 30


class Interior(NamedTuple):
    """The arrays of one solve; N = J n + 1 unknowns, the moves and the level."""

    plan: np.ndarray  # (J, n) the iterate
    held: np.ndarray  # (J, n) bool, coordinates that stay where they are
    trial: np.ndarray  # (J, n)
    gradient: np.ndarray  # (J, n) of the objective without its validity term
    slack: np.ndarray  # (J, C) infinite where there is no constraint
    multiplier: np.ndarray  # (J, C)
    change: np.ndarray  # (J, C) of the multiplier
    matrix: np.ndarray  # (N, N)
    shifted: np.ndarray  # (N, N)
    factor: np.ndarray  # (N, N)
    descent: np.ndarray  # (N,) minus the gradient of the barrier function
    step: np.ndarray  # (N,)
    correction: np.ndarray  # (N,) second-order part of the step
    ratio: np.ndarray  # (J,) at the iterate, like the three below
    ratio_step: np.ndarray  # (J,) first-order change of the ratio
    rise: np.ndarray  # (J, n)
    stiffness: np.ndarray  # (J,) multiplier over slack
    pairs: np.ndarray  # (P, P)
    along: np.ndarray  # (P, n)


@njit(**allocating)
def allocate_interior(n_options, n):
    """Room for solves of plans of `n_options` options with n coordinates."""
    size, n_pairs = n_options * n + 1, n_options * (n_options - 1) // 2
    shape, constraints = (n_options, n), (n_options, 2 + 2 * n)
    iterate = (np.zeros(shape), np.zeros(shape, np.bool_), np.zeros(shape), np.zeros(shape))
    dual = (np.zeros(constraints), np.zeros(constraints), np.zeros(constraints))
    system = (np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size)))
    steps = (np.zeros(size), np.zeros(size), np.zeros(size))
    course = (np.zeros(n_options), np.zeros(n_options), np.zeros(shape), np.zeros(n_options))
    scratch = (np.zeros((n_pairs, n_pairs)), np.zeros((n_pairs, n)))
    return Interior(*(iterate + dual + system + steps + course + scratch))


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
                    ws.slack[j, BOX + 2 * k + side] = slack
                    if not slack > 0.0:
                        return -math.inf
                    if slack < math.inf:
                        total += math.log(slack)
        ws.slack[j, SCORE] = score
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
            ws.slack[j, LEVEL] = parts.ratio[j] - level
            logarithms += math.log(ws.slack[j, LEVEL])
    value = proximity(problem, plan, rounding, parts) - problem.validity_weight * level
    determinant = diversity(problem, plan, rounding, parts)
    return value - problem.diversity_weight * determinant - barrier * logarithms, determinant


@njit(**inner)
def pair_of(i, j):
    """Place of a pair of options in the lists of pairs, and the sign of option i in their difference."""
    if i > j:
        return i * (i - 1) // 2 + j, 1.0
    return j * (j - 1) // 2 + i, -1.0


@njit(**inner)
def bend(unit, manhattan, rounding, k):
    """Second derivative of a rounded Manhattan norm in coordinate k, from its first."""
    return max(1.0 - unit[k] * unit[k], 0.0) ** 1.5 / rounding if manhattan else 0.0


@njit(**inner)
def add_proximity(problem, rounding, parts, matrix):
    """Add the curvature of the mean cost."""
    n_options, n = parts.away.shape
    for j in range(n_options):
        away = parts.away[j]
        scale = 0.0 if problem.manhattan else 1.0 / (n_options * parts.lengths[j])
        for k in range(n):
            row = matrix[j * n + k]
            for i in range(k + 1):
                row[j * n + i] -= scale * away[k] * away[i]
            row[j * n + k] += scale + bend(away, problem.manhattan, rounding, k) / n_options


@njit(**inner)
def add_ratios(problem, parts, multipliers, slacks, matrix):
    """Add the curvature of -sum_j multiplier_j (ratio_j - t) and of the barrier that keeps its slacks positive.

    The last row belongs to t.
    """
    n_options, n = parts.rise.shape
    last = n_options * n
    for j in range(n_options):
        rise, image = parts.rise[j], parts.image[j]
        inverse = 1.0 / parts.deviation[j]
        scale = multipliers[j] * inverse * inverse
        ratio = parts.ratio[j]
        stiffness = multipliers[j] / slacks[j]
        for k in range(n):
            row = matrix[j * n + k]
            along_gain = scale * inverse * image[k]
            along_image = scale * inverse * (problem.gain[k] - 3.0 * ratio * inverse * image[k])
            along_rise = stiffness * rise[k]
            for i in range(k + 1):
                row[j * n + i] += (
                    along_gain * problem.gain[i]
                    + along_image * image[i]
                    + scale * ratio * problem.curvature[k, i]
                    + along_rise * rise[i]
                )
            matrix[last, j * n + k] -= along_rise
        matrix[last, last] += stiffness


@njit(**inner)
def pair_curvature(problem, determinant, parts, pairs):
    """Second derivatives of the determinant in the distances, with the part of their own curvature along them."""
    n_options = parts.similarity.shape[0]
    inverse, similarity = parts.inverse, parts.similarity
    p = 0
    for i in range(n_options):
        for j in range(i):
            steep = similarity[i, j] ** 2
            q = 0
            for a in range(n_options):
                for b in range(a):
                    mixed = 2.0 * inverse[i, j] * inverse[a, b] - inverse[i, a] * inverse[j, b]
                    mixed -= inverse[i, b] * inverse[j, a]
                    pairs[p, q] = 2.0 * determinant * mixed * steep * similarity[a, b] ** 2
                    q += 1
            pairs[p, p] -= 2.0 * parts.slope[p] * similarity[i, j]
            if not problem.manhattan:
                pairs[p, p] -= parts.slope[p] / parts.gaps[p]
            p += 1


@njit(**inner)
def add_diversity(problem, determinant, rounding, parts, pairs, along, matrix):
    """Add the curvature of -weight * determinant; `pairs` (P, P) and `along` (P, n) are scratch."""
    n_options = parts.similarity.shape[0]
    n_pairs, n = parts.apart.shape
    pair_curvature(problem, determinant, parts, pairs)
    weight = problem.diversity_weight
    for a in range(n_options):
        for q in range(n_pairs):
            for k in range(n):
                along[q, k] = 0.0
            for other in range(n_options):
                if other != a:
                    p, sign = pair_of(a, other)
                    scale = -weight * sign * pairs[p, q]
                    for k in range(n):
                        along[q, k] += scale * parts.apart[p, k]
        for b in range(a + 1):
            for other in range(n_options):
                if other != b:
                    q, sign = pair_of(b, other)
                    for k in range(n):
                        row = matrix[a * n + k]
                        scale = sign * along[q, k]
                        for i in range(n if b < a else k + 1):
                            row[b * n + i] += scale * parts.apart[q, i]
    for i in range(n_options):
        for j in range(i):
            p, _ = pair_of(i, j)
            for k in range(n):
                own = bend(parts.apart[p], True, rounding, k) if problem.manhattan else 1.0 / parts.gaps[p]
                own *= -weight * parts.slope[p]
                matrix[i * n + k, i * n + k] += own
                matrix[j * n + k, j * n + k] += own
                matrix[i * n + k, j * n + k] -= own


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
        add_ratios(problem, parts, ws.multiplier[:, LEVEL], ws.slack[:, LEVEL], ws.matrix)
    else:
        ws.matrix[last, last] = 1.0
    if problem.diversity_weight > 0.0:
        add_diversity(problem, determinant, rounding, parts, ws.pairs, ws.along, ws.matrix)
    for j in range(n_options):
        for k in range(n):
            ws.gradient[j, k] = parts.away[j, k] / n_options
    add_diversity_gradient(problem, parts, ws.gradient)
    ws.descent[last] = problem.validity_weight
    for j in range(n_options):
        slack, multiplier = ws.slack[j], ws.multiplier[j]
        stiffness = multiplier[SCORE] / slack[SCORE]
        rise_push = barrier / slack[LEVEL]
        score_push = barrier / slack[SCORE]
        ws.descent[last] -= rise_push
        for k in range(n):
            row = ws.matrix[j * n + k]
            for i in range(k + 1):
                row[j * n + i] += stiffness * problem.gain[k] * problem.gain[i]
            push = rise_push * parts.rise[j, k] + score_push * problem.gain[k] - ws.gradient[j, k]
            if not ws.held[j, k]:
                low = BOX + 2 * k
                push += barrier / slack[low] - barrier / slack[low + 1]
                for i in range(low, low + 2):
                    row[j * n + k] += multiplier[i] / slack[i]
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
        slack, multiplier, change = ws.slack[j], ws.multiplier[j], ws.change[j]
        along_rise = -last
        along_gain = 0.0
        for k in range(n):
            step = ws.step[j * n + k]
            along_rise += parts.rise[j, k] * step
            ws.rise[j, k] = parts.rise[j, k]
            along_gain += problem.gain[k] * step
            change[BOX + 2 * k] = step  # how fast the slacks grow, at first
            change[BOX + 2 * k + 1] = -step
        change[LEVEL] = along_rise
        change[SCORE] = along_gain
        for i in range(change.size):
            change[i] = (barrier - multiplier[i] * change[i]) / slack[i] - multiplier[i]
        ws.ratio[j] = parts.ratio[j]
        ws.ratio_step[j] = along_rise + last
        ws.stiffness[j] = multiplier[LEVEL] / slack[LEVEL]
