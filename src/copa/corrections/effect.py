"""What a correction did: how far each option moved, and what that did to the lower bound."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.bounds.ambiguity import AmbiguityBall
from copa.bounds.batch import bound_plans
from copa.corrections.arguments import read_plans
from copa.exceptions import InvalidInputError


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
    ball = AmbiguityBall.read(mean, cov, radius, drift)
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
