"""How the guarantees of a plan fall as the ball of the next models grows."""

from dataclasses import dataclass

import numpy as np

from copa._core.arrays import Array
from copa.bounds import validity_bounds
from copa.plans import Plan, PlanBatch
from copa.uncertainty.ambiguity import MomentBall

N_RADII = 61
FARTHEST = 4.0  # times the radius assumed; curves go on, but who would draw them
PRECISION = 1e-3  # of the longest radius, for how long a level holds
KINDS = ("each", "any", "all")


@dataclass(frozen=True, eq=False)
class RadiusCurves:
    """Guarantees of one plan of J options at R radii.

    Attributes
    ----------
    radii : (R,) ascending; the radius that the plan was made with is one of them
    option_lower, option_upper : (R, J) each option holds with at least, at most, this probability
    any_lower, any_upper : (R,) the same for at least one option
    all_lower, all_upper : (R,) the same for all options together
    """

    radii: Array
    option_lower: Array
    option_upper: Array
    any_lower: Array
    any_upper: Array
    all_lower: Array
    all_upper: Array

    def lower(self, kind: str) -> Array:
        """Lower bound of "each" (the least sure option), "any" or "all", (R,)."""
        lowest: Array = self.option_lower.min(axis=1)
        return {"each": lowest, "any": self.any_lower, "all": self.all_lower}[kind]


def radius_grid(ball: MomentBall, points: Array, n_radii: int = N_RADII) -> Array:
    """Radii worth looking at for some options (M, D): from 0 on, the ball's own among them, (R,)."""
    own = ball.radius
    unit = MomentBall.read(ball.mean, ball.cov, 1.0, ball.drift)
    scores = unit.scores(points)
    means, reaches = scores.means, scores.reaches
    useful = (means > 0.0) & (reaches > 0.0)
    # Beyond this radius nothing can be promised of a typical option any more.
    end = float(np.median(means[useful] / reaches[useful])) if useful.any() else max(2.0 * own, 1.0)
    if own > 0.0:
        end = float(np.clip(end, 2.0 * own, FARTHEST * own))
    return np.unique(np.append(np.linspace(0.0, end, n_radii), own))


def batch_curves(batch: PlanBatch, radii: Array, n_jobs: int | None = None) -> list[RadiusCurves | None]:
    """Curves of every plan of a batch, None where there are no options.

    Plans with the same number of options are bounded together, one call per radius.
    """
    curves: list[RadiusCurves | None] = [None] * len(batch)
    for size in np.unique(batch.counts[batch.counts > 0]).tolist():
        whose = np.flatnonzero(batch.counts == size)
        points = batch.points[np.isin(batch.owner, whose)].reshape(len(whose), size, -1)
        for i, found in zip(whose.tolist(), radius_curves(points, batch.ball, radii, n_jobs), strict=True):
            curves[i] = found
    return curves


def radius_curves(points: Array, ball: MomentBall, radii: Array, n_jobs: int | None = None) -> list[RadiusCurves]:
    """Curves of plans (N, J, D) at given radii (R,), ascending."""
    each, each_upper, joint = _bounds_at(points, ball, radii, n_jobs)
    return [
        RadiusCurves(
            radii=radii,
            option_lower=each[:, k],
            option_upper=each_upper[:, k],
            any_lower=joint[0, :, k],
            any_upper=joint[1, :, k],
            all_lower=joint[2, :, k],
            all_upper=joint[3, :, k],
        )
        for k in range(len(points))
    ]


def _bounds_at(points: Array, ball: MomentBall, radii: Array, n_jobs: int | None) -> tuple[Array, Array, Array]:
    """Bounds of plans (n, J, D) at every radius: of options (R, n, J) twice, and of plans (4, R, n)."""
    n, size, _ = points.shape
    each, each_upper = np.empty((2, len(radii), n, size))
    joint = np.ones((4, len(radii), n))
    hopeless = (ball.scores(points).means < 0.0).all(axis=1)  # otherwise the upper bound for any option is 1
    for r, radius in enumerate(radii.tolist()):
        bounds = validity_bounds(points, ball.mean, ball.cov, radius, ball.drift, n_jobs=n_jobs)
        each[r], joint[0, r], joint[2, r], joint[3, r] = (
            bounds.option_lower,
            bounds.any_lower,
            bounds.lower,
            bounds.upper,
        )
        scores = MomentBall(ball.mean, ball.cov, radius, ball.drift).scores(points)
        each_upper[r] = 1.0 - ball.guarantee(-scores.means, scores.spreads, scores.reaches)
        if hopeless.any():
            # That no option holds is that all the opposite ones do.
            none = validity_bounds(-points[hopeless], ball.mean, ball.cov, radius, ball.drift, n_jobs=n_jobs)
            joint[1, r, hopeless] = 1.0 - none.lower
    return each, each_upper, joint


@dataclass(frozen=True)
class ShelfLife:
    """How far the next models may drift before a level is lost.

    Attributes
    ----------
    radius : the level is proven up to this radius; NaN where it is not even reached at radius 0
    open_ended : whether it was still proven at the largest radius looked at
    """

    radius: float
    open_ended: bool


def shelf_lives(plan: Plan, curves: RadiusCurves, level: float) -> dict[str, ShelfLife]:
    """Largest radius found at which each, any and all options still hold with a level."""
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
        if _lower_at(plan, kind, middle) >= level:
            low = middle
        else:
            high = middle
    return ShelfLife(low, open_ended=False)


def _lower_at(plan: Plan, kind: str, radius: float) -> float:
    ball = plan.ball
    bounds = validity_bounds(plan.points, ball.mean, ball.cov, radius, ball.drift)
    found = {"each": bounds.option_lower.min(), "any": bounds.any_lower, "all": bounds.lower}
    return float(found[kind])
