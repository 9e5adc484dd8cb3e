// A row of the search: what a move makes of its score, its rules, and its distance from the goal.
//
// The encoded vector of a row is the applicant's plus a sum of directions: a number moves along its direction, a level is
// exchanged for another. Everything a bound needs of a row is linear or quadratic in the encoded vector, so a row carries
// its inner products with all directions, and one move is judged in a handful of operations, whatever the number of
// parameters.
#pragma once

#include "_core/kernels/small_matrices.hpp"

namespace copa::search {

using Flags = Vector<bool>;
using Flags2 = Matrix<bool>;

enum Outcome : std::int64_t { MET, BELOW, UNREACHABLE, TIMED_OUT };  // as in search/arguments.py

// What all applicants share, see arguments.py; so are the four below.
struct SearchProblem {
    Ints starts;
    Floats2 cov_gram, drift_gram;
    Floats means, scores;
    Floats2 rules;
    Floats steps;
    std::int64_t cap;
    Stop stop;
};
struct Prices {
    Floats per_unit;
    Floats2 gaps;
    Floats penalties;
    std::int64_t power;
};
struct Regions {
    Floats2 own, lower, upper;
    Flags2 allowed;
    Floats2 reference, leaving, level_prices;
};
struct Starts {
    Floats2 scores, cov_products, drift_products, slack;
};
struct GoalArrays {
    Floats a, b, c, floors, shares, radii;
    double margin;
    bool moves_spread;
};

// Where one applicant stands and may go.
struct Region {
    Floats own, lower, upper;
    Flags allowed;
    Floats reference;     // (L,) where changes of numbers are counted from
    Floats leaving;       // (L,) what leaving an irregular entry costs in addition, in raw units
    Floats level_prices;  // (A,) of taking each level, to the power of the prices
    Ints open;            // columns that may change at all
    Flags moved;          // (L,) scratch of `mend_rules`
    std::int64_t cap;
};

// A row and all that moves need to know of it.
struct Row {
    Floats values;          // (F,)
    Floats scores;          // (4,) mean score, today's score, variance of the score, squared reach per radius
    Floats cov_products;    // (A,) x' S direction
    Floats drift_products;  // (A,) x' Q direction
    Floats slack;           // (R,) of the rules, not negative where they hold
};
enum { MEAN, TODAY, VARIANCE, REACH };  // positions in `Row.scores`

// What a row must reach, see `GoalArrays`.
struct Goal {
    double a, b, c, floor, share, radius, margin;
    bool moves_spread;
    double surplus;  // that the surplus must reach; zero, or out of reach for a search without an end
};

// A broken rule counts this much more than a missing unit of the score: rules come first.
inline constexpr double RULE_PRICE = 100.0;
// And so does acceptance today, before any level.
inline constexpr double FLOOR_PRICE = 10.0;
// Rounding: a goal missed by less counts as met here; the rows delivered are checked again without any slack.
inline constexpr double TOLERANCE = 1e-10;

// Room for a row.
inline Row empty_row(const SearchProblem& problem, Arena& arena) {
    const Index n_directions = problem.means.size;
    return {arena.vector(problem.starts.size - 1), arena.vector(4), arena.vector(n_directions),
            arena.vector(n_directions), arena.vector(problem.rules.rows)};
}

inline void copy_row(const Row& source, const Row& target) {
    copy(source.values, target.values);
    copy(source.scores, target.scores);
    copy(source.cov_products, target.cov_products);
    copy(source.drift_products, target.drift_products);
    copy(source.slack, target.slack);
}

// The own row of applicant n.
inline Row start_of(const Regions& regions, const Starts& starts, Index n) {
    return {regions.own[n], starts.scores[n], starts.cov_products[n], starts.drift_products[n], starts.slack[n]};
}

// What the rows of applicant n must reach.
inline Goal goal_of(const GoalArrays& goals, Index n) {
    return {goals.a[n],     goals.b[n],   goals.c[n],         goals.floors[n], goals.shares[n],
            goals.radii[n], goals.margin, goals.moves_spread, 0.0};
}

// The goal with b^2 = height in the place of its own; below zero, acceptance today alone.
inline Goal goal_at(const Goal& goal, double height, double surplus) {
    Goal at = goal;
    at.surplus = surplus;
    if (height < 0.0) {
        at.a = at.b = at.c = 0.0;
        return at;
    }
    at.a = std::sqrt(1.0 - height);
    at.b = std::sqrt(height);
    at.c = goal.moves_spread ? 1.0 : at.a;
    return at;
}

// The largest b^2 of a goal at which the surplus of a score is not negative (docs/theory.md, "One option"): the squared
// sine of its angle.
inline double height_at(const Goal& goal, double mean_score, double variance_of_score, double square_of_reach) {
    const double mean = goal.share * mean_score, variance = std::max(variance_of_score, 0.0);
    const double reach = goal.radius * std::sqrt(std::max(square_of_reach, 0.0));
    if (!(mean > reach)) return 0.0;
    double angle;
    if (goal.moves_spread) {
        const double length = std::sqrt(mean * mean + variance);
        angle = std::atan2(mean, std::sqrt(variance)) - std::asin(std::min(1.0, reach / length));
    } else {
        angle = std::atan2(mean - reach, std::sqrt(variance));
    }
    const double sine = std::sin(std::max(angle, 0.0));
    return sine * sine;
}

inline double height_of(const Goal& goal, const Row& row) {
    return height_at(goal, row.scores[MEAN], row.scores[VARIANCE], row.scores[REACH]);
}

// How far a row is from the goal, without its rules: zero where met, else the missing score, negative.
inline double attainment(const Goal& goal, double mean, double score, double variance, double reach) {
    const double missing = FLOOR_PRICE * std::min(score - goal.floor, 0.0) + std::min(mean - goal.margin, 0.0);
    double surplus = goal.a * (goal.share * mean) - goal.b * std::sqrt(std::max(variance, 0.0));
    surplus -= goal.c * goal.radius * std::sqrt(std::max(reach, 0.0));
    return missing + std::min(surplus - goal.surplus, 0.0);
}

// How far a row is from the goal, rules included; zero where it is met.
inline double merit(const Goal& goal, const Row& row) {
    double total = attainment(goal, row.scores[MEAN], row.scores[TODAY], row.scores[VARIANCE], row.scores[REACH]);
    for (double slack : row.slack) total += RULE_PRICE * std::min(slack, 0.0);
    return total;
}

// `merit` after a numeric column has moved by `change` raw units; a concave function of it.
inline double merit_along(const SearchProblem& problem, const Goal& goal, const Row& row, Index column, double change) {
    const Floats now = row.scores;
    const double cov = problem.cov_gram(column, column), drift = problem.drift_gram(column, column);
    const double mean = now[MEAN] + change * problem.means[column];
    const double score = now[TODAY] + change * problem.scores[column];
    const double variance = now[VARIANCE] + change * (2.0 * row.cov_products[column] + change * cov);
    const double reach = now[REACH] + change * (2.0 * row.drift_products[column] + change * drift);
    double total = attainment(goal, mean, score, variance, reach);
    for (Index r = 0; r < row.slack.size; ++r) {
        total += RULE_PRICE * std::min(row.slack[r] - change * problem.rules(r, column), 0.0);
    }
    return total;
}

// What the exchange of one direction for another adds to a row's quadratic form.
struct Exchange {
    double linear, square;
};
inline Exchange exchange_in(Floats2 gram, Floats products, Index now, Index old) {
    return {2.0 * (products[now] - products[old]), gram(now, now) - 2.0 * gram(now, old) + gram(old, old)};
}

// `height_of` a row after one level has been exchanged for another.
inline double height_after(const SearchProblem& problem, const Goal& goal, const Row& row, Index next, Index old) {
    const Exchange cov = exchange_in(problem.cov_gram, row.cov_products, next, old);
    const Exchange drift = exchange_in(problem.drift_gram, row.drift_products, next, old);
    return height_at(goal, row.scores[MEAN] + problem.means[next] - problem.means[old],
                     row.scores[VARIANCE] + cov.linear + cov.square, row.scores[REACH] + drift.linear + drift.square);
}

inline bool is_numeric(const SearchProblem& problem, Index column) { return column < problem.steps.size; }
inline Index level(double value) { return static_cast<Index>(value); }

// `merit` after a column has been given another value.
inline double merit_after(const SearchProblem& problem, const Goal& goal, const Row& row, Index column, double value) {
    if (is_numeric(problem, column)) return merit_along(problem, goal, row, column, value - row.values[column]);
    const Index next = level(value), old = level(row.values[column]);
    const Floats now = row.scores;
    const double mean = now[MEAN] + problem.means[next] - problem.means[old];
    const double score = now[TODAY] + problem.scores[next] - problem.scores[old];
    const Exchange cov = exchange_in(problem.cov_gram, row.cov_products, next, old);
    const double variance = now[VARIANCE] + cov.linear + cov.square;
    const Exchange drift = exchange_in(problem.drift_gram, row.drift_products, next, old);
    const double reach = now[REACH] + drift.linear + drift.square;
    double total = attainment(goal, mean, score, variance, reach);
    for (Index r = 0; r < row.slack.size; ++r) {
        total += RULE_PRICE * std::min(row.slack[r] - problem.rules(r, next) + problem.rules(r, old), 0.0);
    }
    return total;
}

// Give a column another value.
inline void move(const SearchProblem& problem, const Row& row, Index column, double value) {
    const Floats now = row.scores;
    const Floats2 cov = problem.cov_gram, drift = problem.drift_gram;
    if (is_numeric(problem, column)) {
        const double change = value - row.values[column];
        now[MEAN] += change * problem.means[column];
        now[TODAY] += change * problem.scores[column];
        now[VARIANCE] += change * (2.0 * row.cov_products[column] + change * cov(column, column));
        now[REACH] += change * (2.0 * row.drift_products[column] + change * drift(column, column));
        for (Index a = 0; a < row.cov_products.size; ++a) {
            row.cov_products[a] += change * cov(column, a);
            row.drift_products[a] += change * drift(column, a);
        }
        for (Index r = 0; r < row.slack.size; ++r) row.slack[r] -= change * problem.rules(r, column);
    } else {
        const Index next = level(value), old = level(row.values[column]);
        now[MEAN] += problem.means[next] - problem.means[old];
        now[TODAY] += problem.scores[next] - problem.scores[old];
        const Exchange in_cov = exchange_in(cov, row.cov_products, next, old);
        now[VARIANCE] += in_cov.linear;
        now[VARIANCE] += in_cov.square;
        const Exchange in_drift = exchange_in(drift, row.drift_products, next, old);
        now[REACH] += in_drift.linear;
        now[REACH] += in_drift.square;
        for (Index a = 0; a < row.cov_products.size; ++a) {
            row.cov_products[a] += cov(next, a) - cov(old, a);
            row.drift_products[a] += drift(next, a) - drift(old, a);
        }
        for (Index r = 0; r < row.slack.size; ++r) row.slack[r] -= problem.rules(r, next) - problem.rules(r, old);
    }
    row.values[column] = value;
}

// Make `row` the row with the given values, starting from `start`.
inline void make_row(const SearchProblem& problem, const Row& start, Floats values, const Row& row) {
    copy_row(start, row);
    for (Index f = 0; f < values.size; ++f) {
        if (values[f] != row.values[f]) move(problem, row, f, values[f]);
    }
}

// Number of columns in which a row differs from the applicant.
inline std::int64_t count_changes(const Region& region, const Row& row) {
    std::int64_t changes = 0;
    for (Index f : region.open) changes += row.values[f] != region.own[f];
    return changes;
}

// Room for a region's own arrays.
struct RegionRoom {
    Ints columns;
    Flags moved;
};

// The feasible region of applicant n. Open are columns with another possible value than the applicant's own.
inline Region region_of(const SearchProblem& problem, const Regions& regions, Index n, RegionRoom room) {
    const Floats own = regions.own[n], lower = regions.lower[n], upper = regions.upper[n];
    const Flags allowed = regions.allowed[n];
    Index count = 0;
    for (Index f = 0; f < own.size; ++f) {
        bool is_open = false;
        if (f < lower.size) {
            is_open = upper[f] > lower[f] || own[f] < lower[f] || own[f] > upper[f];
        } else {
            for (Index a = problem.starts[f]; a < problem.starts[f + 1]; ++a) {
                is_open = is_open || (allowed[a] && static_cast<double>(a) != own[f]);
            }
        }
        if (is_open) room.columns[count++] = f;
    }
    return {own, lower, upper, allowed, regions.reference[n], regions.leaving[n], regions.level_prices[n],
            room.columns.part(0, count), room.moved, problem.cap};
}

// The nearest value to `value` in the range of a numeric column.
inline double inside(const Region& region, Index column, double value) {
    return std::min(std::max(value, region.lower[column]), region.upper[column]);
}

// How many values of a column are tried: so many numbers, or all levels.
inline Index n_tries(const SearchProblem& problem, Index column, Index n_numbers) {
    return is_numeric(problem, column) ? n_numbers : problem.starts[column + 1] - problem.starts[column];
}

// The k-th level of a categorical column, or `value` where it is not allowed.
inline double level_or(const SearchProblem& problem, const Region& region, Index column, Index k, double value) {
    const Index found = problem.starts[column] + k;
    return region.allowed[found] ? static_cast<double>(found) : value;
}

}  // namespace copa::search
