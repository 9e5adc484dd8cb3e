"""One numeric column at a time: how far to move it so that the goal is met, on the grid of its steps (compiled).

Along a column the distance to the goal (`merit`) is concave, so the values that meet it form an interval.
"""

import math

from numba import njit

from copa._core._kernels.compiling import leaf
from copa.planner.search._kernels.problem import TOLERANCE, merit_along

HALVINGS = 60  # at most, of an interval whose ends then agree to rounding
NARROW = 1e-10  # such an interval, relative to the first
# A value within this share of a step counts as on the grid.
ON_GRID = 1e-7


@njit(**leaf)
def grid_floor(value, step):
    """The largest multiple of `step` up to `value`, or `value` itself without a step."""
    return math.floor(value / step + ON_GRID) * step if step > 0.0 else value


@njit(**leaf)
def grid_ceil(value, step):
    """The smallest multiple of `step` from `value` on, or `value` itself without a step."""
    return math.ceil(value / step - ON_GRID) * step if step > 0.0 else value


@njit(**leaf)
def last_value(problem, region, column, upwards):
    """The furthest value that a column may take."""
    if upwards:
        return grid_floor(region.upper[column], problem.steps[column])
    return grid_ceil(region.lower[column], problem.steps[column])


@njit(**leaf)
def best_change(problem, goal, row, column, end):
    """The change of a column, between 0 and `end`, of the greatest merit, or the first found that meets the goal."""
    there = merit_along(problem, goal, row, column, end)
    if there >= -TOLERANCE or there >= merit_along(problem, goal, row, column, 0.999 * end):
        return end
    low, high = 0.0, end
    for _ in range(HALVINGS):
        third = (high - low) / 3.0
        left = merit_along(problem, goal, row, column, low + third)
        right = merit_along(problem, goal, row, column, high - third)
        if left >= -TOLERANCE:
            return low + third
        if left < right:
            low += third
        else:
            high -= third
        if abs(high - low) < 1e-6 * abs(end):
            break
    return 0.5 * (low + high)


@njit(**leaf)
def first_change(problem, goal, row, column, miss, hit):
    """The change nearest to `miss` that meets the goal, given that `hit` does and `miss` does not.

    Halving, until the ends are closer than rounding or than a hundredth of a step: the grid decides the rest.
    """
    narrow = max(NARROW * abs(hit - miss), 0.01 * problem.steps[column])
    for _ in range(HALVINGS):
        if abs(hit - miss) <= narrow:
            break
        middle = 0.5 * (miss + hit)
        if merit_along(problem, goal, row, column, middle) >= -TOLERANCE:
            hit = middle
        else:
            miss = middle
    return miss, hit


@njit(**leaf)
def on_grid(problem, region, column, value, upwards):
    """The next value on the grid from `value` on, in the direction given, or the last one that is allowed."""
    step = problem.steps[column]
    if upwards:
        return min(grid_ceil(value, step), last_value(problem, region, column, upwards))
    return max(grid_floor(value, step), last_value(problem, region, column, upwards))


@njit(**leaf)
def first_on_grid(problem, region, goal, row, column, miss, hit, upwards):
    """The first value on the grid, seen from `miss` in the direction given, that meets the goal."""
    miss, hit = first_change(problem, goal, row, column, miss, hit)
    value = row.values[column]
    if problem.steps[column] > 0.0:  # a value of the grid may lie between the two
        early = on_grid(problem, region, column, value + miss, upwards)
        if merit_along(problem, goal, row, column, early - value) >= -TOLERANCE:
            return early
    return on_grid(problem, region, column, value + hit, upwards)


@njit(**leaf)
def value_towards_goal(problem, region, goal, row, column, upwards, now, farthest):
    """The nearest allowed value of a column, in the direction given, that meets the goal, else the best one.

    Parameters
    ----------
    now : float
        Merit of the row as it is.
    farthest : float
        The largest change, in raw units, that is of interest.
    """
    value = row.values[column]
    end = last_value(problem, region, column, upwards) - value
    if (end <= 0.0) if upwards else (end >= 0.0):
        return value
    if abs(end) > farthest:
        end = farthest if upwards else -farthest
    if merit_along(problem, goal, row, column, 1e-3 * end) <= now:
        return value  # concave: if a little does not help, more does not either
    change = best_change(problem, goal, row, column, end)
    if merit_along(problem, goal, row, column, change) >= -TOLERANCE:
        return first_on_grid(problem, region, goal, row, column, 0.0, change, upwards)
    return on_grid(problem, region, column, value + change, upwards)


@njit(**leaf)
def value_nearest(problem, region, goal, row, column, wanted):
    """The value nearest to `wanted` that still meets the goal; the row itself meets it."""
    value = row.values[column]
    if merit_along(problem, goal, row, column, wanted - value) >= -TOLERANCE:
        return wanted
    upwards = value > wanted  # away from what is wanted, towards what is known to hold
    nearest = first_on_grid(problem, region, goal, row, column, wanted - value, 0.0, upwards)
    passed = nearest > value if upwards else nearest < value
    if passed or merit_along(problem, goal, row, column, nearest - value) < -TOLERANCE:
        return value
    return nearest
