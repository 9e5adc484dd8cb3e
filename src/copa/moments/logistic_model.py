"""The optimisation problem that a scikit-learn LogisticRegression stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.exceptions import InvalidInputError

SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")  # those that do not penalise the intercept


@dataclass(frozen=True)
class LogisticModel:
    """L2-penalised logistic regression: what is minimised, apart from the data.

    With rows (1, x_i), targets y_i in {0, 1} and row weights w_i the fit minimises

        sum_i w_i (log(1 + exp(theta'x_i)) - y_i theta'x_i)  +  1/2 sum_k ridge_k theta_k^2 .

    Attributes
    ----------
    coef_ridge, intercept_ridge : float
        The entries of `ridge`; 0 means unpenalised.
    fit_intercept : bool
    class_weight : None, "balanced" or mapping from label to weight
        As in scikit-learn; "balanced" counts the rows that a fit is given.
    """

    coef_ridge: float
    intercept_ridge: float
    fit_intercept: bool
    class_weight: str | Mapping[Any, float] | None

    @classmethod
    def from_estimator(cls, estimator: Any) -> "LogisticModel | None":
        """Read the problem off an estimator; None if it solves another one (another class, an L1 part).

        All solvers of LogisticRegression share the minimiser, with one exception: liblinear treats the
        intercept as the coefficient of a constant feature of value `intercept_scaling` and penalises it with
        the others.
        """
        from sklearn.linear_model import LogisticRegression

        if type(estimator) is not LogisticRegression:  # LogisticRegressionCV derives from it
            return None
        # Settings that scikit-learn refuses also give None, so that it can say so when it is asked to fit.
        ridge, weight = _ridge(estimator), estimator.class_weight
        if ridge is None or not (weight is None or weight == "balanced" or isinstance(weight, Mapping)):
            return None
        if estimator.solver == "liblinear" and ridge > 0.0 and estimator.intercept_scaling > 0:
            return cls(ridge, ridge / estimator.intercept_scaling**2, bool(estimator.fit_intercept), weight)
        if estimator.solver in SOLVERS and not estimator.dual:
            return cls(ridge, 0.0, bool(estimator.fit_intercept), weight)
        return None

    def design(self, features: Array) -> Array:
        """Return the matrix (n, p) that the fit works with: the features, after ones for the intercept."""
        if not self.fit_intercept:
            return features
        return np.column_stack([np.ones(len(features)), features])

    def ridge(self, n_features: int) -> Array:
        """Return the penalty of every column of the design, shape (p,)."""
        ridge = np.full(n_features + self.fit_intercept, self.coef_ridge)
        if self.fit_intercept:
            ridge[0] = self.intercept_ridge
        return ridge

    def row_weights(self, target: Array, classes: npt.NDArray[Any]) -> Array:
        """Return the weight of every row in a fit on rows with these targets, shape (n,).

        Parameters
        ----------
        target : ndarray of shape (n,)
            1.0 for rows of `classes[1]`, 0.0 for rows of `classes[0]`; both occur.
        classes : ndarray of shape (2,)
        """
        if self.class_weight is None:
            return np.ones(target.size)
        if self.class_weight == "balanced":
            share = target.mean()
            weights = np.array([0.5 / (1.0 - share), 0.5 / share])
        else:
            weights = self._given_weights(classes)
        rows: Array = weights[target.astype(np.intp)]
        return rows

    def _given_weights(self, classes: npt.NDArray[Any]) -> Array:
        from sklearn.utils.class_weight import compute_class_weight

        try:
            weights: Array = compute_class_weight(self.class_weight, classes=classes, y=classes)
        except ValueError as error:
            raise InvalidInputError(f"class_weight {self.class_weight!r} does not fit y: {error}") from error
        return weights


def _ridge(estimator: Any) -> float | None:
    """Return the L2 penalty on the coefficients, or None if the penalty is not purely L2.

    Since scikit-learn 1.8 the penalty is said by `l1_ratio` and `C` (infinite for none), and `penalty` holds
    the word "deprecated" unless the user sets it; before, `penalty` said it alone.
    """
    C, penalty = estimator.C, getattr(estimator, "penalty", "deprecated")
    multinomial = getattr(estimator, "multi_class", "") == "multinomial"  # old: another penalty
    if multinomial or not (isinstance(C, Real) and float(C) > 0.0):
        return None
    if penalty is None or np.isinf(float(C)):
        return 0.0
    pure_l2 = penalty == "l2" or (penalty == "deprecated" and not estimator.l1_ratio)
    return 1.0 / float(C) if pure_l2 else None
