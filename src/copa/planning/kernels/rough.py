"""Rough descents from every start of a batch of applicants (compiled)."""

import numpy as np
from numba import njit

from copa.kernels.compiling import options
from copa.planning.kernels.descent import allocate_search, descend
from copa.planning.kernels.objective import Problem, allocate_parts, hard_objective
from copa.planning.kernels.projection import project

ROUNDING = 1e-3  # of kinks
TOLERANCE = 1e-3

SIGNATURE = (
    "void(float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, :, ::1], float64, float64,"
    " boolean, float64[::1], int64, int64[::1], float64[:, :, :, ::1], float64[:, ::1])"
)


@njit(SIGNATURE, **options)
def descend_roughly(
    curvature,
    gain,
    scores,
    tilts,
    bounds,
    validity_weight,
    diversity_weight,
    manhattan,
    temperatures,
    max_steps,
    stop,
    plans,
    values,
):
    """Project every start onto what is allowed and descend from it, at one temperature after another.

    Parameters
    ----------
    curvature, gain : (n, n), (n,) covariance and mean of the parameters, for moves
    scores, tilts, bounds : (N, 3), (N, n), (N, 2, n) what applicants may do, from `read_applicants`
    validity_weight, diversity_weight, manhattan : of the objective
    temperatures : (T,) falling
    max_steps : most steps at one temperature
    stop : (1,) not zero once the descents are not wanted any more
    plans : (N, S, J, n) starts of every applicant; receives where they lead to
    values : (N, S); receives their objectives
    """
    n_applicants, n_starts, n_options, n = plans.shape
    parts = allocate_parts(n_options, n)
    search = allocate_search(n_options, n)
    prior = np.zeros(n_options)
    line = np.zeros(n)
    for p in range(n_applicants):
        lower, upper, needed = bounds[p, 0], bounds[p, 1], scores[p, 2]
        problem = Problem(
            curvature,
            gain,
            tilts[p],
            scores[p, 0],
            scores[p, 1],
            needed,
            lower,
            upper,
            validity_weight,
            diversity_weight,
            manhattan,
        )
        for s in range(n_starts):
            plan = plans[p, s]
            for j in range(n_options):
                prior[j] = 1.0
                for k in range(n):
                    line[k] = plan[j, k]
                project(line, gain, needed, lower, upper, plan[j])
            for temperature in temperatures:
                descend(problem, plan, temperature, prior, ROUNDING, max_steps, TOLERANCE, stop, parts, search)
            values[p, s] = hard_objective(problem, plan, parts)
