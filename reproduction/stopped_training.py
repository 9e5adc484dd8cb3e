"""Logistic regressions by a few gradient steps from random weights, as the authors' published program trains them.

Full-batch steps on the sum of the losses, with a small weight decay. A fit ends after `steps`, or after five steps in a
row that lower the loss by less than 1e-5.
"""

import numpy as np
import numpy.typing as npt

from reproduction.encoding import Array

RATE, DECAY = 0.005, 1e-3
PATIENCE, IMPROVEMENT = 5, 1e-5
REFIT_STEPS, DEPLOYED_STEPS = 200, 2000
ASKED_STEPS = 1500  # what the program asks of its refits; its training does not take the number, and does 200
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
    inside, start = random_starts(rows, n_models=n_models, fraction=fraction, rng=rng)
    blocks = range(0, n_models, BLOCK)
    return np.vstack([train_from(rows, good, inside[k : k + BLOCK], start[k : k + BLOCK], steps)[0] for k in blocks])


def random_starts(rows: Array, *, n_models: int, fraction: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw subsets, (n_models, n) with 1 for a row inside, and weights to start from, (n_models, D)."""
    n, dimension = rows.shape
    size = round(fraction * n)
    inside = np.zeros((n_models, n))
    for k in range(n_models):
        inside[k, rng.permutation(n)[:size]] = 1.0
    return inside, rng.uniform(-1.0, 1.0, (n_models, dimension)) / np.sqrt(dimension - 1)


def train_from(rows: Array, good: Array, inside: Array, start: Array, steps: int) -> tuple[Array, npt.NDArray[np.intp]]:
    """Train models from `start` (m, D), each on the rows that `inside` (m, n) marks by 1.

    Returns
    -------
    (m, D) parameters, and (m,) the steps that each took
    """
    from scipy.special import expit

    theta = start.copy()
    before, idle = np.zeros(len(theta)), np.zeros(len(theta), dtype=int)
    going, taken = np.arange(len(theta)), np.zeros(len(theta), dtype=np.intp)
    for _ in range(steps):
        odds = theta[going] @ rows.T
        loss = (inside[going] * (np.logaddexp(0.0, odds) - good * odds)).sum(axis=1)
        theta[going] -= RATE * ((inside[going] * (expit(odds) - good)) @ rows + DECAY * theta[going])
        taken[going] += 1
        idle[going] = np.where(before[going] - loss <= IMPROVEMENT, idle[going] + 1, 0)
        before[going] = loss
        going = going[idle[going] < PATIENCE]
        if going.size == 0:
            break
    return theta, taken
