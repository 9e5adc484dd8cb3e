"""Logistic regression that must accept given points: a primal-dual interior point method, and the proof of its answer.

The problem, with points z_i, labels y_i in {-1, 1}, weights w_i, penalties r_k and promised points p_j, is

    minimise  f(theta) = sum_i w_i log(1 + exp(-y_i theta'z_i)) + 1/2 sum_k r_k theta_k^2
    subject to  P theta >= margin .

Its multipliers lambda >= 0 satisfy grad f(theta) = P'lambda and lambda_j (p_j'theta - margin_j) = 0. The method takes
Newton steps on these equations with slacks s = P theta - margin and lambda_j s_j = mu, for mu going to zero; each step
costs one Cholesky factor of H + P' diag(lambda / s) P, a D x D matrix.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa.exceptions import RetrainingError
from copa.models.refits.logistic import LogisticProblem, damped_newton

MAX_STEPS = 100
MAX_HALVINGS = 30
TOLERANCE = 1e-10  # of the two residuals, beside the size of what they are about
LEAST_GAP = 1e-12  # of the duality gap, beside the objective
ZERO = 1e-9  # multipliers below this share of the largest one are rounding
NEAR_BOUNDARY = 0.995  # share of the way to the boundary that a step may go
LEAST_RIDGE = 1e-13  # on the diagonal of the scaled matrix, so that collinear columns without a penalty have a factor


@dataclass(frozen=True, eq=False)
class ConstrainedLogistic:
    """The problem: `P theta >= margin` for a logistic fit.

    Parameters
    ----------
    fit : LogisticProblem
        Design (n, D), targets in {0, 1} and penalties (D,) of the fit.
    weights : ndarray of shape (n,)
        Of its rows.
    promised : ndarray of shape (m, D)
        Points p_j, in the direction that must be accepted.
    margin : ndarray of shape (m,)
        Least score of each.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.constrained_logistic import ConstrainedLogistic, solve
    >>> from copa.models.refits.logistic import LogisticProblem
    >>> rng = np.random.default_rng(0)
    >>> design = np.column_stack([np.ones(200), rng.normal(size=(200, 2))])
    >>> target = (design @ [0.0, 1.0, -1.0] + rng.logistic(size=200) > 0.0).astype(float)
    >>> fit = LogisticProblem(design, target, np.array([0.0, 1.0, 1.0]))
    >>> problem = ConstrainedLogistic(fit, np.ones(200), np.array([[1.0, -0.5, 0.0]]), np.array([0.001]))
    >>> solution = solve(problem, np.zeros(3))
    >>> bool(solution.is_optimal(1e-8)), round(float(solution.multipliers[0]), 2)
    (True, 8.99)
    """

    fit: LogisticProblem
    weights: Array
    promised: Array
    margin: Array

    def objective(self, theta: Array) -> float:
        """Return f(theta)."""
        odds = self.fit.design @ theta
        loss = np.logaddexp(0.0, odds) - self.fit.target * odds
        return float(self.weights @ loss + 0.5 * self.fit.ridge @ theta**2)

    def select(self, chosen: npt.NDArray[np.bool_]) -> "ConstrainedLogistic":
        """Return the problem with some of the promises, by flags (m,)."""
        return replace(self, promised=self.promised[chosen], margin=self.margin[chosen])


@dataclass(frozen=True, eq=False)
class Solution:
    """Parameters and multipliers, with the numbers that prove how good they are.

    For every theta* that keeps the promises, f(theta) - f(theta*) is at most
    `duality_gap` + `dual_residual` * ||theta - theta*||_1, by convexity and weak duality.

    Parameters
    ----------
    problem : ConstrainedLogistic
        What was solved.
    theta : ndarray of shape (D,)
        Parameters.
    multipliers : ndarray of shape (m,)
        Price of each promise: the rate at which its margin raises the objective.
    n_steps : int
        Newton steps with constraints; 0 where none binds.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.promises import keep
    >>> X = pd.DataFrame({"income": [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]})
    >>> y = np.array([False, False, True, False, True, True])
    >>> solution = keep(LogisticRegression(), X, y, pd.DataFrame({"income": [15.0]})).solution
    >>> solution.is_optimal(1e-8), int((solution.multipliers > 0.0).sum())
    (True, 1)
    """

    __repr__ = short_repr

    problem: ConstrainedLogistic
    theta: Array
    multipliers: Array
    n_steps: int = 0

    @cached_property
    def objective(self) -> float:
        """f(theta)."""
        return self.problem.objective(self.theta)

    @cached_property
    def slack(self) -> Array:
        """Score of each promised point above its margin, (m,)."""
        slack: Array = self.problem.promised @ self.theta - self.problem.margin
        return slack

    @property
    def primal_residual(self) -> float:
        """Largest shortfall of a promise from its margin."""
        return float(np.max(-self.slack, initial=0.0))

    @cached_property
    def dual_residual(self) -> float:
        """Largest entry of grad f(theta) - P'lambda."""
        gradient, _ = _derivatives(self.problem, self.theta, second=False)
        return float(np.abs(gradient - self.multipliers @ self.problem.promised).max())

    @property
    def duality_gap(self) -> float:
        """lambda'(P theta - margin), and what negative multipliers would add, of which there are none."""
        return float(np.abs(self.multipliers * self.slack).sum())

    @property
    def refit_weights(self) -> Array:
        """Weights (m,) with which the plain fit to the data and the promised points, as accepted ones, has this answer.

        A row of weight v at score t pulls with v / (1 + exp(t)); the multiplier is that pull.
        """
        weights: Array = self.multipliers * (1.0 + np.exp(self.problem.promised @ self.theta))
        return weights

    def is_optimal(self, tolerance: float = 1e-6) -> bool:
        """Return whether residuals and gap are small beside the objective, the scores and the gradient of the data.

        Parameters
        ----------
        tolerance : float
            Largest relative residual and gap.
        """
        fit, scale = self.problem.fit, 1.0 + abs(self.objective)
        steep = 1.0 + float((self.problem.weights @ np.abs(fit.design)).max(initial=0.0))
        apart = 1.0 + float(np.abs(self.problem.margin).max(initial=0.0))
        small = self.primal_residual <= tolerance * apart and self.duality_gap <= tolerance * scale
        return small and self.dual_residual <= tolerance * steep and bool((self.multipliers >= 0.0).all())


