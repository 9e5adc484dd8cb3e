"""The search for plans: rough descents from every start, sharp ones from where some of them lead to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.threads import interruption
from copa.objective.objective import Objective

SIZES = (1.0, 1.5, 0.75, 1.0)  # of the starts, in turn, relative to the best simplex without validity and margin
ROWS = 4  # one start in so many is a row
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
    flat = flat_axes(gain, curvature)
    spreads = np.empty((n_starts, n_options, gain.size))
    for s in range(n_starts):
        places = row if s % ROWS == ROWS - 1 else simplex
        axes = random_axes(rng, places.shape[1], gain.size)
        if s in (0, ROWS - 1):
            first = flat[: len(axes)]
            axes[: len(first)] = first
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


def flat_axes(gain: Array, curvature: Array) -> Array:
    """Orthonormal directions (n - 1, n) without gain, those of least variance first."""
    length = float(np.linalg.norm(gain))
    along = gain / length if length > 0.0 else np.zeros_like(gain)
    inside = np.eye(gain.size) - np.outer(along, along)
    # The direction of the gain is put last.
    last = (1.0 + 2.0 * float(np.trace(curvature))) * np.outer(along, along)
    _, vectors = np.linalg.eigh(inside @ curvature @ inside + last)
    axes: Array = vectors.T[: max(gain.size - 1, 0)]
    return axes


# Temperatures of the soft minimum over the options; the objective bends over values of about one.
WARM, COOL = np.array([0.1]), np.array([0.02])
COLD = np.array([0.02, 0.005, 0.005, 0.005])
ROUGH_STEPS = 30  # most steps at one temperature
COLD_STEPS = 200  # the same where no sharp descent follows
LARGEST_SYSTEM = 400  # unknowns of a Newton system; beyond, the descents stay rough and become cold
REFINED = 4  # one start in so many is followed to the end
SINGLE_REACHES = np.array([0.0, 1.0, 4.0])  # how far up the search for a single option starts


@dataclass(frozen=True, eq=False)
class Moves:
    """What N applicants may do, in moves z = weights * (x - origin) of the n free coordinates."""

    scores: Array  # (N, 3) mean score, its variance, what the moves must add to the mean score
    tilts: Array  # (N, n) half of the variance's slope at the applicant
    bounds: Array  # (N, 2, n) box

    def of(self, rows: npt.NDArray[np.intp]) -> "Moves":
        """The same for some of the applicants."""
        return Moves(self.scores[rows], self.tilts[rows], self.bounds[rows])


class PlanSearch:
    """One call's search: what all of its applicants share.

    Parameters
    ----------
    objective : what plans are judged by
    margin : least mean score of an option
    free : (n,) coordinates that may change
    n_options, n_starts, max_iter : options of a plan, starts, most steps of a descent
    rng : how the starts are turned
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
        self.gain = objective.mean[free] / self.scale
        self.curvature = np.ascontiguousarray(objective.cov[np.ix_(free, free)] / self.scale[:, None] / self.scale)
        self.spreads = spread_starts(rng, n_starts, n_options, self.gain, self.curvature, objective.diversity_weight)
        self.ascent = ascent_direction(self.gain, self.curvature)

    @staticmethod
    def load_kernels() -> None:
        """Load the compiled kernels, or compile them: it takes longer than importing all the rest."""
        import copa.objective._kernels.interior_point
        import copa.objective._kernels.lbfgs_descent
        import copa.objective._kernels.moves
        import copa.objective._kernels.objective  # noqa: F401 - `build` and the objective use them

    def build(self, origins: Array, lower: Array, upper: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Plans (N, J, D) of applicants (N, D) in their boxes (N, D), and whether they reach the margin.

        Where none does, all options are the point of the box with the largest mean score.
        """
        from copa.objective._kernels.moves import deliver_options, read_applicants

        n_applicants, n = len(origins), self.free.size
        moves = Moves(np.empty((n_applicants, 3)), np.empty((n_applicants, n)), np.empty((n_applicants, 2, n)))
        feasible = np.empty(n_applicants, dtype=bool)
        mean, cov = self.objective.mean, self.objective.cov
        described = (moves.scores, moves.tilts, moves.bounds, feasible)
        read_applicants(origins, mean, cov, self.free, self.scale, lower, upper, self.margin, *described)
        plans = np.zeros((n_applicants, self.n_options, n))
        rows = np.flatnonzero(feasible)
        if n > 0:
            plans[rows] = self._search(moves.of(rows))
        points = np.empty((n_applicants, self.n_options, mean.size))
        deliver_options(origins, mean, self.free, self.scale, lower, upper, self.margin, plans, points)
        return points, feasible

    def _search(self, moves: Moves) -> Array:
        """Best plans (N, J, n) that the starts lead to."""
        n_applicants = len(moves.scores)
        starts = SINGLE_REACHES[:, None, None] * self.ascent
        singles, levels = self._descend(moves, np.tile(starts, (n_applicants, 1, 1, 1)), diversity_weight=0.0)
        option, least = _best(singles, levels)
        # J options in one place have no diversity, and no better place than the best single one.
        equal: Array = np.repeat(option, self.n_options, axis=1)
        weight = self.objective.diversity_weight
        if self.n_options == 1 or weight == 0.0:
            return equal
        plans, values = self._descend(moves, option[:, None] + self.spreads, diversity_weight=weight)
        best, value = _best(plans, values)
        return np.where((value < least)[:, None, None], best, equal)

    def _descend(self, moves: Moves, starts: Array, diversity_weight: float) -> tuple[Array, Array]:
        """Where the most promising of the starts (N, S, J, n) lead, and the objectives there: (N, R, J, n), (N, R)."""
        from copa.objective._kernels.interior_point import descend_sharply
        from copa.objective._kernels.lbfgs_descent import descend_roughly

        roughly: Any = descend_roughly
        sharply: Any = descend_sharply
        n_applicants, n_starts, n_options, n = starts.shape
        shared: tuple[Any, ...] = (self.curvature, self.gain, moves.scores, moves.tilts, moves.bounds)
        shared += (self.objective.validity_weight, diversity_weight, self.objective.manhattan)
        values = np.empty((n_applicants, n_starts))
        rough, stop = min(self.max_iter, ROUGH_STEPS), interruption()
        roughly(*shared, WARM, rough, stop, starts, values)
        # The best one, and others all down the order: its neighbours in it mostly lead to the same place.
        order = np.argsort(values, axis=1, kind="stable")[:, :: 1 if n_options == 1 else REFINED]
        plans = np.take_along_axis(starts, order[:, :, None, None], axis=1)
        values = np.take_along_axis(values, order, axis=1)
        sharp = n_options * n < LARGEST_SYSTEM
        if not sharp:
            roughly(*shared, COLD, min(self.max_iter, COLD_STEPS), stop, plans, values)
        elif n_options > 1:
            roughly(*shared, COOL, rough, stop, plans, values)
        sharply(*shared, self.max_iter if sharp else 0, stop, plans, values)
        return plans, values


def _best(plans: Array, values: Array) -> tuple[Array, Array]:
    """Of each applicant's plans (N, S, J, n) the one of least value, (N, J, n), and that value, (N,)."""
    rows, chosen = np.arange(len(plans)), values.argmin(axis=1)
    return plans[rows, chosen], values[rows, chosen]
