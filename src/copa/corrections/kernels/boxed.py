"""Largest score per standard deviation within a budget and a box (compiled).

A working set of coordinates is held at their bounds; the others are free, which is the problem without a box in fewer
coordinates. A step towards its solution never lowers the ratio, because the ratio is quasi-concave where the score is
positive. Coordinates that meet a bound join the working set; at a solution the one that pulls hardest back inside
leaves it. Where none does, the point is optimal.
"""

import math

from numba import njit

from copa.corrections.kernels.ball_and_box import farthest_on_ray
from copa.corrections.kernels.subspace import Problem, allocate, find_target, ratio_at, score_and_variance
from copa.kernels.compiling import options

PULL = 1e-10  # a pull back inside below this share of the forces it is a difference of is rounding
GAIN = 1e-14  # a ratio that grows by less, relatively, does not grow


@njit(**options)
def list_free(ws):
    """List the coordinates that are not held; return their number."""
    n = 0
    for i in range(ws.held.size):
        if not ws.held[i]:
            ws.free[n] = i
            n += 1
    return n


@njit(**options)
def move_towards_target(problem, y, ws):
    """Move y to the target as far as the box allows, holding what meets a bound; False where nothing did.

    First the target clipped to the box, if that raises the ratio; else the straight line up to its first bound, along
    which the ratio cannot fall.
    """
    n = y.size
    inside = True
    for i in range(n):
        ws.trial[i] = min(max(ws.target[i], problem.low[i]), problem.high[i])
        inside = inside and ws.trial[i] == ws.target[i]
    if inside:
        for i in range(n):
            y[i] = ws.target[i]
        return False
    if ratio_at(problem, ws.trial, ws.base) > ratio_at(problem, y, ws.base):
        for i in range(n):
            ws.held[i] = ws.held[i] or ws.trial[i] != ws.target[i]
            y[i] = ws.trial[i]
        return True
    share = 1.0
    for i in range(n):
        if ws.trial[i] != ws.target[i]:
            share = min(share, (ws.trial[i] - y[i]) / (ws.target[i] - y[i]))
    for i in range(n):
        blocked = ws.trial[i] != ws.target[i] and (ws.trial[i] - y[i]) / (ws.target[i] - y[i]) <= share
        ws.held[i] = ws.held[i] or blocked
        y[i] = ws.trial[i] if blocked else y[i] + share * (ws.target[i] - y[i])
    return True


@njit(**options)
def strongest_pull(problem, y, tau, ws):
    """Held coordinate that the optimality conditions pull back inside the hardest, or -1 if none is."""
    score, variance = score_and_variance(problem, y, ws.base)
    kappa = variance / score if score > 0.0 else 0.0
    strongest, chosen = 0.0, -1
    for i in range(y.size):
        if not ws.held[i] or problem.low[i] == problem.high[i]:
            continue
        slope = 0.0
        for k in range(ws.base.size):
            slope += problem.root[i, k] * ws.base[k]
        force = kappa * problem.b[i] - slope - tau * y[i]
        inwards = force if y[i] <= problem.low[i] else -force
        if inwards > PULL * (abs(kappa * problem.b[i]) + abs(slope) + abs(tau * y[i])) and inwards > strongest:
            strongest, chosen = inwards, i
    return chosen


@njit(**options)
def choose_start(problem, y, ws):
    """Write a start with a positive score into y, which holds a proposal inside box and budget; False if none exists.

    The better of the proposal and no move at all, else the point of highest score; that one is the answer if even its
    score is not positive.
    """
    proposed = ratio_at(problem, y, ws.base)
    for i in range(y.size):
        ws.trial[i] = 0.0
    unmoved = ratio_at(problem, ws.trial, ws.base)
    if unmoved > 0.0 and not proposed > unmoved:
        for i in range(y.size):
            y[i] = 0.0
        proposed = unmoved
    if not proposed > 0.0:
        farthest_on_ray(problem.b, problem.low, problem.high, problem.budget, math.inf, y)
        proposed = ratio_at(problem, y, ws.base)
    return proposed > 0.0


@njit(**options)
def hold_start(problem, y, ws):
    """Hold the coordinates of a start that are at a bound and pushed against it; return a first multiplier."""
    score, variance = score_and_variance(problem, y, ws.base)
    square = 0.0
    for i in range(y.size):
        slope = 0.0
        for k in range(ws.base.size):
            slope += problem.root[i, k] * ws.base[k]
        force = variance / score * problem.b[i] - slope
        at_low, at_high = y[i] <= problem.low[i], y[i] >= problem.high[i]
        ws.held[i] = (at_low and force <= 0.0) or (at_high and force >= 0.0) or (at_low and at_high)
        square += 0.0 if ws.held[i] else force * force
    return math.sqrt(square) / problem.budget


@njit(**options)
def best_boxed_step(problem, y, ws):
    """Raise the ratio from the proposal y to the largest within budget and box; y receives the step."""
    if not choose_start(problem, y, ws):
        return
    tau = hold_start(problem, y, ws)
    best = 0.0
    for _ in range(20 * y.size + 50):
        n = list_free(ws)
        # With every coordinate held the budget's price is free, and zero is the one that pulls none of them back.
        tau = find_target(problem, y, n, tau, ws) if n > 0 else 0.0
        if n > 0 and move_towards_target(problem, y, ws):
            continue
        ratio = ratio_at(problem, y, ws.base)
        if ratio == math.inf or not ratio > (1.0 + GAIN) * best:
            return
        best = ratio
        released = strongest_pull(problem, y, tau, ws)
        if released < 0:
            return
        ws.held[released] = False


SIGNATURE = (
    "void(float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64, float64[:, ::1])"
)


@njit(SIGNATURE, **options)
def best_boxed_steps(scores, slopes, roots, root, cov, low, high, budget, steps):
    """Write for every option the step within `budget` and box after which its ratio is the largest.

    Parameters
    ----------
    scores, roots : (M,), (M, K); score and root vector of every option, the latter's squared length its variance
    slopes : (F,) mean of the free coordinates
    root, cov : (F, K), (F, F); rows of the covariance's root, and the covariance, of the free coordinates
    low, high : (M, F) least and greatest step of each coordinate, low <= 0 <= high
    budget : greatest length of a step, > 0
    steps : (M, F); holds proposals inside box and budget, receives the steps
    """
    ws = allocate(slopes.size, root.shape[1])
    for m in range(steps.shape[0]):
        problem = Problem(scores[m], slopes, roots[m], root, cov, low[m], high[m], budget)
        best_boxed_step(problem, steps[m], ws)
