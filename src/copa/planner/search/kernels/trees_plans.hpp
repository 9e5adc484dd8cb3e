// Rows for many applicants on tree ensembles: searched from the applicant and from training rows, reduced and refined.
#pragma once

#include "trees_search.hpp"

namespace copa::search::on_trees {

// How much is tried, see search/tree_arguments.py.
struct TreeSettings {
    std::int64_t width, depth, n_reduced, n_exchanged, n_starts;
    double spare;
};
struct FoundTreeRows {
    Ints counts;       // (N,) how many rows
    Floats3 rows;      // (N, P, F)
    Floats3 said;      // (N, P, 3) today's score, mean and spread of the others'
    Ints finished;     // (N,) 0 where the time was up
};

inline constexpr Index ASKED = 24;   // accepted training rows that the other models are asked about
inline constexpr int REFINED = 2;   // turns of finer and finer cells

// The candidates that are nearest to a row (F,) of numbers and levels.
inline Place nearest_place(const Standing& at, const Specialised& problem, Floats row) {
    Place place;
    for (const OpenColumn& open : problem.open) {
        Index best = open.own;
        if (at.is_number(open.column)) {
            const Index cell = cell_of(at.problem, open.column, row[open.column]);
            Index least = std::abs(open.cells[open.own] - cell);
            for (Index j = 0; j < static_cast<Index>(open.cells.size()); ++j) {
                if (std::abs(open.cells[j] - cell) < least) best = j, least = std::abs(open.cells[j] - cell);
            }
        } else {
            for (Index j = 0; j < static_cast<Index>(open.values.size()); ++j) {
                if (open.values[j] == row[open.column]) best = j;
            }
        }
        place.push_back(static_cast<std::uint8_t>(best));
    }
    return place;
}

// States of training rows (T, F) as the applicant can take them over: of the cheapest that are accepted those with least
// missing, cheapest first.
inline std::vector<State> starting_rows(const Standing& at, const Specialised& problem, Floats2 training, Index rung,
                                        const TreeSearch& search) {
    std::vector<State> states;
    std::set<Place> seen;
    for (Index t = 0; t < training.rows && !at.problem.stop(); ++t) {
        Place place = nearest_place(at, problem, training[t]);
        if (seen.insert(place).second) states.push_back(search.state_of(std::move(place), 0, false));
    }
    std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) {
        return a.missing != b.missing ? a.missing < b.missing : a.effort < b.effort;
    });
    if (static_cast<Index>(states.size()) > ASKED) states.resize(ASKED);
    for (State& state : states) state = search.state_of(std::move(state.place), rung);
    std::stable_sort(states.begin(), states.end(), [](const State& a, const State& b) { return a.missing < b.missing; });
    return states;
}

// The rows of a rung that are cheapest among those that change the same columns, cheapest first.
inline std::vector<PooledRow> cheapest_by_columns(const TreePool& pool, Index rung, Index most) {
    std::vector<PooledRow> rows = pool.at(rung);
    std::stable_sort(rows.begin(), rows.end(), [](const PooledRow& a, const PooledRow& b) { return a.effort < b.effort; });
    std::vector<PooledRow> chosen;
    for (const PooledRow& row : rows) {
        const bool known = std::any_of(chosen.begin(), chosen.end(),
                                       [&](const PooledRow& other) { return other.changed == row.changed; });
        if (!known && static_cast<Index>(chosen.size()) < most) chosen.push_back(row);
    }
    return chosen;
}

// The problem again, with other cells of numbers: those that lie between the values of some rows and the next candidates
// on the applicant's side. Columns that none of the rows changes are closed; nothing is open where no cell was left out.
inline Specialised refined_problem(const Standing& at, const Specialised& coarse, const std::vector<PooledRow>& rows) {
    Specialised fine;
    bool is_finer = false;
    for (const OpenColumn& open : coarse.open) {
        const Index f = open.column;
        if (!at.is_number(f)) {
            fine.open.push_back(open);
            continue;
        }
        std::set<Index> cells;
        for (const PooledRow& row : rows) {
            if (!row.changed[f]) continue;
            const Index cell = cell_of(at.problem, f, row.values[f]);
            Index from = at.problem.first_cell[f], to = at.problem.first_cell[f + 1];
            for (Index other : open.cells) {
                if (other < cell) from = std::max(from, other + 1);
                if (other > cell) to = std::min(to, other);
            }
            row.values[f] > at.own[f] ? to = cell + 1 : from = cell;
            is_finer = is_finer || to - from > 1;
            const Index n = to - from, most = (MOST_CANDIDATES - 1) / static_cast<Index>(rows.size());
            for (Index k = 0; k < std::min(n, most); ++k) cells.insert(n <= most ? from + k : from + k * (n - 1) / (most - 1));
        }
        OpenColumn part{f, {}, {}, {}, {}, 0, open.penalty};
        number_candidates(at, part, {cells.begin(), cells.end()});
        if (part.values.size() > 1) fine.open.push_back(std::move(part));
    }
    if (!is_finer) return {};
    specialise(at.problem, at.trees, {at.codes.begin(), at.codes.end()}, fine);
    return fine;
}

