"""Plans for a batch of applicants: a pool of cheap rows for each, and the best plan from it (compiled)."""

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, entry_point, inner, signature
from copa._core._kernels.prices import Prices
from copa._core._kernels.small_matrices import copy_vector
from copa.planner.search._kernels.arguments import (
    VARIANTS,
    FoundPlans,
    GoalArrays,
    Outcome,
    PoolSettings,
    Regions,
    SearchProblem,
    Starts,
)
from copa.planner.search._kernels.candidates import Pool, add_row, add_variants, fill_pool
from copa.planner.search._kernels.cheapest_row import economise, enter
from copa.planner.search._kernels.cost import scaled_prices
from copa.planner.search._kernels.highest_level import attainable_goal
from copa.planner.search._kernels.problem import copy_row, empty_row, goal_at, goal_of, region_of, start_of
from copa.planner.search._kernels.selection import cheapest_first, choose_plan, compare_rows, group_rows

TURNS = 2  # of enlarging the pool around the plan
# Where the level is out of reach, the plan is built just below the highest one: only there is room for a choice, and
# nothing that is much less sure is offered. These shares of its height are tried until the plan is full.
ROOM = (0.999, 0.97, 0.9)


@njit(**inner)
def choose_from_pool(prices, settings, region, pool, compared, n_options, chosen):
    """Choose a plan from the rows of a pool; return how many options. `compared` is room for what is known of pairs."""
    distances, excludes, groups, matrix = compared
    n_rows = pool.size[0]
    compare_rows(prices, settings.alike, region.own, pool.rows, n_rows, distances, excludes)
    group_rows(region.own, pool.rows, n_rows, groups)
    weight = settings.diversity_weight
    return choose_plan(pool.efforts, distances, excludes, groups, n_rows, n_options, weight, matrix, chosen)


@njit(**allocating)
def plan_from_pool(problem, region, prices, goal, start, n_options, settings, pool, chosen, row, spare, trial):
    """Choose a plan, enlarge the pool by variants of its options, and choose again; return how many options."""
    capacity = pool.efforts.size
    compared = (
        np.empty((capacity, capacity)),
        np.empty((capacity, capacity), np.bool_),
        np.empty(capacity, np.int64),
        np.empty((n_options, n_options)),
    )
    size = choose_from_pool(prices, settings, region, pool, compared, n_options, chosen)
    for turn in range(TURNS):
        known = pool.size[0]
        if turn == 0 or size == n_options:
            for j in range(size):
                add_variants(problem, region, prices, goal, start, chosen[j], pool, row, spare, trial)
        else:  # too few: look around every row
            for k in range(known):
                add_variants(problem, region, prices, goal, start, k, pool, row, spare, trial)
        if pool.size[0] == known:
            break
        size = choose_from_pool(prices, settings, region, pool, compared, n_options, chosen)
    return size


@entry_point(signature(SearchProblem, Prices, Regions, Starts, GoalArrays, PoolSettings, FoundPlans))
def find_plans(problem, prices, regions, starts, goals, settings, found):
    """Find the plan of every applicant, and write it to `found`."""
    n_columns, n_options = regions.own.shape[1], found.options.shape[1]
    capacity = settings.multipliers.shape[0] + 2 + VARIANTS * n_options
    pool = Pool(np.empty((capacity, n_columns)), np.empty(capacity), np.zeros(n_columns), np.zeros(1, np.int64))
    start, surest, row = empty_row(problem), empty_row(problem), empty_row(problem)
    trial, spare = empty_row(problem), empty_row(problem)
    chosen = np.zeros(n_options, np.int64)
    for n in range(regions.own.shape[0]):
        region = region_of(problem, regions, n)
        copy_row(start_of(regions, starts, n), start)
        enter(problem, region, start)
        target = goal_of(goals, n)
        cost = scaled_prices(problem, region, prices, np.ones(n_columns))
        outcome, height, found.highest[n] = attainable_goal(problem, region, cost, target, start, surest, trial, spare)
        found.outcomes[n] = outcome
        copy_vector(surest.values, found.surest[n])
        found.counts[n], found.pool_sizes[n] = 0, 0
        if problem.stop[0] != 0:
            found.outcomes[n] = Outcome.TIMED_OUT
            continue
        if outcome == Outcome.UNREACHABLE:
            continue
        size = 0
        for share in ROOM:  # where the level is met there is one turn
            goal = target if outcome == Outcome.MET else goal_at(target, share * height, 0.0)
            pool.size[0] = 0
            pool.uses[:] = 0.0
            copy_row(surest, row)
            economise(problem, region, cost, goal, row, trial, spare)
            add_row(pool, region, prices, row)
            fill_pool(problem, region, prices, goal, start, settings.multipliers, pool, row, trial, spare)
            size = plan_from_pool(
                problem, region, prices, goal, start, n_options, settings, pool, chosen, row, spare, trial
            )
            if size == n_options or outcome == Outcome.MET or height < 0.0:
                break
        if problem.stop[0] != 0:  # what there is was not finished
            found.outcomes[n] = Outcome.TIMED_OUT
            continue
        found.pool_sizes[n] = min(pool.size[0], found.pool.shape[1])
        for k in range(found.pool_sizes[n]):
            copy_vector(pool.rows[k], found.pool[n, k])
        cheapest_first(pool.efforts, chosen, size)
        found.counts[n] = size
        for j in range(size):
            copy_vector(pool.rows[chosen[j]], found.options[n, j])
