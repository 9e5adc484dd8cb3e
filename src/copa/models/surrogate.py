"""A linear stand-in for any model near some rows: weighted Bayesian linear regression, for many models at once."""

from dataclasses import dataclass

import numpy as np

from copa._core.arrays import Array

# Prior precision of the weights relative to a typical row: enough to keep columns that were never varied at zero.
PRIOR = 1e-3


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Linear stand-ins of K models, fitted to the same rows.

    Attributes
    ----------
    weights : (K, D) parameters of each, the intercept first
    cov : (D, D) posterior covariance of the first one's parameters, from the misfit at the rows
    """

    weights: Array
    cov: Array

    def scores(self, rows: Array) -> Array:
        """What the stand-ins say of rows (M, D), as (K, M)."""
        found: Array = self.weights @ rows.T
        return found


def fit_locally(rows: Array, scores: Array, nearness: Array) -> LocalFit:
    """Fit the scores of K models by linear functions of the rows, near rows more than far ones.

    Parameters
    ----------
    rows : (M, D) with a leading 1
    scores : (K, M) of each model
    nearness : (M,) weights, not negative
    """
    share = nearness / max(nearness.sum(), 1e-300)
    weighted = rows * share[:, None]
    gram = weighted.T @ rows
    precision = gram + PRIOR * max(np.trace(gram) / len(gram), 1e-300) * _penalised(len(gram))
    inverse = np.linalg.pinv(precision, hermitian=True)
    weights: Array = (inverse @ (weighted.T @ scores.T)).T
    misfit = float(share @ (scores[0] - rows @ weights[0]) ** 2)
    effective = 1.0 / max(float(share @ share), 1e-300)  # number of rows that the weights amount to
    return LocalFit(weights, misfit / effective * inverse)


def _penalised(n_parameters: int) -> Array:
    """The prior is on the weights, hardly on the intercept."""
    diagonal = np.ones(n_parameters)
    diagonal[0] = 1e-6
    return np.diag(diagonal)
