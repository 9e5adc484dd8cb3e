"""Choosing a menu from a pool of rows: close, different, none asking for more than another (compiled)."""

import math

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner

PASSES = 50  # of exchanges; each pass improves the menu
NO_MENU = 1e300


@njit(**inner)
def row_distance(prices, gaps, power, values, atoms, other_values, other_atoms):
    """Distance between two rows in units of effort: the sum over columns, or its Euclidean form."""
    total = 0.0
    for i in range(values.size):
        step = prices[i] * abs(values[i] - other_values[i])
        total += step * step if power == 2 else step
    for c in range(atoms.size):
        total += gaps[atoms[c], other_atoms[c]]
    return math.sqrt(total) if power == 2 else total


@njit(**inner)
def asks_less(place, values, atoms, other_values, other_atoms):
    """Whether every change of a row is also asked for by the other, to at least that extent, and they differ."""
    differs = False
    for i in range(values.size):
        change, other = values[i] - place.values[i], other_values[i] - place.values[i]
        if change * other < 0.0 or abs(change) > abs(other) or (change != 0.0 and other == 0.0):
            return False
        differs = differs or change != other
    for c in range(atoms.size):
        if atoms[c] != place.atoms[c] and atoms[c] != other_atoms[c]:
            return False
        differs = differs or atoms[c] != other_atoms[c]
    return differs


@njit(**inner)
def menu_value(menu, size, costs, distances, unit, weight, matrix):
    """Mean cost of the options in units of the cheapest, plus what their likeness costs: weight (1 - det K)."""
    total = 0.0
    for i in range(size):
        total += costs[menu[i]]
        for j in range(size):
            matrix[i, j] = 1.0 / (1.0 + distances[menu[i], menu[j]] / unit)
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
def choose_menu(costs, distances, excludes, n_rows, n_options, weight, menu):
    """Choose up to `n_options` rows of a pool: greedily, then by exchanging one for another; return how many.

    `excludes[i, k]` says that i and k cannot stand in one menu.
    """
    unit = NO_MENU
    first = 0
    for i in range(n_rows):
        if costs[i] < unit:
            unit, first = costs[i], i
    unit = max(unit, 1e-9)
    matrix = np.empty((n_options, n_options))
    menu[0] = first
    size = 1
    for _ in range(n_options - 1):
        best, addition = NO_MENU, -1
        for k in range(n_rows):
            if not clashes(excludes, menu, size, -1, k):
                menu[size] = k
                value = menu_value(menu, size + 1, costs, distances, unit, weight, matrix)
                if value < best:
                    best, addition = value, k
        if addition < 0:
            break
        menu[size] = addition
        size += 1
    best = menu_value(menu, size, costs, distances, unit, weight, matrix)
    for _ in range(PASSES):
        improved = False
        for j in range(size):
            kept = menu[j]
            for k in range(n_rows):
                if clashes(excludes, menu, size, j, k):
                    continue
                menu[j] = k
                value = menu_value(menu, size, costs, distances, unit, weight, matrix)
                if value < best - 1e-12:
                    best, kept, improved = value, k, True
            menu[j] = kept
        if not improved:
            break
    return size


@njit(**inner)
def clashes(excludes, menu, size, replaced, candidate):
    """Whether a row cannot join a menu, in place of its option `replaced` (-1: in addition)."""
    for j in range(size):
        if j != replaced and (menu[j] == candidate or excludes[menu[j], candidate]):
            return True
    return False
