"""Sharp descent: a primal-dual interior-point method for the exact problem (compiled).

A step solves the Newton system of the barrier problem with the multipliers eliminated, shifted until it is positive
definite (the determinant is not concave), stays strictly inside the constraints and lowers the barrier function.
"""

import math

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner, options
from copa._core._kernels.projection import project
from copa._core._kernels.small_matrices import copy_matrix, solve_cholesky
from copa.objective._kernels.barrier import (
    allocate_interior,
    barrier_function,
    set_changes,
    set_gradient,
    set_system,
    solve_system,
    start_pulls,
)
from copa.objective._kernels.moves import largest_score
from copa.objective._kernels.objective import Problem, allocate_parts, hard_objective

LAST_BARRIER = 1e-9  # about what the objective may miss its minimum by
SHRINK = 0.2  # of the barrier, once a step promises less than the barrier itself
# Plans that can be turned at almost no cost have long curved valleys: only so many steps go into one barrier there.
LEVEL_STEPS = 8
FLAT = 1e-2  # promised decrease
NEARLY = 100.0  # barriers that a full Newton step may promise to gain: the next one would gain far less
SADDLE = 1e-4  # least shift of the Newton matrix that tells of a way down off the path
CLOSEST = 0.01  # share of a slack or a multiplier that one step must leave
MAX_TRIALS = 12  # steps tried along one direction
LONGEST_STEP = 2.0  # of an option
ARMIJO = 1e-4
TRUST = 1e8  # how far a multiplier may stray from barrier / slack


@njit(**inner)
def share_left(values, changes):
    """Largest step along `changes` that leaves a share of every positive value."""
    step = 1.0
    for j in range(values.size):
        if changes[j] < 0.0:
            step = min(step, (CLOSEST - 1.0) * values[j] / changes[j])
    return step


@njit(**inner)
def longest_steps(problem, ws):
    """Largest steps of the plan and of the multipliers that leave a share of every slack and multiplier."""
    n_options, n = ws.plan.shape
    primal = 1.0
    dual = min(share_left(ws.level_pull, ws.level_change), share_left(ws.score_pull, ws.score_change))
    for j in range(n_options):
        square = 0.0
        along_gain = 0.0
        for k in range(n):
            step = ws.step[j * n + k]
            square += step * step
            along_gain += problem.gain[k] * step
            if step < 0.0:
                primal = min(primal, (CLOSEST - 1.0) * ws.box_slack[0, j, k] / step)
            elif step > 0.0:
                primal = min(primal, (1.0 - CLOSEST) * ws.box_slack[1, j, k] / step)
        if along_gain < 0.0:
            primal = min(primal, (CLOSEST - 1.0) * ws.score_slack[j] / along_gain)
        if square * primal * primal > LONGEST_STEP**2:
            primal = LONGEST_STEP / math.sqrt(square)
        for side in range(2):
            dual = min(dual, share_left(ws.box_pull[side, j], ws.box_change[side, j]))
    return primal, dual


@njit(**inner)
def try_step(problem, step, barrier, rounding, parts, ws):
    """Barrier function and determinant at the plan moved by `step` times the Newton step."""
    n_options, n = ws.plan.shape
    for j in range(n_options):
        for k in range(n):
            ws.trial[j, k] = ws.plan[j, k] + step * ws.step[j * n + k]
    return barrier_function(problem, ws.trial, barrier, rounding, parts, ws)


@njit(**inner)
def bend_step(step, parts, ws):
    """Add to the Newton step what cancels the ratios' deviation, at the trial, from their linear course."""
    n_options, n = ws.plan.shape
    last = n_options * n
    ws.bend[last] = 0.0
    for j in range(n_options):
        push = ws.stiffness[j] * (parts.ratio[j] - ws.ratio[j] - step * ws.ratio_step[j]) / step
        ws.bend[last] += push
        for k in range(n):
            ws.bend[j * n + k] = -push * ws.rise[j, k] if not ws.held[j, k] else 0.0
    solve_cholesky(ws.factor, ws.bend)
    for i in range(last + 1):
        ws.step[i] += ws.bend[i]


@njit(**inner)
def line_search(problem, value, decrease, step, barrier, rounding, parts, ws):
    """Halve the step until the barrier function falls; return the step (0 if none does), the new value, determinant."""
    bent = False
    for trial in range(MAX_TRIALS):
        lower, determinant = try_step(problem, step, barrier, rounding, parts, ws)
        if lower <= value - ARMIJO * step * decrease:
            return step, lower, determinant
        if trial == 0 and problem.validity_weight > 0.0 and lower < math.inf:
            # The ratios' curvature bends the path that keeps them level: follow it to second order before giving up
            # length.
            bend_step(step, parts, ws)
            bent = True
            continue
        if bent:
            for i in range(ws.step.size):
                ws.step[i] -= ws.bend[i]
            bent = False
        step *= 0.5
    return 0.0, value, 0.0