class _Iterate(NamedTuple):
    theta: Array
    slack: Array  # s
    multipliers: Array


class _Equations(NamedTuple):
    """Residuals of the optimality conditions at an iterate."""

    dual: Array  # grad f - P'lambda
    primal: Array  # P theta - margin - s
    mu: float  # mean of lambda_j s_j
    hessian: Array


def solve(problem: ConstrainedLogistic, start: Array, warm: Array | None = None) -> Solution:
    """Return the minimiser of the logistic loss among all that keep the promises.

    Parameters
    ----------
    problem : ConstrainedLogistic
        At least one theta must keep all promises with room to spare: a free intercept makes sure of that, see
        `exact_refit.contradictions` else.
    start : ndarray of shape (D,)
        Near the minimiser without promises.
    warm : ndarray of shape (D,), optional
        That minimiser, where it is known.

    Returns
    -------
    Solution

    Raises
    ------
    RetrainingError
        If the fit has no unique finite solution, or the steps do not settle.
    """
    free = damped_newton(problem.fit, problem.weights, start) if warm is None else warm
    slack = problem.promised @ free - problem.margin
    if (slack >= 0.0).all():
        return Solution(problem, free, np.zeros(len(slack)))
    point, n_steps = _central_path(problem, _first(problem, free, slack))
    multipliers = point.multipliers
    cleaned = np.where(multipliers > ZERO * multipliers.max(), multipliers, 0.0)
    cleaned[problem.promised @ point.theta - problem.margin > multipliers + 1e-6] = 0.0
    return Solution(problem, point.theta, cleaned, n_steps)


def _first(problem: ConstrainedLogistic, free: Array, slack: Array) -> _Iterate:
    """Start at the free minimiser, with slacks and multipliers of the size that the broken promises ask for.

    The multiplier of one broken promise alone would be its shortfall divided by p'H^{-1}p.
    """
    _, hessian = _derivatives(problem, free)
    broken = slack < 0.0
    shortfall = float(-slack[broken].mean())
    solved = _Factor(hessian).solve(problem.promised[broken].T)
    spread = float(np.einsum("jd,dj->j", problem.promised[broken], solved).mean())
    size = max(shortfall / max(spread, 1e-300), 1e-8) / np.sqrt(broken.sum())
    slacks = np.maximum(slack, shortfall)
    return _Iterate(free, slacks, size * shortfall / slacks)


def _central_path(problem: ConstrainedLogistic, point: _Iterate) -> tuple[_Iterate, int]:
    """Take Mehrotra's predictor-corrector steps until residuals and gap vanish."""
    scale = 1.0 + abs(problem.objective(point.theta))
    apart = 1.0 + float(np.abs(problem.margin).max())
    found = _equations(problem, point)
    for n_steps in range(MAX_STEPS):
        gap = found.mu * len(point.slack)
        curvature = found.hessian.diagonal()
        decrement = float(found.dual @ (found.dual / np.maximum(curvature, 1e-300)))
        settled = decrement <= TOLERANCE**2 * scale and np.abs(found.primal).max() <= TOLERANCE * apart
        if settled and gap <= LEAST_GAP * scale:
            return point, n_steps
        moved = _step(problem, point, found, least=0.1 * LEAST_GAP * scale / len(point.slack))
        if moved is None:
            break
        point, found = moved
    solution = Solution(problem, point.theta, point.multipliers)
    if solution.is_optimal(1e-7):  # as near as rounding lets it
        return point, n_steps
    raise RetrainingError(
        f"the fit that keeps {len(point.slack):,} promises did not settle: duality gap {solution.duality_gap:.3g}, "
        f"residuals {solution.primal_residual:.3g} and {solution.dual_residual:.3g}; scale the columns of the model "
        "(StandardScaler), or give it a penalty (a smaller C)"
    )


