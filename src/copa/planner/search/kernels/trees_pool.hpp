// The rows that a search met and that are good enough, by the rung of the ladder of levels that they reach.
#pragma once

#include "trees_moves.hpp"

namespace copa::search::on_trees {

inline constexpr std::size_t PER_SET = 6;  // rows of a rung that change the same columns
// Rounding of the scores, which are sums of differences.
inline constexpr double ROUNDING = 1e-9, SINGLE_ROUNDING = 1e-5;

// What rows must reach: rung 0 is acceptance today, rung q a ratio of mean and spread of the other models' scores.
struct Ladder {
    Floats factors;
    double accepted_by;  // least score today

    Index top() const { return factors.size; }
    // What is missing of a rung, in the units of the scores; zero where it is reached.
    double missing(const Said& said, Index rung) const {
        double total = std::max(accepted_by - said.today, 0.0);
        if (rung > 0) {
            const double factor = factors[rung - 1], surplus = said.mean - factor * said.spread;
            if (!(surplus > 0.0)) total += (-surplus + ROUNDING) / std::sqrt(1.0 + factor * factor);
        }
        return total;
    }
    // The highest rung up to `most` that is reached; -1 where today's model refuses the row.
    Index reached(const Said& said, Index most) const {
        if (said.today < accepted_by) return -1;
        while (most > 0 && missing(said, most) > 0.0) --most;
        return most;
    }
};

// What today's model must say: a tie is accepted or not, and rounding takes neither for the other.
inline double least_score(const Links& links) {
    const double rounding = links.is_single[0] ? SINGLE_ROUNDING : ROUNDING;
    return links.tie[0] >= 0.0 ? -rounding : rounding;
}

struct PooledRow {
    std::vector<double> values;  // (F,)
    std::vector<bool> changed;   // (F,)
    double effort;
    Said said;
};

// For every rung the cheapest rows that reach it and none higher.
class TreePool {
public:
    TreePool(Index n_rungs, std::size_t capacity) : rungs_(n_rungs), capacity_(capacity) {}

    const std::vector<PooledRow>& at(Index rung) const { return rungs_[rung]; }

    // Keep a row, unless there are enough cheaper ones, or enough that change the same columns.
    void add(Index rung, PooledRow row) {
        std::vector<PooledRow>& rows = rungs_[rung];
        std::size_t same = 0, dearest_same = 0, dearest = 0;
        for (std::size_t r = 0; r < rows.size(); ++r) {
            if (rows[r].values == row.values) return;
            if (rows[r].changed == row.changed) {
                if (same == 0 || rows[r].effort > rows[dearest_same].effort) dearest_same = r;
                ++same;
            }
            if (rows[r].effort > rows[dearest].effort) dearest = r;
        }
        if (same >= PER_SET) {
            if (row.effort < rows[dearest_same].effort) rows[dearest_same] = std::move(row);
        } else if (rows.size() < capacity_) {
            rows.push_back(std::move(row));
        } else if (row.effort < rows[dearest].effort) {
            rows[dearest] = std::move(row);
        }
    }

    // The highest rung that a row was found for; -1 for none.
    Index highest() const {
        for (Index rung = static_cast<Index>(rungs_.size()) - 1; rung >= 0; --rung) {
            if (!rungs_[rung].empty()) return rung;
        }
        return -1;
    }

private:
    std::vector<std::vector<PooledRow>> rungs_;
    std::size_t capacity_;
};

}  // namespace copa::search::on_trees
