"""Older versions of a model: their scores of the same raw rows, and versions fitted to older data.

Versions may differ in their encoders, and have no parameters in common that could be compared. What they have in common
are the scores that they give to the same raw rows.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, require_finite
from copa._core.words import counted, listed, shown
from copa.data.tables.frames import as_pandas
from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.base import Model, best_of, labels_of_rows, unfitted
from copa.models.black_box import BlackBox
from copa.models.linear import LinearModel, is_calibrated, is_linear

if TYPE_CHECKING:
    import pandas as pd

LOG_ODDS = "log-odds"


def version_scores(versions: Sequence[Any], rows: "pd.DataFrame", like: Model) -> Array:
    """Scores that several versions of a model give to the same raw rows, each with its own encoder.

    Parameters
    ----------
    versions : sequence of object
        Fitted classifiers or pipelines, oldest first: V of them.
    rows : DataFrame
        M raw rows.
    like : Model
        The model in force: its favourable label and its threshold are those of all versions.

    Returns
    -------
    ndarray of shape (V, M)
        Decision values beyond the cut-off of linear models, log-odds beyond the threshold of others; accepted from 0
        on.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.models.linear import LinearModel
    >>> from copa.models.refits.history import version_scores
    >>> X = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0]})
    >>> old, new = LogisticRegression().fit(X, [0, 1, 1, 1]), LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> in_force = LinearModel.read(new, X.columns)
    >>> (version_scores([old, new], X, in_force) >= 0.0).sum(axis=1).tolist()
    [4, 2]
    """
    require_list(versions, "history")
    scores = np.empty((len(versions), len(rows)))
    for number, version in enumerate(versions, 1):
        model = read_version(version, number, rows.columns, like)
        try:
            of_version = scores_of(model, rows)
        except (ValueError, TypeError) as error:
            raise InvalidInputError(
                f"version {number} of the model refuses reference rows: {error}; make its pipeline more tolerant "
                "(handle_unknown='ignore'), or leave it out of the history"
            ) from error
        require_finite(of_version, f"the scores of version {number} of the model")
        scores[number - 1] = of_version
    return scores


def require_list(given: Any, name: str) -> None:
    """Raise unless what was given for several versions is a list of them."""
    if not isinstance(given, (list, tuple)):
        entries = "fitted models" if name == "history" else "pairs (X, y)"
        raise InvalidInputError(f"{name} must be a list of {entries}, oldest first, got {type(given).__name__}")


def read_version(version: Any, number: int, columns: Any, like: Model) -> Model:
    """Read a version of a model as the model in force is read, or say what is wrong with it.

    Parameters
    ----------
    version : object
        Fitted classifier or pipeline.
    number : int
        Of the version, from 1, the oldest.
    columns : sequence of str
        Of the rows that it will be asked about.
    like : Model
        The model in force.

    Returns
    -------
    LinearModel or BlackBox
    """
    linear = isinstance(like, LinearModel) and is_linear(version)
    read: Any = LinearModel.read if linear else BlackBox.read
    names = columns if hasattr(best_of(version), "feature_names_in_") else like.columns
    try:
        model: Model = read(version, names, threshold=like.threshold)
    except InvalidInputError as error:
        raise InvalidInputError(f"version {number} of the model cannot be used: {error}") from error
    position = np.flatnonzero(model.classes == like.favourable)
    if set(model.classes.tolist()) != set(like.classes.tolist()):
        raise InvalidInputError(
            f"version {number} of the model chooses between {listed(model.classes.tolist())}, the one in force between "
            f"{listed(like.classes.tolist())}; all versions must have the same classes"
        )
    if position[0] != model.position:  # now that it is known to be one of the classes
        model = read(version, names, threshold=like.threshold, favourable=like.favourable)
    if isinstance(model, BlackBox):
        model = replace(model, clip=like.clip if isinstance(like, BlackBox) else model.clip)
    if _unit(model) != _unit(like):
        raise InvalidInputError(
            f"version {number} of the model has {_unit(model)} as scores, the one in force {_unit(like)}; moves "
            "between these mean nothing. Leave it out of the history"
        )
    return model


def scores_of(model: Model, rows: "pd.DataFrame") -> Array:
    """Scores of raw rows by a model of any kind, (M,): accepted from 0 on."""
    if isinstance(model, LinearModel):
        return np.asarray(model.encode(rows) @ model.theta)
    if isinstance(model, BlackBox):
        return model.scores(rows)
    raise InvalidInputError(f"a model with scores is needed, got {shown(type(model).__name__)}")


def _unit(model: Model) -> str:
    """Say what the scores of a model are."""
    if not isinstance(model, LinearModel):
        return LOG_ODDS
    if hasattr(model.classifier, "predict_proba") and not is_calibrated(model.classifier):
        return LOG_ODDS
    return f"decision values of {type(model.classifier).__name__}"


def refit_versions(model: Any, history_data: Sequence[Any]) -> list[Any]:
    """Fit a model again to older training data.

    Parameters
    ----------
    model : Model or object
        The model in force; it is cloned, its encoder included, and not changed.
    history_data : sequence of tuple of DataFrame and array_like
        Training data (X, y) of each older version, oldest first.

    Returns
    -------
    list of object
        Fitted estimators, oldest first.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.models.refits.history import refit_versions
    >>> X = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0]})
    >>> old = (X - 1.0, [0, 0, 1, 1])
    >>> in_force = LogisticRegression().fit(X, [0, 0, 0, 1])
    >>> [version.predict(X).tolist() for version in refit_versions(in_force, [old])]
    [[0, 1, 1, 1]]
    """
    require_list(history_data, "history_data")
    estimator = model.estimator if isinstance(model, Model) else best_of(model)
    named = model.named if isinstance(model, Model) else hasattr(estimator, "feature_names_in_")
    columns = getattr(estimator, "feature_names_in_", None)
    fitted = []
    for number, given in enumerate(history_data, 1):
        X, y = read_dated(given, number, None if columns is None else [str(name) for name in columns])
        try:
            fitted.append(unfitted(estimator).fit(X if named else X.to_numpy(), np.asarray(y)))
        except Exception as error:
            raise RetrainingError(
                f"{type(estimator).__name__} cannot be fitted to the data of version {number} ({type(error).__name__}: "
                f"{error})"
            ) from error
    return fitted


def read_dated(given: Any, number: int | str, columns: Sequence[str] | None) -> tuple["pd.DataFrame", npt.NDArray[Any]]:
    """Training data of one version, or what is wrong with them.

    Parameters
    ----------
    given : tuple of DataFrame and array_like
    number : int or str
        Of the version, from 1, the oldest; or its name.
    columns : sequence of str, optional
        That the model uses; None for all.
    """
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InvalidInputError(f"the data of version {number} must be a pair (X, y), got {type(given).__name__}")
    X, y = given
    X = as_pandas(X, f"the data of version {number}")
    lacking = [name for name in columns or () if name not in X.columns]
    if lacking:
        raise InvalidInputError(f"the data of version {number} lack the column {shown(lacking[0])}")
    try:
        labels = labels_of_rows(y, len(X))
    except InvalidInputError as error:
        raise InvalidInputError(f"the data of version {number}: {error}") from error
    if len(labels) == 0 or (labels == labels[0]).all():
        raise InvalidInputError(f"the data of version {number} have {counted(len(labels), 'row')} of one class only")
    return (X if columns is None else X[list(columns)]), labels
