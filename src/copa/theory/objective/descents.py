"""The search for plans: L-BFGS descents from every start, interior-point descents from where some of them lead to."""

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.threads import interruption
from copa._kernels import deliver_options, interior_point_descents, lbfgs_descents, read_applicants
from copa.theory.objective.arguments import Problems
from copa.theory.objective.objective import Objective

SIZES = (1.0, 1.5, 0.75, 1.0)  # of the starts, in turn, relative to the best simplex without validity and margin
ROWS = 4  # one start in so many is a row
FLATNESS = 0.1  # of the mean variance of a direction; what is flatter than this counts as flat
EDGES = np.geomspace(0.1, 100.0, 301)  # lengths of edge among which the best is looked for


def spread_starts(
    rng: np.random.Generator, n_starts: int, n_options: int, gain: Array, curvature: Array, diversity_weight: float
) -> Array:
    """Offsets of the options of every start from their common center, (S, J, n).

    Options in the corners of a regular simplex are the most diverse at a given distance from their center. The first
    simplex lies where turning to costs least validity: in the directions of least variance that leave the mean score
    as it is. The others are turned at random. Options in a row are for constraints that leave no room to a simplex;
    the first row is along the flattest direction, too.

    Parameters
    ----------
    rng : source of the random turns
    n_starts, n_options : S, J
    gain, curvature : (n,), (n, n) mean and covariance of the parameters that an option may use
    diversity_weight : of the objective
    """
    simplex, row = simplex_corners(n_options), row_places(n_options)
    radius = best_radius(n_options, diversity_weight)
    spreads = np.empty((n_starts, n_options, gain.size))
    for s in range(n_starts):
        places = row if s % ROWS == ROWS - 1 else simplex
        axes = random_axes(rng, places.shape[1], gain.size)
        if s in (0, ROWS - 1):
            flat = flat_axes(rng, len(axes), gain, curvature)
            axes[: len(flat)] = flat
        spreads[s] = SIZES[s % len(SIZES)] * radius * places @ axes
    return spreads


def ascent_direction(gain: Array, curvature: Array) -> Array:
    """Unit direction (n,) in which the mean score rises most against its variance, curvature^-1 gain."""
    size = float(np.trace(curvature))
    if gain.size == 0 or not gain.any():
        return np.zeros_like(gain)
    ridge = 1e-8 * size if size > 0.0 else 1.0
    direction = np.linalg.solve(curvature + ridge * np.eye(gain.size), gain)
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def simplex_corners(n_options: int) -> Array:
    """Corners (J, J - 1) of a regular simplex around zero, at distance 1 from it."""
    corners = np.zeros((n_options, n_options - 1))
    for i in range(n_options - 1):
        # Corner i is orthogonal to what the ones before have in common; the later ones lie opposite to it.
        corners[i, i] = np.sqrt(1.0 - corners[i, :i] @ corners[i, :i])
        corners[i + 1 :, i] = (-1.0 / (n_options - 1) - corners[i, :i] @ corners[i, :i]) / corners[i, i]
    return corners


def row_places(n_options: int) -> Array:
    """Places (J, 1) at equal distances on a line around zero, at a mean square distance of 1 from it."""
    places = np.linspace(-1.0, 1.0, n_options)[:, None] if n_options > 1 else np.zeros((1, 1))
    scaled: Array = places / np.sqrt(np.mean(places**2)) if n_options > 1 else places
    return scaled


def best_radius(n_options: int, diversity_weight: float) -> float:
    """Radius of the regular simplex with the best balance of distance from its center and diversity."""
    similarity = 1.0 / (1.0 + EDGES)
    diversity = (1.0 - similarity) ** (n_options - 1) * (1.0 + (n_options - 1) * similarity)
    radii = EDGES * np.sqrt((n_options - 1) / (2.0 * n_options))
    value = diversity_weight * diversity - radii
    # Too little weight for any spread: start at the distance over which similarity falls to a half.
    chosen = int(value.argmax()) if value.max() > 0.0 else int(np.abs(EDGES - 1.0).argmin())
    return float(radii[chosen])


def random_axes(rng: np.random.Generator, n_axes: int, n: int) -> Array:
    """Random unit vectors (A, n), the first n of them orthogonal to each other."""
    axes = rng.standard_normal((n_axes, n))
    orthogonal = min(n_axes, n)
    axes[:orthogonal] = np.linalg.qr(axes[:orthogonal].T)[0].T
    unit: Array = axes / np.linalg.norm(axes, axis=1, keepdims=True) if n else axes
    return unit


def flat_axes(rng: np.random.Generator, n_axes: int, gain: Array, curvature: Array) -> Array:
    """Random orthonormal directions (A, n) without gain, A at most n - 1, those of little variance preferred.

    Eigenvectors would be the flattest, but a covariance of one-hot columns is singular, and which basis of its null
    space LAPACK returns depends on the processor; this is a continuous function of the moments.
    """
    length = float(np.linalg.norm(gain))
    along = gain / length if length > 0.0 else np.zeros_like(gain)
    inside = np.eye(gain.size) - np.outer(along, along)
    variances = inside @ curvature @ inside
    size = float(np.trace(variances)) / max(gain.size, 1)
    draws = inside @ rng.standard_normal((gain.size, min(n_axes, max(gain.size - 1, 0))))
    flat = inside @ np.linalg.solve(variances + (FLATNESS * size or 1.0) * np.eye(gain.size), draws)
    axes: Array = np.linalg.qr(flat)[0].T
    return axes


def single_precision(numbers: Array) -> Array:
    """Round to single precision, still as doubles."""
    rounded: Array = numbers.astype(np.float32).astype(np.float64)
    return rounded


