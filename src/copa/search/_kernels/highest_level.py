"""What can be reached: the level asked for, or the highest one (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner
from copa.search._kernels.cheapest_row import complete
from copa.search._kernels.cost import Cost
from copa.search._kernels.problem import TOLERANCE, Goal, copy_row, level_of, worth

# What became of an applicant: the level is met, only a lower one can be, no allowed row is accepted today, or the time
# was up before that was known.
MET, BELOW, UNREACHABLE, TIMED_OUT = 0, 1, 2, 3
ACCEPTED_ONLY = -1.0  # a goal without a level

CLIMBS = 30
RISE = 1e-7  # a climb that gains less has arrived
OUT_OF_REACH = 1e5  # a surplus that no row has: the search then goes on as long as a row gets surer


@njit(**inner)
def surest_row(terrain, place, free, goal, row, trial, spare):
    """Raise the level of a row that is accepted today as far as moves of one or two columns do; return the level.

    The level is a ratio of the mean score to its spread and reach. At the level reached so far the surplus is a concave
    function of the row; where its maximum is positive the level rises (Dinkelbach's method).
    """
    level = level_of(row, goal.radius)
    accepted = Goal(-1.0, 0.0, goal.margin, goal.floor, 0.0)
    for _ in range(CLIMBS):
        copy_row(row, trial)
        ascent = Goal(level, goal.radius, goal.margin, goal.floor, OUT_OF_REACH)
        complete(terrain, place, free, ascent, trial, -1, spare)
        reached = level_of(trial, goal.radius)
        if worth(accepted, trial) < -TOLERANCE or reached <= level:
            break
        rise = reached - level
        level = reached
        copy_row(trial, row)
        if rise < RISE:
            break
    return level


@njit(**inner)
def attainable_goal(terrain, place, cost, goal, start, surest, trial, spare):
    """The goal, or the nearest one in reach: (outcome, level to build at, highest level known to be reached).

    `surest` becomes a row that meets it, or the nearest attempt where nothing is accepted.
    """
    copy_row(start, surest)
    if complete(terrain, place, cost, goal, surest, -1, spare):
        return MET, goal.level, goal.level
    n_lines = place.values.size
    free = Cost(place.values, np.zeros(n_lines), np.zeros(terrain.means.size), np.zeros(n_lines + place.atoms.size), 1)
    accepted = Goal(ACCEPTED_ONLY, 0.0, goal.margin, goal.floor, 0.0)
    copy_row(start, surest)
    if not complete(terrain, place, free, accepted, surest, -1, spare):
        return UNREACHABLE, ACCEPTED_ONLY, 0.0
    highest = surest_row(terrain, place, free, goal, surest, trial, spare)
    if highest >= goal.level and worth(goal, surest) >= -TOLERANCE:
        return MET, goal.level, highest
    return BELOW, (highest if highest > 0.0 else ACCEPTED_ONLY), highest
