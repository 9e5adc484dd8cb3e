"""What a row costs: a price per column (compiled).

A line costs its distance from a reference value, a choice has a price per value, and every column that differs from the
applicant's costs a fee.
"""

import math
from collections import namedtuple

from numba import njit

from copa._core._kernels.compiling import inner

Cost = namedtuple(
    "Cost",
    [
        "reference",  # (L,) where a line costs nothing
        "prices",  # (L,) per unit of distance from it
        "choice_prices",  # (A,) of each value of a choice
        "fees",  # (L + C,) for touching a column at all
        "power",  # 1: distances add up; 2: their squares do
    ],
)


@njit(**inner)
def line_cost(cost, place, line, value):
    """What a value of a line costs."""
    distance = cost.prices[line] * abs(value - cost.reference[line])
    fee = cost.fees[line] if value != place.values[line] else 0.0
    return (distance * distance if cost.power == 2 else distance) + fee


@njit(**inner)
def column_cost(cost, place, row, column):
    """What a column of a row costs."""
    n_lines = row.values.size
    if column < n_lines:
        return line_cost(cost, place, column, row.values[column])
    atom = row.atoms[column - n_lines]
    fee = cost.fees[column] if atom != place.atoms[column - n_lines] else 0.0
    return cost.choice_prices[atom] + fee


@njit(**inner)
def row_cost(cost, place, row):
    """What a row costs: the sum over its columns."""
    total = 0.0
    for f in place.open:
        total += column_cost(cost, place, row, f)
    return total


@njit(**inner)
def farthest_for(cost, row, line, money):
    """The largest change of a line's value that `money` could pay for, in either direction."""
    if cost.prices[line] <= 0.0:
        return 1e300
    distance = math.sqrt(max(money, 0.0)) if cost.power == 2 else max(money, 0.0)
    return distance / cost.prices[line] + abs(row.values[line] - cost.reference[line])