# Temperatures of the soft minimum over the options; the objective bends over values of about one.
WARM, COOL = np.array([0.1]), np.array([0.02])
COLD = np.array([0.02, 0.005, 0.005, 0.005])
LBFGS_STEPS = 30  # most steps at one temperature
COLD_STEPS = 200  # the same where no interior-point descent follows
LARGEST_SYSTEM = 400  # unknowns of a Newton system; beyond, plans are descended with L-BFGS alone, to cold temperatures
REFINED = 4  # one start in so many is followed to the end
SINGLE_REACHES = np.array([0.0, 1.0, 4.0])  # how far up the search for a single option starts


ROUNDING = 2.0**-21  # relative, eight times that of single precision
EQUAL = 1e-9  # relative; a plan of different options is better than one of equal ones only by more than rounding


class PlanSearch:
    """One call's search: what all of its applicants share.

    Parameters
    ----------
    objective : Objective
        What plans are judged by.
    margin : float
        Least mean score of an option.
    free : ndarray of shape (n,)
        Coordinates that may change.
    n_options, n_starts, max_iter : int
        Options of a plan, starts, most steps of a descent.
    rng : numpy.random.Generator
        How the starts are turned.
    """

    def __init__(
        self,
        objective: Objective,
        margin: float,
        free: Indices,
        *,
        n_options: int,
        n_starts: int,
        max_iter: int,
        rng: np.random.Generator,
    ) -> None:
        self.objective, self.margin, self.free = objective, margin, free
        self.max_iter, self.n_options = max_iter, n_options
        self.scale = objective.cost_weights[free]
        # Descents are sensitive to the last bits of the moments, which depend on the processor: they see all numbers in
        # single precision. Values, constraints and delivered options are of the full ones.
        self.gain = single_precision(objective.mean[free] / self.scale)
        self.curvature = single_precision(objective.cov[np.ix_(free, free)] / self.scale[:, None] / self.scale)
        starts = spread_starts(rng, n_starts, n_options, self.gain, self.curvature, objective.diversity_weight)
        self.spreads = single_precision(starts)
        self.ascent = single_precision(ascent_direction(self.gain, self.curvature))

    def build(self, origins: Array, lower: Array, upper: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Plans (N, J, D) of applicants (N, D) in their boxes (N, D), and whether they reach the margin.

        Where none does, all options are the point of the box with the largest mean score.
        """
        n_applicants, n, judge = len(origins), self.free.size, self.objective
        scores, tilts, bounds = np.empty((n_applicants, 3)), np.empty((n_applicants, n)), np.empty((n_applicants, 2, n))
        feasible = np.empty(n_applicants, dtype=bool)
        box = (self.free, self.scale, lower, upper, self.margin)
        read_applicants(origins, judge.mean, judge.cov, *box, scores, tilts, bounds, feasible)
        plans = np.zeros((n_applicants, self.n_options, n))
        if n > 0:
            weights = (judge.validity_weight, judge.diversity_weight, judge.manhattan)
            # Rounding must not leave an option short of the margin: its projection back would move every coordinate.
            scores[:, 2] += ROUNDING * np.abs(scores[:, [0, 2]]).sum(axis=1)
            reached, tilted, bounded = (single_precision(numbers[feasible]) for numbers in (scores, tilts, bounds))
            plans[feasible] = self._search(Problems(self.curvature, self.gain, reached, tilted, bounded, *weights))
        points = np.empty((n_applicants, self.n_options, judge.dimension))
        deliver_options(origins, judge.mean, *box, plans, points)
        return points, feasible

    def _search(self, problems: Problems) -> Array:
        """Best plans (N, J, n) that the starts lead to."""
        single = problems._replace(diversity_weight=0.0)
        starts = SINGLE_REACHES[:, None, None] * self.ascent
        option, least = _best(*self._descend(single, np.tile(starts, (len(problems.scores), 1, 1, 1))))
        # J options in one place have no diversity, and no better place than the best single one.
        equal: Array = np.repeat(option, self.n_options, axis=1)
        if self.n_options == 1 or problems.diversity_weight == 0.0:
            return equal
        best, value = _best(*self._descend(problems, option[:, None] + self.spreads))
        return np.where((value < least - EQUAL * np.abs(least))[:, None, None], best, equal)

    def _descend(self, problems: Problems, starts: Array) -> tuple[Array, Array]:
        """Descend from starts (N, S, J, n); return the most promising ends (N, R, J, n) and their objectives (N, R)."""
        n_applicants, n_starts, n_options, n = starts.shape
        values = np.empty((n_applicants, n_starts))
        few, stop = min(self.max_iter, LBFGS_STEPS), interruption()
        lbfgs_descents(problems, WARM, few, stop, starts, values)
        # The best one, and others all down the order: its neighbours in it mostly lead to the same place.
        order = np.argsort(values, axis=1, kind="stable")[:, :: 1 if n_options == 1 else REFINED]
        plans = np.take_along_axis(starts, order[:, :, None, None], axis=1)
        values = np.take_along_axis(values, order, axis=1)
        fits = n_options * n < LARGEST_SYSTEM
        if not fits:
            lbfgs_descents(problems, COLD, min(self.max_iter, COLD_STEPS), stop, plans, values)
        elif n_options > 1:
            lbfgs_descents(problems, COOL, few, stop, plans, values)
        interior_point_descents(problems, self.max_iter if fits else 0, stop, plans, values)
        return plans, values


def _best(plans: Array, values: Array) -> tuple[Array, Array]:
    """Of each applicant's plans (N, S, J, n) the one of least value, (N, J, n), and that value, (N,)."""
    rows, chosen = np.arange(len(plans)), values.argmin(axis=1)
    return plans[rows, chosen], values[rows, chosen]
