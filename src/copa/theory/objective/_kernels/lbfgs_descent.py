"""Descent with a smoothed objective: a limited-memory quasi-Newton method on the faces of the constraints (compiled).

The minimum over the options is softened at a falling temperature. Which constraints are active is read off a projected
gradient step; the quasi-Newton step lies in their tangent space and is followed along its projection.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import float64, int64, njit, types

from copa._core._kernels.compiling import allocating, entry_point, inner, record_type
from copa._core._kernels.projection import project
from copa._core._kernels.small_matrices import dot
from copa.theory.objective._kernels.arguments import Problems
from copa.theory.objective._kernels.objective import (
    allocate_parts,
    hard_objective,
    problem_of,
    smooth_objective,
)

MEMORY = 8  # pairs of steps and gradient changes that stand for the curvature
PROBE = 0.1  # length of the gradient step that tells active constraints from others
FIRST_STEP = 0.1  # largest change of a coordinate in the first step, when no curvature is known
LONGEST_STEP = 1.0  # of an option: the objective bends over distances of about one
MAX_TRIALS = 12  # steps tried along one direction
ARMIJO = 1e-4
CURVATURE = 1e-8  # least cosine between a step and its gradient change
PATIENCE = 3  # steps of little progress in a row that end the descent
LEAST_SHARE = 1e-6  # of an option in the next soft minimum
ROUNDING = 1e-3  # of the kinks of the costs
TOLERANCE = 1e-3  # speed of the gradient step at which a plan counts as stationary
FACE = 1e-9  # relative distance from the half-space's face within which an option is on it


class Search(NamedTuple):
    """The arrays of one descent; all (J, n) unless said otherwise."""

    gradient: np.ndarray
    trial: np.ndarray
    trial_gradient: np.ndarray
    direction: np.ndarray
    probe: np.ndarray
    steps: np.ndarray  # (MEMORY, J n)
    changes: np.ndarray  # (MEMORY, J n) of the gradient
    inverse_products: np.ndarray  # (MEMORY,) 1 / (step . change)
    shares: np.ndarray  # (MEMORY,)
    at_bound: np.ndarray  # bool
    on_face: np.ndarray  # (J,) bool
    line: np.ndarray  # (n,)
    final: np.ndarray  # (J,) shares of the options


@njit(**allocating)
def allocate_search(n_options, n):
    """Room for descents of plans of `n_options` options with n coordinates."""
    shape, size = (n_options, n), n_options * n
    plans = (np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape))
    memory = (np.zeros((MEMORY, size)), np.zeros((MEMORY, size)), np.zeros(MEMORY), np.zeros(MEMORY))
    active = (np.zeros(shape, np.bool_), np.zeros(n_options, np.bool_))
    return Search(*(plans + memory + active + (np.zeros(n), np.zeros(n_options))))


@njit(**inner)
def add_scaled(target, scale, source):
    """Add scale * source to `target`, entry by entry."""
    for i in range(target.size):
        target[i] += scale * source[i]


@njit(**inner)
def find_active(problem, moves, search):
    """Note the constraints that stop a gradient step; return how fast that step moves (zero at a stationary plan)."""
    n_options, n = moves.shape
    lower, upper = problem.lower, problem.upper
    fastest = 0.0
    for j in range(n_options):
        score = 0.0
        for k in range(n):
            search.line[k] = moves[j, k] - PROBE * search.gradient[j, k]
            score += problem.gain[k] * moves[j, k]
        probe = search.probe[j]
        pushed = project(search.line, problem.gain, problem.needed, lower, upper, probe) > 0.0
        search.on_face[j] = pushed and score <= problem.needed + FACE * (1.0 + abs(problem.needed))
        for k in range(n):
            move = moves[j, k]
            low = move <= lower[k] and probe[k] <= lower[k]
            search.at_bound[j, k] = low or (move >= upper[k] and probe[k] >= upper[k])
            fastest = max(fastest, abs(probe[k] - move))
    return fastest / PROBE


@njit(**inner)
def project_onto_tangent(gain, search):
    """Remove from the direction what would leave the active constraints."""
    n_options, n = search.direction.shape
    for j in range(n_options):
        direction = search.direction[j]
        along = 0.0
        square = 0.0
        for k in range(n):
            if search.at_bound[j, k]:
                direction[k] = 0.0
            else:
                along += gain[k] * direction[k]
                square += gain[k] * gain[k]
        if search.on_face[j] and square > 0.0:
            for k in range(n):
                if not search.at_bound[j, k]:
                    direction[k] -= along / square * gain[k]


@njit(**inner)
def choose_direction(gain, search, count):
    """Quasi-Newton direction from the last pairs of `count`, in the tangent space (the two-loop recursion)."""
    direction = search.direction.reshape(-1)
    gradient = search.gradient.reshape(-1)
    for i in range(direction.size):
        direction[i] = -gradient[i]
    project_onto_tangent(gain, search)
    oldest = max(0, count - MEMORY)
    for age in range(count - oldest):
        q = (count - 1 - age) % MEMORY
        search.shares[q] = dot(search.steps[q], direction) * search.inverse_products[q]
        add_scaled(direction, -search.shares[q], search.changes[q])
    if count > 0:
        q = (count - 1) % MEMORY
        scale = 1.0 / (search.inverse_products[q] * dot(search.changes[q], search.changes[q]))
    else:
        largest = 0.0
        for i in range(direction.size):
            largest = max(largest, abs(direction[i]))
        scale = min(1.0, FIRST_STEP / largest) if largest > 0.0 else 1.0
    for i in range(direction.size):
        direction[i] *= scale
    for i in range(oldest, count):
        q = i % MEMORY
        share = dot(search.changes[q], direction) * search.inverse_products[q]
        add_scaled(direction, search.shares[q] - share, search.steps[q])
    project_onto_tangent(gain, search)
    longest = 0.0
    for j in range(search.direction.shape[0]):
        longest = max(longest, dot(search.direction[j], search.direction[j]))
    if longest > LONGEST_STEP**2:
        for i in range(direction.size):
            direction[i] *= LONGEST_STEP / math.sqrt(longest)


@njit(**inner)
def line_search(problem, moves, value, temperature, prior, parts, search):
    """Try shorter and shorter steps along the projected direction; return the new value, infinite if none is lower."""
    step = 1.0
    for _ in range(MAX_TRIALS):
        expected = 0.0
        for j in range(moves.shape[0]):
            for k in range(moves.shape[1]):
                search.line[k] = moves[j, k] + step * search.direction[j, k]
            project(search.line, problem.gain, problem.needed, problem.lower, problem.upper, search.trial[j])
            for k in range(moves.shape[1]):
                expected += search.gradient[j, k] * (search.trial[j, k] - moves[j, k])
        trial_value = smooth_objective(
            problem, search.trial, temperature, prior, ROUNDING, parts, search.trial_gradient
        )
        if expected < 0.0 and trial_value <= value + ARMIJO * expected:
            return trial_value
        bend = trial_value - value - expected
        shrink = -0.5 * expected / bend if bend > 0.0 and expected < 0.0 else 0.5
        step *= min(max(shrink, 0.1), 0.5)
    return math.inf


@njit(**inner)
def update_memory(moves, search, count):
    """Step to the trial, and keep the pair if it says something about the curvature; return how many pairs are kept."""
    q = count % MEMORY
    steps, changes = search.steps[q], search.changes[q]
    plan, trial = moves.reshape(-1), search.trial.reshape(-1)
    gradient, trial_gradient = search.gradient.reshape(-1), search.trial_gradient.reshape(-1)
    for i in range(plan.size):
        steps[i] = trial[i] - plan[i]
        changes[i] = trial_gradient[i] - gradient[i]
        plan[i] = trial[i]
        gradient[i] = trial_gradient[i]
    product, step_square, change_square = dot(steps, changes), dot(steps, steps), dot(changes, changes)
    if product > CURVATURE * math.sqrt(step_square * change_square):
        search.inverse_products[q] = 1.0 / product
        return count + 1
    return count


@njit(**inner)
def descend(problem, moves, temperature, prior, max_steps, stop, parts, search):
    """Lower the smooth objective from `moves`, in place.

    `prior` is replaced by the options' shares at the end, the prior of a descent at a lower temperature.
    """
    value = smooth_objective(problem, moves, temperature, prior, ROUNDING, parts, search.gradient)
    count = 0
    idle = 0
    for j in range(prior.size):
        search.final[j] = prior[j]
    for _ in range(max_steps):
        if stop[0] != 0 or find_active(problem, moves, search) <= TOLERANCE:
            break
        choose_direction(problem.gain, search, count)
        lower = line_search(problem, moves, value, temperature, prior, parts, search)
        if not lower < value:
            if count == 0:
                break
            count = 0
            continue
        count = update_memory(moves, search, count)
        for j in range(prior.size):
            search.final[j] = max(parts.share[j], LEAST_SHARE)
        idle = idle + 1 if value - lower <= 0.01 * TOLERANCE * (1.0 + abs(value)) else 0
        value = lower
        if idle >= PATIENCE:
            break
    for j in range(prior.size):
        prior[j] = search.final[j]


SIGNATURE = types.void(record_type(Problems), float64[::1], int64, int64[::1], float64[:, :, :, ::1], float64[:, ::1])


@entry_point(SIGNATURE)
def lbfgs_descents(problems, temperatures, max_steps, stop, plans, values):
    """Project every start onto what is allowed and descend from it, at one temperature after another.

    Parameters
    ----------
    problems : Problems
        What N applicants may do, and what plans are judged by.
    temperatures : ndarray of shape (T,)
        Temperatures of the soft minimum, falling.
    max_steps : int
        Most steps at one temperature.
    stop : ndarray of shape (1,)
        Not zero once the descents are not wanted any more.
    plans : ndarray of shape (N, S, J, n)
        Starts of every applicant; receives where they lead to.
    values : ndarray of shape (N, S)
        Receives their objectives.
    """
    n_applicants, n_starts, n_options, n = plans.shape
    parts = allocate_parts(n_options, n)
    search = allocate_search(n_options, n)
    prior = np.zeros(n_options)
    for p in range(n_applicants):
        problem = problem_of(problems, p)
        for s in range(n_starts):
            plan = plans[p, s]
            for j in range(n_options):
                prior[j] = 1.0
                for k in range(n):
                    search.line[k] = plan[j, k]
                project(search.line, problem.gain, problem.needed, problem.lower, problem.upper, plan[j])
            for temperature in temperatures:
                descend(problem, plan, temperature, prior, max_steps, stop, parts, search)
            values[p, s] = hard_objective(problem, plan, parts)
