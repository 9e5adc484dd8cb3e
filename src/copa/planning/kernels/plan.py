"""Finding one applicant's plan: starts, rough descents from all of them, sharp descents from the best (compiled)."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa.kernels.small_matrices import copy_matrix, options
from copa.planning.kernels.barrier import Interior, allocate_interior
from copa.planning.kernels.descent import Search, allocate_search, descend
from copa.planning.kernels.interior import sharpen
from copa.planning.kernels.objective import Parts, allocate_parts, diversity, hard_objective
from copa.planning.kernels.projection import project

WARM, COOL, COLD = 0.1, 0.02, 0.005  # temperatures of the soft minimum; the objective bends over values of about one
ROUNDING = 1e-3  # of kinks in the rough descents
ROUGH = 1e-3  # their tolerance
FIRST_BARRIER = 1e-2  # they end about as far from the minimum
ROUGH_STEPS = 30  # most steps of a rough descent at one temperature
SINGLE_REACHES = (0.0, 1.0, 4.0)  # how far along the ascent direction the search for a single option starts
REFINED = 4  # one start in so many goes through the sharp descent
LARGEST_SYSTEM = 400  # unknowns of a Newton system; beyond, cold rough descents replace the sharp one
INSETS = (1e-2, 1e-4, 1e-6)  # how far inside its constraints the sharp descent starts, if there is room
SNAP = 1e-6  # distance within which a coordinate is put onto a bound, or back to the applicant's own value
WORTHLESS = 1e-6  # relative; a diversity term that is none
NO_LOSS = 1e-9  # relative; what snapping may cost


class Room(NamedTuple):
    """Everything a search for plans of J options needs to allocate."""

    parts: Parts
    search: Search
    interior: Interior
    plan: np.ndarray  # (J, n)
    best: np.ndarray  # (J, n)
    prior: np.ndarray  # (J,)
    lower: np.ndarray  # (n,)
    upper: np.ndarray  # (n,)
    line: np.ndarray  # (n,)


@njit(**options)
def allocate_room(n_options, n):
    """Room for plans of `n_options` options with n coordinates; a large one has none for the Newton system."""
    sharp = n_options * n + 1 <= LARGEST_SYSTEM
    return Room(
        allocate_parts(n_options, n),
        allocate_search(n_options, n),
        allocate_interior(n_options if sharp else 1, n if sharp else 1),
        np.zeros((n_options, n)),
        np.zeros((n_options, n)),
        np.zeros(n_options),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
    )


@njit(**options)
def largest_score(gain, lower, upper):
    """Largest gain'z over a box."""
    total = 0.0
    for k in range(gain.size):
        if gain[k] != 0.0:
            total += gain[k] * (upper[k] if gain[k] > 0.0 else lower[k])
    return total


@njit(**options)
def step_inside(problem, room):
    """Write the plan, moved strictly inside its constraints, to where the sharp descent starts; False without room."""
    n = problem.gain.size
    length = 0.0
    for k in range(n):
        length += problem.gain[k] ** 2
    for inset in INSETS:
        for k in range(n):
            margin = min(inset, 0.25 * (problem.upper[k] - problem.lower[k]))
            room.lower[k] = problem.lower[k] + margin
            room.upper[k] = problem.upper[k] - margin
        needed = problem.needed + inset * math.sqrt(length)
        if largest_score(problem.gain, room.lower, room.upper) >= needed > problem.needed:
            for j in range(room.plan.shape[0]):
                project(room.plan[j], problem.gain, needed, room.lower, room.upper, room.interior.plan[j])
            return True
    return False


@njit(**options)
def rough_descent(problem, temperature, max_steps, room):
    """Lower the soft objective from `room.plan`, in place."""
    steps = min(max_steps, ROUGH_STEPS)
    descend(
        problem, room.plan, temperature, room.prior, ROUNDING, steps, ROUGH, room.parts, room.search, room.best
    )
    return hard_objective(problem, room.plan, room.parts)


