"""Menus for a batch of applicants: a pool of cheap rows for each, and the best menu from it (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner, options
from copa.search._kernels.candidates import Pool, Prices, add_row, add_variants, applicant_cost, fill_pool, place_row
from copa.search._kernels.cheapest_row import economise, enter, shrink
from copa.search._kernels.highest_level import MET, TIMED_OUT, UNREACHABLE, attainable_goal
from copa.search._kernels.problem import Goal, Place, Row, Terrain, copy_row, empty_row, open_columns
from copa.search._kernels.selection import asks_less, choose_menu, row_distance

TURNS = 2  # of enlarging the pool around the menu
VARIANTS = 24  # that the pool has room for, per option
# Where the level is out of reach, the menu is built below the highest one: only there is room for a choice. These
# shares of it are tried until the menu is full.
ROOM = (0.97, 0.9, 0.8, 0.6)


@njit(**inner)
def distances_in_pool(place, prices, pool, distances, excludes):
    """Fill in how far the rows of a pool are from each other, and which of them cannot stand in one menu."""
    size = pool.size[0]
    for i in range(size):
        for k in range(size):
            distances[i, k] = row_distance(
                prices.lines,
                prices.gaps,
                prices.power,
                pool.values[i],
                pool.atoms[i],
                pool.values[k],
                pool.atoms[k],
            )
            excludes[i, k] = asks_less(place, pool.values[i], pool.atoms[i], pool.values[k], pool.atoms[k])
    for i in range(size):
        for k in range(i):
            either = excludes[i, k] or excludes[k, i]
            excludes[i, k] = either
            excludes[k, i] = either


@njit(**inner)
def menu_from_pool(terrain, place, prices, goal, start, n_options, weight, pool, menu, row, spare):
    """Choose a menu, enlarge the pool by variants of its options, and choose again; return how many options."""
    capacity = pool.costs.size
    distances = np.empty((capacity, capacity))
    excludes = np.empty((capacity, capacity), np.bool_)
    distances_in_pool(place, prices, pool, distances, excludes)
    size = choose_menu(pool.costs, distances, excludes, pool.size[0], n_options, weight, menu)
    for turn in range(TURNS):
        known = pool.size[0]
        if turn == 0 or size == n_options:
            for j in range(size):
                add_variants(terrain, place, prices, goal, start, menu[j], pool, row, spare)
        else:  # too few: look around every row
            for k in range(known):
                add_variants(terrain, place, prices, goal, start, k, pool, row, spare)
        if pool.size[0] == known:
            break
        distances_in_pool(place, prices, pool, distances, excludes)
        size = choose_menu(pool.costs, distances, excludes, pool.size[0], n_options, weight, menu)
    return size


@njit(**inner)
def cheapest_first(pool, menu, size):
    """Order a menu by cost (insertion sort)."""
    for i in range(1, size):
        k = i
        while k > 0 and pool.costs[menu[k]] < pool.costs[menu[k - 1]]:
            menu[k], menu[k - 1] = menu[k - 1], menu[k]
            k -= 1


@njit(**inner)
def write_row(row, values, atoms):
    """Write the values (L,) and choices (C,) of a row."""
    for i in range(values.size):
        values[i] = row.values[i]
    for c in range(atoms.size):
        atoms[c] = row.atoms[c]


FLOATS, ROWS, CUBE = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]"
INTS, INT_ROWS, INT_CUBE, BOOL_ROWS = "int64[::1]", "int64[:,::1]", "int64[:,:,::1]", "boolean[:,::1]"
TERRAIN = [INTS, INTS, ROWS, ROWS, FLOATS, FLOATS, ROWS, FLOATS, INTS]
PRICES = [FLOATS, ROWS, FLOATS, "int64"]
PLACES = [ROWS, INT_ROWS, ROWS, ROWS, BOOL_ROWS, "int64", ROWS, ROWS, ROWS, ROWS]
GOALS = [FLOATS, "float64", "float64", FLOATS]
SEARCH = [ROWS, "float64"]
RESULTS = [INTS, INTS, CUBE, INT_CUBE, CUBE, INT_CUBE, FLOATS, ROWS, INT_ROWS]
SIGNATURE = f"void({', '.join(TERRAIN + PRICES + PLACES + GOALS + SEARCH + RESULTS)})"


@njit(SIGNATURE, **options)
def build_menus(
    first, last, cov_gram, drift_gram, means, scores, rules, steps, stop,
    line_prices, gaps, fees, power,
    values, atoms, lower, upper, allowed, cap, numbers, cov_products, drift_products, slack,
    levels, radius, margin, floors,
    multipliers, weight,
    outcomes, counts, menu_values, menu_atoms, relaxed_values, relaxed_atoms, highest, surest_values, surest_atoms,
):  # fmt: skip
    """Build the menu of every applicant.

    Parameters
    ----------
    first ... stop : the fields of `Terrain`
    line_prices ... power : the fields of `Prices`
    values ... cap : the fields of `Place`, with a leading N
    numbers, cov_products, drift_products, slack : the applicants' own rows (`Row`), with a leading N
    levels : (N,) asked for;  radius, margin : floats;  floors : (N,) of today's score
    multipliers : (S, L + C) of the prices, one line per row of the pool;  weight : of diversity
    outcomes : (N,), written: MET, BELOW, UNREACHABLE or TIMED_OUT
    counts : (N,), written: the number of options
    menu_values, menu_atoms : (N, J, L), (N, J, C), written: the options, cheapest first
    relaxed_values, relaxed_atoms : the same, written: the options without the grid of the steps
    highest : (N,), written: the highest level known to be reached, or the level asked for where it is met
    surest_values, surest_atoms : (N, L), (N, C), written: the row that shows it
    """
    n_lines, n_choices, n_atoms, n_rules = steps.size, first.size, means.size, rules.shape[0]
    n_options = menu_values.shape[1]
    terrain = Terrain(first, last, cov_gram, drift_gram, means, scores, rules, steps, stop)
    smooth = Terrain(first, last, cov_gram, drift_gram, means, scores, rules, np.zeros(n_lines), stop)
    prices = Prices(line_prices, gaps, fees, power)
    capacity = multipliers.shape[0] + 2 + VARIANTS * n_options
    pool = Pool(
        np.empty((capacity, n_lines)),
        np.empty((capacity, n_choices), np.int64),
        np.empty(capacity),
        np.zeros(n_lines + n_choices),
        np.zeros(1, np.int64),
    )
    surest = empty_row(n_lines, n_choices, n_atoms, n_rules)
    row = empty_row(n_lines, n_choices, n_atoms, n_rules)
    trial = empty_row(n_lines, n_choices, n_atoms, n_rules)
    spare = empty_row(n_lines, n_choices, n_atoms, n_rules)
    start = empty_row(n_lines, n_choices, n_atoms, n_rules)
    menu = np.zeros(n_options, np.int64)
    for n in range(values.shape[0]):
        unlocked = open_columns(terrain, values[n], atoms[n], lower[n], upper[n], allowed[n])
        place = Place(values[n], atoms[n], lower[n], upper[n], allowed[n], unlocked, cap)
        own = Row(values[n], atoms[n], numbers[n], cov_products[n], drift_products[n], slack[n])
        copy_row(own, start)
        enter(terrain, place, start)
        asked = Goal(levels[n], radius, margin, floors[n], 0.0)
        honest = applicant_cost(terrain, place, prices, np.ones(n_lines + n_choices))
        outcome, level, highest[n] = attainable_goal(terrain, place, honest, asked, start, surest, trial, spare)
        outcomes[n] = outcome
        write_row(surest, surest_values[n], surest_atoms[n])
        counts[n] = 0
        if stop[0] != 0:
            outcomes[n] = TIMED_OUT
            continue
        if outcome == UNREACHABLE:
            continue
        size = 0
        for share in ROOM:  # where the level is met there is one turn
            goal = Goal(level if outcome == MET else share * level, radius, margin, floors[n], 0.0)
            pool.size[0] = 0
            for f in range(n_lines + n_choices):
                pool.uses[f] = 0.0
            copy_row(surest, row)
            economise(terrain, place, honest, goal, row, trial, spare)
            add_row(pool, place, prices, row)
            fill_pool(terrain, place, prices, goal, start, multipliers, pool, row, trial, spare)
            size = menu_from_pool(terrain, place, prices, goal, start, n_options, weight, pool, menu, row, spare)
            if size == n_options or outcome == MET or level < 0.0:
                break
        if stop[0] != 0:  # what there is was not finished
            outcomes[n] = TIMED_OUT
            continue
        cheapest_first(pool, menu, size)
        counts[n] = size
        for j in range(size):
            place_row(terrain, start, pool.values[menu[j]], pool.atoms[menu[j]], row)
            write_row(row, menu_values[n, j], menu_atoms[n, j])
            shrink(smooth, place, honest, goal, row)
            write_row(row, relaxed_values[n, j], relaxed_atoms[n, j])
