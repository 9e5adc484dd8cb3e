"""Parameter vectors of fitted linear classifiers, intercept first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from copa._core.arrays import Array, as_floats, as_vector, require_finite
from copa.exceptions import InvalidInputError


def parameter_vector(estimator: Any) -> Array:
    """Return theta = (intercept, coef...) of a fitted binary linear classifier.

    Parameters
    ----------
    estimator : object
        A fitted scikit-learn classifier with `coef_` and `intercept_`.

    Returns
    -------
    ndarray of shape (D,)
        theta'(1, x) > 0 where the estimator says `classes_[1]`.
    """
    name = type(estimator).__name__
    classes = getattr(estimator, "classes_", None)
    coef, intercept = getattr(estimator, "coef_", None), getattr(estimator, "intercept_", None)
    if classes is None or coef is None or intercept is None:
        raise InvalidInputError(
            f"{name} is not a fitted linear classifier: it has no classes_, coef_ or intercept_. Allowed are "
            "linear classifiers such as LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, "
            "Perceptron; of a pipeline, give the last step and the transformed features"
        )
    coef = np.atleast_2d(as_floats(coef, f"{name}.coef_"))
    intercept = np.atleast_1d(as_floats(intercept, f"{name}.intercept_"))
    if len(classes) != 2 or len(coef) != 1 or len(intercept) != 1:
        raise InvalidInputError(
            f"{name} must have 2 classes and one row of coefficients, got {len(classes)} classes and "
            f"coef_ of shape {coef.shape}"
        )
    return as_vector(np.concatenate([intercept, coef[0]]), f"parameters of {name}")


def parameter_history(versions: Any, minimum: int) -> Array:
    """Return past parameter vectors, oldest first, as one array.

    Parameters
    ----------
    versions : array_like of shape (V, D) or sequence of fitted linear classifiers
    minimum : int
        The least V that the caller can work with.

    Returns
    -------
    ndarray of shape (V, D)
    """
    if isinstance(versions, Sequence) and any(hasattr(version, "coef_") for version in versions):
        vectors = [parameter_vector(version) for version in versions]
        if len({vector.size for vector in vectors}) != 1:
            sizes = [vector.size for vector in vectors]
            raise InvalidInputError(f"all versions must have the same number of parameters, got {sizes}")
        versions = vectors
    history = as_floats(versions, "the history of parameters")
    if history.ndim != 2 or len(history) < minimum or history.shape[1] == 0:
        raise InvalidInputError(
            f"the history of parameters must have shape (V, D) with V >= {minimum}, got {history.shape}"
        )
    require_finite(history, "the history of parameters")
    return history
