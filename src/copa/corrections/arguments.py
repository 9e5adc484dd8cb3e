"""Reading the arguments that the corrections share: plans, budgets, and how many options may move."""

from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, as_floats, require_size
from copa.bounds.points import complaints, read_points, require_plan
from copa.exceptions import InvalidInputError
from copa.schema.names import shown


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


def read_length(value: Any, name: str) -> float:
    """Check a margin or budget: one finite number, not negative."""
    number = as_floats(value, name)
    if number.ndim != 0:
        raise InvalidInputError(f"{name} must be one number, got shape {number.shape}")
    if not (np.isfinite(number) and number >= 0.0):
        raise InvalidInputError(f"{name} must be finite and at least 0, got {float(number)}")
    require_size(number, name)
    return float(number)


def read_count(value: Any, name: str, largest: int | None = None) -> int:
    """Check a number of things: an integer from 1 on, up to `largest` where there is one."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < 1 or (largest is not None and value > largest):
        allowed = "at least 1" if largest is None else f"between 1 and the number of options, {largest}"
        raise InvalidInputError(f"{name} must be an integer {allowed}, got {shown(value)}")
    return int(value)


def heaviest(weights: Array, n_corrections: Any) -> npt.NDArray[np.bool_]:
    """Mark the `n_corrections` options with the largest weights (N, J); the first of equal ones, all for None."""
    n_options = weights.shape[1]
    if n_corrections is None:
        return np.ones(weights.shape, dtype=bool)
    count = read_count(n_corrections, "n_corrections", n_options)
    order = np.argsort(-weights, axis=1, kind="stable")
    marked = np.zeros(weights.shape, dtype=bool)
    np.put_along_axis(marked, order[:, :count], values=True, axis=1)
    return marked
