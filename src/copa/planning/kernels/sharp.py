"""Sharp descents for a batch of applicants (compiled)."""

import math

import numpy as np
from numba import njit

from copa.kernels.small_matrices import copy_matrix, options
from copa.planning.kernels.applicants import largest_score
from copa.planning.kernels.barrier import allocate_interior
from copa.planning.kernels.compiling import inner
from copa.planning.kernels.interior import sharpen
from copa.planning.kernels.objective import Problem, allocate_parts, hard_objective
from copa.planning.kernels.projection import project

INSETS = (1e-2, 1e-4, 1e-6)  # how far inside its constraints a descent starts, if there is room
SNAP = 1e-6  # distance within which a coordinate is put onto a bound, or back to the applicant's own value
NO_LOSS = 1e-9  # relative; what that may cost


@njit(**inner)
def step_inside(problem, plan, box, out):
    """Write the plan, moved strictly inside its constraints, to `out`; False without room. `box` (2, n) is scratch."""
    n = problem.gain.size
    length = 0.0
    for k in range(n):
        length += problem.gain[k] ** 2
    for inset in INSETS:
        for k in range(n):
            margin = min(inset, 0.25 * (problem.upper[k] - problem.lower[k]))
            box[0, k] = problem.lower[k] + margin
            box[1, k] = problem.upper[k] - margin
        needed = problem.needed + inset * math.sqrt(length)
        if largest_score(problem.gain, box[0], box[1]) >= needed > problem.needed:
            for j in range(plan.shape[0]):
                project(plan[j], problem.gain, needed, box[0], box[1], out[j])
            return True
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
    " boolean, int64, float64[:, :, :, ::1], float64[:, ::1])"
)


@njit(SIGNATURE, **options)
def descend_sharply(
    curvature, gain, scores, tilts, bounds, validity_weight, diversity_weight, manhattan, max_steps, plans, values
):
    """Descend from every allowed plan to where the objective, with all its kinks, cannot be lowered.

    Parameters
    ----------
    curvature, gain : (n, n), (n,) covariance and mean of the parameters, for moves
    scores, tilts, bounds : (N, 3), (N, n), (N, 2, n) what applicants may do, from `read_applicants`
    validity_weight, diversity_weight, manhattan : of the objective
    max_steps : most Newton steps; 0 only puts coordinates onto the bounds and own values that they all but have
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
            # First the descent, then the snapping: each is kept only if the objective does not rise.
            for stage in range(2):
                found = False
                if stage == 1:
                    found = snap(problem, plan, box, trial)
                elif max_steps > 0 and step_inside(problem, plan, box, interior.plan):
                    sharpen(problem, max_steps, parts, interior)
                    for j in range(n_options):
                        project(interior.plan[j], gain, problem.needed, problem.lower, problem.upper, trial[j])
                    found = True
                if found:
                    value = hard_objective(problem, trial, parts)
                    if value <= values[p, s] + stage * NO_LOSS * (1.0 + abs(value)):
                        values[p, s] = value
                        copy_matrix(trial, plan)
