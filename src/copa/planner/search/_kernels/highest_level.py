"""What can be reached: the goal, or the nearest one to it (compiled).

Goals are ordered by b^2, their *height*, which is the level itself in a ball of moments. What probability a height
stands for in another ambiguity set is known outside.
"""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner
from copa.planner.search._kernels.arguments import Outcome
from copa.planner.search._kernels.cheapest_row import complete
from copa.planner.search._kernels.cost import ColumnPrices
from copa.planner.search._kernels.problem import TOLERANCE, copy_row, goal_at, height_of, merit

ACCEPTED_ONLY = -1.0  # the height of a goal without a level

CLIMBS = 30
RISE = 1e-7  # a climb that gains less has arrived
OUT_OF_REACH = 1e5  # a surplus that no row has: the search then goes on as long as a row gets surer


@njit(**inner)
def surest_row(problem, region, free, goal, row, trial, spare):
    """Raise the height of a row that is accepted today as far as moves of one or two columns do; return the height.

    It is a ratio of the mean score to its spread and reach. At the height reached so far the surplus is a concave
    function of the row; where its maximum is positive the height rises (Dinkelbach's method).
    """
    height = height_of(goal, row)
    accepted = goal_at(goal, ACCEPTED_ONLY, 0.0)
    for _ in range(CLIMBS):
        copy_row(row, trial)
        complete(problem, region, free, goal_at(goal, height, OUT_OF_REACH), trial, -1, spare)
        reached = height_of(goal, trial)
        if merit(accepted, trial) < -TOLERANCE or reached <= height:
            break
        rise = reached - height
        height = reached
        copy_row(trial, row)
        if rise < RISE:
            break
    return height


@njit(**allocating)
def attainable_goal(problem, region, cost, goal, start, surest, trial, spare):
    """What can be reached: (outcome, height to build at unless the goal is met, highest known to be reached).

    `surest` becomes a row that reaches it, or the nearest attempt where nothing is accepted.
    """
    height = goal.b * goal.b
    copy_row(start, surest)
    if complete(problem, region, cost, goal, surest, -1, spare):
        return Outcome.MET, height, height
    free = ColumnPrices(
        region.own, np.zeros(problem.steps.size), np.zeros(problem.means.size), np.zeros(region.own.size), 1
    )
    copy_row(start, surest)
    if not complete(problem, region, free, goal_at(goal, ACCEPTED_ONLY, 0.0), surest, -1, spare):
        return Outcome.UNREACHABLE, ACCEPTED_ONLY, 0.0
    highest = surest_row(problem, region, free, goal, surest, trial, spare)
    if highest >= height and merit(goal, surest) >= -TOLERANCE:
        return Outcome.MET, height, highest
    return Outcome.BELOW, (highest if highest > 0.0 else ACCEPTED_ONLY), highest
