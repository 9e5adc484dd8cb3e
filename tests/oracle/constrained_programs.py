"""The logistic fit that must accept given points, by other solvers: conic through cvxpy, and SLSQP."""

import warnings

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from copa.models.refits.logistic import LogisticProblem
from copa.promises.constrained_logistic import ConstrainedLogistic

TOLERANCES = (1e-10, 1e-9, 1e-8)  # the tightest that the conic solver reaches


def instance(seed: int, n: int, dim: int, n_promises: int, penalty: float = 1.0, *, units: bool = False):
    """Rows of a noisy linear rule, and points that a rule nearby accepts; with columns of different units or not."""
    rng = np.random.default_rng([17, seed])
    design = np.column_stack([np.ones(n), rng.standard_normal((n, dim - 1))])
    promised = np.column_stack([np.ones(n_promises), rng.standard_normal((n_promises, dim - 1))])
    theta = 2.0 * rng.standard_normal(dim) / np.sqrt(dim)
    older = theta + 0.5 * np.abs(theta) * rng.standard_normal(dim)
    promised[promised @ older < 0.0, 1:] *= -1.0
    target = (design @ theta + rng.logistic(size=n) > 0.0).astype(float)
    ridge = np.full(dim, penalty)
    ridge[0] = 0.0
    if units:
        scales = 10.0 ** rng.uniform(-2.0, 3.0, dim - 1)
        design[:, 1:] *= scales
        promised[:, 1:] *= scales
        ridge[1:] *= scales.min() ** 2
    fit = LogisticProblem(design, target, ridge)
    return ConstrainedLogistic(fit, rng.uniform(0.5, 2.0, n), promised, np.full(n_promises, 1e-3))


def random_instance(seed: int) -> ConstrainedLogistic:
    """From 20 to 400 rows, 2 to 40 parameters, 1 to 80 promises; every third in very different units."""
    rng = np.random.default_rng([18, seed])
    sizes = [int(rng.integers(*limits)) for limits in ((20, 400), (2, 40), (1, 80))]
    return instance(seed, *sizes, penalty=10.0 ** rng.uniform(-1.5, 1.5), units=seed % 3 == 0)


def by_clarabel(problem: ConstrainedLogistic, tolerances: tuple[float, ...] = TOLERANCES) -> float:
    """The least objective, by a conic interior point method."""
    theta = cp.Variable(problem.fit.design.shape[1])
    side = 2.0 * problem.fit.target - 1.0
    loss = problem.weights @ cp.logistic(-cp.multiply(side, problem.fit.design @ theta))
    penalty = 0.5 * cp.sum(cp.multiply(problem.fit.ridge, theta**2))
    program = cp.Problem(cp.Minimize(loss + penalty), [problem.promised @ theta >= problem.margin])
    for tolerance in tolerances:
        settings = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it did not reach the tolerance
            program.solve(solver=cp.CLARABEL, **settings)
        if program.status == cp.OPTIMAL:
            return float(program.value)
    raise AssertionError(f"the conic solver ended with {program.status}")


def by_slsqp(problem: ConstrainedLogistic) -> float:
    """The least objective, by sequential quadratic programming."""
    fit = problem.fit

    def value_and_slope(theta):
        slope = (problem.weights * (expit(fit.design @ theta) - fit.target)) @ fit.design + fit.ridge * theta
        return problem.objective(theta), slope

    kept = {
        "type": "ineq",
        "fun": lambda theta: problem.promised @ theta - problem.margin,
        "jac": lambda _: problem.promised,
    }
    settings = {"maxiter": 1000, "ftol": 1e-9}
    start = np.zeros(fit.design.shape[1])
    found = minimize(value_and_slope, start, jac=True, method="SLSQP", constraints=[kept], options=settings)
    return float(found.fun)
