"""One logistic regression, by a damped Newton method that cannot fail where a solution exists."""

from dataclasses import dataclass

import numpy as np

from copa.arrays import Array
from copa.exceptions import RetrainingError

TOLERANCE = 1e-8  # Newton decrement before the last step, which then squares it
MAX_STEPS = 200
# H_kk (H^{-1})_kk is the variance inflation of parameter k by its collinearity with the others, whatever the
# units of the features. Beyond this the Hessian is singular up to rounding.
MAX_INFLATION = 1e12


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Design (n, p), targets (n,) in {0, 1} and penalties (p,) of the objective in `LogisticModel`."""

    design: Array
    target: Array
    ridge: Array


def damped_newton(problem: LogisticProblem, weights: Array, start: Array) -> Array:
    """Return the minimiser for row weights (n,) from a start (p,), shape (p,).

    A full step s lowers the objective if it moves no row's log-odds by more than 1: along the step the third
    derivative is then at most the second, and the drop is at least (3 - e) times the squared decrement
    g'H^{-1}g. A longer step is halved until the objective drops, at most down to that length.
    """
    theta = start
    for _ in range(MAX_STEPS):
        gradient = _gradient(problem, weights, theta)
        try:
            step = inverse_information(information(problem, weights, theta)) @ gradient
        except np.linalg.LinAlgError:
            break
        decrement = float(np.sqrt(gradient @ step))
        longest = float(np.abs(problem.design[weights > 0.0] @ step).max())
        # On separable data the decrement falls to zero on the way to infinity; the log-odds keep moving.
        if decrement <= TOLERANCE and longest <= 1e-3:
            return theta - step
        length, shortest = 1.0, min(1.0, 1.0 / longest)
        value = _objective(problem, weights, theta)
        while length > shortest and _objective(problem, weights, theta - length * step) > value:
            length = max(0.5 * length, shortest)
        theta = theta - length * step
    raise RetrainingError(
        "a logistic fit has no unique finite solution: the classes of its rows can be separated perfectly, "
        "or its columns are collinear (a one-hot block beside an intercept, a category that a subset lacks); "
        "give the LogisticRegression a penalty (a smaller C), drop a column, or use a larger fraction"
    )


def information(problem: LogisticProblem, weights: Array, theta: Array) -> Array:
    """Return the Hessian of the objective at theta, shape (p, p): the observed information."""
    from scipy.special import expit

    probability = expit(problem.design @ theta)
    curvature = weights * probability * (1.0 - probability)
    hessian: Array = (curvature * problem.design.T) @ problem.design + np.diag(problem.ridge)
    return hessian


def inverse_information(hessian: Array) -> Array:
    """Return the inverse (p, p), or raise LinAlgError if the Hessian is singular up to rounding."""
    scale = np.sqrt(hessian.diagonal())
    if not (scale > 0.0).all():
        raise np.linalg.LinAlgError("a parameter has no information")
    units = np.outer(scale, scale)
    root = np.linalg.inv(np.linalg.cholesky(hessian / units))
    inverse: Array = root.T @ root
    if inverse.diagonal().max() > MAX_INFLATION:
        raise np.linalg.LinAlgError("columns are collinear")
    inverse /= units
    return inverse


def _gradient(problem: LogisticProblem, weights: Array, theta: Array) -> Array:
    from scipy.special import expit

    residual = weights * (expit(problem.design @ theta) - problem.target)
    gradient: Array = residual @ problem.design + problem.ridge * theta
    return gradient


def _objective(problem: LogisticProblem, weights: Array, theta: Array) -> float:
    odds = problem.design @ theta
    loss = np.logaddexp(0.0, odds) - problem.target * odds
    return float(weights @ loss + 0.5 * problem.ridge @ theta**2)
