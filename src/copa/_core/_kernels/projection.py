"""Euclidean projection onto a box together with a half-space (compiled)."""

import math

from numba import njit

from copa._core._kernels.compiling import entry_point, inner

MAX_TRIALS = 200  # of the multiplier; a Newton step lands on the root as soon as it is on the root's linear piece
ROUNDING = 2e-15  # relative to the terms that the score is summed from


@njit(**inner)
def place(point, normal, multiplier, lower, upper, out):
    """Clip point + multiplier * normal into the box; return its score, the slope of the score, and the score's size."""
    score = 0.0
    slope = 0.0
    size = 0.0
    for k in range(point.size):
        moved = point[k] + multiplier * normal[k]
        clipped = min(max(moved, lower[k]), upper[k])
        out[k] = clipped
        term = normal[k] * clipped
        score += term
        size += abs(term)
        # Just past a corner the coordinate moves if it then lies inside.
        enters = moved >= lower[k] if normal[k] > 0.0 else moved > lower[k]
        stays = moved < upper[k] if normal[k] > 0.0 else moved <= upper[k]
        if enters and stays:
            slope += normal[k] * normal[k]
    return score, slope, size


@njit(**inner)
def next_corner(point, normal, multiplier, lower, upper):
    """Smallest larger multiplier at which a coordinate that waits outside of the box enters it."""
    nearest = math.inf
    for k in range(point.size):
        moved = point[k] + multiplier * normal[k]
        if normal[k] > 0.0 and moved < lower[k]:
            nearest = min(nearest, (lower[k] - point[k]) / normal[k])
        elif normal[k] < 0.0 and moved > upper[k]:
            nearest = min(nearest, (upper[k] - point[k]) / normal[k])
    return nearest


@njit(**inner)
def project(point, normal, needed, lower, upper, out):
    """Write the point of {normal'x >= needed, lower <= x <= upper} nearest to `point` into `out`.

    The projection is clip(point + t normal) for the least t >= 0 whose score normal'x is `needed`; the score is
    piecewise linear and never falls in t, so a Newton step kept inside a bracket finds t. Where the box holds no such
    point, `out` is the box's point of largest score.

    Returns
    -------
    t : the half-space's multiplier, 0 where the box alone decides
    """
    score, slope, size = place(point, normal, 0.0, lower, upper, out)
    if score >= needed:
        return 0.0
    multiplier, below, above = 0.0, 0.0, math.inf
    for _ in range(MAX_TRIALS):
        trial = multiplier + (needed - score) / slope if slope > 0.0 else math.inf
        if not below < trial < above:
            trial = 0.5 * (below + above)
        if trial == math.inf:
            trial = next_corner(point, normal, multiplier, lower, upper)
            if trial == math.inf:
                return multiplier
            trial = max(trial, multiplier * (1.0 + ROUNDING))  # rounding may leave a coordinate short of its corner
        multiplier = trial
        score, slope, size = place(point, normal, multiplier, lower, upper, out)
        if abs(score - needed) <= ROUNDING * size:
            return multiplier
        if score < needed:
            below = multiplier
        else:
            above = multiplier
        if above < math.inf and above - below <= ROUNDING * above:
            break
    if score < needed and above < math.inf:
        multiplier = above
        place(point, normal, multiplier, lower, upper, out)
    return multiplier


PROJECT_SIGNATURE = (
    "void(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])"
)


@entry_point(PROJECT_SIGNATURE)
def project_points(points, normal, needed, lower, upper, projected):
    """Project every point (M, F) onto its half-space {normal'x >= needed} and its box."""
    for m in range(points.shape[0]):
        project(points[m], normal, needed[m], lower[m], upper[m], projected[m])
