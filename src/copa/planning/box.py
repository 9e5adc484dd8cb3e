"""What an applicant may change: the free coordinates and the box they must stay in, read from the caller once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, as_floats
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
            raise InvalidInputError(f"fixed must name coordinates from 0 to {dimension - 1}, got {outside[0]}")
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
