"""Requirement correction: the nearest options that the mean accepts with a margin (paper, Section 3.1)."""

from typing import Any

import numpy as np

from copa._core.arrays import SMALLEST, Array, as_vector, require_size
from copa._core.box import Box, option_name
from copa._core.reading import read_number
from copa.corrections.arguments import read_plans
from copa.exceptions import InvalidInputError

EPS = float(np.finfo(np.float64).eps)


def requirement_correction(
    points: Any, mean: Any, *, margin: float = 0.1, fixed: Any = None, lower: Any = None, upper: Any = None
) -> Array:
    """Move every option by as little as possible to where the mean accepts it with a margin and its bounds hold.

    The Euclidean projection onto {mean'x >= margin} and the box together, in the free coordinates. An option that is
    there already is returned as it is, to the last bit.

    Parameters
    ----------
    points : (J, D) one plan, or (N, J, D) a batch; coordinate 0 is the intercept
    mean : (D,) nominal mean of the model's parameters
    margin : float >= 0, score that every option must reach (the paper's epsilon)
    fixed : (D,) mask or list of coordinates that must not move; the intercept never does
    lower, upper : (D,) bounds of the free coordinates, or (N, D) with one row per plan; None is no bound

    Returns
    -------
    points of the same shape

    Raises
    ------
    InvalidInputError
        For bad input, and where an option cannot reach the margin: the message names it and the highest score there is.
    """
    mean = as_vector(mean, "mean")
    require_size(mean, "mean", SMALLEST)
    plans, single = read_plans(points, mean.size)
    margin = read_number(margin, "margin")
    limits = Box.read(len(plans), mean.size, fixed, lower, upper, of_plans=True)

    corrected = plans.copy()
    needed = ~((plans @ mean >= margin) & limits.inside(plans))
    if needed.any():
        places = np.argwhere(needed)
        low, high = (np.broadcast_to(bound[:, None], plans.shape)[needed] for bound in (limits.lower, limits.upper))
        free = limits.free
        highest = _highest(plans[needed], mean, low, high, free)
        _require_reachable(highest, mean, margin, limits, places, single=single)
        corrected[needed] = _project(plans[needed], mean, margin, low, high, free)
    return corrected[0] if single else corrected


def _highest(options: Array, mean: Array, low: Array, high: Array, free: Any) -> Array:
    """Options (M, D) with their free coordinates where the score is highest; infinite where nothing stops them."""
    best = np.clip(options, low, high)
    up, down = free[mean[free] > 0.0], free[mean[free] < 0.0]
    best[:, up] = high[:, up]
    best[:, down] = low[:, down]
    return best


def _require_reachable(highest: Array, mean: Array, margin: float, limits: Box, places: Any, *, single: bool) -> None:
    """Raise if even the highest score of an option (M, D) is below the margin, and say what would help."""
    scores = highest @ mean
    short = np.flatnonzero(scores < margin)
    if short.size == 0:
        return
    n, j = places[short[0]]
    blocking = [int(i) for i in limits.free if mean[i] != 0.0]
    held = [i for i in range(1, mean.size) if i not in limits.free and mean[i] != 0.0]
    helps = [f"widen the bounds of coordinates {blocking}"] if blocking else []
    helps += [f"let some of the fixed coordinates {held} move"] if held else []
    raise InvalidInputError(
        f"{option_name(n, j, single=single)} can reach a score of at most {scores[short[0]]:.6g} with its free "
        f"coordinates, below the margin {margin:g}; " + ", or ".join([*helps, "ask for a smaller margin"])
    )


def _project(options: Array, mean: Array, margin: float, low: Array, high: Array, free: Any) -> Array:
    """Project options (M, D), of which the highest score reaches the margin, onto half-space and box."""
    from copa._core._kernels.projection import project_points

    projected = np.clip(options, low, high)
    short = projected @ mean < margin
    if not short.any():
        return projected
    moved = options[short]
    held = np.delete(np.arange(mean.size), free)
    rest = moved[:, held] @ mean[held]
    points, low, high = (np.ascontiguousarray(a[short][:, free]) for a in (options, low, high))
    nearest, aim = np.empty_like(points), np.full(len(points), margin)
    # Aim above the margin by more than the rounding errors on the way: whoever computes the score again finds it met.
    for _ in range(2):  # errors are relative to the terms of the score, where the option comes from and where it ends
        aim = np.maximum(aim, margin + (2 * mean.size + 10) * EPS * (np.abs(moved * mean).sum(axis=1) + margin))
        project_points(points, mean[free], aim - rest, low, high, nearest)
        moved[:, free] = nearest
    projected[short] = moved
    return projected
