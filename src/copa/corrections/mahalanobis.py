"""Mahalanobis correction: more score per standard deviation within a budget (paper, Section 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.box import Box
from copa._core.kernels import kernel
from copa._core.reading import read_count, read_number, read_word
from copa._core.threads import count_threads, for_each_chunk
from copa.bounds.canonical import read_plans
from copa.bounds.validity import bound_batch
from copa.uncertainty.ambiguity import AmbiguitySet, read_set

CHUNK = 1024  # options per task: a few milliseconds of work
EPS = float(np.finfo(np.float64).eps)
MOMENTS = ("nominal", "worst_case")


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (D,), covariance (D, D) and a root F of it, F F' = cov, each in a unit of its own.

    The ratio of score and standard deviation is largest at the same options in every unit.
    """

    mean: Array
    cov: Array
    root: Array

    @classmethod
    def of_set(cls, ambiguity: AmbiguitySet) -> "Moments":
        """The nominal moments of an ambiguity set."""
        return cls.scaled(ambiguity.mean, ambiguity.cov_root)

    @classmethod
    def scaled(cls, mean: Array, root: Array) -> "Moments":
        """Moments with a largest entry of one in mean and root, where they are not zero."""
        mean = mean / (np.abs(mean).max() or 1.0)
        root = np.ascontiguousarray(root / (np.abs(root).max() or 1.0))
        return cls(mean, root @ root.T, root)

    def ratios(self, options: Array) -> Array:
        """Score per standard deviation of options (..., D); infinite where a score is certain."""
        scores: Array = options @ self.mean
        spreads = _lengths(options @ self.root)
        certain = np.where(scores == 0.0, 0.0, np.copysign(np.inf, scores))
        quotients: Array = np.divide(scores, spreads, out=certain, where=spreads > 0.0)
        return quotients


def _lengths(rows: Array) -> Array:
    """Euclidean lengths of rows (..., K); for a few rows in half the time of NumPy's norm."""
    lengths: Array = np.sqrt((rows * rows).sum(axis=-1))
    return lengths


def heaviest(weights: Array, n_corrections: Any) -> npt.NDArray[np.bool_]:
    """Mark the `n_corrections` options with the largest weights (N, J); the first of equal ones, all for None."""
    n_options = weights.shape[1]
    if n_corrections is None:
        return np.ones(weights.shape, dtype=bool)
    count = read_count(n_corrections, "n_corrections", most=n_options)
    order = np.argsort(-weights, axis=1, kind="stable")
    marked = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(marked, order[:, :count], values=True, axis=1)
    return marked


class RatioSearch:
    """The search for options of the largest ratio, within a budget in the free coordinates and within bounds.

    The free block of the covariance is taken to its eigenvectors, by a singular value decomposition of its root. Moved
    by y along them, an option has the variance |sigma y + r|^2 + rest^2.

    Parameters
    ----------
    moments : Moments
    free : ndarray of shape (F,)
        Coordinates that may move.
    budget : float
        Greatest length of a move.

    Attributes
    ----------
    vectors : ndarray of shape (F, F)
        Eigenvectors as columns.
    sigma : ndarray of shape (F,)
        Roots of the eigenvalues, zero where they are to rounding.
    roots : ndarray of shape (D, F)
        Takes an option to r.
    held : ndarray of shape (H,)
        The other coordinates.
    rests : ndarray of shape (H, D)
        Takes them to a vector of length rest, the spread that no free coordinate can compensate.
    """

    def __init__(self, moments: Moments, free: Indices, budget: float) -> None:
        self.moments, self.free, self.budget = moments, free, budget
        root = moments.root
        self.vectors, self.sigma, axes = np.linalg.svd(root[free], full_matrices=False)
        noise = 4.0 * len(root) * EPS
        self.sigma[self.sigma <= noise * self.sigma[0]] = 0.0
        axes[self.sigma == 0.0] = 0.0
        self.roots = root @ axes.T
        self.held = np.delete(np.arange(len(root)), free)
        self.rests = root[self.held] - self.roots[self.held] @ axes
        # What is left of a row that the axes explain is rounding, and must not look like a spread.
        self.rests[_lengths(self.rests) <= noise * _lengths(root[self.held])] = 0.0

    def best_options(self, options: Array, lower: Array, upper: Array) -> Array:
        """Options (M, D) moved to their largest ratio within budget and bounds (M, D)."""
        best_steps = kernel("copa.corrections._kernels.spectral:best_steps")
        moments, free = self.moments, self.free
        scores = options @ moments.mean
        along = np.zeros((len(options), free.size))
        rests = _lengths(options[:, self.held] @ self.rests)
        slopes = moments.mean[free] @ self.vectors
        best_steps(self.sigma, slopes, options @ self.roots, rests, scores, self.budget, along)
        steps = along @ self.vectors.T
        low, high = lower[:, free] - options[:, free], upper[:, free] - options[:, free]
        blocked = ((steps < low) | (steps > high)).any(axis=1)
        if blocked.any():
            steps[blocked] = self._boxed_steps(options[blocked], steps[blocked], low[blocked], high[blocked])
        moved = options.copy()
        moved[:, free] += steps
        moved = np.clip(moved, lower, upper)  # x + (upper - x) may miss upper in the last place
        # Where an option is the best one already, rounding must not make it worse.
        before, after = moments.ratios(options), moments.ratios(moved)
        worse = ~(after > before) & ~((before < 0.0) & (moved @ moments.mean > scores))
        moved[worse] = options[worse]
        return moved

    def _boxed_steps(self, options: Array, steps: Array, low: Array, high: Array) -> Array:
        """Best steps (M, F) of options whose best step without bounds leaves them."""
        best_boxed_steps = kernel("copa.corrections._kernels.active_set:best_boxed_steps")
        moments, free = self.moments, self.free
        steps = np.clip(steps, low, high)
        scores, roots = options @ moments.mean, options @ moments.root
        block = moments.root[free], moments.cov[np.ix_(free, free)]
        best_boxed_steps(scores, moments.mean[free], roots, *block, low, high, self.budget, steps)
        return steps


