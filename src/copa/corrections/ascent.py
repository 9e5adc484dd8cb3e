"""Ascent on the lower bound itself, which the paper leaves aside as bilinear (its Section 3)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.box import Box
from copa._core.kernels import kernel
from copa._core.reading import read_count, read_number
from copa._core.records import ArrayRecord
from copa.bounds.canonical import read_plans
from copa.bounds.gradient import SHARP, boole, lower_slope
from copa.bounds.validity import bound_batch
from copa.corrections.mahalanobis import Moments, heaviest, raise_ratios
from copa.uncertainty.ambiguity import AmbiguitySet, is_exact, read_set

WORTHWHILE = 1e-9  # a step that promises less probability than this is not taken: bounds are known to as much
SUFFICIENT = 1e-4  # share of the promised rise that a step must bring
HALVINGS = 20


def improve_bound(  # noqa: PLR0913 - all but three by keyword
    points: Any,
    mean: Any = None,
    cov: Any = None,
    *,
    radius: float = 0.01,
    drift: Any = None,
    family: str = "any",
    ambiguity: AmbiguitySet | None = None,
    budget: float = 0.1,
    n_corrections: int | None = None,
    fixed: Any = None,
    lower: Any = None,
    upper: Any = None,
    max_iter: int = 50,
    n_jobs: int | None = None,
) -> Array:
    """Raise the lower bound L* of a plan, moving each option by at most the budget.

    Projected ascent with the bound's gradient from two starts, the plan as given and its Mahalanobis correction; of
    all plans seen, the one with the largest proven lower bound is returned. So the bound is never below that of either
    start. L* is not concave in the options: the result is a local maximum, not promised to be the largest.

    Where L* = 0 it has no slope. The ascent then starts, instead of from the plan itself, from where each option's
    score is largest relative to what the radius can take from it; if L* is zero there too, the plan comes back
    as it was given.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        One plan, or a batch; coordinate 0 is the intercept.
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Nominal mean and covariance of the model's parameters.
    radius : float
    drift : array_like of shape (D, D), optional
        Size and shape of the ball for which L* is raised.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution.
    ambiguity : AmbiguitySet
        In place of all these, a set such as a `LocationSet`.
    budget : float
        How far each option may move from where it was given (Euclidean), at least 0.
    n_corrections : int, optional
        How many options of a plan may move, those with the largest weights; None for all.
    fixed : array_like of shape (D,) or (K,), optional
        Mask, or list of the coordinates, that must not move; the intercept never does.
    lower, upper : array_like of shape (D,) or (N, D), optional
        Bounds of the free coordinates, for all or with one row per plan; None is no bound.
    max_iter : int
        Greatest number of ascent steps from each start.
    n_jobs : int, optional
        Threads for a batch, None for all cores; results do not depend on it.

    Returns
    -------
    ndarray of shape (J, D) or (N, J, D)
        The corrected points, of the shape of the given ones.

    Raises
    ------
    InvalidInputError
        For bad input, an option outside its bounds included (`requirement_correction` brings it into them).

    Examples
    --------
    >>> import copa
    >>> mean, cov = [-0.5, 1.0, 2.0], [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.4]]
    >>> plan = [[1.0, 1.6, 0.2], [1.0, 0.2, 1.2]]
    >>> for improved in (plan, copa.improve_bound(plan, mean, cov, budget=0.3)):
    ...     print(f"{copa.validity_bounds(improved, mean, cov, 0.01).lower:.3f}")
    0.662
    0.783
    """
    known = read_set(mean, cov, radius, drift, family, ambiguity)
    plans, single = read_plans(points, known.dimension)
    budget = read_number(budget, "budget")
    max_iter = read_count(max_iter, "max_iter")
    limits = Box.read(len(plans), known.dimension, fixed, lower, upper, of_plans=True)
    limits.require_inside(plans, single=single)

    bounds = bound_batch(known, plans, n_jobs)
    moving = heaviest(bounds.weights, n_corrections)
    corrected = raise_ratios(plans, moving, Moments.of_set(known), limits, budget, n_jobs)
    start = plans
    flat = bounds.lower == 0.0
    if flat.any():
        root = np.eye(known.dimension) if known.drift_root is None else known.drift_root
        out_of_reach = raise_ratios(plans, moving, Moments.scaled(known.mean, root), limits, budget, n_jobs)
        start = np.where(flat[:, None, None], out_of_reach, plans)
    ascent = _Ascent(known, plans, moving, limits, budget, n_jobs)
    candidates = [plans, corrected, ascent.climb(start, max_iter), ascent.climb(corrected, max_iter)]
    proven = np.array([bounds.lower, *(bound_batch(known, c, n_jobs).lower for c in candidates[1:])])
    best: Array = np.stack(candidates)[proven.argmax(axis=0), np.arange(len(plans))]
    return best[0] if single else best


@dataclass(frozen=True, eq=False)
class _State(ArrayRecord):
    """Plans on their way up: (P, J, D) with L* (P,), its gradient, and the length of the next step (P,)."""

    plans: Array
    values: Array
    slopes: Array
    steps: Array


@dataclass(frozen=True, eq=False)
class _Ascent:
    """Projected ascent on the bound of plans (N, J, D), each option within budget and bounds of where it was given."""

    ambiguity: AmbiguitySet
    given: Array
    moving: npt.NDArray[np.bool_]
    limits: Box
    budget: float
    n_jobs: int | None

    def climb(self, start: Array, max_iter: int) -> Array:
        """Take up to `max_iter` steps from plans (N, J, D), each of which raises L*.

        Steps have the length of Barzilai and Borwein: the curvature seen along the last one.
        """
        reached = start.copy()
        if self.budget == 0.0 or self.limits.free.size == 0:
            return reached
        rows = np.arange(len(start))
        values, slopes = self._evaluate(start, rows)
        steepest = np.linalg.norm(slopes, axis=2).max(axis=1)
        # A first step that takes the steepest option across its budget.
        state = _State(start, values, slopes, self.budget / np.where(steepest > 0.0, steepest, 1.0))
        for _ in range(max_iter):
            moves = self._project(state.plans + state.steps[:, None, None] * state.slopes, rows) - state.plans
            promised = np.einsum("njd,njd->n", state.slopes, moves)
            keep = promised > WORTHWHILE
            rows, state, moves, promised = rows[keep], state.take(keep), moves[keep], promised[keep]
            if rows.size == 0:
                break
            risen, state = self._rise(state, moves, promised, rows)
            rows = rows[risen]
            reached[rows] = state.plans
        return reached

    def _rise(
        self, state: _State, moves: Array, promised: Array, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], _State]:
        """Go along the moves (P, J, D), halved until L* rises enough; say which plans did, with their new state."""
        new = _State(state.plans.copy(), state.values.copy(), state.slopes.copy(), state.steps.copy())
        waiting = np.arange(len(rows))
        share = 1.0
        for _ in range(HALVINGS):
            trial = self._within(state.plans[waiting] + share * moves[waiting], rows[waiting])
            values, slopes = self._evaluate(trial, rows[waiting])
            enough = values >= state.values[waiting] + SUFFICIENT * share * promised[waiting]
            there = waiting[enough]
            new.plans[there], new.values[there], new.slopes[there] = trial[enough], values[enough], slopes[enough]
            waiting = waiting[~enough]
            if waiting.size == 0:
                break
            share *= 0.5
        travelled = new.plans - state.plans
        square = np.einsum("njd,njd->n", travelled, travelled)
        bend = np.einsum("njd,njd->n", travelled, state.slopes - new.slopes)
        with np.errstate(divide="ignore", invalid="ignore"):
            length = np.clip(square / bend, 1e-3 * state.steps, 1e3 * state.steps)
        new.steps[:] = np.where(bend > 0.0, length, 4.0 * state.steps)
        risen = np.ones(len(rows), dtype=bool)
        risen[waiting] = False
        return risen, new.take(risen)

    def _evaluate(self, plans: Array, rows: npt.NDArray[np.int64]) -> tuple[Array, Array]:
        """Lower bounds (P,) and their gradients (P, J, D) in what may move.

        L* has no slope where it is zero. Boole's bound, of the sets that have it, falls on below zero, and the way up
        may begin there.
        """
        bounds = bound_batch(self.ambiguity, plans, self.n_jobs, tolerance=SHARP)
        values, slopes, free = bounds.lower, np.zeros_like(plans), self.limits.free
        if not is_exact(self.ambiguity):
            values = np.where(values > 0.0, values, np.minimum(0.0, boole(bounds.option_lower)))
        for p in np.flatnonzero(values != 0.0):
            slopes[p][:, free] = lower_slope(bounds[int(p)])[:, free]
        slopes[~self.moving[rows]] = 0.0
        return values, slopes

    def _project(self, plans: Array, rows: npt.NDArray[np.int64]) -> Array:
        """Nearest plans (P, J, D) in which every option is within budget and bounds of where it was given."""
        project_moves = kernel("copa._core._kernels.projection:project_moves")
        free, given = self.limits.free, self.given[rows]
        moves, low, high = (
            np.ascontiguousarray((np.broadcast_to(a, given.shape) - given)[..., free].reshape(-1, free.size))
            for a in (plans, self.limits.lower[rows, None], self.limits.upper[rows, None])
        )
        projected = np.empty_like(moves)
        project_moves(moves, low, high, self.budget, projected)
        result = given.copy()
        result[..., free] += projected.reshape(*given.shape[:2], free.size)
        return self._within(result, rows)

    def _within(self, plans: Array, rows: npt.NDArray[np.int64]) -> Array:
        """Bounds are met to the last bit: a sum of a point and a move may miss them by rounding."""
        return np.clip(plans, self.limits.lower[rows, None], self.limits.upper[rows, None])