// Make the cheapest rows of a rung cheaper, in one problem and then between its candidates.
inline void reduce_rows(const Standing& at, const Links& links, const Ladder& ladder, const TreeSettings& settings,
                        Index rung, const Specialised& whole, TreePool& pool) {
    Specialised finer;
    const Specialised* problem = &whole;
    for (int turn = 0; !problem->open.empty(); ++turn) {
        TreeSearch search(at, links, ladder, *problem, pool);
        Index exchanged = turn == 0 ? settings.n_exchanged : 0;
        for (const PooledRow& row : cheapest_by_columns(pool, rung, settings.n_reduced)) {
            const Floats values{const_cast<double*>(row.values.data()), static_cast<Index>(row.values.size())};
            search.reduce(search.state_of(nearest_place(at, *problem, values), rung), rung, exchanged-- > 0);
        }
        if (turn == REFINED) break;
        finer = refined_problem(at, *problem, cheapest_by_columns(pool, rung, settings.n_reduced));
        problem = &finer;
    }
}

// Fill the pool for one applicant.
inline void search_rows(const Standing& at, const Links& links, const Ladder& ladder, const TreeSettings& settings,
                        Floats2 training, TreePool& pool) {
    const Specialised whole = whole_problem(at);
    if (whole.open.empty()) return;
    TreeSearch search(at, links, ladder, whole, pool);
    const Index top = ladder.top();
    Place own;
    for (const OpenColumn& open : whole.open) own.push_back(static_cast<std::uint8_t>(open.own));
    const State root = search.state_of(own, top);
    search.widen(root, top, settings.width, settings.depth, settings.spare);
    std::vector<State> starts = starting_rows(at, whole, training, top, search);
    if (static_cast<Index>(starts.size()) > settings.n_starts) starts.resize(settings.n_starts);
    for (State& start : starts) start = search.climb(start, top);
    if (pool.at(top).empty()) search.climb(root, top);
    for (const State& start : starts) {
        if (start.missing == 0.0) search.reduce(start, top, false);
    }
    if (pool.highest() < 0) search.climb(root, 0);
    const Index rung = pool.highest();
    if (rung < 0) return;
    if (rung < top) search.widen(search.state_of(own, rung), rung, settings.width, settings.depth, settings.spare);
    reduce_rows(at, links, ladder, settings, rung, whole, pool);
}

// Search rows for every applicant, and write the best to `found`.
inline void search_trees(const TreeProblem& problem, const SearchedTrees& trees, const Links& links, const Prices& prices,
                         const TreeApplicants& applicants, Floats2 training, const TreeSettings& settings,
                         const FoundTreeRows& found) {
    const Regions& regions = applicants.regions;
    const Ladder ladder{problem.factors, least_score(links)};
    for (Index n = 0; n < found.counts.size; ++n) {
        found.counts[n] = found.finished[n] = 0;
        if (problem.stop()) continue;
        const Standing at{problem, trees, prices, regions.own[n], regions.lower[n], regions.upper[n], regions.allowed[n],
                          regions.reference[n], regions.leaving[n], regions.level_prices[n], applicants.codes[n],
                          applicants.slack[n]};
        TreePool pool(ladder.top() + 1, found.rows.rows);
        search_rows(at, links, ladder, settings, training, pool);
        if (problem.stop()) continue;
        found.finished[n] = 1;
        Index count = 0;
        for (Index rung = ladder.top(); rung >= 0 && count < found.rows.rows; --rung) {
            std::vector<PooledRow> rows = pool.at(rung);
            std::stable_sort(rows.begin(), rows.end(),
                             [](const PooledRow& a, const PooledRow& b) { return a.effort < b.effort; });
            for (const PooledRow& row : rows) {
                if (count == found.rows.rows) break;
                std::copy(row.values.begin(), row.values.end(), found.rows[n][count].begin());
                const Floats said = found.said[n][count];
                said[0] = row.said.today, said[1] = row.said.mean, said[2] = row.said.spread;
                ++count;
            }
        }
        found.counts[n] = count;
    }
}

}  // namespace copa::search::on_trees
