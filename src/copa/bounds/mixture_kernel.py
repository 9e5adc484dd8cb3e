"""The mixture of options that is surest to hold (compiled).

For weights w >= 0, x_w = sum_j w_j x_j is an option like any other: if it holds, at least one of the x_j does, and its
worst-case probability has a closed form. The largest of them over all mixtures is the exact bound for "at least one
option holds", and with the signs of all options turned it is 1 - U* (docs/theory.md, "Mixtures").

For a fixed trade-off k >= 0 between spread and reach, the best mixture is a non-negative least-squares problem: the
point of the cone spanned by the vectors (score root; sqrt(k) reach root; mean) nearest to the last unit vector. The
best k for a given mixture is a closed form, so what remains is a fixed point in one number.
"""

import math

import numpy as np
from numba import njit

from copa.bounds.small_matrices_kernel import cholesky, options, solve_cholesky

MAX_SEARCH = 60
SEARCH_PRECISION = 1e-9
TINY = 1e-12  # of a score's size: below this, spread, reach and angle count as zero in the choice of k


@njit(**options)
def held_angle(mean, spread, reach):
    """Angle whose squared sine is the worst-case probability that a score is positive (J = 1 closed form)."""
    if not mean > reach:
        return 0.0
    length = math.hypot(mean, spread)
    return max(0.0, math.atan2(mean, spread) - math.asin(min(1.0, reach / length)))


@njit(**options)
def solve_passive(gram, rhs, passive, count, factor, system, trial):
    """Least-squares solution on the passive set; False if its Gram matrix is singular to rounding."""
    for a in range(count):
        for b in range(a + 1):
            system[a, b] = gram[passive[a], passive[b]]
        system[a, a] *= 1.0 + 1e-15
        trial[a] = rhs[passive[a]]
    if not cholesky(system[:count, :count], factor[:count, :count]):
        return False
    solve_cholesky(factor[:count, :count], trial[:count])
    return True


@njit(**options)
def nonnegative_least_squares(gram, rhs, weights):
    """Minimise w' G w - 2 rhs' w over w >= 0, from the given weights (Lawson and Hanson's active sets).

    A step that cannot be taken because of a singular Gram matrix drops the newest option again: the mixture
    found is then still a mixture, and its bound still a bound.
    """
    size = rhs.shape[0]
    passive = np.empty(size, np.int64)
    factor, system = np.empty((size, size)), np.empty((size, size))
    trial = np.empty(size)
    barred = np.zeros(size, np.bool_)
    count = 0
    for j in range(size):
        if weights[j] > 0.0:
            passive[count] = j
            count += 1
    fresh = count > 0
    for _ in range(4 * size + 8):
        if not fresh:
            best, steepest = -1, 1e-14
            for j in range(size):
                if weights[j] > 0.0 or barred[j]:
                    continue
                slope = rhs[j]
                for k in range(size):
                    slope -= gram[j, k] * weights[k]
                if slope > steepest * math.sqrt(gram[j, j]):
                    best, steepest = j, slope / math.sqrt(gram[j, j])
            if best < 0:
                return
            passive[count] = best
            count += 1
            barred[best] = True  # until the step is seen to succeed
        fresh = False
        while count > 0:
            if not solve_passive(gram, rhs, passive, count, factor, system, trial):
                weights[passive[count - 1]] = 0.0
                count -= 1
                continue
            step, leaving = 1.0, -1
            for a in range(count):
                if trial[a] <= 0.0:
                    old = weights[passive[a]]
                    ratio = old / (old - trial[a]) if old > 0.0 else 0.0
                    if ratio < step:
                        step, leaving = ratio, a
            for a in range(count):
                weights[passive[a]] += step * (trial[a] - weights[passive[a]])
            if leaving < 0:
                barred[:] = False
                break
            kept = 0
            for a in range(count):
                if a != leaving and weights[passive[a]] > 0.0:
                    passive[kept] = passive[a]
                    kept += 1
                else:
                    weights[passive[a]] = 0.0
            count = kept


@njit(**options)
def mixture_scores(roots, reach_roots, means, weights, work, reach_work):
    """Mean, spread and reach of a mixture's score, from the roots (not from squared quantities)."""
    mean, spread, reach = 0.0, 0.0, 0.0
    work[:] = 0.0
    reach_work[:] = 0.0
    for j in range(means.shape[0]):
        if weights[j] > 0.0:
            mean += weights[j] * means[j]
            for k in range(roots.shape[1]):
                work[k] += weights[j] * roots[j, k]
            for k in range(reach_roots.shape[1]):
                reach_work[k] += weights[j] * reach_roots[j, k]
    for k in range(roots.shape[1]):
        spread += work[k] ** 2
    for k in range(reach_roots.shape[1]):
        reach += reach_work[k] ** 2
    return mean, math.sqrt(spread), math.sqrt(reach)


@njit(**options)
def surest_mixture(roots, reach_roots, means, weights):
    """Find the surest mixture of one plan, whose options are scaled to comparable size; return its angle.

    The search runs over k (in logarithm): `drift` below is the change of log k that the current mixture asks for,
    positive below the best k and negative above, so it brackets the answer, and a secant step inside the bracket
    finds it fast. The best mixture seen is kept.
    """
    size = means.shape[0]
    spreads = roots @ roots.T
    reaches = reach_roots @ reach_roots.T
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
            weights[:] = trial
    if not best > 0.0:
        trial[:] = np.maximum(means, 0.0)

    below, above = -math.inf, math.inf
    drift_below, drift_above = 0.0, 0.0
    log_k = 0.0
    for search in range(MAX_SEARCH):
        mean, spread, reach = mixture_scores(roots, reach_roots, means, trial, work, reach_work)
        angle = held_angle(mean, spread, reach)
        if angle > best:
            best = angle
            weights[:] = trial
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
        k = math.exp(log_k)
        for a in range(size):
            for b in range(size):
                gram[a, b] = spreads[a, b] + k * reaches[a, b] + means[a] * means[b]
        nonnegative_least_squares(gram, means, trial)
    return best


SIGNATURE = "void(float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64[::1])"


@njit(SIGNATURE, **options)
def surest_mixtures(roots, reach_roots, means, mixtures, held):
    """Surest mixture of every plan of a batch.

    Parameters
    ----------
    roots : (N, J, K) rows whose inner products are the covariances of the options' scores
    reach_roots : (N, J, L) rows whose lengths are the options' reaches
    means : (N, J) mean scores
    mixtures : (N, J); receives the weights, in the units of the options given
    held : (N,); receives the probability with which the mixture holds in the worst case
    """
    n_plans, n_options, _ = roots.shape
    scaled_roots = np.empty(roots.shape[1:])
    scaled_reach = np.empty(reach_roots.shape[1:])
    scaled_means = np.empty(n_options)
    scale = np.empty(n_options)
    for p in range(n_plans):
        for j in range(n_options):
            square = means[p, j] ** 2
            for k in range(roots.shape[2]):
                square += roots[p, j, k] ** 2
            scale[j] = 1.0 / math.sqrt(square) if square > 0.0 else 0.0
            scaled_roots[j] = roots[p, j] * scale[j]
            scaled_reach[j] = reach_roots[p, j] * scale[j]
            scaled_means[j] = means[p, j] * scale[j]
        angle = surest_mixture(scaled_roots, scaled_reach, scaled_means, mixtures[p])
        held[p] = math.sin(angle) ** 2
        mixtures[p] *= scale
