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
    projected = np.clip(options, low, high)
    short = projected @ mean < margin
    if not short.any():
        return projected
    moved, slope = projected[short], mean[free]
    path = _Path(options[short][:, free], slope, low[short][:, free], high[short][:, free])
    # Aim above the margin by more than a score's rounding errors: whoever computes it again finds it met.
    aim = np.full(len(moved), margin)
    for _ in range(2):
        aim = np.maximum(aim, margin + 2.0 * mean.size * EPS * (np.abs(moved * mean).sum(axis=1) + margin))
        rest = np.delete(moved, free, axis=1) @ np.delete(mean, free)
        moved[:, free] = path.at(path.time_of(aim - rest))
    projected[short] = moved
    return projected


class _Path:
    """Points clip(x + t slope, low, high) for t >= 0: the projections of x (M, F) onto half-spaces and a box.

    Their score slope'x grows piecewise linearly: a coordinate starts to move where it enters its box and stops where it
    meets the far bound. `times` are these events in order, (M, 2 F + 2), with zero before and infinity after them.
    """

    def __init__(self, x: Array, slope: Array, low: Array, high: Array) -> None:
        self.x, self.slope, self.low, self.high = x, slope, low, high
        self.far = np.where(slope > 0.0, high, low)
        near = np.where(slope > 0.0, low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            events = [np.where(slope == 0.0, 0.0, np.maximum((b - x) / slope, 0.0)) for b in (near, self.far)]
        self.enter, self.leave = events
        start, end = np.zeros((len(x), 1)), np.full((len(x), 1), np.inf)
        self.times = np.sort(np.concatenate([start, *events, end], axis=1), axis=1)

    def at(self, time: Array) -> Array:
        """Points at times (M,), infinity included."""
        with np.errstate(invalid="ignore"):
            along = np.where(np.isinf(time)[:, None], self.far, self.x + time[:, None] * self.slope)
        return np.clip(np.where(self.slope == 0.0, self.x, along), self.low, self.high)

    def time_of(self, score: Array) -> Array:
        """Times (M,) at which the scores are reached, infinity where they are not."""
        rows = np.arange(len(self.x))
        before, after = np.zeros(len(rows), dtype=np.int64), np.full(len(rows), self.times.shape[1] - 1)
        while (after - before).max() > 1:  # halving: the last event before the score is reached
            middle = (before + after) // 2
            below = self.at(self.times[rows, middle]) @ self.slope < score
            before, after = np.where(below, middle, before), np.where(below, after, middle)
        time = self.times[rows, before]
        moving = (self.enter <= time[:, None]) & (time[:, None] < self.leave)
        speed = np.where(moving, self.slope**2, 0.0).sum(axis=1)
        missing = score - self.at(time) @ self.slope
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = np.where(missing > 0.0, missing / speed, 0.0)
        reached: Array = np.minimum(time + wait, self.times[rows, after])
        return reached
