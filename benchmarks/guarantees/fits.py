"""Logistic regressions on scaled numbers and one-hot codes, fitted fast and exactly, in the units of the population.

A pipeline of StandardScaler, OneHotEncoder and LogisticRegression has an intercept that is not penalised, so where its
scaler puts the zero does not matter; and a penalty on the slope of a scaled number is one on the raw slope, times the
variance in that data set. Levels that a data set lacks have columns of zeros and get the weight 0 from the penalty. So
every pipeline is a logistic regression on one fixed design, with penalties of its own.
"""

import numpy as np

from benchmarks.guarantees.populations import Array, Codes, Population, Sample, logistic

STEPS = 100
SETTLED = 1e-10


def design(population: Population, numbers: Array, codes: Codes) -> Array:
    """Rows of ones, numbers in the population's units and one-hot codes, (n, D)."""
    blocks = [np.ones((len(numbers), 1)), numbers / population.units]
    blocks += [np.eye(size)[codes[:, c]] for c, size in enumerate(population.sizes)]
    return np.concatenate(blocks, axis=1)


def penalties(population: Population, rows: Array, C: float) -> Array:
    """What a pipeline trained on rows of the design adds to half the squares of its parameters, (D,)."""
    p = population.n_numeric
    ridge = np.full(rows.shape[1], 1.0 / C)
    ridge[0] = 0.0
    ridge[1 : 1 + p] *= rows[:, 1 : 1 + p].var(axis=0)
    return ridge


def fit(rows: Array, target: Array, ridge: Array, start: Array | None = None) -> Array:
    """Parameters (D,) of the penalised logistic regression, by Newton's method with halved steps."""
    theta = np.zeros(rows.shape[1]) if start is None else start
    jitter = np.where(ridge > 0.0, 0.0, 1e-12)

    def value(theta: Array) -> float:
        odds = rows @ theta
        return float(np.logaddexp(0.0, odds).sum() - target @ odds + 0.5 * ridge @ theta**2)

    last = value(theta)
    for _ in range(STEPS):
        p = logistic(rows @ theta)
        gradient = rows.T @ (p - target) + ridge * theta
        hessian = (rows.T * (p * (1.0 - p))) @ rows
        hessian[np.diag_indices_from(hessian)] += ridge + jitter
        step = np.linalg.solve(hessian, gradient)
        decrement, share = float(gradient @ step), 1.0
        while share > 1e-6 and (now := value(theta - share * step)) > last + 1e-9 * abs(last):
            share /= 2.0
        theta, last = theta - share * step, now
        if decrement < SETTLED:
            return theta
    raise RuntimeError("a logistic regression did not converge")


def fit_sample(population: Population, sample: Sample, C: float | None = None) -> Array:
    """Parameters (D,) of a pipeline trained on a sample."""
    rows = design(population, sample.numbers, sample.codes)
    return fit(rows, sample.favourable.astype(float), penalties(population, rows, population.C if C is None else C))
