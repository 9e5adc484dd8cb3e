"""A pool of cheap rows for one applicant, each different from the others (compiled)."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner
from copa.planner.search._kernels.cheapest_row import complete, economise, shrink
from copa.planner.search._kernels.cost import effort, scaled_prices
from copa.planner.search._kernels.numeric_moves import grid_ceil, grid_floor
from copa.planner.search._kernels.problem import copy_row, inside, level_or, make_row, move, n_tries


class Pool(NamedTuple):
    """Rows to choose from."""

    rows: np.ndarray  # (P, F)
    efforts: np.ndarray  # (P,)
    uses: np.ndarray  # (F,) how many rows change each column
    size: np.ndarray  # (1,)


# A column becomes dearer by this share for every row of the pool that changes it, so that the next rows differ.
DEARER = 0.5


@njit(**inner)
def add_row(pool, region, prices, row):
    """Put a row into the pool unless it is there already or the pool is full."""
    size, values = pool.size[0], row.values
    for k in range(size):
        same = True
        for f in range(values.size):
            same = same and pool.rows[k, f] == values[f]
        if same:
            return
    if size == pool.efforts.size:
        return
    for f in range(values.size):
        pool.rows[size, f] = values[f]
        pool.uses[f] += values[f] != region.own[f]
    pool.efforts[size] = effort(prices, region, values)
    pool.size[0] = size + 1


@njit(**allocating)
def fill_pool(problem, region, prices, goal, start, multipliers, pool, row, trial, spare):
    """One row per line of `multipliers` (S, F): the cheapest at prices that favour columns not used so far."""
    scale = np.empty(multipliers.shape[1])
    for s in range(multipliers.shape[0]):
        for f in range(scale.size):
            scale[f] = multipliers[s, f] * (1.0 + DEARER * pool.uses[f])
        cost = scaled_prices(problem, region, prices, scale)
        copy_row(start, row)
        if complete(problem, region, cost, goal, row, -1, spare):
            economise(problem, region, cost, goal, row, trial, spare)
            add_row(pool, region, prices, row)


@njit(**inner)
def variant(problem, region, start, values, column, k):
    """The k-th other value to try for a column of a row: back, half of the way back or one step back, or a level."""
    value = values[column]
    if column >= problem.steps.size:
        return level_or(problem, region, column, k, value)
    own, step = start.values[column], problem.steps[column]
    if k == 0:
        return own
    way = 0.5 * (value - own)
    if k == 2:
        way = value - own - math.copysign(max(step, 0.1 * abs(value - own) * (step == 0.0)), value - own)
    return inside(region, column, grid_floor(own + way, step) if value > own else grid_ceil(own + way, step))


@njit(**allocating)
def add_variants(problem, region, prices, goal, start, option, pool, row, spare, known):
    """Pin each change of a row of the pool to another value, make up for it by the others, and add what comes out.

    No exchange follows, which would lead back to rows that are known: these are the ones between the cheapest. `row`,
    `spare` and `known` are scratch.
    """
    values = pool.rows[option]
    make_row(problem, start, values, known)
    cost = scaled_prices(problem, region, prices, np.ones(values.size))
    for f in region.open:
        if values[f] == start.values[f]:
            continue
        for k in range(n_tries(problem, f, 3)):
            v = variant(problem, region, start, values, f, k)
            if v == values[f]:
                continue
            copy_row(known, row)
            move(problem, row, f, v)
            if complete(problem, region, cost, goal, row, f, spare):
                shrink(problem, region, cost, goal, row)
                add_row(pool, region, prices, row)
