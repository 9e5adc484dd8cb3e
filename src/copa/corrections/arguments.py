"""Reading the arguments that the corrections share: plans, budgets, and how many options may move."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.reading import read_count
from copa.bounds.points import complaints, read_points, require_plan
from copa.bounds.validity import bound_plans
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import MomentBall


def read_plans(points: Any, dimension: int) -> tuple[Array, bool]:
    """Read one plan (J, D) or a batch as plans (N, J, D), and whether it was one; raise at the first bad plan."""
    array = read_points(points, dimension)
    if array.ndim == 2:
        require_plan(array)
        return array[None], True
    for i, message in enumerate(complaints(array)):
        if message:
            raise InvalidInputError(f"plan {i}: {message}")
    return array, False


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


@dataclass(frozen=True, eq=False)
class CorrectionEffect:
    """A plan before and after a correction; for a batch each field has a leading N.

    Attributes
    ----------
    lower_before, lower_after : float, the proven lower bound L* of the plan
    moved : (J,) Euclidean distances that the options were moved
    changed : (J,) whether an option is another one than before, to the last bit
    """

    lower_before: Array
    lower_after: Array
    moved: Array
    changed: npt.NDArray[np.bool_]


def correction_effect(
    before: Any, after: Any, mean: Any, cov: Any, radius: float, drift: Any = None, *, n_jobs: int | None = None
) -> CorrectionEffect:
    """Compare a plan, or a batch of plans, with what a correction made of it.

    Parameters
    ----------
    before, after : (J, D) or (N, J, D), of one shape
    mean, cov, radius, drift : the ball for which the lower bounds are computed
    n_jobs : threads for a batch, None for all cores; results do not depend on it

    Returns
    -------
    CorrectionEffect

    Raises
    ------
    InvalidInputError
        For bad input, or plans of different shapes.
    """
    ball = MomentBall.read(mean, cov, radius, drift)
    old, single = read_plans(before, ball.dimension)
    new, new_is_single = read_plans(after, ball.dimension)
    if old.shape != new.shape or single != new_is_single:
        raise InvalidInputError(
            f"before and after must have one shape, got {np.shape(before)} and {np.shape(after)}; compare a plan with "
            "its own correction"
        )
    effect = CorrectionEffect(
        lower_before=bound_plans(old, ball, n_jobs).lower,
        lower_after=bound_plans(new, ball, n_jobs).lower,
        moved=np.linalg.norm(new - old, axis=2),
        changed=(new != old).any(axis=2),
    )
    if not single:
        return effect
    return CorrectionEffect(effect.lower_before[0], effect.lower_after[0], effect.moved[0], effect.changed[0])
