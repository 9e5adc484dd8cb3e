"""Mahalanobis correction: more score per standard deviation within a budget (paper, Section 3.2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.box import Box
from copa._core.reading import read_count, read_number, read_word
from copa._core.threads import count_threads, for_each_chunk
from copa.theory.bounds.canonical import read_plans
from copa.theory.bounds.validity import bound_batch
from copa.theory.sets.ambiguity import AmbiguitySet, read_set

CHUNK = 1024  # options per task: a few milliseconds of work
EPS = float(np.finfo(np.float64).eps)
MATCH = 1e-13  # a length this close to the budget, relatively, is the budget
MAX_EVALUATIONS = 200
PATIENCE = 12  # evaluations after which every second guess halves the bracket, whatever Newton's method says
GAIN = 1e-14  # relative rise of the ratio below which a working set is no better than the last one
PULL = 1e-10  # relative force below which a held coordinate is not pulled back inside: rounding of its terms
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
        scores = _scores(options, self.mean)
        spreads = _lengths(_images(options, self.root))
        certain = np.where(scores == 0.0, 0.0, np.copysign(np.inf, scores))
        quotients: Array = np.divide(scores, spreads, out=certain, where=spreads > 0.0)
        return quotients


def _scores(rows: Array, vector: Array) -> Array:
    """Inner products of rows (..., K) with a vector, each with the same bits whatever the other rows are."""
    products: Array = (rows * vector).sum(axis=-1)
    return products


def _images(rows: Array, matrix: Array) -> Array:
    """Products of rows (..., D) with a matrix, one by one: for many at once a BLAS takes other instructions."""
    images: Array = (np.ascontiguousarray(rows)[..., None, :] @ matrix)[..., 0, :]
    return images


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
    """The search for options of the largest ratio, within a budget in the free coordinates.

    The free block of the covariance is taken to its eigenvectors, by a singular value decomposition of its root. Moved
    by y along them, an option has the score a + b'y and the variance |sigma y + r|^2 + rest^2: sums of squares, so
    nothing is lost to cancellation, and a singular covariance is no special case.

    Parameters
    ----------
    moments : Moments
    free : ndarray of shape (F,)
        Coordinates that may move.
    """

    def __init__(self, moments: Moments, free: Indices) -> None:
        self.moments, self.free = moments, free
        root = moments.root
        self.vectors, self.sigma, axes = np.linalg.svd(root[free], full_matrices=False)
        noise = 4.0 * len(root) * EPS
        self.sigma[self.sigma <= noise * self.sigma[0]] = 0.0
        axes[self.sigma == 0.0] = 0.0
        self.slopes = moments.mean[free] @ self.vectors
        self.roots = root @ axes.T
        self.held = np.delete(np.arange(len(root)), free)
        self.rests = root[self.held] - self.roots[self.held] @ axes
        # What is left of a row that the axes explain is rounding, and must not look like a spread.
        self.rests[_lengths(self.rests) <= noise * _lengths(root[self.held])] = 0.0

    def best_steps(self, options: Array, budget: float) -> Array:
        """Return the steps (M, F) of length up to the budget that take options (M, D) to their largest ratios."""
        scores = _scores(options, self.moments.mean)
        rests = _lengths(_images(options[:, self.held], self.rests))
        steps = best_steps(self.sigma, self.slopes, _images(options, self.roots), rests, scores, budget)
        return _images(steps, self.vectors.T)


def best_steps(sigma: Array, slopes: Array, roots: Array, rests: Array, scores: Array, budget: float) -> Array:
    """Return the steps y (M, F) with the largest (a + b'y) / sqrt(|sigma y + r|^2 + rest^2) within |y| <= budget.

    Parameters
    ----------
    sigma, slopes : ndarray of shape (F,)
        Standard deviations along the eigenvectors, and b.
    roots, rests, scores : ndarray of shape (M, F), (M,), (M,)
        r, rest and a of every option.
    budget : float
        Positive.
    """
    norm = float(np.linalg.norm(slopes))
    steps = np.tile(slopes * (budget / norm if norm > 0.0 else 0.0), (len(scores), 1))  # to the highest score
    positive = np.flatnonzero(scores + budget * norm > 0.0)
    inside, nearest = _stationary_steps(sigma, slopes, roots[positive], rests[positive], scores[positive], budget)
    steps[positive[inside]] = nearest[inside]
    others = positive[~inside]
    steps[others] = _secular_steps(sigma, slopes, roots[others], rests[others], scores[others], budget)
    return steps


def _stationary_steps(
    sigma: Array, slopes: Array, roots: Array, rests: Array, scores: Array, budget: float
) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return where the budget does not bind, and the best steps there.

    Where the variance can be brought to zero at a positive score, that is the nearest such point; if it takes a move
    in a direction without variance to make the score positive, the move goes on to the budget.
    """
    uncertain = sigma > 0.0
    inverse = np.divide(1.0, sigma, out=np.zeros_like(sigma), where=uncertain)
    silent = np.where(uncertain, 0.0, slopes)
    steps = -roots * inverse
    reached, square = scores + _scores(steps, slopes), (steps**2).sum(axis=1)
    certain = (rests == 0.0) & (square <= budget**2)
    reach = np.sqrt(np.maximum(budget**2 - square, 0.0)) * np.linalg.norm(silent)
    to_budget = certain & (reached <= 0.0) & (reached + reach > 0.0)
    # With a rest of the variance: kappa, the variance per score, says how far to go for more score.
    rested = (rests > 0.0) & (reached > 0.0) & (not silent.any())
    kappa = np.divide(rests**2, reached, out=np.zeros_like(rests), where=rested)
    steps += kappa[:, None] * slopes * inverse**2
    steps[to_budget] += (reach[to_budget] / (silent @ silent))[:, None] * silent if to_budget.any() else 0.0
    inside = (certain & (reached > 0.0)) | to_budget | (rested & ((steps**2).sum(axis=1) <= budget**2))
    return inside, steps


def _secular_steps(sigma: Array, slopes: Array, roots: Array, rests: Array, scores: Array, budget: float) -> Array:
    """Return the best steps of options of which the budget binds, by the secular equation |y(tau)| = budget.

    For a multiplier tau of the budget, y = kappa u - w with (sigma^2 + tau) u = b and (sigma^2 + tau) w = sigma r, and
    the variance per score kappa is the positive root of a quadratic (docs/theory.md). Newton's method on
    1 / |y|, which is nearly linear in tau, is kept inside a bracket; its derivative is in closed form.
    """
    steps = np.zeros_like(roots)
    tau = _first_multipliers(sigma, slopes, roots, rests, scores, budget)
    low, high = np.zeros_like(tau), np.full_like(tau, np.inf)
    rows = np.arange(len(tau))
    for count in range(MAX_EVALUATIONS):
        if rows.size == 0:
            break
        t = tau[rows]
        steps[rows], length, fall = _step_at(t, sigma, slopes, roots[rows], rests[rows], scores[rows])
        low[rows], high[rows] = np.where(length > budget, t, low[rows]), np.where(length > budget, high[rows], t)
        least, most = low[rows], high[rows]
        with np.errstate(all="ignore"):
            guess = t + (1.0 / budget - 1.0 / length) * length**2 / -fall
            # Outside the bracket, or after many steps, halve it in the exponent; widen it where it is open.
            bisected = np.where(
                np.isinf(most), 16.0 * t, np.where(least == 0.0, t / 64.0, np.sqrt(least) * np.sqrt(most))
            )
            newton = (fall < 0.0) & (least < guess) & (guess < most) & ~((count > PATIENCE) & (count % 2 == 0))
            guess = np.where(newton, guess, bisected)
        going = (np.abs(length - budget) > MATCH * budget) & (least < guess) & (guess < most) & np.isfinite(guess)
        tau[rows] = guess
        rows = rows[going & (guess > 0.0)]
    length = _lengths(steps)
    shrunk: Array = steps * np.where(length > budget, budget / np.where(length > 0.0, length, 1.0), 1.0)[:, None]
    return shrunk


def _step_at(
    tau: Array, sigma: Array, slopes: Array, roots: Array, rests: Array, scores: Array
) -> tuple[Array, Array, Array]:
    """Return y(tau) (M, F), its length (M,) and the derivative of the length."""
    inverse = 1.0 / (sigma**2 + tau[:, None])
    u, w = slopes * inverse, sigma * roots * inverse
    uu, uw, uiu, uiw, wiw = (
        (p * q).sum(axis=1) for p, q in ((u, u), (u, w), (u * inverse, u), (u * inverse, w), (w * inverse, w))
    )
    variance = ((tau[:, None] * roots * inverse) ** 2).sum(axis=1) + rests**2
    a, b = tau * uu, scores - _scores(w, slopes) - 2.0 * tau * uw
    spread = np.sqrt(b**2 + 4.0 * a * variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = np.where(b > 0.0, 2.0 * variance / (b + spread), np.where(a > 0.0, (spread - b) / (2.0 * a), np.inf))
        rise = 2.0 * tau * wiw - kappa * (4.0 * tau * uiw - uw) - kappa**2 * (uu - 2.0 * tau * uiu)
        rise = np.where(spread > 0.0, rise / spread, 0.0)
        steps = kappa[:, None] * u - w
        length = _lengths(steps)
        fall = (rise * (steps * u).sum(axis=1) - (steps**2 * inverse).sum(axis=1)) / length
    return steps, length, np.where(length > 0.0, fall, 0.0)


def _first_multipliers(sigma: Array, slopes: Array, roots: Array, rests: Array, scores: Array, budget: float) -> Array:
    """Return the multipliers (M,) that would balance the forces at the point of highest score."""
    norm = float(np.linalg.norm(slopes))
    image = roots + sigma * slopes * (budget / norm if norm > 0.0 else 0.0)
    kappa = ((image**2).sum(axis=1) + rests**2) / (scores + budget * norm)
    tau = _lengths(kappa[:, None] * slopes - sigma * image) / budget
    return np.where((tau > 0.0) & np.isfinite(tau), tau, 1.0)


def best_options(moments: Moments, free: Indices, options: Array, lower: Array, upper: Array, budget: float) -> Array:
    """Return options (M, D) moved in the free coordinates to their largest ratio within budget and bounds (M, D)."""
    low, high = lower[:, free] - options[:, free], upper[:, free] - options[:, free]
    steps = RatioSearch(moments, free).best_steps(options, budget)
    for m in np.flatnonzero(((steps < low) | (steps > high)).any(axis=1)):
        search = BoxedSearch(moments, free, options[m], low[m], high[m], budget)
        steps[m] = _boxed_step(search, np.clip(steps[m], low[m], high[m]))
    moved = options.copy()
    moved[:, free] += steps
    moved = np.clip(moved, lower, upper)  # x + (upper - x) may miss upper in the last place
    # Where an option is the best one already, rounding must not make it worse.
    before, after = moments.ratios(options), moments.ratios(moved)
    worse = ~(after > before) & ~((before < 0.0) & (_scores(moved, moments.mean) > _scores(options, moments.mean)))
    moved[worse] = options[worse]
    return moved


def _boxed_step(search: "BoxedSearch", step: Array) -> Array:
    """Return the best step (F,) within budget and box of one option, by a working set of coordinates at bounds.

    The others take their best step without bounds. A move towards it cannot lower the ratio; what meets a bound is
    held. At a solution the coordinate that the optimality conditions pull back inside the hardest is released; if none
    is, the conditions hold in full, and they are sufficient. The ratio grows from one solution to the next, so no
    working set comes twice.
    """
    nothing = np.zeros_like(step)
    y = step if search.ratio(step) > max(0.0, search.ratio(nothing)) else nothing
    if not search.ratio(y) > 0.0:
        y = _highest_step(search.slopes, search.low, search.high, search.budget)
    if not search.ratio(y) > 0.0:
        return y
    held, best = search.held_at_start(y), 0.0
    for _ in range(20 * y.size + 50):
        y, blocked = search.approach(y, held)
        if blocked.any():
            held |= blocked
            continue
        reached = search.ratio(y)
        released = search.strongest_pull(y, held)
        if reached == np.inf or not reached > (1.0 + GAIN) * best or released is None:
            break
        best, held[released] = reached, False
    return y


@dataclass(frozen=True, eq=False)
class BoxedSearch:
    """One option (D,), and the box and the budget of its steps (F,) in the free coordinates."""

    moments: Moments
    free: Indices
    option: Array
    low: Array
    high: Array
    budget: float

    @property
    def slopes(self) -> Array:
        """Rise of the score with each free coordinate, (F,)."""
        return self.moments.mean[self.free]

    def moved(self, step: Array) -> Array:
        """Return the option after a step."""
        point = self.option.copy()
        point[self.free] += step
        return point

    def ratio(self, step: Array) -> float:
        """Return the score per standard deviation after a step."""
        return float(self.moments.ratios(self.moved(step)))

    def forces(self, step: Array) -> tuple[Array, Array]:
        """Return the ascent direction of the ratio in each coordinate, and the size of the terms it is a sum of."""
        point = self.moved(step)
        image = point @ self.moments.root
        pulls = image @ image / (point @ self.moments.mean) * self.slopes
        pushes = self.moments.root[self.free] @ image
        return pulls - pushes, np.abs(pulls) + np.abs(pushes)

    def held_at_start(self, step: Array) -> npt.NDArray[np.bool_]:
        """Return the coordinates at a bound that are pushed against it, or have no room."""
        force, _ = self.forces(step)
        held = ((step <= self.low) & (force <= 0.0)) | ((step >= self.high) & (force >= 0.0)) | (self.low == self.high)
        return np.asarray(held)

    def approach(self, step: Array, held: npt.NDArray[np.bool_]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Go as far towards the best step with the held coordinates held as the box allows; return what blocks it.

        First the target cut at the box, if that raises the ratio; else straight on, up to the first bound.
        """
        left = math.sqrt(max(0.0, self.budget**2 - float(step[held] @ step[held])))
        target = step.copy()
        if left > 0.0 and not held.all():
            start = self.moved(np.where(held, step, 0.0))
            target[~held] = RatioSearch(self.moments, self.free[~held]).best_steps(start[None], left)[0]
        if not self.ratio(target) >= self.ratio(step):  # rounding
            target = step
        trial = np.clip(target, self.low, self.high)
        blocked = trial != target
        if blocked.any() and not self.ratio(trial) > self.ratio(step):
            shares = np.full_like(step, np.inf)
            shares[blocked] = (trial - step)[blocked] / (target - step)[blocked]
            blocked = shares <= shares.min()
            trial = np.where(blocked, trial, step + shares.min() * (target - step))
        return trial, blocked

    def strongest_pull(self, step: Array, held: npt.NDArray[np.bool_]) -> int | None:
        """Return the held coordinate that is pulled back inside the hardest, None if none is."""
        force, size = self.forces(step)
        moving = step[~held]
        price = max(0.0, float(force[~held] @ moving / (moving @ moving))) if moving.any() else 0.0  # of the budget
        inwards = np.where(step <= self.low, 1.0, -1.0) * (force - price * step)
        pulled = held & (self.low < self.high) & (inwards > PULL * (size + price * np.abs(step)))
        return int(np.where(pulled, inwards, -np.inf).argmax()) if pulled.any() else None


def _highest_step(slopes: Array, low: Array, high: Array, budget: float) -> Array:
    """Return the step (F,) within budget and box of the highest score: along the slopes, cut at the bounds."""
    step, cut = np.zeros_like(slopes), slopes == 0.0
    ends = np.where(slopes > 0.0, high, low)
    while not cut.all():
        left = math.sqrt(max(0.0, budget**2 - float(step[cut] @ step[cut])))
        step[~cut] = slopes[~cut] * (left / np.linalg.norm(slopes[~cut]))
        beyond = ~cut & (np.abs(step) > np.abs(ends))
        if not beyond.any():
            break
        step[beyond] = ends[beyond]
        cut |= beyond
    return step


def raise_ratios(
    plans: Array, moving: npt.NDArray[np.bool_], moments: Moments, limits: Box, budget: float, n_jobs: int | None
) -> Array:
    """Move the options marked in `moving` (N, J) to their largest ratio; the others of plans (N, J, D) stay."""
    corrected = plans.copy()
    if budget == 0.0 or limits.free.size == 0 or not moving.any():
        return corrected
    options = plans[moving]
    lower, upper = (np.broadcast_to(bound[:, None], plans.shape)[moving] for bound in (limits.lower, limits.upper))
    moved = np.empty_like(options)

    def work(chunk: slice) -> None:
        moved[chunk] = best_options(moments, limits.free, options[chunk], lower[chunk], upper[chunk], budget)

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
    ambiguity = read_set(mean, cov, radius, drift, family, ambiguity)
    plans, single = read_plans(points, ambiguity.dimension)
    budget = read_number(budget, "budget")
    limits = Box.read(len(plans), ambiguity.dimension, fixed, lower, upper, of_plans=True)
    limits.require_inside(plans, single=single)
    if n_jobs is not None:
        count_threads(n_jobs)
    worst_case = read_word(moments, MOMENTS, "moments") == "worst_case"
    moving = np.ones(plans.shape[:2], dtype=bool)
    if worst_case or n_corrections is not None:
        bounds = bound_batch(ambiguity, plans, n_jobs)
        moving = heaviest(bounds.weights, n_corrections)
    if worst_case:
        corrected = _raise_worst_ratios(plans, moving, bounds.certificates, limits, budget, n_jobs)
    else:
        corrected = raise_ratios(plans, moving, Moments.of_set(ambiguity), limits, budget, n_jobs)
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
