"""The mixture of options that is surest to hold (compiled).

For weights w >= 0, x_w = sum_j w_j x_j is an option like any other: if it holds, at least one of the x_j does, and its
worst-case probability has a closed form. The largest of them over all mixtures is the exact bound for "at least one
option holds", and with the signs of all options turned it is 1 - U* (docs/theory.md, "Mixtures").

For a fixed trade-off k >= 0 between spread and reach, the best mixture is a non-negative least-squares problem: the
point of the cone spanned by the vectors (score root; sqrt(k) reach root; mean) nearest to the last unit vector. (The
first two may be rescaled together: only the point's length changes.) The best k for a given mixture is a closed form,
so what remains is a fixed point in one number.
"""

import math

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, entry_point, inner
from copa._core._kernels.small_matrices import cholesky, dot, solve_cholesky

MAX_SEARCH = 60
SEARCH_PRECISION = 1e-9
TINY = 1e-12  # of a score's size: below this, spread, reach and angle count as zero in the choice of k


@njit(**inner)
def held_angle(mean, spread, reach):
    """Angle whose squared sine is the worst-case probability that a score is positive (J = 1 closed form)."""
    if not mean > reach:
        return 0.0
    length = math.hypot(mean, spread)
    return max(0.0, math.atan2(mean, spread) - math.asin(min(1.0, reach / length)))


@njit(**inner)
def best_on(members, count, gram, rhs, system, factor, trial):
    """Unconstrained minimiser over the member weights; False if their Gram matrix is singular to rounding."""
    for a in range(count):
        for b in range(a + 1):
            system[a, b] = gram[members[a], members[b]]
        system[a, a] *= 1.0 + 1e-15
        trial[a] = rhs[members[a]]
    if not cholesky(system[:count, :count], factor[:count, :count]):
        return False
    solve_cholesky(factor[:count, :count], trial[:count])
    return True


@njit(**inner)
def entering(gram, rhs, weights, passed):
    """Option whose weight, now zero, should grow; -1 if there is none. Those in `passed` are passed over."""
    best, steepest = -1, 1e-14
    for j in range(rhs.shape[0]):
        if weights[j] > 0.0 or passed[j]:
            continue
        slope = rhs[j]
        for k in range(rhs.shape[0]):
            slope -= gram[j, k] * weights[k]
        slope /= math.sqrt(gram[j, j])
        if slope > steepest:
            best, steepest = j, slope
    return best


@njit(**inner)
def move_towards(trial, members, count, weights):
    """Move the member weights towards the trial ones as far as they stay non-negative.

    Members that reach zero leave; return the number of those that stay.
    """
    step = 1.0
    for a in range(count):
        old = weights[members[a]]
        if trial[a] <= 0.0:
            step = min(step, old / (old - trial[a]) if old > 0.0 else 0.0)
    kept = 0
    for a in range(count):
        j = members[a]
        old = weights[j]
        new = trial[a] if step == 1.0 else old + step * (trial[a] - old)
        leaves = trial[a] <= 0.0 and (old <= 0.0 or old / (old - trial[a]) <= step)
        weights[j] = 0.0 if leaves else new
        if weights[j] > 0.0:
            members[kept] = j
            kept += 1
        else:
            weights[j] = 0.0
    return kept


@njit(**allocating)
def nonnegative_least_squares(gram, rhs, weights):
    """Minimise w' G w - 2 rhs' w over w >= 0, from the given weights (active sets, as Lawson and Hanson).

    An option whose entry makes the Gram matrix singular to rounding is passed over: the mixture found is still a
    mixture, and its bound still a bound.
    """
    size = rhs.shape[0]
    members = np.empty(size, np.int64)
    passed = np.zeros(size, np.bool_)
    system, factor, trial = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    count = 0
    for j in range(size):
        if weights[j] > 0.0:
            members[count] = j
            count += 1
    newest = -1
    for _ in range(6 * size + 10):
        if count == 0 or not best_on(members, count, gram, rhs, system, factor, trial):
            if count > 0:
                count -= 1
                weights[members[count]] = 0.0
                newest = -1
                continue
        else:
            before = count
            count = move_towards(trial, members, count, weights)
            if newest >= 0 and weights[newest] > 0.0:
                passed[:] = False
            newest = -1
            if count < before:
                continue
        newest = entering(gram, rhs, weights, passed)
        if newest < 0:
            return
        passed[newest] = True  # until its entry is seen to succeed
        members[count] = newest
        count += 1


@njit(**inner)
def mixture_scores(roots, reach_roots, means, weights, work, reach_work):
    """Mean, spread and reach of a mixture's score, from the roots (not from squared quantities)."""
    mean = 0.0
    work[:] = 0.0
    reach_work[:] = 0.0
    for j in range(means.shape[0]):
        if weights[j] > 0.0:
            mean += weights[j] * means[j]
            for k in range(roots.shape[1]):
                work[k] += weights[j] * roots[j, k]
            for k in range(reach_roots.shape[1]):
                reach_work[k] += weights[j] * reach_roots[j, k]
    return mean, math.sqrt(dot(work, work)), math.sqrt(dot(reach_work, reach_work))


