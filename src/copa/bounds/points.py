"""Reading plans from the caller: what a plan is, and what is wrong with one that is none."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import LARGEST, SMALLEST, Array, as_floats, require_finite, require_size
from copa.exceptions import InvalidInputError


def read_points(points: Any, dimension: int) -> Array:
    """Check the shape of one plan (J, D) or a batch (N, J, D) and return a read-only copy.

    The entries are checked plan by plan, by `require_plan` or `complaints`.
    """
    array = as_floats(points, "points").copy()
    if array.ndim not in (2, 3) or array.shape[-1] != dimension:
        raise InvalidInputError(
            f"points must have shape (J, {dimension}) or (N, J, {dimension}) to match mean, got {array.shape}"
        )
    if array.shape[-2] == 0:
        raise InvalidInputError(f"a plan needs at least one option, got points of shape {array.shape}")
    array.setflags(write=False)
    return array


def read_plan(points: Any, dimension: int) -> Array:
    """Check one plan (J, D), its shape and its entries, and return a read-only copy."""
    plan = read_points(points, dimension)
    if plan.ndim != 2:
        raise InvalidInputError(f"expected one plan of shape (J, {dimension}), got {plan.shape}")
    require_plan(plan)
    return plan


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


def require_plan(plan: Array) -> None:
    """Raise if the entries of a plan (J, D) are not finite, or an option is zero or of a size out of range."""
    require_finite(plan, "points")
    for j, option in enumerate(plan):
        require_size(option, f"option {j}", SMALLEST)
        if not option.any():
            raise InvalidInputError(
                f"option {j} is the zero vector, which no model accepts or rejects; "
                "an option needs at least its intercept coordinate, 1"
            )


def complaints(plans: Array) -> npt.NDArray[np.str_]:
    """Say what is wrong with each plan of a batch (N, J, D); empty where nothing is."""
    with np.errstate(invalid="ignore"):
        sizes = np.abs(plans).max(axis=2)  # NaN where an entry is, and then no comparison below holds
        good = ((sizes >= SMALLEST) & (sizes <= LARGEST)).all(axis=1)
    messages = [""] * len(plans)
    for i in np.flatnonzero(~good):
        try:
            require_plan(plans[i])
        except InvalidInputError as error:
            messages[i] = str(error)
    return np.array(messages, dtype=np.str_)
