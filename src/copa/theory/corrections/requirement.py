"""Requirement correction: the nearest options that the mean accepts with a margin (paper, Section 3.1)."""

from typing import Any

import numpy as np

from copa._core.arrays import SMALLEST, Array, Indices, as_vector, require_size
from copa._core.box import Box, option_name
from copa._core.reading import read_number
from copa._kernels import project_points
from copa.exceptions import InvalidInputError
from copa.theory.bounds.canonical import read_plans

EPS = float(np.finfo(np.float64).eps)


def requirement_correction(
    points: Any, mean: Any, *, margin: float = 0.1, fixed: Any = None, lower: Any = None, upper: Any = None
) -> Array:
    """Move every option by as little as possible to where the mean accepts it with a margin and its bounds hold.

    The Euclidean projection onto {mean'x >= margin} and the box together, in the free coordinates. An option that is
    there already is returned as it is, to the last bit.

    Parameters
    ----------
    points : array_like of shape (J, D) or (N, J, D)
        One plan, or a batch; coordinate 0 is the intercept.
    mean : array_like of shape (D,)
        Nominal mean of the model's parameters.
    margin : float
        Score that every option must reach (the paper's epsilon), at least 0.
    fixed : array_like of shape (D,) or (K,), optional
        Mask, or list of the coordinates, that must not move; the intercept never does.
    lower, upper : array_like of shape (D,) or (N, D), optional
        Bounds of the free coordinates, for all or with one row per plan; None is no bound.

    Returns
    -------
    ndarray of shape (J, D) or (N, J, D)
        The corrected points, of the shape of the given ones.

    Raises
    ------
    InvalidInputError
        For bad input, and where an option cannot reach the margin: the message names it and the highest score there is.

    Examples
    --------
    >>> import copa
    >>> mean = [-0.5, 1.0, 2.0]
    >>> plan = [[1.0, 0.5, 0.0], [1.0, 0.0, 0.5]]  # scores 0 and 0.5
    >>> copa.requirement_correction(plan, mean, margin=0.25).round(3)
    array([[1.  , 0.55, 0.1 ],
           [1.  , 0.  , 0.5 ]])
    """
    mean = as_vector(mean, "mean")
    require_size(mean, "mean", SMALLEST)
    plans, single = read_plans(points, mean.size)
    margin = read_number(margin, "margin")
    limits = Box.read(len(plans), mean.size, fixed, lower, upper, of_plans=True)

    corrected = plans.copy()
    needed = ~((plans @ mean >= margin) & limits.inside(plans))
    if needed.any():
        places, options = np.argwhere(needed), plans[needed]
        low, high = limits.lower[places[:, 0]], limits.upper[places[:, 0]]
        highest = _highest_scores(options, mean, low, high, limits.free)
        if (short := highest < margin).any():
            name = option_name(*places[short][0], single=single)
            raise InvalidInputError(_out_of_reach(name, highest[short][0], mean, margin, limits.free))
        corrected[needed] = _project(options, mean, margin, low, high, limits.free)
    return corrected[0] if single else corrected


def _highest_scores(options: Array, mean: Array, low: Array, high: Array, free: Indices) -> Array:
    """Highest scores (M,) that options (M, D) can reach with their free coordinates."""
    best = options.copy()
    used = free[mean[free] != 0.0]
    best[:, used] = np.where(mean[used] > 0.0, high[:, used], low[:, used])
    scores: Array = best @ mean
    return scores


def _out_of_reach(name: str, highest: float, mean: Array, margin: float, free: Indices) -> str:
    """Say that an option's highest score is below the margin, and what would help."""
    blocking = [int(i) for i in free if mean[i] != 0.0]
    held = [i for i in range(1, mean.size) if i not in free and mean[i] != 0.0]
    helps = [f"widen the bounds of coordinates {blocking}"] if blocking else []
    helps += [f"let some of the fixed coordinates {held} move"] if held else []
    return (
        f"{name} can reach a score of at most {highest:.6g} with its free coordinates, below the margin {margin:g}; "
        + ", or ".join([*helps, "ask for a smaller margin"])
    )


def _project(options: Array, mean: Array, margin: float, low: Array, high: Array, free: Indices) -> Array:
    """Project options (M, D), of which the highest score reaches the margin, onto half-space and box."""
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
