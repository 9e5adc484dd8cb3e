"""Plans for a batch of applicants: from full vectors to moves and back (compiled)."""

import numpy as np
from numba import njit

from copa.kernels.small_matrices import options
from copa.planning.kernels.objective import Problem
from copa.planning.kernels.plan import allocate_room, find_plan, find_single, largest_score
from copa.planning.kernels.projection import project

SAFETY = 1e-13  # relative; by how much more than the margin is asked for, so that rounding does not undo it
UNREACHABLE = 1e-12  # relative; a margin is out of reach only by more than rounding


@njit(**options)
def read_applicant(origin, mean, cov, free, scale, tilt):
    """Mean score, its size (that rounding is relative to) and variance of an applicant; the tilt into `tilt`."""
    n_coordinates = origin.size
    score = 0.0
    size = 0.0
    variance = 0.0
    k = 0
    for i in range(n_coordinates):
        score += mean[i] * origin[i]
        size += abs(mean[i] * origin[i])
        image = 0.0
        for h in range(n_coordinates):
            image += cov[i, h] * origin[h]
        variance += image * origin[i]
        if k < free.size and free[k] == i:
            tilt[k] = image / scale[k]
            k += 1
    return score, size, variance


@njit(**options)
def deliver(origin, mean, free, scale, lower, upper, margin, moves, line, point):
    """Write the full vector of one option: inside the box exactly, fixed coordinates as they are.

    The score is made up by another projection in the rare case that rounding has lost it.
    """
    score = 0.0
    for i in range(origin.size):
        point[i] = origin[i]
    for k in range(free.size):
        i = free[k]
        point[i] = min(max(origin[i] + moves[k] / scale[k], lower[i]), upper[i])
    for i in range(origin.size):
        score += mean[i] * point[i]
    if score >= margin:
        return
    needed = margin
    for i in range(origin.size):
        needed -= mean[i] * point[i]
    gain, low, high, out = line[0], line[1], line[2], line[3]
    target = line[4]
    for k in range(free.size):
        i = free[k]
        gain[k] = mean[i]
        low[k] = lower[i]
        high[k] = upper[i]
        target[k] = point[i]
        needed += mean[i] * point[i]
    project(target, gain, needed, low, high, out)
    for k in range(free.size):
        point[free[k]] = out[k]


SIGNATURE = (
    "void(float64[:, ::1], float64[::1], float64[:, ::1], int64[::1], float64[::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64, float64, float64, boolean, float64[:, :, ::1], float64[::1], int64,"
    " float64[:, :, ::1], boolean[::1])"
)


@njit(SIGNATURE, **options)
def build_batch(
    origins,
    mean,
    cov,
    free,
    scale,
    gain,
    curvature,
    lower,
    upper,
    margin,
    validity_weight,
    diversity_weight,
    manhattan,
    spreads,
    ascent,
    max_steps,
    points,
    feasible,
):
    """Build the plan of every applicant of a batch.

    Parameters
    ----------
    origins : (N, D) applicants
    mean, cov : (D,), (D, D) moments of the parameters
    free : (n,) coordinates that may change, ascending
    scale : (n,) their cost weights; a move is the change of a coordinate times its weight
    gain, curvature : (n,), (n, n) mean and covariance in moves
    lower, upper : (N, D) boxes
    margin : least mean score
    validity_weight, diversity_weight, manhattan : of the objective
    spreads : (S, J, n) starts, relative to the best single option, in moves
    ascent : (n,) unit direction in which single options become surer, in moves
    max_steps : most steps of a descent
    points : (N, J, D); receives the plans, or the point of largest score where none is allowed
    feasible : (N,); receives whether the margin can be reached
    """
    n_starts, n_options, n = spreads.shape
    room = allocate_room(n_options, n)
    single = allocate_room(1, n)
    starts = np.zeros((n_starts, n_options, n))
    values = np.zeros(n_starts)
    plan = np.zeros((n_options, n))
    option = np.zeros(n)
    tilt, low, high = np.zeros(n), np.zeros(n), np.zeros(n)
    line = np.zeros((5, n))
    for p in range(origins.shape[0]):
        origin = origins[p]
        score, size, variance = read_applicant(origin, mean, cov, free, scale, tilt)
        for k in range(n):
            low[k] = (lower[p, free[k]] - origin[free[k]]) * scale[k]
            high[k] = (upper[p, free[k]] - origin[free[k]]) * scale[k]
        size += abs(margin)
        needed = margin - score + SAFETY * size
        reachable = largest_score(gain, low, high)
        feasible[p] = not reachable < margin - score - UNREACHABLE * size
        problem = Problem(
            curvature, gain, tilt, score, variance, needed, low, high, validity_weight, diversity_weight, manhattan
        )
        if feasible[p]:
            find_single(problem, ascent, max_steps, single, option)
            find_plan(problem, option, spreads, max_steps, room, starts, values, plan)
        else:
            for k in range(n):
                corner = high[k] if gain[k] > 0.0 else low[k]
                option[k] = corner if gain[k] != 0.0 else min(max(0.0, low[k]), high[k])
            for j in range(n_options):
                for k in range(n):
                    plan[j, k] = option[k]
        for j in range(n_options):
            deliver(origin, mean, free, scale, lower[p], upper[p], margin, plan[j], line, points[p, j])
