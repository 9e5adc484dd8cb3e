"""From applicants in full vectors to the problem of their moves, and from moves to options (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import entry_point, inner
from copa._core._kernels.projection import project

SAFETY = 1e-13  # relative; by how much more than the margin is asked for, so that rounding does not undo it
UNREACHABLE = 1e-12  # relative; a margin is out of reach only by more than rounding


@njit(**inner)
def largest_score(gain, lower, upper):
    """Largest gain'z over a box."""
    total = 0.0
    for k in range(gain.size):
        if gain[k] != 0.0:
            total += gain[k] * (upper[k] if gain[k] > 0.0 else lower[k])
    return total


READ_SIGNATURE = (
    "void(float64[:, ::1], float64[::1], float64[:, ::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1],"
    " float64, float64[:, ::1], float64[:, ::1], float64[:, :, ::1], boolean[::1])"
)


@entry_point(READ_SIGNATURE)
def read_applicants(origins, mean, cov, free, scale, lower, upper, margin, scores, tilts, bounds, feasible):
    """Describe what applicants may do, in moves z = scale * (x - origin) of the free coordinates.

    Parameters
    ----------
    origins : (N, D) applicants
    mean, cov : (D,), (D, D) moments of the parameters
    free, scale : (n,) coordinates that may change, ascending, and their cost weights
    lower, upper : (N, D) boxes
    margin : least mean score
    scores : (N, 3); receives the applicant's mean score, its variance, and what the moves must add to the mean score
    tilts : (N, n); receives half of the variance's slope at the applicant
    bounds : (N, 2, n); receives the box of the moves
    feasible : (N,); receives whether the margin can be reached
    """
    dimension = mean.size
    gain = mean[free] / scale
    for p in range(len(origins)):
        origin = origins[p]
        score, size, variance = 0.0, abs(margin), 0.0
        k = 0
        for i in range(dimension):
            score += mean[i] * origin[i]
            size += abs(mean[i] * origin[i])
            image = 0.0
            for h in range(dimension):
                image += cov[i, h] * origin[h]
            variance += image * origin[i]
            if k < free.size and free[k] == i:
                tilts[p, k] = image / scale[k]
                bounds[p, 0, k] = (lower[p, i] - origin[i]) * scale[k]
                bounds[p, 1, k] = (upper[p, i] - origin[i]) * scale[k]
                k += 1
        scores[p, 0] = score
        scores[p, 1] = variance
        scores[p, 2] = margin - score + SAFETY * size
        feasible[p] = not largest_score(gain, bounds[p, 0], bounds[p, 1]) < margin - score - UNREACHABLE * size


DELIVER_SIGNATURE = (
    "void(float64[:, ::1], float64[::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64,"
    " float64[:, :, ::1], float64[:, :, ::1])"
)


@entry_point(DELIVER_SIGNATURE)
def deliver_options(origins, mean, free, scale, lower, upper, margin, moves, points):
    """Write options (N, J, D) for the moves (N, J, n): inside the box exactly, fixed coordinates as they are.

    Where rounding, or a margin out of reach, leaves the score short, the option is projected once more.
    """
    n = free.size
    gain = mean[free]
    low, high, wanted, nearest = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for p in range(len(origins)):
        for j in range(moves.shape[1]):
            point = points[p, j]
            score = 0.0
            for i in range(mean.size):
                point[i] = origins[p, i]
            for k in range(n):
                i = free[k]
                point[i] = min(max(origins[p, i] + moves[p, j, k] / scale[k], lower[p, i]), upper[p, i])
            for i in range(mean.size):
                score += mean[i] * point[i]
            if score >= margin:
                continue
            needed = margin - score
            for k in range(n):
                i = free[k]
                low[k] = lower[p, i]
                high[k] = upper[p, i]
                wanted[k] = point[i]
                needed += gain[k] * point[i]
            project(wanted, gain, needed, low, high, nearest)
            for k in range(n):
                point[free[k]] = nearest[k]
