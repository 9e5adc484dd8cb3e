"""Laplace approximation of the distribution of a logistic regression's parameters."""

from typing import Any

import numpy as np

from copa.arrays import Array
from copa.exceptions import InvalidInputError
from copa.models.parameters import parameter_vector
from copa.moments.logistic_model import LogisticModel
from copa.moments.logistic_newton import LogisticProblem, information, inverse_information
from copa.moments.training_data import TrainingData


def laplace_moments(estimator: Any, X: Any, y: Any) -> tuple[Array, Array]:
    """Return the fitted theta (D,) and the inverse observed information (D, D) of a LogisticRegression."""
    data = TrainingData.read(X, y)
    model = LogisticModel.from_estimator(estimator)
    if model is None:
        raise InvalidInputError(
            f"estimator must be a LogisticRegression with an L2 penalty or none, got {estimator!r}: the "
            "Laplace approximation needs the curvature of its objective"
        )
    theta = parameter_vector(estimator)
    if theta.size != data.features.shape[1] + 1 or not np.array_equal(estimator.classes_, data.classes):
        raise InvalidInputError(
            f"estimator must have been fitted to X and y: it has {theta.size - 1} coefficients and classes "
            f"{estimator.classes_.tolist()}, the data {data.features.shape[1]} columns and classes "
            f"{data.classes.tolist()}"
        )
    problem = LogisticProblem(model.design(data.features), data.target, model.ridge(data.features.shape[1]))
    fitted = slice(0 if model.fit_intercept else 1, None)
    cov = np.zeros((theta.size, theta.size))
    try:
        cov[fitted, fitted] = inverse_information(
            information(problem, model.row_weights(data.target, data.classes), theta[fitted])
        )
    except np.linalg.LinAlgError as error:
        raise InvalidInputError(
            "the observed information is singular (columns are collinear): the data leave a direction of theta open; "
            "give the LogisticRegression a penalty (a smaller C), or drop a column (a one-hot block beside "
            "an intercept has one too many)"
        ) from error
    return theta, cov
