"""Pipelines where a linear classifier and encoded rows are needed: taken apart, and encoded once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import listed
from copa.exceptions import InvalidInputError
from copa.models.base import best_of, thawed
from copa.models.linear import LinearModel, at_chosen_penalty, base_classifier
from copa.tables.frames import as_pandas, is_table
from copa.uncertainty.coordinates import Coordinates

if TYPE_CHECKING:
    import pandas as pd


def is_wrapped(estimator: Any) -> bool:
    """Whether a linear classifier is inside of something else: a pipeline, a calibration, a finished search."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.pipeline import Pipeline

    inner = best_of(estimator)
    return inner is not estimator or isinstance(thawed(inner), (Pipeline, CalibratedClassifierCV))


def encoded_data(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The classifier at the end of a pipeline, and the rows as it sees them.

    Parameters
    ----------
    estimator : object
        A pipeline, calibration or search around a linear classifier; fitted, or else its clone is fitted to the data.
        Any other estimator is returned as it is, with its rows.
    X : DataFrame or array_like of shape (n, ...)
        Raw rows.
    y : array_like of shape (n,)

    Returns
    -------
    estimator : object
        The linear classifier; under a calibration, its base.
    encoded : array_like of shape (n, d)
    """
    if not is_wrapped(estimator):
        return at_chosen_penalty(estimator), X
    model, rows = read_fitted(_fitted(estimator, X, y), X)
    return base_classifier(model.classifier), model.encode(rows)[:, 1:]


def read_fitted(estimator: Any, X: Any) -> "tuple[LinearModel, pd.DataFrame]":
    """A fitted pipeline as a linear model, and its raw rows as a table."""
    import pandas as pd

    if is_table(X):
        rows = as_pandas(X)
    else:
        rows = pd.DataFrame(np.asarray(X))
        rows.columns = [f"x{k}" for k in range(rows.shape[1])]
    return LinearModel.read(estimator, rows.columns), rows


def _fitted(estimator: Any, X: Any, y: Any) -> Any:
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return clone(estimator).fit(X, y)
    return estimator


def express_versions(versions: Any, X: Any) -> Any:
    """Parameters of pipelines, oldest first, in the encoded coordinates of the last one.

    Parameters
    ----------
    versions : array_like or sequence of object
        Versions of a model. What holds no pipeline is returned as it is.
    X : DataFrame, optional
        Raw rows that all of them can read: they tell how the columns of one encoder are made of those of another.

    Returns
    -------
    list of ndarray of shape (D,)
        As scikit-learn has them: theta'(1, encoded row) > 0 means the larger of the labels.
    """
    if not isinstance(versions, Sequence) or not any(map(is_wrapped, versions)):
        return versions
    if X is None:
        raise InvalidInputError(
            "versions that are pipelines have encoders of their own: give raw rows as X=..., such as the newest "
            "training data, to express their parameters in the encoded columns of the last version"
        )
    models = [_read_version(version, number, X) for number, version in enumerate(versions, 1)]
    last = models[-1][0]
    today = Coordinates(models[-1][1])
    expressed = []
    for number, (model, encoded) in enumerate(models, 1):
        if model.classes.tolist() != last.classes.tolist():
            raise InvalidInputError(
                f"version {number} chooses between {listed(model.classes.tolist())}, the last one between "
                f"{listed(last.classes.tolist())}; all versions must have the same classes"
            )
        theta = model.theta.copy()
        theta[0] += model.cutoff
        expressed.append(today.express(encoded[:, 1:], model.sign * theta)[0])
    return expressed


def _read_version(version: Any, number: int, X: Any) -> tuple[LinearModel, Array]:
    """A version as a linear model, and the rows as it encodes them (n, D)."""
    if not hasattr(version, "get_params"):
        raise InvalidInputError(
            f"version {number} must be a fitted pipeline or linear classifier beside others that are, got "
            f"{type(version).__name__}: it does not say of which encoded columns its parameters are"
        )
    try:
        model, rows = read_fitted(version, X)
        return model, model.encode(rows)
    except InvalidInputError as error:
        raise InvalidInputError(f"version {number} cannot be used: {error}") from error
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"version {number} cannot read the rows of X ({error}); make its pipeline more tolerant "
            "(handle_unknown='ignore'), or give rows that all versions can read"
        ) from error
