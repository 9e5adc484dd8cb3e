"""Whole pipelines refitted on halves and thirds of their training data, in the coordinates of today's encoder."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.progress import stage
from copa._core.reading import read_count
from copa._core.representation import short_repr
from copa._core.threads import one_thread_no_warnings
from copa.exceptions import InvalidInputError
from copa.models.linear import LinearModel, base_classifier
from copa.models.refits.declared_encoders import DeclaredEncoder, Scalings
from copa.models.refits.logistic import Links, LogisticModel, LogisticProblem, damped_newton, refit_logistic
from copa.models.refits.penalty import keep_penalty_per_row
from copa.models.refits.pipeline_refits import PipelineRefits
from copa.models.refits.subsets import Subsets

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Refits", "can_batch", "keep_penalty_per_row", "refit_parameters"]

PROBING = "seeing how the encoder varies"
MAX_COLUMNS = 120  # encoded columns up to which the batched Newton method is the faster one


@dataclass(frozen=True, eq=False)
class Refits:
    """Parameters of refits on parts of the training data.

    Attributes
    ----------
    halves : ndarray of shape (K, D)
        Refits on random halves, turned towards the favourable label and cut off, in today's encoded coordinates; those
        at 2i and 2i + 1 share no row. Their covariance is that of a refit on as many new rows as the model has seen.
    thirds : ndarray of shape (T, D)
        Refits on random thirds. They vary around today's parameters as the next model does, which sees new rows.
    exact : bool
        Whether all parameters give the scores of their refits; if not, an encoder was no affine map of today's, and
        some are those with the nearest scores over the training rows.
    n_rows : int
        Rows of the training data.
    keeps_bins : bool
        Whether bins were kept as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.models.refits.refits import Refits
    >>> refits = Refits(halves=np.eye(4), thirds=np.eye(4)[:2], exact=True, n_rows=100)
    >>> refits.halves.shape, refits.n_rows
    ((4, 4), 100)
    """

    __repr__ = short_repr

    halves: Array
    thirds: Array
    exact: bool
    n_rows: int
    keeps_bins: bool = False


def refit_parameters(
    model: LinearModel,
    X: "pd.DataFrame",
    y: Any,
    *,
    n_halves: int,
    n_thirds: int,
    seed: int,
    n_jobs: int | None = None,
    encoded: Array | None = None,
) -> Refits:
    """Refit a linear model, encoder included, on random halves and thirds of its training data.

    The penalty per row is that of the model (`keep_penalty_per_row`). Logistic regressions with an L2 penalty or none
    are fitted together, by a Newton method to full convergence, where the encoder is made of scalers, imputers and
    encoders of categories that are known (`declared_encoders`); all other pipelines are cloned and fitted one by one.

    Parameters
    ----------
    model : LinearModel
    X : DataFrame of shape (n, ...)
        Raw training rows.
    y : array_like of shape (n,)
        Their labels.
    n_halves, n_thirds : int
        Numbers of refits, K and T.
    seed : int
        The first refits do not depend on how many follow.
    n_jobs : int, optional
        Processes of joblib for refits one by one, None for all cores. The result does not depend on it.
    encoded : ndarray of shape (n, D), optional
        What `model.encode` says of the rows, where it is known already.

    Returns
    -------
    Refits

    Raises
    ------
    RetrainingError
        If a refit fails or has no solution, or the subsets keep missing one class.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import copa
    >>> from copa.models import LinearModel
    >>> data = copa.datasets.load_german()
    >>> X = data.features[["duration", "amount", "age"]]
    >>> pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, data.favourable)
    >>> model = LinearModel.read(pipeline, X.columns)
    >>> from copa.models.refits.refits import refit_parameters
    >>> refits = refit_parameters(model, X, data.favourable, n_halves=50, n_thirds=10, seed=0)
    >>> refits.halves.shape, refits.thirds.shape, refits.exact
    ((50, 4), (10, 4), True)
    """
    read_count(n_halves, "n_halves", least=0)
    read_count(n_thirds, "n_thirds", least=0)
    labels = model.read_labels(y, len(X))
    target = (labels == model.classes[1]).astype(np.float64)
    if not 0.0 < target.mean() < 1.0:
        raise InvalidInputError(f"y must hold both labels to retrain the model, got {labels.tolist()[0]!r} only")
    with stage("drawing halves and thirds of the rows"):
        subsets = Subsets.draw(target, n_halves, n_thirds, seed)
        pipeline = PipelineRefits.read(model, X, labels, encoded)
    logistic = _logistic(model)
    encoder = None
    if logistic is not None:
        with stage(PROBING):
            encoder = DeclaredEncoder.read(model, X, pipeline.coordinates.encoded)
    thetas, exact = np.zeros((len(subsets), model.theta.size)), True
    left = np.arange(len(subsets))
    if encoder is not None and logistic is not None:
        with one_thread_no_warnings():
            scalings = encoder.scalings(subsets)
            if scalings.known.size > 0:
                thetas[scalings.known], exact = _fit_together(pipeline, logistic, encoder, subsets, scalings, target)
        left = np.setdiff1d(left, scalings.known)
    thetas[left], also = pipeline.fit_each(subsets, left, seed=seed, n_jobs=n_jobs)
    exact = exact and also
    oriented = model.oriented(thetas)
    return Refits(oriented[:n_halves], oriented[n_halves:], exact, len(X), pipeline.keeps_bins)


def _fit_together(
    pipeline: PipelineRefits,
    logistic: LogisticModel,
    encoder: DeclaredEncoder,
    subsets: Subsets,
    scalings: Scalings,
    target: Array,
) -> tuple[Array, bool]:
    """Refit on the subsets of which it is known what the encoder makes of the columns.

    Where an encoder fitted to some rows gives offset + slope * column of every column of today's, the refit is a
    logistic regression in today's coordinates: the intercept, which has no penalty, takes the offset, and the penalty
    of a weight is divided by the square of the slope. An imputer that fills in another number adds a multiple of an
    indicator of the filled entries to the column. So nothing is encoded again. Returned are parameters (K, D), and
    whether they give the scores of the refits: with filled entries, they give the nearest ones.
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


def can_batch(model: LinearModel, X: "pd.DataFrame | None" = None, *, encoded: Array | None = None) -> bool:
    """Return whether refits of a model are fitted together, which costs about a millisecond each.

    Parameters
    ----------
    model : LinearModel
    X : DataFrame, optional
        Training rows. With them the encoder must be known too (`declared_encoders`); without, only the classifier
        decides.
    encoded : ndarray of shape (n, D), optional
        What `model.encode` says of the rows, where it is known already.

    Returns
    -------
    bool
    """
    if _logistic(model) is None or X is None:
        return _logistic(model) is not None
    return DeclaredEncoder.read(model, X, model.encode(X) if encoded is None else encoded) is not None


def _logistic(model: LinearModel) -> LogisticModel | None:
    """The problem that a batch of refits solves; None for a model that is refitted one by one."""
    logistic = LogisticModel.from_estimator(base_classifier(model.classifier))
    # A penalised or missing intercept would make the shift of a scaler matter.
    if logistic is None or logistic.intercept_ridge > 0.0 or not logistic.fit_intercept:
        return None
    return logistic if model.theta.size - 1 <= MAX_COLUMNS else None
