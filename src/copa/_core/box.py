"""Coordinates of plans or applicants that are free to move, and the box they must stay in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices, as_floats
from copa.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Box:
    """Free coordinates and bounds of N applicants or plans in D dimensions.

    Attributes
    ----------
    free : ndarray of shape (F,)
        Coordinates that may move, ascending; never coordinate 0, the intercept.
    lower, upper : ndarray of shape (N, D)
        Infinite where there is no bound, and at coordinates that are not free.
    messages : list of str
        What is wrong with the bounds of each of the N, "" where nothing is.
    """

    free: Indices
    lower: Array
    upper: Array
    messages: list[str]

    @classmethod
    def read(cls, n_rows: int, dimension: int, fixed: Any, lower: Any, upper: Any, *, of_plans: bool = False) -> "Box":
        """Check what the caller gave; None and [] mean that there are none of the kind.

        Parameters
        ----------
        n_rows, dimension : int
            N and D.
        fixed : array_like, optional
            Mask (D,) or list of the coordinates that are not free.
        lower, upper : array_like of shape (D,) or (N, D), optional
        of_plans : bool
            Whether the rows are plans, whose wrong bounds are an error. Those of one applicant among others are a
            message, and an error only where they are everyone's.

        Returns
        -------
        Box
        """
        held = read_fixed(fixed, dimension)
        what = "plan" if of_plans else "applicant"
        low = _read_bound(lower, "lower", n_rows, dimension, what, absent=-np.inf)
        high = _read_bound(upper, "upper", n_rows, dimension, what, absent=np.inf)
        # A coordinate that cannot move needs no bounds, and one that is out of them cannot be brought back.
        low, high = np.where(held, -np.inf, low), np.where(held, np.inf, high)
        wrong = ~(low <= high) | (low == np.inf) | (high == -np.inf)  # NaN compares with nothing
        alike = np.ndim(lower) < 2 and np.ndim(upper) < 2
        shape = (n_rows, dimension)
        low, high, wrong = (np.broadcast_to(array, shape) for array in (low, high, wrong))
        messages = [""] * n_rows
        for n in np.flatnonzero(wrong.any(axis=1)).tolist():
            i = int(wrong[n].argmax())
            messages[n] = (
                f"lower must not exceed upper, got lower {low[n, i]:g} and upper {high[n, i]:g} at coordinate {i}"
                f"{f' of plan {n}' if of_plans and not alike else ''}; exchange them, or say minus or plus infinity "
                "where there is no bound"
            )
            if alike or of_plans:
                raise InvalidInputError(messages[n])
        return cls(np.flatnonzero(~held), low, high, messages)

    def take(self, rows: slice | Indices) -> "Box":
        """Return the bounds of some of the rows."""
        messages = np.array(self.messages, dtype=object)[rows].tolist()
        return Box(self.free, self.lower[rows], self.upper[rows], messages)

    def inside(self, plans: Array) -> npt.NDArray[np.bool_]:
        """Flag the options of plans (N, J, D) that are in their box, (N, J)."""
        within = (plans >= self.lower[:, None]) & (plans <= self.upper[:, None])
        return np.asarray(within.all(axis=2))

    def require_inside(self, plans: Array, *, single: bool) -> None:
        """Raise if an option of plans (N, J, D) is outside its box, naming the first."""
        for n, j, i in np.argwhere((plans < self.lower[:, None]) | (plans > self.upper[:, None])):
            raise InvalidInputError(
                f"{option_name(n, j, single=single)} is outside its bounds: coordinate {i} is {plans[n, j, i]:g}, "
                f"allowed is {self.lower[n, i]:g} to {self.upper[n, i]:g}; widen the bounds, or bring the plan "
                "into them with requirement_correction first"
            )


def option_name(plan: int, option: int, *, single: bool) -> str:
    """Name an option for messages, with its plan where there are several."""
    return f"option {option}" if single else f"option {option} of plan {plan}"


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


def _read_bound(bound: Any, name: str, n_rows: int, dimension: int, what: str, absent: float) -> Array:
    """Read bounds (D,) for all rows, as (1, D), or (N, D) for each."""
    if bound is None or np.size(bound) == 0:
        return np.full((1, dimension), absent)
    array = as_floats(bound, name)
    if array.shape not in ((dimension,), (n_rows, dimension)):
        raise InvalidInputError(
            f"{name} must have shape ({dimension},), or ({n_rows}, {dimension}) with one row per {what}, "
            f"got {array.shape}"
        )
    return array.reshape(-1, dimension)
