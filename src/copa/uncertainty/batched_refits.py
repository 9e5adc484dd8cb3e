"""Logistic regressions refitted together with their encoders, where the encoders scale columns in a known way.

Where an encoder fitted to some rows gives offset + slope * column of every column of today's encoding, the refit is a
logistic regression in today's coordinates: the intercept, which has no penalty, takes the offset, and the penalty of a
weight is divided by the square of the slope. So nothing needs to be encoded again if the slopes are known.
"""

import numpy as np

from copa._core.arrays import Array
from copa.uncertainty.logistic import LogisticModel, LogisticProblem, damped_newton, refit_logistic
from copa.uncertainty.pipeline_refits import PipelineRefits
from copa.uncertainty.retraining import Indices
from copa.uncertainty.subsets import Subsets


def fit_together(
    pipeline: PipelineRefits,
    logistic: LogisticModel,
    subsets: Subsets,
    some: Indices,
    divisors: Array,
    target: Array,
) -> Array:
    """Parameters (K, D) of refits on some of the subsets.

    Parameters
    ----------
    pipeline : PipelineRefits
    logistic : LogisticModel
        What its classifier minimises; without a penalty of the intercept.
    subsets : Subsets
    some : ndarray of shape (K,)
        Which of them.
    divisors : ndarray of shape (K, p)
        Reciprocals of the slopes of the columns; 0 for a column that is constant in the subset.
    target : ndarray of shape (n,)
        1.0 for rows of the positive class, else 0.0.
    """
    classes = np.unique(pipeline.labels)

    def weights(k: int) -> Array:
        row, rows = np.zeros(target.size), subsets.rows(k)
        row[rows] = logistic.row_weights(target[rows], classes)
        return row

    n_columns = divisors.shape[1]
    share = np.array([subsets.rows(k).size / subsets.n_rows for k in some])
    ridges = np.zeros((some.size, 1 + n_columns))
    ridges[:, 1:] = logistic.coef_ridge * share[:, None] * divisors**2
    ridges[:, 1:][divisors == 0.0] = 1.0  # any penalty: beside the intercept a constant column has weight 0
    problem = LogisticProblem(pipeline.coordinates.encoded, target, logistic.ridge(n_columns))
    start = damped_newton(problem, logistic.row_weights(target, classes), np.zeros(1 + n_columns))
    thetas = refit_logistic(problem, map(weights, some), start, ridges, n_refits=some.size)
    thetas[:, 1:][divisors == 0.0] = 0.0  # up to rounding it is
    return thetas
