"""Logistic regressions by a few gradient steps from random weights, as the authors' published program trains them.

Full-batch steps on the sum of the losses, with a small weight decay. A fit ends after `steps`, or after five steps in a
row that lower the loss by less than 1e-5.
"""

import numpy as np

from copa.arrays import Array

RATE, DECAY = 0.005, 1e-3
PATIENCE, IMPROVEMENT = 5, 1e-5
REFIT_STEPS, DEPLOYED_STEPS = 200, 2000
BLOCK = 50  # models at a time, so that their numbers stay in the processor's cache


def train_stopped(
    rows: Array, good: Array, *, n_models: int, fraction: float, steps: int, rng: np.random.Generator
) -> Array:
    """Train models on random subsets.

    Parameters
    ----------
    rows : (n, D) vectors, the intercept first
    good : (n,) outcomes, 1 for the favourable one
    fraction : share of the rows in each subset

    Returns
    -------
    (n_models, D) parameters
    """
    n, dimension = rows.shape
    size = round(fraction * n)
    inside = np.zeros((n_models, n))
    for k in range(n_models):
        inside[k, rng.permutation(n)[:size]] = 1.0
    start = rng.uniform(-1.0, 1.0, (n_models, dimension)) / np.sqrt(dimension - 1)
    blocks = range(0, n_models, BLOCK)
    return np.vstack([_train(rows, good, inside[k : k + BLOCK], start[k : k + BLOCK], steps) for k in blocks])


def _train(rows: Array, good: Array, inside: Array, start: Array, steps: int) -> Array:
    """Train models from `start` (m, D), each on the rows that `inside` (m, n) marks by 1."""
    from scipy.special import expit

    theta = start.copy()
    before, idle = np.zeros(len(theta)), np.zeros(len(theta), dtype=int)
    going = np.arange(len(theta))
    for _ in range(steps):
        odds = theta[going] @ rows.T
        loss = (inside[going] * (np.logaddexp(0.0, odds) - good * odds)).sum(axis=1)
        theta[going] -= RATE * ((inside[going] * (expit(odds) - good)) @ rows + DECAY * theta[going])
        idle[going] = np.where(before[going] - loss <= IMPROVEMENT, idle[going] + 1, 0)
        before[going] = loss
        going = going[idle[going] < PATIENCE]
        if going.size == 0:
            break
    return theta
