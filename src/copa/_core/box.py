"""What an applicant may change: the free coordinates and the box they must stay in, read from the caller once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats
from copa.exceptions import InvalidInputError

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Box:
    """Free coordinates and bounds of N applicants in D dimensions.

    Attributes
    ----------
    free : (n,) coordinates that may change, ascending; never coordinate 0, the intercept
    lower, upper : (N, D) bounds, infinite where there are none and at coordinates that are not free
    messages : (N,) what is wrong with an applicant's own bounds, else empty
    """

    free: Indices
    lower: Array
    upper: Array
    messages: list[str]

    @classmethod
    def read(cls, n_applicants: int, dimension: int, fixed: Any, lower: Any, upper: Any) -> "Box":
        """Check what the caller gave; None and [] mean that there are none of the kind.

        Bounds that are wrong for everyone are an error, those of one applicant a message.
        """
        held = read_fixed(fixed, dimension)
        shape = (n_applicants, dimension)
        low = _read_bound(lower, "lower", n_applicants, dimension, absent=-np.inf)
        high = _read_bound(upper, "upper", n_applicants, dimension, absent=np.inf)
        # A coordinate that cannot change needs no bounds, and one that is out of them cannot be brought back.
        low, high = np.where(held, -np.inf, low), np.where(held, np.inf, high)
        # One row stands for all applicants: there a mistake is the caller's.
        if len(low) == len(high) == 1 and (np.ndim(lower) < 2 and np.ndim(upper) < 2):
            if complaint := _complaint(low[0], high[0]):
                raise InvalidInputError(complaint)
            messages = [""] * n_applicants
        else:
            low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
            messages = [_complaint(*pair) for pair in zip(low, high, strict=True)]
        return cls(np.flatnonzero(~held), np.broadcast_to(low, shape), np.broadcast_to(high, shape), messages)


def read_fixed(fixed: Any, dimension: int) -> npt.NDArray[np.bool_]:
    """Read a mask (D,) or a list of coordinates as a mask; the intercept is always in it."""
    held = np.zeros(dimension, dtype=bool)
    held[0] = True
    if fixed is None or np.size(fixed) == 0:
        return held
    given = np.asarray(fixed)
    if given.ndim == 1 and given.dtype == np.bool_ and given.size == dimension:
        return np.asarray(held | given)
    if given.ndim == 1 and np.issubdtype(given.dtype, np.integer):
        if outside := [int(i) for i in given if not 0 <= i < dimension]:
            raise InvalidInputError(
                f"fixed must name coordinates from 0 to {dimension - 1}, got {outside[0]}; "
                "coordinate 0 is the intercept"
            )
        held[given] = True
        return held
    raise InvalidInputError(
        f"fixed must be a boolean mask of shape ({dimension},) or a list of coordinates (integers), "
        f"got {given.dtype} of shape {given.shape}"
    )


def _read_bound(bound: Any, name: str, n_applicants: int, dimension: int, absent: float) -> Array:
    """Read bounds (D,) for all applicants, as (1, D), or (N, D) for each."""
    if bound is None or np.size(bound) == 0:
        return np.full((1, dimension), absent)
    array = as_floats(bound, name)
    if array.shape not in ((dimension,), (n_applicants, dimension)):
        raise InvalidInputError(
            f"{name} must have shape ({dimension},), or ({n_applicants}, {dimension}) with one row per applicant, "
            f"got {array.shape}"
        )
    return array.reshape(-1, dimension)


def _complaint(lower: Array, upper: Array) -> str:
    """What is wrong with the bounds of one applicant, empty if nothing is."""
    wrong = ~(lower <= upper) | (lower == np.inf) | (upper == -np.inf)  # NaN compares with nothing
    if not wrong.any():
        return ""
    i = int(wrong.argmax())
    return (
        f"lower must not exceed upper, got lower {lower[i]:g} and upper {upper[i]:g} at coordinate {i}; exchange "
        "them, or say minus or plus infinity where there is no bound"
    )


@dataclass(frozen=True, eq=False)
class Limits:
    """Free coordinates and box of N plans in D dimensions.

    Attributes
    ----------
    free : (F,) indices of the coordinates that may move, ascending; never coordinate 0, the intercept
    lower, upper : (N, 1, D) bounds, infinite where there are none and at coordinates that are not free
    """

    free: Indices
    lower: Array
    upper: Array

    @classmethod
    def read(cls, n_plans: int, dimension: int, fixed: Any, lower: Any, upper: Any) -> "Limits":
        """Check what the caller gave; None and [] mean that there are none of the kind."""
        held = read_fixed(fixed, dimension)
        low = _read_limit(lower, "lower", n_plans, dimension, absent=-np.inf)
        high = _read_limit(upper, "upper", n_plans, dimension, absent=np.inf)
        # A coordinate that cannot move needs no bounds, and one that is out of them cannot be brought back.
        low, high = np.where(held, -np.inf, low), np.where(held, np.inf, high)
        for n, i in np.argwhere(~(low <= high) | (low == np.inf) | (high == -np.inf)):
            per_plan = f" of plan {n}" if np.ndim(lower) == 2 or np.ndim(upper) == 2 else ""
            raise InvalidInputError(
                f"lower must not exceed upper, got lower {low[n, i]:g} and upper {high[n, i]:g} at coordinate "
                f"{i}{per_plan}; exchange them, or leave one out (minus or plus infinity)"
            )
        return cls(np.flatnonzero(~held), low[:, None], high[:, None])

    def inside(self, plans: Array) -> npt.NDArray[np.bool_]:
        """Which options of plans (N, J, D) are in their box, (N, J)."""
        within: npt.NDArray[np.bool_] = np.all((plans >= self.lower) & (plans <= self.upper), axis=2)
        return within

    def require_inside(self, plans: Array, *, single: bool) -> None:
        """Raise if an option of plans (N, J, D) is outside its box, naming the first."""
        for n, j, i in np.argwhere((plans < self.lower) | (plans > self.upper)):
            raise InvalidInputError(
                f"{option_name(n, j, single=single)} is outside its bounds: coordinate {i} is {plans[n, j, i]:g}, "
                f"allowed is {self.lower[n, 0, i]:g} to {self.upper[n, 0, i]:g}; widen the bounds, or bring the plan "
                "into them with requirement_correction first"
            )


def option_name(plan: int, option: int, *, single: bool) -> str:
    """How messages call an option: by its plan too where there are several."""
    return f"option {option}" if single else f"option {option} of plan {plan}"


def _read_limit(bound: Any, name: str, n_plans: int, dimension: int, absent: float) -> Array:
    """Read bounds (D,) for all plans or (N, D) for each, as (N, D)."""
    if bound is None or np.size(bound) == 0:
        return np.full((n_plans, dimension), absent)
    array = as_floats(bound, name)
    if array.shape not in ((dimension,), (n_plans, dimension)):
        raise InvalidInputError(
            f"{name} must have shape ({dimension},), or ({n_plans}, {dimension}) with one row per plan, "
            f"got {array.shape}"
        )
    if np.isnan(array).any():
        place = tuple(int(i) for i in np.argwhere(np.isnan(array))[0])
        raise InvalidInputError(
            f"{name} must not hold NaN, got one at index {place}; where there is no bound, say {absent:g}"
        )
    return np.broadcast_to(array, (n_plans, dimension))
