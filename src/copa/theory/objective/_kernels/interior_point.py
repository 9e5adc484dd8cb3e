"""Descent with the objective itself: a primal-dual interior-point method (compiled).

A step solves the Newton system of the barrier problem with the multipliers eliminated, shifted until it is positive
definite (the determinant is not concave), stays strictly inside the constraints and lowers the barrier function.
"""

import math

import numpy as np
from numba import float64, int64, njit, types

from copa._core._kernels.compiling import entry_point, inner, record_type
from copa._core._kernels.projection import project
from copa._core._kernels.small_matrices import copy_matrix, solve_cholesky
from copa.theory.objective._kernels.arguments import Problems
from copa.theory.objective._kernels.barrier import (
    BOX,
    SCORE,
    allocate_interior,
    barrier_function,
    set_changes,
    set_system,
    solve_system,
)
from copa.theory.objective._kernels.moves import largest_score
from copa.theory.objective._kernels.objective import allocate_parts, hard_objective, problem_of

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
BARRIERS = (1e-2, 1e-4)  # first ones, in turn: a high one gets ahead, a low one cannot push a plan out of its valley
LOWEST_INSET = 1e-6  # how far inside its constraints a descent starts at least
KINK = 0.05  # distance from the applicant within which an option may end up there
ROUNDED = (1e-3, 1e-3, 0.0, 1e-5)  # rounding of kinks by stage: at first it is not known which coordinates stay there
NEAR = 5e-3  # distance from the applicant's own value at which a coordinate is taken to stay there
SNAP = 1e-6  # distance within which a coordinate is put onto a bound, or back to the applicant's own value
NO_LOSS = 1e-9  # relative; what that may cost


@njit(**inner)
def longest_steps(problem, ws):
    """Largest steps of the plan and of the multipliers that leave a share of every slack and multiplier."""
    n_options, n = ws.plan.shape
    primal, dual = 1.0, 1.0
    for j in range(n_options):
        slack, multiplier, change = ws.slack[j], ws.multiplier[j], ws.change[j]
        square = 0.0
        along_gain = 0.0
        for k in range(n):
            step = ws.step[j * n + k]
            square += step * step
            along_gain += problem.gain[k] * step
            if step < 0.0:
                primal = min(primal, (CLOSEST - 1.0) * slack[BOX + 2 * k] / step)
            elif step > 0.0:
                primal = min(primal, (1.0 - CLOSEST) * slack[BOX + 2 * k + 1] / step)
        if along_gain < 0.0:
            primal = min(primal, (CLOSEST - 1.0) * slack[SCORE] / along_gain)
        if square * primal * primal > LONGEST_STEP**2:
            primal = LONGEST_STEP / math.sqrt(square)
        for i in range(change.size):
            if change[i] < 0.0:
                dual = min(dual, (CLOSEST - 1.0) * multiplier[i] / change[i])
    return primal, dual


@njit(**inner)
def add_second_order_correction(step, parts, ws):
    """Add to the Newton step what cancels the ratios' deviation, at the trial, from their linear course."""
    n_options, n = ws.plan.shape
    last = n_options * n
    ws.correction[last] = 0.0
    for j in range(n_options):
        push = ws.stiffness[j] * (parts.ratio[j] - ws.ratio[j] - step * ws.ratio_step[j]) / step
        ws.correction[last] += push
        for k in range(n):
            ws.correction[j * n + k] = -push * ws.rise[j, k] if not ws.held[j, k] else 0.0
    solve_cholesky(ws.factor, ws.correction)
    for i in range(last + 1):
        ws.step[i] += ws.correction[i]


@njit(**inner)
def line_search(problem, value, decrease, step, barrier, rounding, parts, ws):
    """Halve the step until the barrier function falls; return the step (0 if none does), the new value, determinant."""
    n_options, n = ws.plan.shape
    corrected = False
    for trial in range(MAX_TRIALS):
        for j in range(n_options):
            for k in range(n):
                ws.trial[j, k] = ws.plan[j, k] + step * ws.step[j * n + k]
        lower, determinant = barrier_function(problem, ws.trial, barrier, rounding, parts, ws)
        if lower <= value - ARMIJO * step * decrease:
            return step, lower, determinant
        if trial == 0 and problem.validity_weight > 0.0 and lower < math.inf:
            # The ratios' curvature bends the path that keeps them level: follow it to second order before giving up
            # length.
            add_second_order_correction(step, parts, ws)
            corrected = True
            continue
        if corrected:
            for i in range(ws.step.size):
                ws.step[i] -= ws.correction[i]
            corrected = False
        step *= 0.5
    return 0.0, value, 0.0


