"""The real row nearest to a point that need not be one: delivery of relaxed and of corrected options (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner, options
from copa.search._kernels.cheapest_row import economise, enter
from copa.search._kernels.cost import Cost
from copa.search._kernels.highest_level import MET, TIMED_OUT, UNREACHABLE, attainable_goal
from copa.search._kernels.plans import FLOATS, GOALS, INT_ROWS, INTS, PLACES, ROWS, TERRAIN
from copa.search._kernels.problem import (
    Goal,
    Place,
    Row,
    Terrain,
    copy_row,
    count_changes,
    empty_row,
    move_choice,
    move_line,
    open_columns,
)

# Where the level is out of reach, the row nearest to the target at almost the highest level is found.
NEARLY = 0.97


@njit(**inner)
def approach(terrain, place, cost, row):
    """Take every column to its cheapest value, as far as the cap on changes allows, the greatest saving first."""
    n_lines = row.values.size
    for _ in range(place.open.size):
        if count_changes(place, row) >= place.cap:
            return
        best, column, atom = 1e-12, -1, -1
        for f in place.open:
            if f < n_lines:
                if row.values[f] == place.values[f]:
                    saving = abs(cost.prices[f] * (row.values[f] - cost.reference[f])) ** cost.power
                    if saving > best:
                        best, column = saving, f
            elif row.atoms[f - n_lines] == place.atoms[f - n_lines]:
                c = f - n_lines
                for a in range(terrain.first[c], terrain.last[c]):
                    saving = cost.choice_prices[row.atoms[c]] - cost.choice_prices[a]
                    if place.allowed[a] and saving > best:
                        best, column, atom = saving, f, a
        if column < 0:
            return
        if column < n_lines:
            move_line(terrain, row, column, min(max(cost.reference[column], place.lower[column]), place.upper[column]))
        else:
            move_choice(terrain, row, column - n_lines, atom)


RESULTS = [INTS, ROWS, INT_ROWS, FLOATS]
SIGNATURE = f"void({', '.join([*TERRAIN, *PLACES, *GOALS, ROWS, FLOATS, ROWS, *RESULTS])})"


@njit(SIGNATURE, **options)
def nearest_rows(
    first, last, cov_gram, drift_gram, means, scores, rules, steps, stop,
    values, atoms, lower, upper, allowed, cap, numbers, cov_products, drift_products, slack,
    levels, radius, margin, floors,
    targets, line_prices, choice_prices,
    outcomes, row_values, row_atoms, highest,
):  # fmt: skip
    """Find for every target the row nearest to it that meets the goal.

    Parameters
    ----------
    first ... floors : as in `menu.build_menus`, one applicant per target
    targets : (M, L) values of the lines, on the grid of their steps;  line_prices : (L,) per unit of distance
    choice_prices : (M, A) squared distance of every value of every choice
    outcomes : (M,), written: MET, BELOW, UNREACHABLE or TIMED_OUT
    row_values, row_atoms : (M, L), (M, C), written: the row (where UNREACHABLE, the nearest attempt)
    highest : (M,), written: the highest level known to be reached, or the one asked for where it is met
    """
    n_lines, n_choices, n_atoms, n_rules = steps.size, first.size, means.size, rules.shape[0]
    terrain = Terrain(first, last, cov_gram, drift_gram, means, scores, rules, steps, stop)
    start = empty_row(n_lines, n_choices, n_atoms, n_rules)
    row = empty_row(n_lines, n_choices, n_atoms, n_rules)
    trial = empty_row(n_lines, n_choices, n_atoms, n_rules)
    spare = empty_row(n_lines, n_choices, n_atoms, n_rules)
    no_fees = np.zeros(n_lines + n_choices)
    for n in range(values.shape[0]):
        unlocked = open_columns(terrain, values[n], atoms[n], lower[n], upper[n], allowed[n])
        place = Place(values[n], atoms[n], lower[n], upper[n], allowed[n], unlocked, cap)
        copy_row(Row(values[n], atoms[n], numbers[n], cov_products[n], drift_products[n], slack[n]), start)
        enter(terrain, place, start)
        cost = Cost(targets[n], line_prices, choice_prices[n], no_fees, 2)
        approach(terrain, place, cost, start)
        asked = Goal(levels[n], radius, margin, floors[n], 0.0)
        outcome, level, highest[n] = attainable_goal(terrain, place, cost, asked, start, row, trial, spare)
        outcomes[n] = outcome
        if outcome != UNREACHABLE:
            level = level if outcome == MET or level < 0.0 else NEARLY * level
            economise(terrain, place, cost, Goal(level, radius, margin, floors[n], 0.0), row, trial, spare)
        if stop[0] != 0:
            outcomes[n] = TIMED_OUT
            continue
        for i in range(n_lines):
            row_values[n, i] = row.values[i]
        for c in range(n_choices):
            row_atoms[n, c] = row.atoms[c]
