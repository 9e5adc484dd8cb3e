"""Curves of the guarantees of a plan against the radius of its ambiguity set, and how long a level lasts."""

from dataclasses import dataclass, replace

import numpy as np

from copa._core.arrays import Array
from copa._core.records import segments_by_size
from copa._core.representation import short_repr
from copa.plans import Plan, PlanBatch
from copa.theory.bounds import ValidityBounds, bound_plans
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from copa.theory.sets.location_set import LocationSet

N_RADII = 61
FARTHEST = 4.0  # times the radius assumed; curves go on, but who would draw them
PRECISION = 1e-3  # of the longest radius, for how long a level holds
KINDS = ("each", "any", "all")


@dataclass(frozen=True, eq=False)
class RadiusCurves:
    """Guarantees of one plan of J options at R radii.

    Attributes
    ----------
    radii : ndarray of shape (R,)
        Ascending; the radius that the plan was made with is one of them.
    option_lower, option_upper : ndarray of shape (R, J)
        Each option holds with at least, at most, this probability.
    any_lower, any_upper : ndarray of shape (R,)
        The same for at least one option.
    all_lower, all_upper : ndarray of shape (R,)
        The same for all options together.
    """

    __repr__ = short_repr

    radii: Array
    option_lower: Array
    option_upper: Array
    any_lower: Array
    any_upper: Array
    all_lower: Array
    all_upper: Array

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of guarantees that a plan has: of a single option, "each" says it all."""
        return KINDS if self.option_lower.shape[1] > 1 else KINDS[:1]

    def lower(self, kind: str) -> Array:
        """Return the lower bound of "each" (the least sure option), "any" or "all", (R,)."""
        lowest: Array = self.option_lower.min(axis=1)
        return {"each": lowest, "any": self.any_lower, "all": self.all_lower}[kind]

    def table(self, *, upper: bool = False) -> Array:
        """Return bounds side by side: each option, then (if there are several) any, then all, (R, J + 2) or (R, 1)."""
        each, some, every = (
            (self.option_upper, self.any_upper, self.all_upper)
            if upper
            else (self.option_lower, self.any_lower, self.all_lower)
        )
        return np.column_stack([each, some, every]) if len(self.kinds) > 1 else each


def radius_grid(ambiguity: AmbiguitySet, points: Array, n_radii: int = N_RADII) -> Array:
    """Return the radii at which the guarantees of options are looked at.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    points : ndarray of shape (M, D)
        Encoded options.
    n_radii : int

    Returns
    -------
    ndarray of shape (R,)
        Ascending from 0, with the radius of the set among them.
    """
    assumed = ambiguity.radius
    scores = replace(ambiguity, radius=1.0).scores(points)
    means, reaches = scores.means, scores.reaches
    useful = (means > 0.0) & (reaches > 0.0)
    # Beyond this radius nothing can be promised of a typical option any more.
    end = float(np.median(means[useful] / reaches[useful])) if useful.any() else max(2.0 * assumed, 1.0)
    if assumed > 0.0:
        end = float(np.clip(end, 2.0 * assumed, FARTHEST * assumed))
    return np.unique(np.append(np.linspace(0.0, end, n_radii), assumed))


def batch_curves(batch: PlanBatch, radii: Array | None = None, n_jobs: int | None = None) -> list[RadiusCurves | None]:
    """Compute the curves of a batch; plans with the same number of options are bounded together, once per radius.

    Parameters
    ----------
    batch : PlanBatch
    radii : ndarray of shape (R,), optional
        Ascending; None chooses them.
    n_jobs : int, optional

    Returns
    -------
    list of RadiusCurves or None
        None where there are no options.
    """
    radii = radius_grid(batch.ambiguity, batch.points) if radii is None else radii
    curves: list[RadiusCurves | None] = [None] * len(batch)
    for whose, options in segments_by_size(batch.counts):
        for i, curve in zip(whose, radius_curves(batch.points[options], batch.ambiguity, radii, n_jobs), strict=True):
            curves[i] = curve
    return curves


def radius_curves(
    points: Array, ambiguity: AmbiguitySet, radii: Array, n_jobs: int | None = None
) -> list[RadiusCurves]:
    """Compute the curves of plans with the same number of options.

    A set of the caller's own gives only lower bounds, and what its `joint_guarantees` say of all options: its guarantee
    need not hold for the opposite of an option.

    Parameters
    ----------
    points : ndarray of shape (N, J, D)
        Encoded options.
    ambiguity : AmbiguitySet
        Its radius does not matter.
    radii : ndarray of shape (R,)
        Ascending.
    n_jobs : int, optional

    Returns
    -------
    list of RadiusCurves
        One per plan.
    """
    n, size, _ = points.shape
    each, each_upper = np.ones((2, n, len(radii), size))
    any_lower, any_upper, all_lower, all_upper = np.ones((4, n, len(radii)))
    hopeless = (ambiguity.scores(points).means < 0.0).all(axis=1)  # otherwise the upper bound for any option is 1
    for r, radius in enumerate(radii.tolist()):
        at_radius = replace(ambiguity, radius=radius)
        bounds = _bounds(at_radius, points, n_jobs)
        each[:, r], any_lower[:, r] = bounds.option_lower.reshape(n, size), bounds.any_lower
        all_lower[:, r], all_upper[:, r] = bounds.lower, bounds.upper
        scores = at_radius.scores(points)
        each_upper[:, r] = at_radius.upper_limit(scores.means, scores.spreads, scores.reaches)
        if isinstance(ambiguity, (MomentBall, LocationSet)) and hopeless.any():
            # That no option holds is that all the opposite ones do.
            any_upper[hopeless, r] = 1.0 - _bounds(at_radius, -points[hopeless], n_jobs).lower
    stacked = zip(each, each_upper, any_lower, any_upper, all_lower, all_upper, strict=True)
    return [RadiusCurves(radii, *bounds_of_one) for bounds_of_one in stacked]


def _bounds(ambiguity: AmbiguitySet, points: Array, n_jobs: int | None) -> ValidityBounds:
    """Bound plans of one size, (N, J, D)."""
    n, size, dimension = points.shape
    return bound_plans(ambiguity, points.reshape(-1, dimension), np.repeat(np.arange(n), size), n, n_jobs)


@dataclass(frozen=True)
class ShelfLife:
    """Radius up to which a level is proven.

    Attributes
    ----------
    radius : float
        The level is proven up to this radius; NaN where it is not even reached at radius 0.
    open_ended : bool
        Whether it was still proven at the largest radius looked at.
    """

    radius: float
    open_ended: bool


def shelf_lives(plan: Plan, curves: RadiusCurves, level: float) -> dict[str, ShelfLife]:
    """Return the largest radius found at which each, any and all options still hold at a level.

    Parameters
    ----------
    plan : Plan
        With options.
    curves : RadiusCurves
        Of the plan, as `radius_curves` computes them.
    level : float

    Returns
    -------
    dict from str to ShelfLife
        By "each", "any" and "all".

    Examples
    --------
    >>> from copa.analysis.curves import radius_curves, radius_grid, shelf_lives
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from copa.theory.sets.ambiguity import MomentBall
    >>> ball = MomentBall(np.array([1.0, 1.0]), 0.01 * np.eye(2), 0.1)
    >>> plan = SimpleNamespace(points=np.array([[1.0, 0.2], [1.0, 0.6]]), ambiguity=ball)  # of a planner, `batch[0]`
    >>> curves = radius_curves(plan.points[None], ball, radius_grid(ball, plan.points))[0]
    >>> lives = shelf_lives(plan, curves, level=0.9)
    >>> round(lives["each"].radius, 2), lives["each"].open_ended
    (0.28, False)
    """
    return {kind: _shelf_life(plan, curves, kind, level) for kind in KINDS}


def _shelf_life(plan: Plan, curves: RadiusCurves, kind: str, level: float) -> ShelfLife:
    holds = curves.lower(kind) >= level
    if not holds[0]:
        return ShelfLife(float("nan"), open_ended=False)
    if holds.all():
        return ShelfLife(float(curves.radii[-1]), open_ended=True)
    first_loss = int(np.argmin(holds))
    low, high = float(curves.radii[first_loss - 1]), float(curves.radii[first_loss])
    while high - low > PRECISION * curves.radii[-1]:  # `low` is proven all the way
        middle = 0.5 * (low + high)
        if radius_curves(plan.points[None], plan.ambiguity, np.array([middle]))[0].lower(kind)[0] >= level:
            low = middle
        else:
            high = middle
    return ShelfLife(low, open_ended=False)
