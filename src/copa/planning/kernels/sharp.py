"""Sharp descents for a batch of applicants (compiled)."""

import math

import numpy as np
from numba import njit

from copa.kernels.compiling import options
from copa.kernels.small_matrices import copy_matrix
from copa.planning.kernels.applicants import largest_score
from copa.planning.kernels.barrier import allocate_interior
from copa.planning.kernels.compiling import inner
from copa.planning.kernels.interior import sharpen
from copa.planning.kernels.objective import Problem, allocate_parts, hard_objective
from copa.planning.kernels.projection import project

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