@njit(**inner)
def trusted(pull, slack, barrier):
    """The multiplier, kept within reach of barrier / slack."""
    middle = barrier / slack
    return min(max(pull, middle / TRUST), middle * TRUST)


@njit(**inner)
def change_pulls(problem, step, barrier, ws):
    """Step of the multipliers, at the new slacks."""
    n_options, n = ws.plan.shape
    for j in range(n_options):
        if problem.validity_weight > 0.0:
            pull = ws.level_pull[j] + step * ws.level_change[j]
            ws.level_pull[j] = trusted(pull, ws.level_slack[j], barrier)
        ws.score_pull[j] = trusted(ws.score_pull[j] + step * ws.score_change[j], ws.score_slack[j], barrier)
        for side in range(2):
            for k in range(n):
                pull = ws.box_pull[side, j, k] + step * ws.box_change[side, j, k]
                ws.box_pull[side, j, k] = trusted(pull, ws.box_slack[side, j, k], barrier)


@njit(**inner)
def sharpen(problem, barrier, rounding, max_steps, stop, parts, ws):
    """Lower the objective from the strictly feasible `ws.plan`, in place; return the number of steps taken.

    Parameters
    ----------
    barrier : the first one
    rounding : of kinks, at least; they are rounded by the barrier before
    stop : (1,) not zero once the descent is not wanted any more
    """
    for side in range(2):
        for j in range(ws.plan.shape[0]):
            for k in range(ws.plan.shape[1]):
                ws.box_slack[side, j, k] = math.inf
    shift = 0.0
    at_level = 0
    value, determinant = math.inf, 1.0
    changed = True
    for count in range(max_steps):
        if stop[0] != 0:
            return count
        rounded = max(barrier, rounding)
        if changed:
            value, determinant = barrier_function(problem, ws.plan, barrier, rounded, parts, ws)
            if not value < math.inf:
                return count
            if count == 0:
                start_pulls(problem, barrier, ws)
        changed = False
        set_gradient(problem, parts, ws)
        set_system(problem, determinant, barrier, rounded, parts, ws)
        shift = solve_system(shift, ws)
        if shift < 0.0:
            return count
        decrease = 0.0
        for i in range(ws.step.size):
            decrease += ws.descent[i] * ws.step[i]
        set_changes(problem, barrier, parts, ws)
        primal, dual = longest_steps(problem, ws)
        step, value, determinant = line_search(problem, value, decrease, primal, barrier, rounded, parts, ws)
        if step == 0.0:
            return count
        copy_matrix(ws.trial, ws.plan)
        change_pulls(problem, dual, barrier, ws)
        at_level += 1
        close = decrease <= barrier or (step == 1.0 and decrease <= min(NEARLY * barrier, FLAT * FLAT))
        settled = close and shift <= SADDLE
        if settled or (at_level >= LEVEL_STEPS and decrease <= FLAT):
            if barrier <= LAST_BARRIER:
                return count + 1
            barrier = max(LAST_BARRIER, min(SHRINK * barrier, barrier**1.5))
            at_level = 0
            changed = True
    return max_steps


BARRIERS = (1e-2, 1e-4)  # first ones, in turn: a high one gets ahead, a low one cannot push a plan out of its valley
LOWEST_INSET = 1e-6  # how far inside its constraints a descent starts at least
KINK = 0.05  # distance from the applicant within which an option may end up there
ROUNDED = (1e-3, 1e-3, 0.0, 1e-5)  # rounding of kinks by stage: at first it is not known which coordinates stay there
NEAR = 5e-3  # distance from the applicant's own value at which a coordinate is taken to stay there
SNAP = 1e-6  # distance within which a coordinate is put onto a bound, or back to the applicant's own value
NO_LOSS = 1e-9  # relative; what that may cost


@njit(**inner)
def largest_move(move):
    """Largest change of a coordinate."""
    largest = 0.0
    for k in range(move.size):
        largest = max(largest, abs(move[k]))
    return largest


@njit(**inner)
def has_kinks(problem, plan):
    """Whether a kink of the costs may matter: always in the Manhattan norm, else for options close to the applicant."""
    if problem.manhattan:
        return True
    for j in range(plan.shape[0]):
        if largest_move(plan[j]) <= KINK:
            return True
    return False


