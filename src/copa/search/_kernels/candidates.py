"""A pool of cheap rows for one applicant, each different from the others (compiled)."""

import math
from collections import namedtuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner
from copa.search._kernels.cheapest_row import complete, economise, shrink
from copa.search._kernels.cost import Cost
from copa.search._kernels.numeric_moves import grid_ceil, grid_floor
from copa.search._kernels.problem import copy_row, move, move_choice, move_line
from copa.search._kernels.selection import row_distance

Prices = namedtuple(
    "Prices",
    [
        "lines",  # (L,) effort per raw unit
        "gaps",  # (A, A) effort between two values of a choice, squared where power is 2
        "fees",  # (L + C,) effort of touching a column at all
        "power",  # 1: efforts add up; 2: their squares do
    ],
)

Pool = namedtuple(
    "Pool",
    [
        "values",  # (P, L)
        "atoms",  # (P, C)
        "costs",  # (P,)
        "uses",  # (L + C,) how many rows change each column
        "size",  # (1,)
    ],
)

# A column becomes dearer by this share for every row of the pool that changes it, so that the next rows differ.
DEARER = 0.5


@njit(**inner)
def applicant_cost(terrain, place, prices, scale):
    """What rows cost an applicant, with the price of each column multiplied by its scale (L + C,)."""
    n_lines, n_choices = place.values.size, place.atoms.size
    line_prices = np.empty(n_lines)
    choice_prices = np.zeros(terrain.means.size)
    fees = np.empty(n_lines + n_choices)
    for i in range(n_lines):
        line_prices[i] = prices.lines[i] * scale[i]
    for c in range(n_choices):
        factor = scale[n_lines + c]
        if prices.power == 2:
            factor *= factor
        for a in range(terrain.first[c], terrain.last[c]):
            choice_prices[a] = factor * prices.gaps[place.atoms[c], a]
    for f in range(n_lines + n_choices):
        fees[f] = prices.fees[f] * scale[f]
    return Cost(place.values, line_prices, choice_prices, fees, prices.power)


@njit(**inner)
def effort(place, prices, values, atoms):
    """What a row asks of the applicant: its distance, and the fees of the columns it touches."""
    total = row_distance(prices.lines, prices.gaps, prices.power, place.values, place.atoms, values, atoms)
    for i in range(values.size):
        if values[i] != place.values[i]:
            total += prices.fees[i]
    for c in range(atoms.size):
        if atoms[c] != place.atoms[c]:
            total += prices.fees[values.size + c]
    return total


@njit(**inner)
def add_row(pool, place, prices, row):
    """Put a row into the pool unless it is there already or the pool is full."""
    size = pool.size[0]
    for k in range(size):
        same = True
        for i in range(row.values.size):
            same = same and pool.values[k, i] == row.values[i]
        for c in range(row.atoms.size):
            same = same and pool.atoms[k, c] == row.atoms[c]
        if same:
            return
    if size == pool.costs.size:
        return
    for i in range(row.values.size):
        pool.values[size, i] = row.values[i]
        pool.uses[i] += row.values[i] != place.values[i]
    for c in range(row.atoms.size):
        pool.atoms[size, c] = row.atoms[c]
        pool.uses[row.values.size + c] += row.atoms[c] != place.atoms[c]
    pool.costs[size] = effort(place, prices, row.values, row.atoms)
    pool.size[0] = size + 1


@njit(**inner)
def fill_pool(terrain, place, prices, goal, start, multipliers, pool, row, trial, spare):
    """One row per line of `multipliers` (S, L + C): the cheapest at prices that favour columns not used so far."""
    scale = np.empty(multipliers.shape[1])
    for s in range(multipliers.shape[0]):
        for f in range(scale.size):
            scale[f] = multipliers[s, f] * (1.0 + DEARER * pool.uses[f])
        cost = applicant_cost(terrain, place, prices, scale)
        copy_row(start, row)
        if complete(terrain, place, cost, goal, row, -1, spare):
            economise(terrain, place, cost, goal, row, trial, spare)
            add_row(pool, place, prices, row)


@njit(**inner)
def variant(terrain, place, start, values, column, k):
    """The k-th other value to try for a column of a row: a line's own value, half of the way back, one step back."""
    n_lines = values.size
    if column >= n_lines:
        return 0.0, k
    own, value, step = start.values[column], values[column], terrain.steps[column]
    if k == 0:
        return own, -1
    way = 0.5 * (value - own)
    if k == 2:
        way = value - own - math.copysign(max(step, 0.1 * abs(value - own) * (step == 0.0)), value - own)
    on_grid = grid_floor(own + way, step) if value > own else grid_ceil(own + way, step)
    return min(max(on_grid, place.lower[column]), place.upper[column]), -1


@njit(**inner)
def add_variants(terrain, place, prices, goal, start, option, pool, row, spare):
    """Pin each change of a row of the pool to another value, make up for it by the others, and add what comes out.

    No exchange follows, which would lead back to rows that are known: these are the ones between the cheapest.
    """
    n_lines = place.values.size
    cost = applicant_cost(terrain, place, prices, np.ones(n_lines + place.atoms.size))
    values, atoms = pool.values[option], pool.atoms[option]
    for f in place.open:
        is_numeric = f < n_lines
        if (values[f] == start.values[f]) if is_numeric else (atoms[f - n_lines] == start.atoms[f - n_lines]):
            continue
        for k in range(0 if is_numeric else terrain.first[f - n_lines], 3 if is_numeric else terrain.last[f - n_lines]):
            v, a = variant(terrain, place, start, values, f, k)
            if (v == values[f]) if is_numeric else (a == atoms[f - n_lines] or not place.allowed[a]):
                continue
            place_row(terrain, start, values, atoms, row)
            move(terrain, row, f, v, a)
            if complete(terrain, place, cost, goal, row, f, spare):
                shrink(terrain, place, cost, goal, row)
                add_row(pool, place, prices, row)


@njit(**inner)
def place_row(terrain, start, values, atoms, row):
    """Make `row` the row with the given values, starting from `start`."""
    copy_row(start, row)
    for i in range(values.size):
        if values[i] != row.values[i]:
            move_line(terrain, row, i, values[i])
    for c in range(atoms.size):
        if atoms[c] != row.atoms[c]:
            move_choice(terrain, row, c, atoms[c])
