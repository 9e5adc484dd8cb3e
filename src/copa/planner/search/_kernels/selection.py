"""Choosing a plan from a pool of rows: close, and different in what a person has to do (compiled).

Two rows cannot stand in one plan if one asks for less than the other, or if they are alike: no column differs by more
than a stated part of a unit of effort. And no more than `SAME_COLUMNS` options of a plan change the same columns.
"""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import entry_point, inner, leaf, signature
from copa._core._kernels.prices import Prices
from copa.planner.search._kernels.arguments import Choice
from copa.planner.search._kernels.cost import effort, row_distance

PASSES = 50  # of exchanges; each pass improves the plan
SAME_COLUMNS = 2  # options of a plan that may change the same columns
NO_PLAN = 1e300


@njit(**leaf)
def asks_less(n_numeric, own, row, other):
    """Whether every change of a row (F,) is also asked for by the other, to at least that extent, and they differ."""
    differs = False
    for f in range(row.size):
        if f < n_numeric:
            change, more = row[f] - own[f], other[f] - own[f]
            if change * more < 0.0 or abs(change) > abs(more) or (change != 0.0 and more == 0.0):
                return False
            differs = differs or change != more
        else:
            if row[f] != own[f] and row[f] != other[f]:
                return False
            differs = differs or row[f] != other[f]
    return differs


@njit(**leaf)
def are_alike(alike, row, other):
    """Whether no column of two rows (F,) differs by more than `alike` (F,)."""
    for f in range(row.size):
        if abs(row[f] - other[f]) > alike[f]:
            return False
    return True


@njit(**inner)
def change_same_columns(own, row, other):
    """Whether two rows (F,) change the same columns."""
    for f in range(row.size):
        if (row[f] != own[f]) != (other[f] != own[f]):
            return False
    return True


@njit(**inner)
def group_rows(own, rows, n_rows, groups):
    """Number rows (P, F) by the columns that they change: rows of the same number change the same ones, (P,)."""
    for i in range(n_rows):
        groups[i] = i
        for k in range(i):
            if groups[k] == k and change_same_columns(own, rows[i], rows[k]):
                groups[i] = k
                break


@njit(**inner)
def compare_rows(prices, alike, own, rows, n_rows, distances, excludes):
    """Fill in how far rows (P, F) are from each other, and which of them cannot stand in one plan, (P, P) each."""
    n_numeric = prices.per_unit.size
    for i in range(n_rows):
        for k in range(n_rows):
            distances[i, k] = row_distance(prices, rows[i], rows[k])
            excludes[i, k] = asks_less(n_numeric, own, rows[i], rows[k]) or are_alike(alike, rows[i], rows[k])
    for i in range(n_rows):
        for k in range(i):
            either = excludes[i, k] or excludes[k, i]
            excludes[i, k] = either
            excludes[k, i] = either


@njit(**inner)
def plan_value(chosen, size, efforts, distances, unit, weight, matrix):
    """Mean effort of the options in units of the cheapest, plus what their likeness efforts: weight (1 - det K)."""
    total = 0.0
    for i in range(size):
        total += efforts[chosen[i]]
        for j in range(size):
            matrix[i, j] = 1.0 / (1.0 + distances[chosen[i], chosen[j]] / unit)
    determinant = 1.0
    for i in range(size):  # elimination without exchange of rows: the kernel of a distance has a positive diagonal
        pivot = matrix[i, i]
        if not pivot > 1e-14:
            determinant = 0.0
            break
        determinant *= pivot
        for k in range(i + 1, size):
            share = matrix[k, i] / pivot
            for j in range(i + 1, size):
                matrix[k, j] -= share * matrix[i, j]
    return total / (size * unit) + weight * (1.0 - determinant)


@njit(**inner)
def choose_plan(efforts, distances, excludes, groups, n_rows, n_options, weight, matrix, chosen):
    """Choose up to `n_options` rows of a pool: greedily, then by exchanging one for another; return how many.

    `excludes[i, k]` says that i and k cannot stand in one plan; of one group, only `SAME_COLUMNS` rows can.
    `matrix` (n_options, n_options) is scratch.
    """
    unit = NO_PLAN
    first = 0
    for i in range(n_rows):
        if efforts[i] < unit:
            unit, first = efforts[i], i
    unit = max(unit, 1e-9)
    chosen[0] = first
    size = 1
    for _ in range(n_options - 1):
        best, addition = NO_PLAN, -1
        for k in range(n_rows):
            if not clashes(excludes, groups, chosen, size, -1, k):
                chosen[size] = k
                value = plan_value(chosen, size + 1, efforts, distances, unit, weight, matrix)
                if value < best:
                    best, addition = value, k
        if addition < 0:
            break
        chosen[size] = addition
        size += 1
    best = plan_value(chosen, size, efforts, distances, unit, weight, matrix)
    for _ in range(PASSES):
        improved = False
        for j in range(size):
            kept = chosen[j]
            for k in range(n_rows):
                if clashes(excludes, groups, chosen, size, j, k):
                    continue
                chosen[j] = k
                value = plan_value(chosen, size, efforts, distances, unit, weight, matrix)
                if value < best - 1e-12:
                    best, kept, improved = value, k, True
            chosen[j] = kept
        if not improved:
            break
    return size


@njit(**leaf)
def clashes(excludes, groups, chosen, size, replaced, candidate):
    """Whether a row cannot join a plan, in place of its option `replaced` (-1: in addition)."""
    same_columns = 0
    for j in range(size):
        if j != replaced:
            same_columns += groups[chosen[j]] == groups[candidate]
            if chosen[j] == candidate or excludes[chosen[j], candidate]:
                return True
    return same_columns >= SAME_COLUMNS


@njit(**inner)
def cheapest_first(efforts, chosen, size):
    """Order a plan by effort (insertion sort)."""
    for i in range(1, size):
        k = i
        while k > 0 and efforts[chosen[k]] < efforts[chosen[k - 1]]:
            chosen[k], chosen[k - 1] = chosen[k - 1], chosen[k]
            k -= 1


@entry_point(signature(Prices, Choice))
def select_options(prices, choice):
    """Choose a plan from rows that are known already, by the same criterion as `plans.find_plans`."""
    n_rows, n_options = choice.rows.shape[0], choice.chosen.size
    efforts = np.empty(n_rows)
    for k in range(n_rows):
        efforts[k] = effort(prices, choice, choice.rows[k])
    distances = np.empty((n_rows, n_rows))
    excludes = np.empty((n_rows, n_rows), np.bool_)
    groups, matrix = np.empty(n_rows, np.int64), np.empty((n_options, n_options))
    compare_rows(prices, choice.alike, choice.own, choice.rows, n_rows, distances, excludes)
    group_rows(choice.own, choice.rows, n_rows, groups)
    weight, chosen = choice.diversity_weight, choice.chosen
    choice.size[0] = choose_plan(efforts, distances, excludes, groups, n_rows, n_options, weight, matrix, chosen)
    cheapest_first(efforts, chosen, choice.size[0])
