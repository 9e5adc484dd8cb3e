"""The real row nearest to a point that need not be one: delivery of relaxed and of corrected options (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import entry_point, inner, signature
from copa._core._kernels.small_matrices import copy_vector
from copa.planner.search._kernels.arguments import (
    FoundRows,
    GoalArrays,
    Outcome,
    Regions,
    SearchProblem,
    Starts,
    Targets,
)
from copa.planner.search._kernels.cheapest_row import economise, enter
from copa.planner.search._kernels.cost import ColumnPrices, column_cost
from copa.planner.search._kernels.highest_level import attainable_goal
from copa.planner.search._kernels.problem import (
    copy_row,
    count_changes,
    empty_row,
    goal_at,
    goal_of,
    inside,
    level_or,
    move,
    n_tries,
    region_of,
    start_of,
)

# Where the level is out of reach, the row nearest to the target at almost the highest one is found.
NEARLY = 0.97


@njit(**inner)
def approach(problem, region, cost, row):
    """Take every column to its cheapest value, as far as the cap on changes allows, the greatest saving first."""
    for _ in range(region.open.size):
        if count_changes(region, row) >= region.cap:
            return
        best, column, value = 1e-12, -1, 0.0
        for f in region.open:
            if row.values[f] != region.own[f]:
                continue
            before = column_cost(cost, region, f, row.values[f])
            if f < problem.steps.size:
                if before > best:
                    best, column, value = before, f, inside(region, f, cost.reference[f])
                continue
            for k in range(n_tries(problem, f, 0)):
                level = level_or(problem, region, f, k, row.values[f])
                saving = before - column_cost(cost, region, f, level)
                if saving > best:
                    best, column, value = saving, f, level
        if column < 0:
            return
        move(problem, row, column, value)


@entry_point(signature(SearchProblem, Regions, Starts, GoalArrays, Targets, FoundRows))
def nearest_rows(problem, regions, starts, goals, targets, found):
    """Find for every target the row nearest to it that meets the goal (where none does, the nearest attempt)."""
    no_penalties = np.zeros(regions.own.shape[1])
    start, row, trial, spare = empty_row(problem), empty_row(problem), empty_row(problem), empty_row(problem)
    for n in range(regions.own.shape[0]):
        region = region_of(problem, regions, n)
        copy_row(start_of(regions, starts, n), start)
        enter(problem, region, start)
        cost = ColumnPrices(targets.numbers[n], targets.per_unit, targets.levels[n], no_penalties, 2)
        approach(problem, region, cost, start)
        goal = goal_of(goals, n)
        outcome, height, found.highest[n] = attainable_goal(problem, region, cost, goal, start, row, trial, spare)
        found.outcomes[n] = outcome
        if outcome == Outcome.BELOW:
            goal = goal_at(goal, NEARLY * height, 0.0)
        if outcome != Outcome.UNREACHABLE:
            economise(problem, region, cost, goal, row, trial, spare)
        if problem.stop[0] != 0:
            found.outcomes[n] = Outcome.TIMED_OUT
            continue
        copy_vector(row.values, found.rows[n])