def _step(
    problem: ConstrainedLogistic, point: _Iterate, found: _Equations, least: float
) -> tuple[_Iterate, _Equations] | None:
    """Take one step, halved until the residuals are smaller; None where rounding leaves none.

    It aims at no smaller mu than `least`: the matrix would only be worse conditioned.
    """
    s, multipliers = point.slack, point.multipliers
    bent = problem.promised * np.sqrt(multipliers / s)[:, None]
    factor = _Factor(found.hessian + bent.T @ bent)

    def direction(product: Array) -> _Iterate:
        """Newton direction towards s_j lambda_j + ... = product."""
        pull = (product - multipliers * found.primal) / s
        theta = factor.solve(pull @ problem.promised - found.dual)
        slack = problem.promised @ theta + found.primal
        return _Iterate(theta, slack, (product - multipliers * slack) / s)

    aim = direction(-s * multipliers)
    length = _longest(point, aim)
    reached = float(((s + length * aim.slack) @ (multipliers + length * aim.multipliers)) / len(s))
    centre = max((max(reached, 0.0) / found.mu) ** 3 * found.mu, least)
    before = _distance(found, found.hessian)
    # Mehrotra's step; where it goes nowhere, plain Newton steps that stay nearer to the middle.
    bend = aim.slack * aim.multipliers
    for product in (centre - bend, np.full(len(s), 0.5 * found.mu), np.full(len(s), 0.9 * found.mu)):
        move = direction(product - s * multipliers)
        length = min(1.0, NEAR_BOUNDARY * _longest(point, move))
        for _ in range(MAX_HALVINGS):
            after = _Iterate(*(own + length * change for own, change in zip(point, move, strict=True)))
            left = _equations(problem, after)
            if _distance(left, found.hessian) <= (1.0 - 0.01 * length) * before:
                return after, left
            length *= 0.5
    return None


def _longest(point: _Iterate, move: _Iterate) -> float:
    """Return the length of a step at which the first slack or multiplier is zero, at most 1 / NEAR_BOUNDARY."""
    shrinking = [np.max(-change / own) for own, change in zip(point[1:], move[1:], strict=True)]
    return 1.0 / max(NEAR_BOUNDARY, *shrinking)


def _distance(found: _Equations, hessian: Array) -> float:
    """Return the size of the residuals, in units of the objective."""
    dual = float(found.dual @ (found.dual / np.maximum(hessian.diagonal(), 1e-300)))
    return float(np.sqrt(dual)) + float(np.linalg.norm(found.primal)) + found.mu


def _equations(problem: ConstrainedLogistic, point: _Iterate) -> _Equations:
    gradient, hessian = _derivatives(problem, point.theta)
    dual = gradient - point.multipliers @ problem.promised
    primal = problem.promised @ point.theta - problem.margin - point.slack
    return _Equations(dual, primal, float(point.slack @ point.multipliers) / len(point.slack), hessian)


def _derivatives(problem: ConstrainedLogistic, theta: Array, *, second: bool = True) -> tuple[Array, Array]:
    """Return the gradient (D,) and the Hessian (D, D) of f; the latter is empty unless `second`."""
    from scipy.special import expit

    fit = problem.fit
    probability = expit(fit.design @ theta)
    gradient: Array = (problem.weights * (probability - fit.target)) @ fit.design + fit.ridge * theta
    if not second:
        return gradient, np.zeros((0, 0))
    bent = fit.design * np.sqrt(problem.weights * probability * (1.0 - probability))[:, None]
    hessian: Array = bent.T @ bent
    hessian[np.diag_indices_from(hessian)] += fit.ridge
    return gradient, hessian


class _Factor:
    """Cholesky factor of a matrix in units of its diagonal."""

    def __init__(self, matrix: Array) -> None:
        from scipy.linalg import cho_factor

        self._units = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
        scaled = matrix / self._units / self._units[:, None]
        ridge = 0.0
        while True:
            scaled[np.diag_indices_from(scaled)] = 1.0 + ridge
            try:
                self._factor = cho_factor(scaled, lower=True, check_finite=False)
            except np.linalg.LinAlgError:
                ridge = max(100.0 * ridge, LEAST_RIDGE)
                if ridge > 1e-3:
                    raise RetrainingError(
                        "the fit that keeps the promises met a singular matrix; give the model a penalty (a smaller C)"
                    ) from None
                continue
            return

    def solve(self, right: Array) -> Array:
        """Solve for a vector (D,) or columns (D, k)."""
        from scipy.linalg import cho_solve

        units = self._units if right.ndim == 1 else self._units[:, None]
        solved: Array = cho_solve(self._factor, right / units, check_finite=False) / units
        return solved
