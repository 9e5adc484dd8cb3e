// How much of a score that half of the data finds for one applicant the other half finds as well.
#pragma once

#include "cheapest_row.hpp"

namespace copa::search {

// Refits on complementary halves, which stand next to each other, see arguments.py; so is what is found.
struct Halves {
    Floats2 directions, scores;
};
struct Agreement {
    Floats chosen, asked;
};

// The score of a row by other parameters than those it was chosen by.
inline double score_by(const SearchProblem& problem, Floats directions, double own_score, const Region& region,
                       const Row& row) {
    double score = own_score;
    for (Index f : region.open) {
        const double value = row.values[f], own = region.own[f];
        if (is_numeric(problem, f)) score += (value - own) * directions[f];
        else score += directions[level(value)] - directions[level(own)];
    }
    return score;
}

// Let each half choose a cheap row for every applicant that it is certain of, or else the surest that it finds and
// accepts, and sum the scores that it and the other half give these rows.
//
// Without the latter, only halves that see too much in the columns that are left would have a say.
// The greedy choice is taken as it is, without exchanges: what flatters a choice is that it goes by errors of one half,
// and a cheaper row at the same level goes by them neither more nor less (measured, docs/theory.md).
inline void compare_halves(const SearchProblem& problem, const Prices& prices, const Regions& regions,
                           const Starts& starts, const GoalArrays& goals, const Halves& halves, const Agreement& found) {
    Arena arena;
    const Row row = empty_row(problem, arena), spare = empty_row(problem, arena);
    const ColumnPrices room = empty_prices(problem, arena);
    const RegionRoom region_room{arena.vector<std::int64_t>(regions.own.cols), arena.vector<bool>(problem.steps.size)};
    for (Index n = 0; n < regions.own.rows; ++n) {
        const Region region = region_of(problem, regions, n, region_room);
        const ColumnPrices cost = scaled_prices(problem, region, prices, [](Index) { return 1.0; }, room);
        const Goal goal = goal_of(goals, n);
        found.chosen[n] = found.asked[n] = 0.0;
        for (Index k = 0; k < halves.directions.rows; ++k) {
            if (problem.stop()) return;
            SearchProblem by_half = problem;
            by_half.means = by_half.scores = halves.directions[k];
            copy_row(start_of(regions, starts, n), row);
            row.scores[MEAN] = row.scores[TODAY] = halves.scores(n, k);
            if (row.scores[TODAY] >= goal.floor) continue;  // this half does not decline
            if (complete(by_half, region, cost, goal, row, -1, spare)) shrink(by_half, region, cost, goal, row);
            else if (row.scores[TODAY] < goal.floor) continue;
            const Index other = k ^ 1;
            found.chosen[n] += row.scores[MEAN];
            found.asked[n] += score_by(problem, halves.directions[other], halves.scores(n, other), region, row);
        }
    }
}

}  // namespace copa::search
