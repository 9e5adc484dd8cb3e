"""What a correction did to a plan: its lower bound before and after, and how far its options moved."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa.bounds.canonical import read_plans
from copa.bounds.validity import bound_batch
from copa.exceptions import InvalidInputError
from copa.uncertainty.ambiguity import AmbiguitySet, read_set


@dataclass(frozen=True, eq=False)
class CorrectionEffect:
    """A plan before and after a correction; for a batch each field has a leading N.

    Attributes
    ----------
    lower_before, lower_after : float
        The proven lower bound L* of the plan.
    moved : ndarray of shape (J,)
        Euclidean distances that the options were moved.
    changed : ndarray of shape (J,)
        Whether an option is another one than before, to the last bit.

    Examples
    --------
    >>> import copa
    >>> effect = copa.correction_effect(
    ...     [[1.0, 1.0]], [[1.0, 1.5]], mean=[-0.5, 1.0], cov=[[0.1, 0.0], [0.0, 0.1]], radius=0.05
    ... )
    >>> effect.moved, effect.changed
    (array([0.5]), array([ True]))
    """

    __repr__ = short_repr

    lower_before: Array
    lower_after: Array
    moved: Array
    changed: npt.NDArray[np.bool_]


def correction_effect(  # noqa: PLR0913 - the set in its parts, or as one
    before: Any,
    after: Any,
    mean: Any = None,
    cov: Any = None,
    radius: float = 0.0,
    drift: Any = None,
    *,
    family: str = "any",
    ambiguity: AmbiguitySet | None = None,
    n_jobs: int | None = None,
) -> CorrectionEffect:
    """Compare a plan, or a batch of plans, with what a correction made of it.

    Parameters
    ----------
    before, after : array_like of shape (J, D) or (N, J, D)
        Plans of one shape.
    mean : array_like of shape (D,)
    cov : array_like of shape (D, D)
        Nominal mean and covariance of the model's parameters.
    radius : float
    drift : array_like of shape (D, D), optional
        Size and shape of the ball for which the lower bounds are computed.
    family : {"any", "unimodal", "gaussian"}
        What is assumed of the form of a score's distribution.
    ambiguity : AmbiguitySet
        In place of all these, a set such as a `LocationSet`.
    n_jobs : int, optional
        Threads for a batch, None for all cores; results do not depend on it.

    Returns
    -------
    CorrectionEffect

    Raises
    ------
    InvalidInputError
        For bad input, or plans of different shapes.

    Examples
    --------
    >>> import copa
    >>> mean, cov = [-0.5, 1.0], [[0.1, 0.0], [0.0, 0.1]]
    >>> plan = [[1.0, 1.0]]
    >>> effect = copa.correction_effect(plan, copa.requirement_correction(plan, mean, margin=1.0), mean, cov, 0.05)
    >>> print(f"{effect.lower_before:.3f} {effect.lower_after:.3f}")
    0.450 0.684
    """
    known = read_set(mean, cov, radius, drift, family, ambiguity)
    old, single = read_plans(before, known.dimension)
    new, new_is_single = read_plans(after, known.dimension)
    if old.shape != new.shape or single != new_is_single:
        raise InvalidInputError(
            f"before and after must have one shape, got {np.shape(before)} and {np.shape(after)}; compare a plan with "
            "its own correction"
        )
    effect = CorrectionEffect(
        lower_before=bound_batch(known, old, n_jobs).lower,
        lower_after=bound_batch(known, new, n_jobs).lower,
        moved=np.linalg.norm(new - old, axis=2),
        changed=(new != old).any(axis=2),
    )
    if not single:
        return effect
    return CorrectionEffect(effect.lower_before[0], effect.lower_after[0], effect.moved[0], effect.changed[0])
