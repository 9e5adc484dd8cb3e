// Choosing a plan from a pool of rows: close, and different in what a person has to do.
//
// Two rows cannot stand in one plan if one asks for less than the other, or if they are alike: no column differs by more
// than a stated part of a unit of effort. And no more than `SAME_COLUMNS` options of a plan change the same columns.
#pragma once

#include <utility>

#include "cost.hpp"

namespace copa::search {

inline constexpr int PASSES = 50;       // of exchanges; each pass improves the plan
inline constexpr int SAME_COLUMNS = 2;  // options of a plan that may change the same columns
inline constexpr double NO_PLAN = 1e300;

// What is known of the pairs of P rows, and room for a plan of J options.
struct Compared {
    Floats2 distances;  // (P, P)
    Flags2 excludes;    // (P, P) which of them cannot stand in one plan
    Ints groups;        // (P,)
    Floats2 matrix;     // (J, J) scratch
};
inline Compared room_to_compare(Index n_rows, Index n_options, Arena& arena) {
    return {arena.matrix(n_rows, n_rows), arena.matrix_of<bool>(n_rows, n_rows), arena.vector<std::int64_t>(n_rows),
            arena.matrix(n_options, n_options)};
}

// Whether every change of a row (F,) is also asked for by the other, to at least that extent, and they differ.
inline bool asks_less(Index n_numeric, Floats own, Floats row, Floats other) {
    bool differs = false;
    for (Index f = 0; f < row.size; ++f) {
        if (f < n_numeric) {
            const double change = row[f] - own[f], more = other[f] - own[f];
            if (change * more < 0.0 || std::abs(change) > std::abs(more) || (change != 0.0 && more == 0.0)) return false;
            differs = differs || change != more;
        } else {
            if (row[f] != own[f] && row[f] != other[f]) return false;
            differs = differs || row[f] != other[f];
        }
    }
    return differs;
}

// Whether no column of two rows (F,) differs by more than `alike` (F,).
inline bool are_alike(Floats alike, Floats row, Floats other) {
    for (Index f = 0; f < row.size; ++f) {
        if (std::abs(row[f] - other[f]) > alike[f]) return false;
    }
    return true;
}

// Whether two rows (F,) change the same columns.
inline bool change_same_columns(Floats own, Floats row, Floats other) {
    for (Index f = 0; f < row.size; ++f) {
        if ((row[f] != own[f]) != (other[f] != own[f])) return false;
    }
    return true;
}

// Number rows (P, F) by the columns that they change: rows of the same number change the same ones, (P,).
inline void group_rows(Floats own, Floats2 rows, Index n_rows, Ints groups) {
    for (Index i = 0; i < n_rows; ++i) {
        groups[i] = i;
        for (Index k = 0; k < i; ++k) {
            if (groups[k] == k && change_same_columns(own, rows[i], rows[k])) {
                groups[i] = k;
                break;
            }
        }
    }
}

// Fill in how far rows (P, F) are from each other, and which of them cannot stand in one plan, (P, P) each.
inline void compare_rows(const Prices& prices, Floats alike, Floats own, Floats2 rows, Index n_rows,
                         const Compared& compared) {
    const Index n_numeric = prices.per_unit.size;
    const Flags2 excludes = compared.excludes;
    for (Index i = 0; i < n_rows; ++i) {
        for (Index k = 0; k < n_rows; ++k) {
            compared.distances(i, k) = row_distance(prices, rows[i], rows[k]);
            excludes(i, k) = asks_less(n_numeric, own, rows[i], rows[k]) || are_alike(alike, rows[i], rows[k]);
        }
    }
    for (Index i = 0; i < n_rows; ++i) {
        for (Index k = 0; k < i; ++k) excludes(i, k) = excludes(k, i) = excludes(i, k) || excludes(k, i);
    }
}

// Mean effort of the options in units of the cheapest, plus what their likeness efforts: weight (1 - det K).
inline double plan_value(Ints chosen, Index size, Floats efforts, const Compared& compared, double unit, double weight) {
    const Floats2 matrix = compared.matrix;
    double total = 0.0;
    for (Index i = 0; i < size; ++i) {
        total += efforts[chosen[i]];
        for (Index j = 0; j < size; ++j) {
            matrix(i, j) = 1.0 / (1.0 + compared.distances(chosen[i], chosen[j]) / unit);
        }
    }
    double determinant = 1.0;
    // Elimination without exchange of rows: the kernel of a distance has a positive diagonal.
    for (Index i = 0; i < size; ++i) {
        const double pivot = matrix(i, i);
        if (!(pivot > 1e-14)) {
            determinant = 0.0;
            break;
        }
        determinant *= pivot;
        for (Index k = i + 1; k < size; ++k) {
            const double share = matrix(k, i) / pivot;
            for (Index j = i + 1; j < size; ++j) matrix(k, j) -= share * matrix(i, j);
        }
    }
    return total / (static_cast<double>(size) * unit) + weight * (1.0 - determinant);
}

// Whether a row cannot join a plan, in place of its option `replaced` (-1: in addition).
inline bool clashes(const Compared& compared, Ints chosen, Index size, Index replaced, Index candidate) {
    int same_columns = 0;
    for (Index j = 0; j < size; ++j) {
        if (j == replaced) continue;
        same_columns += compared.groups[chosen[j]] == compared.groups[candidate];
        if (chosen[j] == candidate || compared.excludes(chosen[j], candidate)) return true;
    }
    return same_columns >= SAME_COLUMNS;
}

// Choose up to `chosen.size` rows of a pool: greedily, then by exchanging one for another; return how many.
inline Index choose_plan(Floats efforts, const Compared& compared, Index n_rows, double weight, Ints chosen) {
    double unit = NO_PLAN;
    Index first = 0;
    for (Index i = 0; i < n_rows; ++i) {
        if (efforts[i] < unit) unit = efforts[i], first = i;
    }
    unit = std::max(unit, 1e-9);
    chosen[0] = first;
    Index size = 1;
    while (size < chosen.size) {
        double best = NO_PLAN;
        Index addition = -1;
        for (Index k = 0; k < n_rows; ++k) {
            if (clashes(compared, chosen, size, -1, k)) continue;
            chosen[size] = k;
            const double value = plan_value(chosen, size + 1, efforts, compared, unit, weight);
            if (value < best) best = value, addition = k;
        }
        if (addition < 0) break;
        chosen[size++] = addition;
    }
    double best = plan_value(chosen, size, efforts, compared, unit, weight);
    for (int pass = 0; pass < PASSES; ++pass) {
        bool improved = false;
        for (Index j = 0; j < size; ++j) {
            Index kept = chosen[j];
            for (Index k = 0; k < n_rows; ++k) {
                if (clashes(compared, chosen, size, j, k)) continue;
                chosen[j] = k;
                const double value = plan_value(chosen, size, efforts, compared, unit, weight);
                if (value < best - 1e-12) best = value, kept = k, improved = true;
            }
            chosen[j] = kept;
        }
        if (!improved) break;
    }
    return size;
}

// Order a plan by effort (insertion sort).
inline void cheapest_first(Floats efforts, Ints chosen, Index size) {
    for (Index i = 1; i < size; ++i) {
        for (Index k = i; k > 0 && efforts[chosen[k]] < efforts[chosen[k - 1]]; --k) std::swap(chosen[k], chosen[k - 1]);
    }
}

// Rows of one applicant, from which a plan is chosen, see arguments.py.
struct Choice {
    Floats own, reference, leaving, level_prices;
    Floats2 rows;
    double diversity_weight;
    Floats alike;
    Ints chosen, size;
};

// Choose a plan from rows that are known already, by the same criterion as `find_plans`.
inline void select_options(const Prices& prices, const Choice& choice) {
    Arena arena;
    const Index n_rows = choice.rows.rows;
    const Floats efforts = arena.vector(n_rows);
    for (Index k = 0; k < n_rows; ++k) efforts[k] = effort(prices, choice, choice.rows[k]);
    const Compared compared = room_to_compare(n_rows, choice.chosen.size, arena);
    compare_rows(prices, choice.alike, choice.own, choice.rows, n_rows, compared);
    group_rows(choice.own, choice.rows, n_rows, compared.groups);
    choice.size[0] = choose_plan(efforts, compared, n_rows, choice.diversity_weight, choice.chosen);
    cheapest_first(efforts, choice.chosen, choice.size[0]);
}

}  // namespace copa::search
