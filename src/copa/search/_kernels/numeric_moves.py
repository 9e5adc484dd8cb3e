"""One line at a time: how far to move a number so that the goal is met, on the grid of its steps (compiled).

Along a line the distance to the goal (`worth`) is concave, so the values that meet it form an interval.
"""

import math

from numba import njit

from copa._core._kernels.compiling import inner
from copa.search._kernels.problem import TOLERANCE, worth_along_line

HALVINGS = 60  # at most, of an interval whose ends then agree to rounding
NARROW = 1e-10  # such an interval, relative to the first
# A value within this share of a step counts as on the grid.
ON_GRID = 1e-7


@njit(**inner)
def grid_floor(value, step):
    """The largest multiple of `step` up to `value`, or `value` itself without a step."""
    return math.floor(value / step + ON_GRID) * step if step > 0.0 else value


@njit(**inner)
def grid_ceil(value, step):
    """The smallest multiple of `step` from `value` on, or `value` itself without a step."""
    return math.ceil(value / step - ON_GRID) * step if step > 0.0 else value


@njit(**inner)
def last_value(terrain, place, line, upwards):
    """The furthest value that a line may take."""
    if upwards:
        return grid_floor(place.upper[line], terrain.steps[line])
    return grid_ceil(place.lower[line], terrain.steps[line])


@njit(**inner)
def best_change(terrain, goal, row, line, end):
    """The change of a line, between 0 and `end`, with the greatest worth, or the first found that meets the goal."""
    there = worth_along_line(terrain, goal, row, line, end)
    if there >= -TOLERANCE or there >= worth_along_line(terrain, goal, row, line, 0.999 * end):
        return end
    low, high = 0.0, end
    for _ in range(HALVINGS):
        third = (high - low) / 3.0
        left = worth_along_line(terrain, goal, row, line, low + third)
        right = worth_along_line(terrain, goal, row, line, high - third)
        if left >= -TOLERANCE:
            return low + third
        if left < right:
            low += third
        else:
            high -= third
        if abs(high - low) < 1e-6 * abs(end):
            break
    return 0.5 * (low + high)


@njit(**inner)
def first_change(terrain, goal, row, line, miss, hit):
    """The change nearest to `miss` that meets the goal, given that `hit` does and `miss` does not.

    Halving, until the ends are closer than rounding or than a hundredth of a step: the grid decides the rest.
    """
    narrow = max(NARROW * abs(hit - miss), 0.01 * terrain.steps[line])
    for _ in range(HALVINGS):
        if abs(hit - miss) <= narrow:
            break
        middle = 0.5 * (miss + hit)
        if worth_along_line(terrain, goal, row, line, middle) >= -TOLERANCE:
            hit = middle
        else:
            miss = middle
    return miss, hit


@njit(**inner)
def on_grid(terrain, place, line, value, upwards):
    """The next value on the grid from `value` on, in the direction given, or the last one that is allowed."""
    step = terrain.steps[line]
    if upwards:
        return min(grid_ceil(value, step), last_value(terrain, place, line, upwards))
    return max(grid_floor(value, step), last_value(terrain, place, line, upwards))


@njit(**inner)
def first_on_grid(terrain, place, goal, row, line, miss, hit, upwards):
    """The first value on the grid, seen from `miss` in the direction given, that meets the goal."""
    miss, hit = first_change(terrain, goal, row, line, miss, hit)
    value = row.values[line]
    if terrain.steps[line] > 0.0:  # a value of the grid may lie between the two
        early = on_grid(terrain, place, line, value + miss, upwards)
        if worth_along_line(terrain, goal, row, line, early - value) >= -TOLERANCE:
            return early
    return on_grid(terrain, place, line, value + hit, upwards)


@njit(**inner)
def value_towards_goal(terrain, place, goal, row, line, upwards, now, farthest):
    """The nearest allowed value of a line, in the direction given, that meets the goal, else the best one.

    Parameters
    ----------
    now : worth of the row as it is
    farthest : the largest change, in raw units, that is of interest
    """
    value = row.values[line]
    end = last_value(terrain, place, line, upwards) - value
    if (end <= 0.0) if upwards else (end >= 0.0):
        return value
    if abs(end) > farthest:
        end = farthest if upwards else -farthest
    if worth_along_line(terrain, goal, row, line, 1e-3 * end) <= now:
        return value  # concave: if a little does not help, more does not either
    change = best_change(terrain, goal, row, line, end)
    if worth_along_line(terrain, goal, row, line, change) >= -TOLERANCE:
        return first_on_grid(terrain, place, goal, row, line, 0.0, change, upwards)
    return on_grid(terrain, place, line, value + change, upwards)


@njit(**inner)
def value_nearest(terrain, place, goal, row, line, wanted):
    """The value nearest to `wanted` that still meets the goal; the row itself meets it."""
    value = row.values[line]
    if worth_along_line(terrain, goal, row, line, wanted - value) >= -TOLERANCE:
        return wanted
    upwards = value > wanted  # away from what is wanted, towards what is known to hold
    nearest = first_on_grid(terrain, place, goal, row, line, wanted - value, 0.0, upwards)
    passed = nearest > value if upwards else nearest < value
    if passed or worth_along_line(terrain, goal, row, line, nearest - value) < -TOLERANCE:
        return value
    return nearest
