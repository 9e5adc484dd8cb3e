"""The refit of a logistic regression that keeps promises: the constrained optimum, without the dearest if it may.

Without an intercept, promises may contradict each other; `contradictions` finds which, with the proof of it.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array, Flags
from copa._core.representation import short_repr
from copa._core.words import listed
from copa.exceptions import RetrainingError
from copa.models.decisions import accepts
from copa.models.linear import at_chosen_penalty
from copa.models.refits.logistic import LogisticModel, LogisticProblem, damped_newton
from copa.promises.constrained_logistic import ConstrainedLogistic, Solution, solve
from copa.promises.refit import REFIT, Outcome, PlainRefit, as_matrix

MOST_SOLVES = 25  # on the way to the promises that may be broken; beyond, several are released at once
SHORT = 1e-7  # share of the margin by which a promise that cannot be kept falls short
MOST_RAISES = 4  # of the margin, by ten each, where rounding breaks a promise


def exact_model(classifier: Any) -> LogisticModel | None:
    """Return the problem of a fitted last step that is a logistic regression with a pure L2 penalty or none."""
    return LogisticModel.from_estimator(at_chosen_penalty(classifier))


class ExactRefit:
    """The refit of a logistic regression among all parameters that keep promises, given by their rows and ids."""

    def __init__(
        self,
        refit: PlainRefit,
        model: LogisticModel,
        encoded: Any,
        position: int,
        ids: Any,
        threshold: float | None = None,
    ) -> None:
        from scipy.special import logit

        classes = refit.classifier.classes_
        target = (refit.labels == classes[1]).astype(np.float64)
        design = model.design(as_matrix(refit.encoded))
        sign = 1.0 if position == 1 else -1.0
        self._encoded, self._favourable, self._threshold = encoded, classes[position], threshold
        self._cutoff = 0.0 if threshold is None else float(logit(threshold))
        self._model, self._plain, self._ids = model, refit.classifier, list(ids)
        self._fit = LogisticProblem(design, target, model.ridge(design.shape[1] - model.fit_intercept))
        self._weights = _all_weights(model, refit, target)
        self._promised = sign * model.design(as_matrix(encoded))
        self._free = damped_newton(self._fit, self._weights, self._parameters(refit.classifier))

    def keep(self, margin: float, n_broken: int = 0) -> Outcome:
        """Return the constrained optimum, without the promises that contradict others and up to `n_broken` dear ones.

        The margin is the least score of a promised row: log-odds beyond those of the threshold.
        """
        margins = np.full(len(self._promised), float(margin))
        reasons = {} if self._model.fit_intercept else self._impossible()
        if self._cutoff + margin < 0.0:  # parameters of zero keep every promise
            reasons = {}
        problem = ConstrainedLogistic(self._fit, self._weights, self._promised, self._cutoff + margins)
        kept = np.ones(len(self._promised), dtype=bool)
        kept[list(reasons)] = False
        for _ in range(MOST_RAISES):
            outcome = self._released(problem, kept, reasons, n_broken)
            short = self._rounded_off(outcome)
            if not short.any():
                break
            margins[short] *= 10.0
            problem.margin[:] = self._cutoff + margins
        return outcome

    def _released(self, problem: ConstrainedLogistic, kept: Flags, reasons: dict[int, str], n_broken: int) -> Outcome:
        """Solve, release the dearest promises, and solve again, until as many are let go as may be broken."""
        kept, reasons = kept.copy(), dict(reasons)
        at_once = max(1, n_broken // MOST_SOLVES)
        lowest = problem.objective(self._free)
        path: list[dict[str, Any]] = []
        while True:
            solution = solve(problem.select(kept), self._free, warm=self._free)
            multipliers = np.zeros(len(kept))
            multipliers[kept] = solution.multipliers
            price = solution.objective - lowest
            for entry in path:
                entry.setdefault("price", price)
            left = n_broken - int((~kept).sum())  # one that is kept by chance today may break with the next release
            dearest = np.argsort(-multipliers, kind="stable")[: min(at_once, max(left, 0))]
            dearest = dearest[multipliers[dearest] > 0.0]
            if not len(dearest):
                weights = np.zeros(len(kept))
                weights[kept] = solution.refit_weights
                return Outcome(self._classifier(solution), price, multipliers, weights, reasons, path[:], solution)
            for k in dearest.tolist():
                kept[k] = False
                reasons[k] = f"released: its multiplier of {multipliers[k]:.3g} was the highest"
                path.append({"promise": self._ids[k], "multiplier": float(multipliers[k])})

    def _rounded_off(self, outcome: Outcome) -> Flags:
        """Return the promises whose margin is lost to rounding, (m,): a classifier adds in an order of its own."""
        short: Flags = ~accepts(outcome.classifier, self._encoded, self._favourable, self._threshold, REFIT)
        short[list(outcome.reasons)] = False
        return short

    def _impossible(self) -> dict[int, str]:
        """Return why promises cannot be kept by any parameters, by position."""
        contradiction = contradictions(self._promised)
        others = [self._ids[k] for k in np.flatnonzero(contradiction.involved)]
        reasons = {}
        for k in np.flatnonzero(contradiction.given_up).tolist():
            if not self._promised[k].any():
                reasons[k] = "no logistic regression without an intercept can keep it: its encoded row is zero"
            else:
                reasons[k] = f"no logistic regression without an intercept can keep these together: {listed(others)}"
        return reasons

    def _parameters(self, classifier: Any) -> Array:
        coef = np.ravel(classifier.coef_).astype(np.float64)
        return np.concatenate([np.ravel(classifier.intercept_), coef]) if self._model.fit_intercept else coef

    def _classifier(self, solution: Solution) -> Any:
        """Return the fitted classifier with the parameters of a solution."""
        classifier = deepcopy(self._plain)
        theta = solution.theta
        if self._model.fit_intercept:
            classifier.intercept_ = theta[:1].copy()
            theta = theta[1:]
        classifier.coef_ = theta[np.newaxis].copy()
        return classifier


def _all_weights(model: LogisticModel, refit: PlainRefit, target: Array) -> Array:
    """Return the weights of the training rows: of their class, times those given."""
    classes = refit.classifier.classes_
    if refit.row_weights is None:
        return model.row_weights(target, classes)
    if model.class_weight != "balanced":
        return model.row_weights(target, classes) * refit.row_weights
    import inspect

    from sklearn.utils.class_weight import compute_class_weight

    # Newer versions of scikit-learn balance the sums of weights, older ones the numbers of rows.
    weighted = "sample_weight" in inspect.signature(compute_class_weight).parameters
    given = {"sample_weight": refit.row_weights} if weighted else {}
    balance: Array = compute_class_weight("balanced", classes=classes, y=refit.labels, **given)
    return balance[target.astype(np.intp)] * refit.row_weights


@dataclass(frozen=True, eq=False)
class Contradiction:
    """Promised points that no theta accepts together.

    A theta that gives all of them a positive score, and so a multiple of it any score that is asked for, exists if and
    only if no multipliers >= 0, not all zero, have P'multipliers = 0 (Gordan's theorem). Such multipliers are the
    proof: the promises that they are positive for pull theta against each other.

    Parameters
    ----------
    given_up : ndarray of shape (m,)
        Promises that must be left out so that the others can be kept: the least sum of what they fall short by.
    multipliers : ndarray of shape (m,)
        The proof for the promises as given; all zero where there is no contradiction.
    """

    __repr__ = short_repr

    given_up: Flags
    multipliers: Array

    @property
    def involved(self) -> Flags:
        """Promises that the proof is about, (m,)."""
        flags: Flags = self.multipliers > SHORT
        return flags


def contradictions(promised: Array) -> Contradiction:
    """Find the promises that contradict each other.

    Parameters
    ----------
    promised : ndarray of shape (m, D)
        Promised points, in the direction that must be accepted.

    Returns
    -------
    Contradiction

    Examples
    --------
    >>> import numpy as np
    >>> from copa.promises.exact_refit import contradictions
    >>> points = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> contradiction = contradictions(points)
    >>> int(contradiction.given_up.sum()), contradiction.given_up[2:].tolist()
    (2, [False, True])
    """
    units = np.abs(promised).max(axis=1, initial=0.0)
    given_up = units == 0.0  # a score of zero, whatever theta is
    proof = given_up.astype(np.float64)
    rows = promised / np.where(given_up, 1.0, units)[:, None]
    while True:
        kept = np.flatnonzero(~given_up)
        short, multipliers = _elastic_program(rows[kept])
        if not proof[kept].any():
            proof[kept] = np.where(multipliers > SHORT, multipliers, 0.0) / units[kept]
        if not (short > SHORT).any():
            return Contradiction(given_up, proof)
        given_up[kept[short > SHORT]] = True


def _elastic_program(promised: Array) -> tuple[Array, Array]:
    """Minimise the sum of shortfalls u with P theta + u >= 1, u >= 0; return them and the multipliers, both (m,)."""
    from scipy.optimize import linprog

    m, d = promised.shape
    if m == 0:
        return np.zeros(0), np.zeros(0)
    # The dual: maximise the sum of v for P'v = 0 and 0 <= v <= 1. It has D equations, however many promises there are.
    solution = linprog(-np.ones(m), A_eq=promised.T, b_eq=np.zeros(d), bounds=(0.0, 1.0), method="highs")
    if solution.status != 0:
        raise RetrainingError(f"whether the promises contradict each other was not settled: {solution.message}")
    theta = -np.asarray(solution.eqlin.marginals)
    short = np.maximum(1.0 - promised @ theta, 0.0)
    other = np.maximum(1.0 + promised @ theta, 0.0)  # the sign of marginals is a convention of the solver
    return (short if short.sum() <= other.sum() else other), np.asarray(solution.x)
