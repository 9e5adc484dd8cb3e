"""Mahalanobis correction: more score per standard deviation within a budget (paper, Section 3.2)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.box import Box
from copa._core.reading import read_number, read_word
from copa._core.threads import count_threads, for_each_chunk
from copa.bounds.validity import CertificateList, bound_plans
from copa.corrections.arguments import heaviest, read_plans
from copa.uncertainty.ambiguity import MomentBall

CHUNK = 1024  # options per task: a few milliseconds of work
RATIO_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean (D,), covariance (D, D) and a root F of it, F F' = cov, each in a unit of its own.

    The ratio of score and standard deviation is largest at the same options in every unit.
    """

    mean: Array
    cov: Array
    root: Array

    @classmethod
    def of_ball(cls, ball: MomentBall) -> "Moments":
        """The nominal moments of a ball."""
        return cls.scaled(ball.mean, ball.cov_root)

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


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The free block of a covariance in its eigenvectors, by a singular value decomposition of its root.

    Attributes
    ----------
    vectors : (F, F) eigenvectors as columns
    sigma : (F,) roots of the eigenvalues, zero where they are to rounding
    roots : (D, F) takes an option to r; moved by y along the eigenvectors its variance is |sigma y + r|^2 + rest^2
    held, rests : (H,), (H, D); the other coordinates, and what takes an option's to a vector of length rest, the spread
        that no free coordinate can compensate
    """

    vectors: Array
    sigma: Array
    roots: Array
    held: npt.NDArray[np.int64]
    rests: Array

    @classmethod
    def of(cls, root: Array, free: npt.NDArray[np.int64]) -> "Spectrum":
        """Decompose the rows of the root that belong to free coordinates."""
        vectors, sigma, axes = np.linalg.svd(root[free], full_matrices=False)
        noise = 4.0 * len(root) * RATIO_EPS
        sigma[sigma <= noise * sigma[0]] = 0.0
        axes[sigma == 0.0] = 0.0
        roots = root @ axes.T
        held = np.delete(np.arange(len(root)), free)
        rests = root[held] - roots[held] @ axes
        # What is left of a row that the axes explain is rounding, and must not look like a spread.
        rests[_lengths(rests) <= noise * _lengths(root[held])] = 0.0
        return cls(vectors, sigma, roots, held, rests)


def raise_ratios(
    plans: Array,
    moving: npt.NDArray[np.bool_],
    moments: Moments,
    limits: Box,
    budget: float,
    n_jobs: int | None,
) -> Array:
    """Move the options marked in `moving` (N, J) to their largest ratio; the others of plans (N, J, D) stay."""
    corrected = plans.copy()
    if budget == 0.0 or limits.free.size == 0 or not moving.any():
        return corrected
    options = plans[moving]
    lower, upper = (np.broadcast_to(bound[:, None], plans.shape)[moving] for bound in (limits.lower, limits.upper))
    spectrum = Spectrum.of(moments.root, limits.free)
    moved = options.copy()

    def work(chunk: slice) -> None:
        moved[chunk] = _best_options(options[chunk], lower[chunk], upper[chunk], moments, spectrum, limits.free, budget)

    for_each_chunk(work, len(options), CHUNK, n_jobs if len(options) > CHUNK else 1)
    corrected[moving] = moved
    return corrected


def _best_options(
    options: Array,
    lower: Array,
    upper: Array,
    moments: Moments,
    spectrum: Spectrum,
    free: npt.NDArray[np.int64],
    budget: float,
) -> Array:
    """Options (M, D) moved to their largest ratio within budget and bounds."""
    from copa.corrections._kernels.spectral import best_steps

    slopes, scores = moments.mean[free], options @ moments.mean
    along = np.zeros((len(options), free.size))
    rests = _lengths(options[:, spectrum.held] @ spectrum.rests)
    best_steps(spectrum.sigma, slopes @ spectrum.vectors, options @ spectrum.roots, rests, scores, budget, along)
    steps = along @ spectrum.vectors.T
    low, high = lower[:, free] - options[:, free], upper[:, free] - options[:, free]
    blocked = ((steps < low) | (steps > high)).any(axis=1)
    if blocked.any():
        steps[blocked] = _boxed_steps(
            options[blocked], steps[blocked], low[blocked], high[blocked], moments, free, budget
        )
    moved = options.copy()
    moved[:, free] += steps
    moved = np.clip(moved, lower, upper)  # x + (upper - x) may miss upper in the last place
    # Where an option is the best one already, rounding must not make it worse.
    before, after = moments.ratios(options), moments.ratios(moved)
    worse = ~(after > before) & ~((before < 0.0) & (moved @ moments.mean > scores))
    moved[worse] = options[worse]
    return moved


def _boxed_steps(
    options: Array,
    steps: Array,
    low: Array,
    high: Array,
    moments: Moments,
    free: npt.NDArray[np.int64],
    budget: float,
) -> Array:
    """Best steps (M, F) of options whose best step without bounds leaves them."""
    from copa.corrections._kernels.boxed import best_boxed_steps

    steps = np.clip(steps, low, high)
    best_boxed_steps(
        options @ moments.mean,
        moments.mean[free],
        options @ moments.root,
        moments.root[free],
        moments.cov[np.ix_(free, free)],
        low,
        high,
        budget,
        steps,
    )
    return steps


MOMENTS = ("nominal", "worst_case")
EPS = float(np.finfo(np.float64).eps)


def mahalanobis_correction(  # noqa: PLR0913 - all but three by keyword
    points: Any,
    mean: Any,
    cov: Any,
    *,
    radius: float = 0.01,
    drift: Any = None,
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
    points : (J, D) one plan, or (N, J, D) a batch; coordinate 0 is the intercept
    mean, cov : (D,), (D, D) nominal mean and covariance of the model's parameters
    radius, drift : the ball in which the weights of the options, and worst-case moments, are computed
    budget : float >= 0, how far each option may move (Euclidean; the paper's Delta)
    n_corrections : how many options of a plan may move, those with the largest weights (the paper's K); None for all
    fixed : (D,) mask or list of coordinates that must not move; the intercept never does
    lower, upper : (D,) bounds of the free coordinates, or (N, D) with one row per plan; None is no bound
    moments : "nominal", or "worst_case" for the mean and covariance of the distribution that attains the lower bound
    n_jobs : threads for a batch, None for all cores; results do not depend on it

    Returns
    -------
    points of the same shape

    Raises
    ------
    InvalidInputError
        For bad input, an option outside its bounds included (`requirement_correction` brings it into them).
    """
    ball = MomentBall.read(mean, cov, radius, drift)
    plans, single = read_plans(points, ball.dimension)
    budget = read_number(budget, "budget")
    limits = Box.read(len(plans), ball.dimension, fixed, lower, upper, of_plans=True)
    limits.require_inside(plans, single=single)
    if n_jobs is not None:
        count_threads(n_jobs)
    read_word(moments, MOMENTS, "moments")
    if moments == "nominal" and n_corrections is None:
        moving = np.ones(plans.shape[:2], dtype=bool)
        corrected = raise_ratios(plans, moving, Moments.of_ball(ball), limits, budget, n_jobs)
    else:
        bounds = bound_plans(plans, ball, n_jobs)
        moving = heaviest(bounds.weights, n_corrections)
        if moments == "nominal":
            corrected = raise_ratios(plans, moving, Moments.of_ball(ball), limits, budget, n_jobs)
        else:
            certificates = CertificateList(plans, ball, bounds.proofs)
            corrected = _raise_worst_ratios(plans, moving, certificates, limits, budget, n_jobs)
    return corrected[0] if single else corrected


def _raise_worst_ratios(
    plans: Array,
    moving: npt.NDArray[np.bool_],
    certificates: CertificateList,
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

    for_each_chunk(work, len(plans), 1, n_jobs)
    return corrected
