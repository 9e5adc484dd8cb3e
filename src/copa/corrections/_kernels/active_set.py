"""Largest score per standard deviation within a budget and a box: an active-set method (compiled).

A working set of coordinates is held at their bounds; the others are free, which is the problem without a box in fewer
coordinates. A step towards its solution never lowers the ratio, because the ratio is quasi-concave where the score is
positive. Coordinates that meet a bound join the working set; at a solution the one that pulls hardest back inside
leaves it. Where none does, the point is optimal.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, entry_point, inner
from copa._core._kernels.projection import farthest_on_ray
from copa._core._kernels.small_matrices import cholesky, copy_vector, solve_cholesky
from copa.corrections._kernels.spectral import MATCH, MAX_EVALUATIONS, balance, next_guess

EPS = 2.2e-16
REFINEMENTS = 2
LEAST_SHARE = 1e-10  # of the budget is left to the free coordinates, so that its price is a number
PULL = 1e-10  # a pull back inside below this share of the forces it is a difference of is rounding
GAIN = 1e-14  # a ratio that grows by less, relatively, does not grow


class Problem(NamedTuple):
    """Score a + b'y and variance |h + F'y|^2 of an option moved by y, with S = F F', in a box [low, high]."""

    a: Any
    b: Any
    h: Any
    root: Any  # F
    cov: Any  # S
    low: Any
    high: Any
    budget: Any


class Workspace(NamedTuple):
    """Arrays that are allocated once."""

    held: Any  # whether a coordinate is held
    free: Any  # indices of the others
    matrix: Any  # the system of the free coordinates and its factor
    factor: Any
    u: Any  # its two solutions, and half-way
    w: Any
    lu: Any
    lw: Any
    slope: Any  # its two right-hand sides
    pull: Any
    base: Any  # vectors whose squared lengths are variances
    left: Any
    target: Any  # the best point with the held coordinates held
    trial: Any  # a point to compare


@njit(**allocating)
def allocate(n, length):
    """Room for n coordinates and variances of `length` terms."""
    matrices = (np.empty((n, n)), np.empty((n, n)))
    solutions = (np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    sides = (np.empty(n), np.empty(n))
    roots = (np.empty(length), np.empty(length))
    points = (np.empty(n), np.empty(n))
    held, free = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int64)
    return Workspace(held, free, *(matrices + solutions + sides + roots + points))


@njit(**inner)
def plus_product(total, row, vector):
    """Total + row'vector, added from the first entry to the last."""
    for k in range(row.size):
        total += row[k] * vector[k]
    return total


@njit(**inner)
def score_and_variance(problem, y, base):
    """Score and variance at y; `base` receives the vector whose squared length the variance is."""
    score = problem.a
    for k in range(base.size):
        base[k] = problem.h[k]
    for i in range(y.size):
        if y[i] != 0.0:
            score += problem.b[i] * y[i]
            for k in range(base.size):
                base[k] += problem.root[i, k] * y[i]
    variance = 0.0
    for k in range(base.size):
        variance += base[k] * base[k]
    return score, variance


@njit(**inner)
def ratio_at(problem, y, base):
    """Score per standard deviation at y."""
    score, variance = score_and_variance(problem, y, base)
    if variance > 0.0:
        return score / math.sqrt(variance)
    return math.inf if score > 0.0 else (-math.inf if score < 0.0 else 0.0)


@njit(**inner)
def forward(factor, rhs, n, out):
    """Write L^{-1} rhs."""
    for i in range(n):
        total = rhs[i]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]


@njit(**inner)
def residual(problem, n, ws):
    """Write base - F'w into `ws.left`; return the variance |base - F'w|^2 at -w."""
    variance = 0.0
    for k in range(ws.base.size):
        ws.left[k] = ws.base[k]
        for i in range(n):
            ws.left[k] -= problem.root[ws.free[i], k] * ws.w[i]
        variance += ws.left[k] * ws.left[k]
    return variance


@njit(**inner)
def refine(tau, problem, n, factor, ws):
    """Correct w by what is left of its equation, F (base - F'w) = tau w; return the variance at -w.

    In directions without variance a nearly singular system leaves an error of w's own size. Its equation does not:
    there it says tau w = 0 to the last digit.
    """
    variance = residual(problem, n, ws)
    for _ in range(REFINEMENTS):
        for i in range(n):
            ws.lw[i] = plus_product(-tau * ws.w[i], problem.root[ws.free[i]], ws.left)
        solve_cholesky(factor, ws.lw[:n])
        for i in range(n):
            ws.w[i] += ws.lw[i]
        variance = residual(problem, n, ws)
    return variance


