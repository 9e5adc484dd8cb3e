"""Logistic regressions refitted together with their encoders, where it is known what these learn.

Where an encoder fitted to some rows gives offset + slope * column of every column of today's encoding, the refit is a
logistic regression in today's coordinates: the intercept, which has no penalty, takes the offset, and the penalty of a
weight is divided by the square of the slope. An imputer that fills in another number adds a multiple of an indicator of
the filled entries to the column. So nothing needs to be encoded again.
"""

import numpy as np

from copa._core.arrays import Array
from copa.uncertainty.declared_encoders import DeclaredEncoder, Scalings
from copa.uncertainty.logistic import Links, LogisticModel, LogisticProblem, damped_newton, refit_logistic
from copa.uncertainty.pipeline_refits import PipelineRefits
from copa.uncertainty.subsets import Subsets


def fit_together(
    pipeline: PipelineRefits,
    logistic: LogisticModel,
    encoder: DeclaredEncoder,
    subsets: Subsets,
    scalings: Scalings,
    target: Array,
) -> tuple[Array, bool]:
    """Refit on the subsets of which it is known what the encoder makes of the columns.

    Parameters
    ----------
    pipeline : PipelineRefits
    logistic : LogisticModel
        What its classifier minimises; without a penalty of the intercept.
    encoder : DeclaredEncoder
    subsets : Subsets
    scalings : Scalings
        Of K subsets.
    target : ndarray of shape (n,)
        1.0 for rows of the positive class, else 0.0.

    Returns
    -------
    ndarray of shape (K, D)
        Parameters in today's coordinates.
    bool
        Whether they give the scores of the refits; with filled entries, they give the nearest ones.
    """
    classes = np.unique(pipeline.labels)
    known, divisors, shifts = scalings

    def weights(k: int) -> Array:
        row, rows = np.zeros(target.size), subsets.rows(k)
        row[rows] = logistic.row_weights(target[rows], classes)
        return row

    n_columns = divisors.shape[1]
    share = np.array([subsets.rows(k).size / subsets.n_rows for k in known])
    ridges = np.zeros((known.size, 1 + n_columns))
    ridges[:, 1:] = logistic.coef_ridge * share[:, None] * divisors**2
    ridges[:, 1:][divisors == 0.0] = 1.0  # any penalty: beside the intercept a constant column has weight 0
    place = 1 + np.array(encoder.filled, dtype=np.int64)
    links = Links(encoder.indicators, place, shifts) if place.size else None
    design = pipeline.coordinates.encoded
    today = LogisticProblem(design, target, logistic.ridge(n_columns))
    start = damped_newton(today, logistic.row_weights(target, classes), np.zeros(1 + n_columns))
    problem = LogisticProblem(design, target, ridges, links)
    thetas = refit_logistic(problem, map(weights, known), start, n_refits=known.size)
    thetas[:, 1:][divisors == 0.0] = 0.0  # up to rounding it is
    if links is None:
        return thetas, True
    return thetas + (shifts * thetas[:, place]) @ pipeline.coordinates.project(links.columns).T, False
