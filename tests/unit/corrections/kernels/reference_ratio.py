"""The largest score per standard deviation, stated in NumPy with dense matrices and no cleverness.

A point moved by y has the score a + b'y and the variance q(y) = s + 2 g'y + y'D y.
"""

import itertools

import numpy as np


def point_at(tau, a, b, s, g, D):
    """y = kappa u - w of a multiplier tau > 0, from the two equations (D + tau) y = kappa b - g, kappa l(y) = q(y)."""
    system = D + tau * np.eye(len(b))
    u, w = np.linalg.solve(system, b), np.linalg.solve(system, g)
    # kappa (a + b'(kappa u - w)) = q(kappa u - w), by powers of kappa.
    quadratic = tau * u @ u  # b'u - u'D u, without cancellation
    linear = a - b @ w - 2.0 * g @ u + 2.0 * u @ D @ w
    constant = -(s - 2.0 * g @ w + w @ D @ w)
    kappa = max(np.roots([quadratic, linear, constant]).real) if b.any() else -constant / linear
    return kappa * u - w


def best_step(a, b, s, g, D, budget):
    """Best step within the budget for a regular D: bisection in log tau."""
    low, high = -80.0, 80.0
    for _ in range(65):
        middle = 0.5 * (low + high)
        longer = np.linalg.norm(point_at(np.exp(middle), a, b, s, g, D)) > budget
        low, high = (middle, high) if longer else (low, middle)
    return point_at(np.exp(high), a, b, s, g, D)


def ratio(y, a, b, s, g, D):
    return (a + b @ y) / np.sqrt(s + 2.0 * g @ y + y @ D @ y)


def best_boxed_step(a, b, s, g, D, budget, low, high):
    """Best step within budget and box: every choice of coordinates held at a bound, the others free."""
    n = len(b)
    best, chosen = ratio(np.zeros(n), a, b, s, g, D), np.zeros(n)
    for sides in map(np.array, itertools.product((0, -1, 1), repeat=n)):
        y = np.where(sides < 0, low, np.where(sides > 0, high, 0.0))
        free = np.flatnonzero(sides == 0)
        rest = budget**2 - y @ y
        if not np.isfinite(y).all() or rest <= 0.0 or a + b @ y + np.sqrt(rest) * np.linalg.norm(b[free]) <= 0.0:
            continue
        if free.size:
            inner = (a + b @ y, b[free], s + 2.0 * g @ y + y @ D @ y, (g + D @ y)[free], D[np.ix_(free, free)])
            y[free] = best_step(*inner, np.sqrt(rest))
        inside = (y >= low - 1e-12).all() and (y <= high + 1e-12).all()
        if inside and ratio(y, a, b, s, g, D) > best:
            best, chosen = ratio(y, a, b, s, g, D), y
    return chosen