@njit(**inner)
def point_at(tau, problem, score, n, ws, y):
    """Write y(tau) of the free coordinates; return its length and derivative, or NaN if the system is not regular.

    `ws.base` and `score` belong to the point with all free coordinates unmoved, `ws.pull` is g there.
    """
    for i in range(n):
        for k in range(i):
            ws.matrix[i, k] = problem.cov[ws.free[i], ws.free[k]]
        ws.matrix[i, i] = problem.cov[ws.free[i], ws.free[i]] + tau
        ws.u[i] = ws.slope[i]
        ws.w[i] = ws.pull[i]
    factor = ws.factor[:n, :n]
    if not cholesky(ws.matrix[:n, :n], factor):
        return math.nan, math.nan
    solve_cholesky(factor, ws.u[:n])
    solve_cholesky(factor, ws.w[:n])
    variance = refine(tau, problem, n, factor, ws)
    forward(factor, ws.u, n, ws.lu)
    forward(factor, ws.w, n, ws.lw)
    uu, uw, u_u, u_w, w_w, linear = 0.0, 0.0, 0.0, 0.0, 0.0, score
    for i in range(n):
        uu += ws.u[i] * ws.u[i]
        uw += ws.u[i] * ws.w[i]
        u_u += ws.lu[i] * ws.lu[i]
        u_w += ws.lu[i] * ws.lw[i]
        w_w += ws.lw[i] * ws.lw[i]
        linear -= ws.slope[i] * ws.w[i]
    kappa, kappa_slope = balance(tau, (uu, uw, u_u, u_w, w_w), linear, variance)
    square, along = 0.0, 0.0
    for i in range(n):
        y[i] = kappa * ws.u[i] - ws.w[i]
        square += y[i] * y[i]
        along += y[i] * ws.u[i]
    length = math.sqrt(square)
    weighted = kappa * kappa * u_u - 2.0 * kappa * u_w + w_w
    return length, ((kappa_slope * along - weighted) / length if length > 0.0 else 0.0)


@njit(**inner)
def solve_free(problem, y, n, tau, noise, ws):
    """Write into `ws.target` the best point with the held coordinates where they are in y; return the multiplier.

    `noise` is the multiplier, relative to the covariance, below which the system counts as singular.
    """
    square, trace = 0.0, 0.0
    for i in range(y.size):
        ws.target[i] = y[i] if ws.held[i] else 0.0
        square += ws.target[i] ** 2
    budget = math.sqrt(max(problem.budget**2 - square, (LEAST_SHARE * problem.budget) ** 2))
    score, variance = score_and_variance(problem, ws.target, ws.base)
    for i in range(n):
        ws.slope[i] = problem.b[ws.free[i]]
        ws.pull[i] = plus_product(0.0, problem.root[ws.free[i]], ws.base)
        trace += problem.cov[ws.free[i], ws.free[i]]
    # A budget that does not bind at the least multiplier does not bind.
    least = noise * trace + 1e-30 * variance / (budget * budget) + 1e-300
    low, high, length = 0.0, math.inf, 0.0
    tau = max(tau, least)
    step = ws.trial
    for count in range(MAX_EVALUATIONS):
        length, slope = point_at(tau, problem, score, n, ws, step)
        if math.isnan(length):
            low, least = tau, 16.0 * tau
            tau = least
            continue
        if abs(length - budget) <= MATCH * budget or (tau <= least and length <= budget):
            break
        if length > budget:
            low = tau
        else:
            high = tau
        guess = next_guess(low, high, tau, length, slope, budget, count)
        if low == 0.0 and guess < tau / 32.0:
            guess = least
        guess = max(guess, least)
        if not low < guess < high:
            break
        tau = guess
    shrink = min(1.0, budget / length) if length > 0.0 else 1.0
    for i in range(n):
        ws.target[ws.free[i]] = shrink * step[i]
    return 0.0 if tau <= least and length < budget else tau