@njit(**inner)
def start_multipliers(barrier, ws):
    """Multipliers barrier / slack."""
    for j in range(ws.slack.shape[0]):
        for i in range(ws.slack.shape[1]):
            ws.multiplier[j, i] = barrier / ws.slack[j, i]


@njit(**inner)
def step_multipliers(step, barrier, ws):
    """Step of the multipliers, kept within reach of barrier / slack at the new slacks."""
    for j in range(ws.slack.shape[0]):
        for i in range(ws.slack.shape[1]):
            middle = barrier / ws.slack[j, i]
            moved = ws.multiplier[j, i] + step * ws.change[j, i]
            ws.multiplier[j, i] = min(max(moved, middle / TRUST), middle * TRUST)


@njit(**inner)
def interior_point(problem, barrier, rounding, max_steps, stop, parts, ws):
    """Lower the objective from the strictly feasible `ws.plan`, in place; return the number of steps taken.

    Parameters
    ----------
    problem : Problem
    barrier : float
        The first one.
    rounding : float
        Rounding of kinks, at least; they are rounded by the barrier before.
    max_steps : int
    stop : ndarray of shape (1,)
        Not zero once the descent is not wanted any more.
    parts : Parts
    ws : Interior
    """
    ws.slack[:, :] = math.inf
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
                start_multipliers(barrier, ws)
        changed = False
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
        step_multipliers(dual, barrier, ws)
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


@njit(**inner)
def polish(problem, max_steps, stop, plan, value, box, trial, parts, interior):
    """Lower the objective of an allowed plan, in place, and return it.

    A descent; another one if it came to nothing; with kinks, one that holds what is close to them and one that does
    not; the snapping. Each is kept only if the objective does not rise.
    """
    kinks = has_kinks(problem, plan)
    improved = False
    for stage in range(5):
        loss = 0.0
        if stage == 4:
            loss = NO_LOSS
            found = snap(problem, plan, box, trial)
        else:
            barrier = BARRIERS[min(stage, 1)]
            wanted = stage == 0 or (kinks if stage >= 2 else not improved)
            found = max_steps > 0 and wanted
            found = found and step_inside(problem, plan, NEAR if stage == 2 else -1.0, barrier, box, interior)
            if found:
                interior_point(problem, barrier, ROUNDED[stage] if kinks else 0.0, max_steps, stop, parts, interior)
                for j in range(plan.shape[0]):
                    project(interior.plan[j], problem.gain, problem.needed, problem.lower, problem.upper, trial[j])
        if found:
            reached = hard_objective(problem, trial, parts)
            if reached <= value + loss * (1.0 + abs(reached)):
                improved = True
                value = reached
                copy_matrix(trial, plan)
    return value


SIGNATURE = types.void(record_type(Problems), int64, int64[::1], float64[:, :, :, ::1], float64[:, ::1])


@entry_point(SIGNATURE)
def interior_point_descents(problems, max_steps, stop, plans, values):
    """Descend from every allowed plan to where the objective, with all its kinks, cannot be lowered.

    Parameters
    ----------
    problems : Problems
        What N applicants may do, and what plans are judged by.
    max_steps : int
        Most Newton steps; 0 only puts coordinates onto the bounds and own values that they all but have.
    stop : ndarray of shape (1,)
        Not zero once the descents are not wanted any more.
    plans : ndarray of shape (N, S, J, n)
        Plans of every applicant; receives where they lead to.
    values : ndarray of shape (N, S)
        Their objectives; receives the new ones.
    """
    n_applicants, n_starts, n_options, n = plans.shape
    parts = allocate_parts(n_options, n)
    # Without steps there is no Newton system to make room for.
    interior = allocate_interior(n_options if max_steps > 0 else 1, n if max_steps > 0 else 1)
    trial = np.zeros((n_options, n))
    box = np.zeros((2, n))
    for p in range(n_applicants):
        problem = problem_of(problems, p)
        for s in range(n_starts):
            values[p, s] = polish(problem, max_steps, stop, plans[p, s], values[p, s], box, trial, parts, interior)
