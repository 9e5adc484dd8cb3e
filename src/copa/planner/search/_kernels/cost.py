"""What the columns of a row cost one applicant (compiled).

A number costs its distance from a reference value, a level has a price, and every column that differs from the
applicant's costs a penalty.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner, leaf


class ColumnPrices(NamedTuple):
    """What one applicant pays for the values of columns."""

    reference: np.ndarray  # (L,) where a number costs nothing
    per_unit: np.ndarray  # (L,) of a unit of distance from it
    levels: np.ndarray  # (A,) of each level
    penalties: np.ndarray  # (F,) of changing a column at all
    power: int  # 1: distances add up; 2: their squares do


@njit(**allocating)
def scaled_prices(problem, region, prices, scale):
    """The prices of an applicant, that of each column multiplied by its scale (F,)."""
    n_numeric = problem.steps.size
    levels = np.zeros(problem.means.size)
    for f in range(n_numeric, scale.size):
        factor = scale[f]
        if prices.power == 2:
            factor *= factor
        for a in range(problem.starts[f], problem.starts[f + 1]):
            levels[a] = factor * region.level_prices[a]
    per_unit = prices.per_unit * scale[:n_numeric]
    return ColumnPrices(region.reference, per_unit, levels, prices.penalties * scale, prices.power)


@njit(**leaf)
def column_cost(cost, region, column, value):
    """What a column costs at a value."""
    penalty = cost.penalties[column] if value != region.own[column] else 0.0
    if column >= cost.per_unit.size:
        return cost.levels[int(value)] + penalty
    distance = cost.per_unit[column] * abs(value - cost.reference[column])
    return (distance * distance if cost.power == 2 else distance) + penalty


@njit(**inner)
def row_cost(cost, region, row):
    """What a row costs: the sum over its columns."""
    total = 0.0
    for f in region.open:
        total += column_cost(cost, region, f, row.values[f])
    return total


@njit(**leaf)
def farthest_for(cost, row, column, money):
    """The largest change of a number that `money` could pay for, in either direction."""
    if cost.per_unit[column] <= 0.0:
        return 1e300
    distance = math.sqrt(max(money, 0.0)) if cost.power == 2 else max(money, 0.0)
    return distance / cost.per_unit[column] + abs(row.values[column] - cost.reference[column])


@njit(**leaf)
def row_distance(prices, row, other):
    """Distance between two rows (F,) in units of effort: the sum over columns, or its Euclidean form."""
    n_numeric = prices.per_unit.size
    total = 0.0
    for f in range(n_numeric):
        step = prices.per_unit[f] * abs(row[f] - other[f])
        total += step * step if prices.power == 2 else step
    for f in range(n_numeric, row.size):
        total += prices.gaps[int(row[f]), int(other[f])]
    return math.sqrt(total) if prices.power == 2 else total


@njit(**inner)
def effort(prices, region, row):
    """What a row (F,) asks of an applicant: its distance, and the penalties of the columns it changes."""
    n_numeric = prices.per_unit.size
    total = 0.0
    for f in range(row.size):
        if f >= n_numeric:
            total += region.level_prices[int(row[f])]
        elif row[f] != region.own[f]:
            step = prices.per_unit[f] * (abs(row[f] - region.reference[f]) + region.leaving[f])
            total += step * step if prices.power == 2 else step
    if prices.power == 2:
        total = math.sqrt(total)
    for f in range(row.size):
        if row[f] != region.own[f]:
            total += prices.penalties[f]
    return total
