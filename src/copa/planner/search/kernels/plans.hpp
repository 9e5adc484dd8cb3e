// Plans for a batch of applicants: a pool of cheap rows for each, and the best plan from it.
#pragma once

#include "candidates.hpp"
#include "highest_level.hpp"
#include "selection.hpp"

namespace copa::search {

inline constexpr int TURNS = 2;         // of enlarging the pool around the plan
inline constexpr Index VARIANTS = 24;   // that a pool has room for, per option
// Where the level is out of reach, the plan is built just below the highest one: only there is room for a choice, and
// nothing that is much less sure is offered. These shares of its height are tried until the plan is full.
inline constexpr double ROOM[] = {0.999, 0.97, 0.9};

struct PoolSettings {
    Floats2 multipliers;
    double diversity_weight;
    Floats alike;
};
struct FoundPlans {
    Ints outcomes, counts;
    Floats3 options;
    Floats2 surest;
    Floats highest;
    Floats3 pool;
    Ints pool_sizes;
};

// Choose a plan from the rows of a pool; return how many options.
inline Index choose_from_pool(const Prices& prices, const PoolSettings& settings, const Region& region, const Pool& pool,
                              const Compared& compared, Ints chosen) {
    compare_rows(prices, settings.alike, region.own, pool.rows, pool.size, compared);
    group_rows(region.own, pool.rows, pool.size, compared.groups);
    return choose_plan(pool.efforts, compared, pool.size, settings.diversity_weight, chosen);
}

// Choose a plan, enlarge the pool by variants of its options, and choose again; return how many options.
//
// Just below the highest level next to every variant is out of reach, which takes long to see: a full plan stays there.
inline Index plan_from_pool(const SearchProblem& problem, const Region& region, const Prices& prices, const Goal& goal,
                            const Row& start, bool met, const PoolSettings& settings, Pool& pool,
                            const Compared& compared, Ints chosen, const Row& row, const Row& spare, const Row& trial, const ColumnPrices& cost) {
    Index size = choose_from_pool(prices, settings, region, pool, compared, chosen);
    for (int turn = 0; turn < TURNS && (met || size < chosen.size); ++turn) {
        const Index known = pool.size;
        const bool around_plan = turn == 0 || size == chosen.size;  // else too few: look around every row
        for (Index j = 0; j < (around_plan ? size : known); ++j) {
            add_variants(problem, region, prices, goal, start, around_plan ? chosen[j] : j, pool, row, spare, trial, cost);
        }
        if (pool.size == known) break;
        size = choose_from_pool(prices, settings, region, pool, compared, chosen);
    }
    return size;
}

// Find the plan of every applicant, and write it to `found`.
inline void find_plans(const SearchProblem& problem, const Prices& prices, const Regions& regions, const Starts& starts,
                       const GoalArrays& goals, const PoolSettings& settings, const FoundPlans& found) {
    Arena arena;
    const Index n_columns = regions.own.cols, n_options = found.options.rows;
    const Index capacity = settings.multipliers.rows + 2 + VARIANTS * n_options;
    Pool pool{arena.matrix(capacity, n_columns), arena.vector(capacity), arena.vector(n_columns)};
    const Row start = empty_row(problem, arena), surest = empty_row(problem, arena), row = empty_row(problem, arena);
    const Row trial = empty_row(problem, arena), spare = empty_row(problem, arena);
    const ColumnPrices own_room = empty_prices(problem, arena), pool_room = empty_prices(problem, arena);
    const ColumnPrices free = empty_prices(problem, arena);
    const Compared compared = room_to_compare(capacity, n_options, arena);
    const RegionRoom region_room{arena.vector<std::int64_t>(n_columns), arena.vector<bool>(problem.steps.size)};
    const Ints chosen = arena.vector<std::int64_t>(n_options);
    for (Index n = 0; n < regions.own.rows; ++n) {
        const Region region = region_of(problem, regions, n, region_room);
        copy_row(start_of(regions, starts, n), start);
        enter(problem, region, start);
        const Goal target = goal_of(goals, n);
        const ColumnPrices cost = scaled_prices(problem, region, prices, [](Index) { return 1.0; }, own_room);
        const Attainable best = attainable_goal(problem, region, cost, target, start, surest, trial, spare, free);
        found.highest[n] = best.highest;
        found.outcomes[n] = best.outcome;
        copy(surest.values, found.surest[n]);
        found.counts[n] = found.pool_sizes[n] = 0;
        if (problem.stop()) {
            found.outcomes[n] = TIMED_OUT;
            continue;
        }
        if (best.outcome == UNREACHABLE) continue;
        Index size = 0;
        for (double share : ROOM) {  // where the level is met there is one turn
            const Goal goal = best.outcome == MET ? target : goal_at(target, share * best.height, 0.0);
            pool.size = 0;
            pool.uses.fill(0.0);
            copy_row(surest, row);
            economise(problem, region, cost, goal, row, trial, spare);
            add_row(pool, region, prices, row);
            fill_pool(problem, region, prices, goal, start, settings.multipliers, pool, row, trial, spare, pool_room);
            size = plan_from_pool(problem, region, prices, goal, start, best.outcome == MET, settings, pool, compared,
                                  chosen, row, spare, trial, cost);
            if (size == n_options || best.outcome == MET || best.height < 0.0) break;
        }
        if (problem.stop()) {  // what there is was not finished
            found.outcomes[n] = TIMED_OUT;
            continue;
        }
        found.pool_sizes[n] = std::min(pool.size, found.pool.rows);
        for (Index k = 0; k < found.pool_sizes[n]; ++k) copy(pool.rows[k], found.pool[n][k]);
        cheapest_first(pool.efforts, chosen, size);
        found.counts[n] = size;
        for (Index j = 0; j < size; ++j) copy(pool.rows[chosen[j]], found.options[n][j]);
    }
}

}  // namespace copa::search