@njit(**inner)
def trade_off_gram(spreads, reaches, means, k, gram):
    """Write the Gram matrix of the cone's vectors for the trade-off k, spread and reach rescaled to size one."""
    size = means.shape[0]
    largest = 0.0
    for a in range(size):
        largest = max(largest, spreads[a, a] + k * reaches[a, a])
    unit = 1.0 / largest if largest > 0.0 else 0.0
    for a in range(size):
        for b in range(size):
            gram[a, b] = unit * (spreads[a, b] + k * reaches[a, b]) + means[a] * means[b]


@njit(**inner)
def inner_products(rows, out):
    """Write the inner products of all pairs of rows, without BLAS (see `newton.multiply_lists`)."""
    for i in range(rows.shape[0]):
        for j in range(i + 1):
            out[i, j] = dot(rows[i], rows[j])
            out[j, i] = out[i, j]


@njit(**allocating)
def surest_mixture(roots, reach_roots, means, stop, weights):
    """Find the surest mixture of one plan, whose options are scaled to comparable size; return its angle.

    The search runs over k (in logarithm): `drift` below is the change of log k that the current mixture asks for,
    positive below the best k and negative above, so it brackets the answer, and a secant step inside the bracket
    finds it fast. The best mixture seen is kept, also where `stop` ends the search.
    """
    size = means.shape[0]
    spreads, reaches = np.empty((size, size)), np.empty((size, size))
    inner_products(roots, spreads)
    inner_products(reach_roots, reaches)
    work, reach_work = np.empty(roots.shape[1]), np.empty(reach_roots.shape[1])
    gram = np.empty((size, size))
    trial = np.zeros(size)
    best = 0.0
    weights[:] = 0.0
    for j in range(size):
        angle = held_angle(means[j], math.sqrt(spreads[j, j]), math.sqrt(reaches[j, j]))
        if angle > best:
            best = angle
            trial[:] = 0.0
            trial[j] = 1.0
            weights[:] = 0.0
            weights[j] = 1.0
    if not best > 0.0:
        for j in range(size):
            trial[j] = max(means[j], 0.0)

    below, above = -math.inf, math.inf
    drift_below, drift_above = 0.0, 0.0
    log_k = 0.0
    for search in range(MAX_SEARCH):
        if stop[0] != 0:
            break
        mean, spread, reach = mixture_scores(roots, reach_roots, means, trial, work, reach_work)
        angle = held_angle(mean, spread, reach)
        if angle > best:
            best = angle
            for j in range(size):
                weights[j] = trial[j]
        wanted = math.log(max(spread, TINY) / (max(reach, TINY) * max(math.sin(angle), TINY)))
        if search == 0:
            log_k = wanted
        else:
            drift = wanted - log_k
            if abs(drift) < SEARCH_PRECISION:
                break
            if drift > 0.0:
                below, drift_below = log_k, drift
            else:
                above, drift_above = log_k, drift
            if math.isinf(below) or math.isinf(above):
                log_k = wanted
            else:
                log_k = below + (above - below) * drift_below / (drift_below - drift_above)
                inset = 0.02 * (above - below)
                log_k = min(max(log_k, below + inset), above - inset)
                if above - below < SEARCH_PRECISION:
                    break
        trade_off_gram(spreads, reaches, means, math.exp(log_k), gram)
        nonnegative_least_squares(gram, means, trial)
    return best


SIGNATURE = "void(float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], int64[::1], float64[:, ::1], float64[::1])"


@entry_point(SIGNATURE)
def surest_mixtures(roots, reach_roots, means, stop, mixtures, held):
    """Surest mixture of every plan of a batch.

    Parameters
    ----------
    roots : (N, J, K) rows whose inner products are the covariances of the options' scores
    reach_roots : (N, J, L) rows whose lengths are the options' reaches
    means : (N, J) mean scores
    stop : (1,) not zero once the best mixtures are not wanted any more; plans that are left are then not looked at
    mixtures : (N, J); receives the weights, in the units of the options given
    held : (N,); receives the probability with which the mixture holds in the worst case
    """
    n_plans, n_options, _ = roots.shape
    scaled_roots = np.empty(roots.shape[1:])
    scaled_reach = np.empty(reach_roots.shape[1:])
    scaled_means = np.empty(n_options)
    scale = np.empty(n_options)
    for p in range(n_plans):
        if stop[0] != 0:
            break
        for j in range(n_options):
            square = means[p, j] ** 2
            for k in range(roots.shape[2]):
                square += roots[p, j, k] ** 2
            scale[j] = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
            for k in range(roots.shape[2]):
                scaled_roots[j, k] = roots[p, j, k] * scale[j]
            for k in range(reach_roots.shape[2]):
                scaled_reach[j, k] = reach_roots[p, j, k] * scale[j]
            scaled_means[j] = means[p, j] * scale[j]
        angle = surest_mixture(scaled_roots, scaled_reach, scaled_means, stop, mixtures[p])
        held[p] = math.sin(angle) ** 2
        for j in range(n_options):
            mixtures[p, j] *= scale[j]