@njit(**inner)
def step_inside(problem, plan, near, inset, box, ws):
    """Start a descent from the plan, moved strictly inside its constraints; False if there is no room to.

    Coordinates within `near` of the applicant's own value (in the Euclidean norm: options, as a whole) are held there,
    and so are those without room. `box` (2, n) is scratch.
    """
    n = problem.gain.size
    length = 0.0
    for k in range(n):
        length += problem.gain[k] ** 2
    length = math.sqrt(length)
    while inset >= LOWEST_INSET:
        inside = True
        for j in range(plan.shape[0]):
            close = largest_move(plan[j]) <= near
            for k in range(n):
                lower, upper = problem.lower[k], problem.upper[k]
                unchanged = abs(plan[j, k]) <= near if problem.manhattan else close
                if unchanged and lower <= 0.0 <= upper:
                    lower = upper = 0.0
                ws.held[j, k] = not lower < upper
                margin = min(inset, 0.25 * (upper - lower))
                box[0, k] = lower + margin
                box[1, k] = upper - margin
            needed = problem.needed + inset * length
            inside = inside and largest_score(problem.gain, box[0], box[1]) >= needed > problem.needed
            project(plan[j], problem.gain, needed, box[0], box[1], ws.plan[j])
        if inside:
            return True
        inset *= 0.01
    return False


@njit(**inner)
def snap(problem, plan, box, out):
    """Write the plan, with coordinates that are all but there put onto bounds and own values, to `out`.

    The other coordinates make up for the score; False where they cannot.
    """
    for j in range(plan.shape[0]):
        for k in range(plan.shape[1]):
            box[0, k] = problem.lower[k]
            box[1, k] = problem.upper[k]
            for target in (problem.lower[k], problem.upper[k], 0.0):
                if abs(plan[j, k] - target) <= SNAP and problem.lower[k] <= target <= problem.upper[k]:
                    box[0, k] = target
                    box[1, k] = target
        if largest_score(problem.gain, box[0], box[1]) < problem.needed:
            return False
        project(plan[j], problem.gain, problem.needed, box[0], box[1], out[j])
    return True


SIGNATURE = (
    "void(float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64, float64,"
    " boolean, int64, int64[::1], float64[:, :, :, ::1], float64[:, ::1])"
)


@njit(SIGNATURE, **options)
def descend_sharply(
    curvature, gain, scores, tilts, bounds, validity_weight, diversity_weight, manhattan, max_steps, stop, plans, values
):
    """Descend from every allowed plan to where the objective, with all its kinks, cannot be lowered.

    Parameters
    ----------
    curvature, gain : (n, n), (n,) covariance and mean of the parameters, for moves
    scores, tilts, bounds : (N, 3), (N, n), (N, 2, n) what applicants may do, from `read_applicants`
    validity_weight, diversity_weight, manhattan : of the objective
    max_steps : most Newton steps; 0 only puts coordinates onto the bounds and own values that they all but have
    stop : (1,) not zero once the descents are not wanted any more
    plans : (N, S, J, n) plans of every applicant; receives where they lead to
    values : (N, S) their objectives; receives the new ones
    """
    n_applicants, n_starts, n_options, n = plans.shape
    parts = allocate_parts(n_options, n)
    # Without steps there is no Newton system to make room for.
    interior = allocate_interior(n_options if max_steps > 0 else 1, n if max_steps > 0 else 1)
    trial = np.zeros((n_options, n))
    box = np.zeros((2, n))
    for p in range(n_applicants):
        problem = Problem(
            curvature,
            gain,
            tilts[p],
            scores[p, 0],
            scores[p, 1],
            scores[p, 2],
            bounds[p, 0],
            bounds[p, 1],
            validity_weight,
            diversity_weight,
            manhattan,
        )
        for s in range(n_starts):
            plan = plans[p, s]
            kinks = has_kinks(problem, plan)
            improved = False
            # A descent; another one if it came to nothing; with kinks, one that holds what is close to them and one
            # that does not; the snapping. Each is kept only if the objective does not rise.
            for stage in range(5):
                found = False
                if stage == 4:
                    found = snap(problem, plan, box, trial)
                elif max_steps > 0 and (stage == 0 or (stage == 1 and not improved) or (stage >= 2 and kinks)):
                    near = NEAR if stage == 2 else -1.0
                    barrier = BARRIERS[min(stage, 1)]
                    if step_inside(problem, plan, near, barrier, box, interior):
                        rounding = ROUNDED[stage] if kinks else 0.0
                        sharpen(problem, barrier, rounding, max_steps, stop, parts, interior)
                        for j in range(n_options):
                            project(interior.plan[j], gain, problem.needed, problem.lower, problem.upper, trial[j])
                        found = True
                if found:
                    value = hard_objective(problem, trial, parts)
                    loss = NO_LOSS * (1.0 + abs(value)) if stage == 4 else 0.0
                    if value <= values[p, s] + loss:
                        improved = True
                        values[p, s] = value
                        copy_matrix(trial, plan)
