"""Largest score per standard deviation within a budget: the secular equation, in eigenvectors (compiled).

The best step has the length of the budget, or needs less. For a multiplier tau of the budget it is y(tau), whose length
falls in tau; Newton's method finds the tau at which the length is the budget.

In these coordinates an option moved by y has the score a + b'y and the variance |sigma y + r|^2 + rest^2: sums of
squares, so nothing is lost to cancellation and a singular covariance is no special case of the arithmetic.
"""

import math

import numpy as np
from numba import njit

from copa._core._kernels.compiling import entry_point, inner

MATCH = 1e-13  # a length this close to the budget, relatively, is the budget
MAX_EVALUATIONS = 200
PATIENCE = 12  # evaluations after which every second guess halves the bracket, whatever Newton's method says


@njit(**inner)
def variance_per_score(a, b, c):
    """Positive root kappa of a kappa^2 + b kappa - c = 0 for a, c >= 0, and the discriminant's root."""
    spread = math.sqrt(b * b + 4.0 * a * c)
    if b > 0.0:
        return 2.0 * c / (b + spread), spread
    return ((spread - b) / (2.0 * a) if a > 0.0 else math.inf), spread


@njit(**inner)
def balance(tau, products, linear, variance):
    """Variance per score kappa of the point y = kappa u - w at a multiplier tau, and its derivative in tau.

    u and w solve M u = b and M w = S y_0 for M = S + tau; `products` are u'u, u'w, u'M^{-1}u, u'M^{-1}w, w'M^{-1}w,
    `linear` and `variance` the score and the variance at -w.
    """
    uu, uw, u_u, u_w, w_w = products
    kappa, spread = variance_per_score(tau * uu, linear - 2.0 * tau * uw, variance)
    slope = 2.0 * tau * w_w - kappa * (4.0 * tau * u_w - uw) - kappa * kappa * (uu - 2.0 * tau * u_u)
    return kappa, (slope / spread if spread > 0.0 else 0.0)


@njit(**inner)
def next_guess(low, high, tau, length, slope, budget, count):
    """Guess the tau at which the length is the budget, from the length and its derivative at `tau`.

    Newton's method on 1 / length, which is nearly linear in tau, kept inside the bracket (low, high): the length is
    above the budget at `low` and below it at `high`.
    """
    guess = math.nan
    if slope < 0.0:
        guess = tau + (1.0 / budget - 1.0 / length) * length * length / -slope
    if low < guess < high and not (count > PATIENCE and count % 2 == 0):
        return guess
    if high == math.inf:
        return 16.0 * tau
    if low == 0.0:
        return tau / 64.0
    return math.sqrt(low) * math.sqrt(high)


@njit(**inner)
def stationary_point(sigma, b, r, rest, a, budget, y):
    """Write the best point where the budget does not bind, if there is one; say whether there is.

    Where the variance can be brought to zero at a positive score, that is the nearest such point; if it takes a move
    in a direction without variance to make the score positive, the move goes on to the budget.
    """
    score, squares, silent = a, 0.0, 0.0
    for i in range(sigma.size):
        y[i] = 0.0
        if sigma[i] > 0.0:
            y[i] = -r[i] / sigma[i]
            score += b[i] * y[i]
            squares += y[i] * y[i]
        else:
            silent += b[i] * b[i]
    if rest > 0.0:
        if silent > 0.0 or score <= 0.0:
            return False
        kappa = rest * rest / score
        squares = 0.0
        for i in range(sigma.size):
            if sigma[i] > 0.0:
                y[i] += kappa * b[i] / (sigma[i] * sigma[i])
                squares += y[i] * y[i]
        return squares <= budget * budget
    if squares > budget * budget:
        return False
    if score > 0.0:
        return True
    reach = math.sqrt((budget * budget - squares) * silent)
    if score + reach <= 0.0:
        return False
    for i in range(sigma.size):
        if sigma[i] == 0.0:
            y[i] = reach / silent * b[i]
    return True


