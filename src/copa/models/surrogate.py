"""A linear surrogate of any model near some rows: weighted Bayesian linear regression, for many models at once."""

from dataclasses import dataclass

import numpy as np

from copa._core.arrays import Array

# Prior precision of the weights relative to a typical row: enough to keep columns that were never varied at zero.
PRIOR = 1e-3


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Linear surrogates of K models, fitted to the same rows.

    Attributes
    ----------
    weights : ndarray of shape (K, D)
        Parameters of each, the intercept first.
    cov : ndarray of shape (D, D)
        Posterior covariance of the first one's parameters, from the misfit at the rows.
    """

    weights: Array
    cov: Array

    def scores(self, rows: Array) -> Array:
        """What the surrogates say of rows (M, D), as (K, M)."""
        found: Array = self.weights @ rows.T
        return found


def fit_locally(rows: Array, scores: Array, nearness: Array) -> LocalFit:
    """Fit the scores of K models by linear functions of the rows, near rows more than far ones.

    Parameters
    ----------
    rows : ndarray of shape (M, D)
        With a leading 1.
    scores : ndarray of shape (K, M)
        Of each model.
    nearness : ndarray of shape (M,)
        Weights, not negative.

    Returns
    -------
    LocalFit
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
