// The real row nearest to a point that need not be one: delivery of corrected options.
#pragma once

#include "highest_level.hpp"

namespace copa::search {

inline constexpr double NEARLY = 0.97;  // of the highest level, at which a row is looked for where the level is out of reach

// Points that rows are to be near to, see arguments.py; so are the rows found.
struct Targets {
    Floats2 numbers;
    Floats per_unit;
    Floats2 levels;
};
struct FoundRows {
    Ints outcomes;
    Floats2 rows;
    Floats highest;
};

// Take every column to its cheapest value, as far as the cap on changes allows, the greatest saving first.
inline void approach(const SearchProblem& problem, const Region& region, const ColumnPrices& cost, const Row& row) {
    for (Index round = 0; round < region.open.size; ++round) {
        if (count_changes(region, row) >= region.cap) return;
        double best = 1e-12;
        Move found;
        for (Index f : region.open) {
            if (row.values[f] != region.own[f]) continue;
            const double before = column_cost(cost, region, f, row.values[f]);
            if (is_numeric(problem, f)) {
                if (before > best) best = before, found = {f, inside(region, f, cost.reference[f])};
                continue;
            }
            for (Index k = 0; k < n_tries(problem, f, 0); ++k) {
                const double other = level_or(problem, region, f, k, row.values[f]);
                const double saving = before - column_cost(cost, region, f, other);
                if (saving > best) best = saving, found = {f, other};
            }
        }
        if (found.column < 0) return;
        move(problem, row, found.column, found.value);
    }
}

// Find for every target the row nearest to it that meets the goal (where none does, the nearest attempt).
inline void nearest_rows(const SearchProblem& problem, const Regions& regions, const Starts& starts,
                         const GoalArrays& goals, const Targets& targets, const FoundRows& found) {
    Arena arena;
    const Index n_columns = regions.own.cols;
    const Floats no_penalties = arena.vector(n_columns);
    const Row start = empty_row(problem, arena), row = empty_row(problem, arena);
    const Row trial = empty_row(problem, arena), spare = empty_row(problem, arena);
    const ColumnPrices free = empty_prices(problem, arena);
    const RegionRoom room{arena.vector<std::int64_t>(n_columns), arena.vector<bool>(problem.steps.size)};
    for (Index n = 0; n < regions.own.rows; ++n) {
        const Region region = region_of(problem, regions, n, room);
        copy_row(start_of(regions, starts, n), start);
        enter(problem, region, start);
        const ColumnPrices cost{targets.numbers[n], targets.per_unit, targets.levels[n], no_penalties, 2};
        approach(problem, region, cost, start);
        Goal goal = goal_of(goals, n);
        const Attainable best = attainable_goal(problem, region, cost, goal, start, row, trial, spare, free);
        found.highest[n] = best.highest;
        found.outcomes[n] = best.outcome;
        if (best.outcome == BELOW) goal = goal_at(goal, NEARLY * best.height, 0.0);
        if (best.outcome != UNREACHABLE) economise(problem, region, cost, goal, row, trial, spare);
        if (problem.stop()) {
            found.outcomes[n] = TIMED_OUT;
            continue;
        }
        copy(row.values, found.rows[n]);
    }
}

}  // namespace copa::search