def raise_ratios(
    plans: Array, moving: npt.NDArray[np.bool_], moments: Moments, limits: Box, budget: float, n_jobs: int | None
) -> Array:
    """Move the options marked in `moving` (N, J) to their largest ratio; the others of plans (N, J, D) stay."""
    corrected = plans.copy()
    if budget == 0.0 or limits.free.size == 0 or not moving.any():
        return corrected
    options = plans[moving]
    lower, upper = (np.broadcast_to(bound[:, None], plans.shape)[moving] for bound in (limits.lower, limits.upper))
    search, moved = RatioSearch(moments, limits.free, budget), np.empty_like(options)

    def work(chunk: slice) -> None:
        moved[chunk] = search.best_options(options[chunk], lower[chunk], upper[chunk])

    for_each_chunk(work, len(options), CHUNK, n_jobs if len(options) > CHUNK else 1, what="correcting options")
    corrected[moving] = moved
    return corrected


def mahalanobis_correction(  # noqa: PLR0913 - all but three by keyword
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
    moments: str = "nominal",
    n_jobs: int | None = None,
) -> Array:
    """Move the options that break first to where their score is largest relative to its standard deviation.

    Maximises mean'x / sqrt(x'cov x) over |x - x_j| <= budget in the free coordinates and their bounds. An option whose
    score the mean makes negative is treated alike; if no score within the budget is positive, it moves to the highest.
    An option of which the score is certain (variance zero) and positive stays where it is.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        One plan, or a batch; coordinate 0 is the intercept.
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Nominal mean and covariance of the model's parameters.
    radius : float
    drift : array_like of shape (D, D), optional
        Size and shape of the ball in which the weights of the options, and worst-case moments, are computed.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution.
    ambiguity : AmbiguitySet
        In place of all these, a set such as a `LocationSet`.
    budget : float
        How far each option may move (Euclidean; the paper's Delta), at least 0.
    n_corrections : int, optional
        How many options of a plan may move, those with the largest weights (the paper's K); None for all.
    fixed : array_like of shape (D,) or (K,), optional
        Mask, or list of the coordinates, that must not move; the intercept never does.
    lower, upper : array_like of shape (D,) or (N, D), optional
        Bounds of the free coordinates, for all or with one row per plan; None is no bound.
    moments : {"nominal", "worst_case"}
        Whether the moments are the nominal ones, or those of the distribution that attains the lower bound.
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
    >>> plan = [[1.0, 0.8, 0.1], [1.0, 0.0, 0.6]]
    >>> corrected = copa.mahalanobis_correction(plan, mean, cov, budget=0.1)
    >>> corrected.round(3)
    array([[1.   , 0.828, 0.196],
           [1.   , 0.065, 0.676]])
    >>> before, after = (copa.validity_bounds(p, mean, cov, 0.01).lower for p in (plan, corrected))
    >>> print(f"{before:.3f} {after:.3f}")
    0.305 0.501
    """
    known = read_set(mean, cov, radius, drift, family, ambiguity)
    plans, single = read_plans(points, known.dimension)
    budget = read_number(budget, "budget")
    limits = Box.read(len(plans), known.dimension, fixed, lower, upper, of_plans=True)
    limits.require_inside(plans, single=single)
    if n_jobs is not None:
        count_threads(n_jobs)
    worst_case = read_word(moments, MOMENTS, "moments") == "worst_case"
    moving = np.ones(plans.shape[:2], dtype=bool)
    if worst_case or n_corrections is not None:
        bounds = bound_batch(known, plans, n_jobs)
        moving = heaviest(bounds.weights, n_corrections)
    if worst_case:
        corrected = _raise_worst_ratios(plans, moving, bounds.certificates, limits, budget, n_jobs)
    else:
        corrected = raise_ratios(plans, moving, Moments.of_set(known), limits, budget, n_jobs)
    return corrected[0] if single else corrected


def _raise_worst_ratios(
    plans: Array,
    moving: npt.NDArray[np.bool_],
    certificates: Sequence[Any],
    limits: Box,
    budget: float,
    n_jobs: int | None,
) -> Array:
    """Move options of each plan to their largest ratio under the plan's own worst case."""
    corrected = plans.copy()

    def work(chunk: slice) -> None:
        for n in range(chunk.start, chunk.stop):
            worst = certificates[n].worst_case()
            # Its covariance is a difference of second moments: semidefinite up to rounding relative to those.
            values, vectors = np.linalg.eigh(worst.cov)
            floor = len(values) * EPS * (values[-1] + float(worst.mean @ worst.mean))
            root = vectors * np.sqrt(np.where(values > floor, values, 0.0))
            mine = slice(n, n + 1)
            corrected[mine] = raise_ratios(
                plans[mine], moving[mine], Moments.scaled(worst.mean, root), limits.take(mine), budget, n_jobs=1
            )

    for_each_chunk(work, len(plans), 1, n_jobs, what="correcting plans")
    return corrected
