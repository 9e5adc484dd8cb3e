"""The optimisation problem that a scikit-learn LogisticRegression stands for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.progress import stage
from copa.exceptions import InvalidInputError, RetrainingError

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


TOLERANCE = 1e-8  # Newton decrement before the last step, which then squares it
MAX_STEPS = 200
# H_kk (H^{-1})_kk is the variance inflation of parameter k by its collinearity with the others, whatever the
# units of the features. Beyond this the Hessian is singular up to rounding.
MAX_INFLATION = 1e12


@dataclass(frozen=True, eq=False)
class Links:
    """Further columns of a design, whose parameters are multiples of other ones.

    Attributes
    ----------
    columns : ndarray of shape (n, A)
    place : ndarray of shape (A,)
        Of the parameter that each is a multiple of.
    factors : ndarray of shape (K, A)
        The multiples, in each of K refits.
    """

    columns: Array
    place: npt.NDArray[np.int64]
    factors: Array

    def of(self, some: Any) -> "Links":
        """Return the links of some of the refits."""
        return replace(self, factors=self.factors[some])

    def extended(self, theta: Array) -> Array:
        """Return parameters (K, p + A) for all columns, from those (K, p) or (1, p) of the design."""
        multiples = self.factors * theta[:, self.place]
        return np.concatenate([np.broadcast_to(theta, (len(multiples), theta.shape[1])), multiples], axis=1)

    def reduced(self, gradient: Array, hessian: Array | None) -> tuple[Array, Array | None]:
        """Return derivatives (K, p) and (K, p, p) from those by the parameters of all columns."""
        p = gradient.shape[1] - len(self.place)
        for a, j in enumerate(self.place.tolist()):
            factor = self.factors[:, a]
            gradient[:, j] += factor * gradient[:, p + a]
            if hessian is not None:
                hessian[:, j] += factor[:, None] * hessian[:, p + a]
                hessian[:, :, j] += factor[:, None] * hessian[:, :, p + a]
        return gradient[:, :p], None if hessian is None else hessian[:, :p, :p]


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    """Design (n, p), targets (n,) in {0, 1} and penalties (p,) of the objective in `LogisticModel`."""

    design: Array
    target: Array
    ridge: Array
    links: Links | None = None

    @property
    def all_columns(self) -> Array:
        """The design with the linked columns beside it, (n, p + A)."""
        return self.design if self.links is None else np.hstack([self.design, self.links.columns])

    def alone(self, k: int) -> "LogisticProblem":
        """Return the problem of one refit, its linked columns added to those of the design."""
        ridge = self.ridge[k] if self.ridge.ndim == 2 else self.ridge
        design = self.design
        if self.links is not None:
            design = design.copy()
            for a, j in enumerate(self.links.place.tolist()):
                design[:, j] += self.links.factors[k, a] * self.links.columns[:, a]
        return LogisticProblem(design, self.target, ridge)

    def of(self, some: Any) -> "LogisticProblem":
        """Return the problem of some of several refits, with their penalties and links."""
        ridge = self.ridge[some] if self.ridge.ndim == 2 else self.ridge
        return replace(self, ridge=ridge, links=None if self.links is None else self.links.of(some))


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


BATCH_TOLERANCE = 1e-9  # predicted decrement after the last step
MAX_BATCH_STEPS = 12
SLOW = 0.1  # a chord step that shrinks the decrement by less than ten is time for a new Hessian
BATCH_NUMBERS = 2**23  # numbers in one (c, n) or (c, p, p) array, of which a handful live at a time
MAX_BATCH = 256
BLOCK_NUMBERS = 2**16  # numbers in one (c, rows) array: half a megabyte, to stay in the cache
MAX_BLOCK = 1024  # rows in it


def refit_logistic(
    problem: LogisticProblem,
    weights: Iterator[Array],
    start: Array,
    n_refits: int | None = None,
) -> Array:
    """Return the minimisers for K vectors of row weights.

    Parameters
    ----------
    problem : LogisticProblem
        Its penalties are those of all refits (p,), or of each (K, p).
    weights : iterator over K arrays of shape (n,)
        Zero for a row that is not in the refit's subset. Consumed batch by batch, so that memory stays
        bounded.
    start : ndarray of shape (p,)
        Where every refit starts: the fit on all rows.
    n_refits : int, optional
        K, for an estimate of how long the rest takes.

    Returns
    -------
    ndarray of shape (K, p)
    """
    n, p = problem.all_columns.shape
    size = min(MAX_BATCH, max(1, BATCH_NUMBERS // max(n, p * p)))
    # Kept over all steps: memory that is given back and asked for again costs as much as the sums in it.
    workspace = np.empty(min(MAX_BLOCK, n) * (p * (p + 1) // 2))
    batches: list[Array] = []
    with stage("refitting the model", n_refits, "refits") as advance:
        while rows := list(islice(weights, size)):
            first = size * len(batches)
            batch = problem.of(slice(first, first + len(rows)))
            fitted, unsettled = _chord_steps(batch, np.stack(rows), start, workspace)
            for k in unsettled:
                fitted[k] = damped_newton(batch.alone(k), rows[k], start)
            batches.append(fitted)
            advance(len(rows))
    return np.concatenate(batches)


def _chord_steps(
    problem: LogisticProblem, weights: Array, start: Array, workspace: Array
) -> tuple[Array, npt.NDArray[np.intp]]:
    """Chord iterations for weights (c, n): parameters (c, p), and the places of those that did not settle.

    The penalties of the problem are those of all refits (p,) or of each (c, p).
    """
    fitted = np.empty((len(weights), start.size))
    unsettled = np.arange(len(weights))
    theta = start[np.newaxis]  # one row as long as all refits stand at the same place
    previous = np.zeros(len(weights))
    refresh = True
    with np.errstate(invalid="ignore", over="ignore"):  # a refit that runs away stays unsettled
        for iteration in range(MAX_BATCH_STEPS):
            gradient, hessian = _derivatives(problem, weights, theta, workspace if refresh else None)
            if hessian is not None:
                inverse, regular = _inverses(hessian)
            step = (inverse @ gradient[..., np.newaxis])[..., 0]
            decrement = np.sqrt(np.einsum("kp,kp->k", gradient, step))
            theta = theta - step
            # The step just taken shrinks the decrement about as the one before did, by decrement / previous.
            going = ~(regular & (decrement * decrement <= BATCH_TOLERANCE * previous))
            fitted[unsettled] = theta
            refresh = iteration == 0 or bool((decrement > SLOW * previous)[going].any())
            previous = decrement
            if not going.all():
                unsettled, weights, theta, inverse, regular, previous = (
                    part[going] for part in (unsettled, weights, theta, inverse, regular, previous)
                )
                problem = problem.of(going)
            if not regular.any():  # all settled, or none to be settled this way
                break
    return fitted, unsettled


def _derivatives(
    problem: LogisticProblem, weights: Array, theta: Array, workspace: Array | None
) -> tuple[Array, Array | None]:
    """Return the gradients (c, p) and, given a workspace, the Hessians (c, p, p) at theta (c, p) or (1, p).

    Rows are taken in blocks that stay in the processor's cache from the log-odds to the sums.
    """
    from scipy.special import expit

    columns, links = problem.all_columns, problem.links
    n, p = columns.shape
    full = theta if links is None else links.extended(theta)
    gradient = np.zeros((len(weights), p))
    packed = np.zeros((len(weights), p * (p + 1) // 2))
    block = min(MAX_BLOCK, max(64, BLOCK_NUMBERS // len(weights)))
    for first in range(0, n, block):
        rows = slice(first, first + block)
        design, inside = columns[rows], weights[:, rows]
        probability = expit(full @ design.T)
        gradient += (inside * (probability - problem.target[rows])) @ design
        if workspace is not None:
            probability *= 1.0 - probability
            packed += (inside * probability) @ _feature_products(design, workspace).T
    hessian = None if workspace is None else _unpacked(packed, p)
    if links is not None:
        gradient, hessian = links.reduced(gradient, hessian)
    if hessian is not None:
        everyone = np.arange(theta.shape[1])
        hessian[:, everyone, everyone] += problem.ridge
    return gradient + problem.ridge * theta, hessian


def _feature_products(design: Array, workspace: Array) -> Array:
    """Return the products of all pairs of columns of (n, p), ordered as triu_indices: (p(p+1)/2, n)."""
    columns = np.ascontiguousarray(design.T)
    p, n = columns.shape
    products = workspace[: n * (p * (p + 1) // 2)].reshape(-1, n)
    first = 0
    for j in range(p):
        np.multiply(columns[j], columns[j:], out=products[first : first + p - j])
        first += p - j
    return products


def _unpacked(packed: Array, p: int) -> Array:
    """Return the symmetric matrices (c, p, p) from their upper triangles (c, p(p+1)/2)."""
    place = np.zeros((p, p), dtype=np.intp)
    upper = np.triu_indices(p)
    place[upper] = place.T[upper] = np.arange(packed.shape[1])
    matrices: Array = packed[:, place]
    return matrices


def _inverses(hessians: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the inverses (c, p, p), and whether each can be trusted (c,)."""
    try:
        inverses = np.asarray(np.linalg.inv(hessians), dtype=np.float64)
    except np.linalg.LinAlgError:  # raised for the batch if one member is exactly singular
        return np.zeros_like(hessians), np.zeros(len(hessians), dtype=bool)
    inflation = np.einsum("kpp,kpp->kp", hessians, inverses)
    return inverses, np.all((inflation > 0.0) & (inflation < MAX_INFLATION), axis=1)