@njit(**inner)
def point_at(tau, sigma, b, r, rest, a, inverse, y):
    """Write y(tau); return its length and the derivative of the length."""
    uu, uw, u_u, u_w, w_w = 0.0, 0.0, 0.0, 0.0, 0.0
    linear, variance = a, rest * rest
    for i in range(sigma.size):
        inverse[i] = 1.0 / (sigma[i] * sigma[i] + tau)
        u, w = b[i] * inverse[i], sigma[i] * r[i] * inverse[i]
        left = tau * r[i] * inverse[i]
        uu += u * u
        uw += u * w
        u_u += u * u * inverse[i]
        u_w += u * w * inverse[i]
        w_w += w * w * inverse[i]
        variance += left * left
        linear -= b[i] * w
    kappa, kappa_slope = balance(tau, (uu, uw, u_u, u_w, w_w), linear, variance)
    square, along, weighted = 0.0, 0.0, 0.0
    for i in range(sigma.size):
        u = b[i] * inverse[i]
        y[i] = kappa * u - sigma[i] * r[i] * inverse[i]
        square += y[i] * y[i]
        along += y[i] * u
        weighted += y[i] * y[i] * inverse[i]
    length = math.sqrt(square)
    return length, ((kappa_slope * along - weighted) / length if length > 0.0 else 0.0)


@njit(**inner)
def first_tau(sigma, b, r, rest, a, budget, norm):
    """Multiplier that would balance the forces at the point of highest score."""
    score, variance = a + budget * norm, rest * rest
    step = budget / norm if norm > 0.0 else 0.0
    for i in range(sigma.size):
        variance += (sigma[i] * step * b[i] + r[i]) ** 2
    square = 0.0
    for i in range(sigma.size):
        square += (variance / score * b[i] - sigma[i] * (sigma[i] * step * b[i] + r[i])) ** 2
    tau = math.sqrt(square) / budget
    return tau if 0.0 < tau < math.inf else 1.0


@njit(**inner)
def best_step(sigma, b, r, rest, a, budget, inverse, y):
    """Write the best step of one option."""
    square = 0.0
    for i in range(b.size):
        square += b[i] * b[i]
    norm = math.sqrt(square)
    if a + budget * norm <= 0.0:  # no positive score within the budget: as high as possible
        y[:] = 0.0
        if norm > 0.0:
            scale = budget / norm
            for k in range(b.size):
                y[k] = scale * b[k]
        return
    if stationary_point(sigma, b, r, rest, a, budget, y):
        return
    low, high, tau = 0.0, math.inf, first_tau(sigma, b, r, rest, a, budget, norm)
    length = 0.0
    for count in range(MAX_EVALUATIONS):
        length, slope = point_at(tau, sigma, b, r, rest, a, inverse, y)
        if abs(length - budget) <= MATCH * budget:
            break
        if length > budget:
            low = tau
        else:
            high = tau
        guess = next_guess(low, high, tau, length, slope, budget, count)
        if not low < guess < high or not 0.0 < guess < math.inf:
            break
        tau = guess
    if length > budget:
        scale = budget / length
        for k in range(y.size):
            y[k] *= scale


SIGNATURE = "void(float64[::1], float64[::1], float64[:, ::1], float64[::1], float64[::1], float64, float64[:, ::1])"


@entry_point(SIGNATURE)
def best_steps(sigma, slopes, roots, rests, scores, budget, steps):
    """Write for every option the step of length up to `budget` after which its ratio is the largest.

    Parameters
    ----------
    sigma : ndarray of shape (F,)
        Standard deviations along the eigenvectors.
    slopes : ndarray of shape (F,)
        The mean's coordinates b.
    roots, rests, scores : ndarray of shape (M, F), (M,), (M,)
        r, rest and a of every option.
    budget : float
        Greatest length of a step, positive.
    steps : ndarray of shape (M, F)
        Receives y.
    """
    inverse = np.empty(sigma.size)
    for m in range(roots.shape[0]):
        best_step(sigma, slopes, roots[m], rests[m], scores[m], budget, inverse, steps[m])