@njit(**options)
def snap(problem, value, room):
    """Put coordinates of `room.plan` that are all but there onto bounds and own values, unless the objective rises."""
    n_options, n = room.plan.shape
    for j in range(n_options):
        for k in range(n):
            move = room.plan[j, k]
            room.lower[k] = problem.lower[k]
            room.upper[k] = problem.upper[k]
            for target in (problem.lower[k], problem.upper[k], 0.0):
                if abs(move - target) <= SNAP and problem.lower[k] <= target <= problem.upper[k]:
                    room.lower[k] = target
                    room.upper[k] = target
        if largest_score(problem.gain, room.lower, room.upper) < problem.needed:
            return value
        project(room.plan[j], problem.gain, problem.needed, room.lower, room.upper, room.best[j])
    snapped = hard_objective(problem, room.best, room.parts)
    if snapped <= value + NO_LOSS * (1.0 + abs(value)):
        copy_matrix(room.best, room.plan)
        return snapped
    return value


@njit(**options)
def refine(problem, max_steps, room):
    """Lower the objective from the rough `room.plan`, in place; return it."""
    value = hard_objective(problem, room.plan, room.parts)
    copy_matrix(room.plan, room.best)
    n_options, n = room.plan.shape
    if n_options * n + 1 <= LARGEST_SYSTEM and step_inside(problem, room):
        sharpen(problem, FIRST_BARRIER, max_steps, room.parts, room.interior)
        for j in range(n_options):
            project(
                room.interior.plan[j], problem.gain, problem.needed, problem.lower, problem.upper, room.plan[j]
            )
    else:
        for _ in range(3):
            rough_descent(problem, COLD, max_steps, room)
    sharp = hard_objective(problem, room.plan, room.parts)
    if not sharp < value:
        copy_matrix(room.best, room.plan)
        sharp = value
    return snap(problem, sharp, room)


@njit(**options)
def place_start(problem, center, offsets, room):
    """Start from the offsets (J, n) around `center`, projected onto what is allowed."""
    for j in range(offsets.shape[0]):
        for k in range(center.size):
            room.line[k] = center[k] + offsets[j, k]
        project(room.line, problem.gain, problem.needed, problem.lower, problem.upper, room.plan[j])
        room.prior[j] = 1.0


@njit(**options)
def find_single(problem, ascent, max_steps, room, option):
    """Write the best single option into `option`; return its objective without diversity.

    J options in one place have no diversity, and no better place than this one: it is what a plan is compared with.
    """
    origin = np.zeros(option.size)
    offset = np.zeros((1, option.size))
    least = math.inf
    for reach in SINGLE_REACHES:
        for k in range(option.size):
            offset[0, k] = reach * ascent[k]
        place_start(problem, origin, offset, room)
        rough_descent(problem, WARM, max_steps, room)
        value = refine(problem, max_steps, room)
        if value < least:
            least = value
            for k in range(option.size):
                option[k] = room.plan[0, k]
    return least


@njit(**options)
def find_plan(problem, option, spreads, max_steps, room, starts, values, plan):
    """Write the best plan found into `plan` (J, n); `starts` and `values` are scratch, one for each of `spreads`.

    All options in the place of the best single one is a plan, too, and a start that has lost its diversity can only
    fall back to it.
    """
    n_starts, n_options, _ = spreads.shape
    for j in range(n_options):
        for k in range(option.size):
            plan[j, k] = option[k]
    if n_options == 1 or problem.diversity_weight == 0.0:
        return
    least = hard_objective(problem, plan, room.parts)
    for s in range(n_starts):
        place_start(problem, option, spreads[s], room)
        values[s] = rough_descent(problem, WARM, max_steps, room)
        copy_matrix(room.plan, starts[s])
    for _ in range((n_starts + REFINED - 1) // REFINED):
        chosen = np.argmin(values)
        if not values[chosen] < math.inf:
            return
        values[chosen] = math.inf
        copy_matrix(starts[chosen], room.plan)
        for j in range(n_options):
            room.prior[j] = 1.0
        rough_descent(problem, COOL, max_steps, room)
        bonus = problem.diversity_weight * diversity(problem, room.plan, 0.0, room.parts)
        if bonus > WORTHLESS * (1.0 + abs(least)):
            value = refine(problem, max_steps, room)
            if value < least:
                least = value
                copy_matrix(room.plan, plan)
