"""The one unknown of the Mahalanobis correction: the multiplier tau of the budget (compiled).

With the score l(y) = a + b'y and the variance q(y) of an option moved by y, the best point within a budget satisfies
(D + tau) y = kappa b - g and kappa l(y) = q(y), where g is half the gradient of q at y = 0 and D its constant Hessian
(docs/corrections.md). So y = kappa u - w with u = (D + tau)^{-1} b, w = (D + tau)^{-1} g, the second equation is
quadratic in kappa, and |y| = budget is one equation in tau.
"""

import math

from numba import njit

from copa.kernels.compiling import options

MATCH = 1e-13  # a length this close to the budget, relatively, is the budget
MAX_EVALUATIONS = 200
PATIENCE = 12  # evaluations after which every second guess halves the bracket, whatever Newton's method says


@njit(**options)
def variance_per_score(a, b, c):
    """Positive root kappa of a kappa^2 + b kappa - c = 0 for a, c >= 0, and the discriminant's root."""
    spread = math.sqrt(b * b + 4.0 * a * c)
    if b > 0.0:
        return 2.0 * c / (b + spread), spread
    return ((spread - b) / (2.0 * a) if a > 0.0 else math.inf), spread


@njit(**options)
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
