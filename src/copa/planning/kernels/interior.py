"""Sharp descent: a primal-dual interior-point method for the exact problem (compiled).

A step solves the Newton system of the barrier problem with the multipliers eliminated, shifted until it is positive
definite (the determinant is not concave), stays strictly inside the constraints and lowers the barrier function.
"""

import math

from numba import njit

from copa.kernels.small_matrices import copy_matrix, solve_cholesky
from copa.planning.kernels.barrier import barrier_function, set_gradient, start_pulls
from copa.planning.kernels.compiling import inner
from copa.planning.kernels.newton import set_changes, set_system, solve_system

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