@njit(**inner)
def find_target(problem, y, n, tau, ws):
    """Write into `ws.target` the best point with the held coordinates held, never worse than y; return the multiplier.

    Where the variance nearly vanishes, rounding in a nearly singular system can spoil the point: ask for a larger
    multiplier then, and after a few times settle for y itself.
    """
    ratio = ratio_at(problem, y, ws.base)
    noise = 32.0 * n * EPS
    reached = -math.inf
    for _ in range(6):
        tau = solve_free(problem, y, n, tau, noise, ws)
        reached = ratio_at(problem, ws.target, ws.base)
        if reached >= (1.0 - 1e-9) * ratio:
            break
        noise *= 100.0
    if not reached >= ratio:
        copy_vector(y, ws.target)
    return tau


@njit(**inner)
def list_free(ws):
    """List the coordinates that are not held; return their number."""
    n = 0
    for i in range(ws.held.size):
        if not ws.held[i]:
            ws.free[n] = i
            n += 1
    return n


@njit(**inner)
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
        copy_vector(ws.target, y)
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


@njit(**inner)
def strongest_pull(problem, y, tau, ws):
    """Held coordinate that the optimality conditions pull back inside the hardest, or -1 if none is."""
    score, variance = score_and_variance(problem, y, ws.base)
    kappa = variance / score if score > 0.0 else 0.0
    strongest, chosen = 0.0, -1
    for i in range(y.size):
        if not ws.held[i] or problem.low[i] == problem.high[i]:
            continue
        slope = plus_product(0.0, problem.root[i], ws.base)
        force = kappa * problem.b[i] - slope - tau * y[i]
        inwards = force if y[i] <= problem.low[i] else -force
        if inwards > PULL * (abs(kappa * problem.b[i]) + abs(slope) + abs(tau * y[i])) and inwards > strongest:
            strongest, chosen = inwards, i
    return chosen


@njit(**inner)
def choose_start(problem, y, ws):
    """Write a start with a positive score into y, which holds a proposal inside box and budget; False if none exists.

    The better of the proposal and no move at all, else the point of highest score; that one is the answer if even its
    score is not positive.
    """
    proposed = ratio_at(problem, y, ws.base)
    ws.trial[:] = 0.0
    unmoved = ratio_at(problem, ws.trial, ws.base)
    if unmoved > 0.0 and not proposed > unmoved:
        y[:] = 0.0
        proposed = unmoved
    if not proposed > 0.0:
        farthest_on_ray(problem.b, problem.low, problem.high, problem.budget, math.inf, y)
        proposed = ratio_at(problem, y, ws.base)
    return proposed > 0.0


@njit(**inner)
def hold_start(problem, y, ws):
    """Hold the coordinates of a start that are at a bound and pushed against it; return a first multiplier."""
    score, variance = score_and_variance(problem, y, ws.base)
    square = 0.0
    for i in range(y.size):
        slope = plus_product(0.0, problem.root[i], ws.base)
        force = variance / score * problem.b[i] - slope
        at_low, at_high = y[i] <= problem.low[i], y[i] >= problem.high[i]
        ws.held[i] = (at_low and force <= 0.0) or (at_high and force >= 0.0) or (at_low and at_high)
        square += 0.0 if ws.held[i] else force * force
    return math.sqrt(square) / problem.budget


@njit(**inner)
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


@entry_point(SIGNATURE)
def best_boxed_steps(scores, slopes, roots, root, cov, low, high, budget, steps):
    """Write for every option the step within `budget` and box after which its ratio is the largest.

    Parameters
    ----------
    scores, roots : ndarray of shape (M,), (M, K)
        Score and root vector of every option, the latter's squared length its variance.
    slopes : ndarray of shape (F,)
        Mean of the free coordinates.
    root, cov : ndarray of shape (F, K), (F, F)
        Rows of the covariance's root, and the covariance, of the free coordinates.
    low, high : ndarray of shape (M, F)
        Least and greatest step of each coordinate, low <= 0 <= high.
    budget : float
        Greatest length of a step, positive.
    steps : ndarray of shape (M, F)
        Holds proposals inside box and budget, receives the steps.
    """
    ws = allocate(slopes.size, root.shape[1])
    for m in range(steps.shape[0]):
        problem = Problem(scores[m], slopes, roots[m], root, cov, low[m], high[m], budget)
        best_boxed_step(problem, steps[m], ws)
