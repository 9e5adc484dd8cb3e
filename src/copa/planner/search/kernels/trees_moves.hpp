// What every single move makes of a row's scores by all models: each tree is walked once, with one column free at a time.
//
// A walk follows the row. Where a node tests a column, those of its candidates that go the other way, and came with the
// row so far, are followed down the other side; the leaves that they reach are added to their sums.
#pragma once

#include <cmath>
#ifdef _MSC_VER
#include <intrin.h>
#endif

#include "trees_problem.hpp"

namespace copa::search::on_trees {

using Place = std::vector<std::uint8_t>;  // (O,) a row: the candidate in each open column

// What the models say of a row.
struct Said {
    double today, mean, spread;
};

// What the models say after every single move, (S,).
struct MoveTable {
    std::vector<double> today, mean, square;  // today's score; mean of the others', and sum of squares around it
};

inline int lowest_bit(Word word) {
#if defined(_MSC_VER)
    unsigned long at;
    _BitScanForward64(&at, word);
    return static_cast<int>(at);
#else
    return __builtin_ctzll(word);
#endif
}

// Add a value to the sums of some candidates: to the differences at the ends of each run of bits.
inline void add_to(double* differences, Word some, double value) {
    int at = 0;
    while (some) {
        const int skip = lowest_bit(some);
        at += skip;
        some >>= skip;
        const int run = ~some ? lowest_bit(~some) : 64;
        differences[at] += value;
        differences[at + run] -= value;
        at += run;
        some = run < 64 ? some >> run : 0;
    }
}

inline bool to_left(const SmallNode& node, const std::uint8_t* row) { return (node.left >> row[node.column]) & 1; }

// Add the leaves that some candidates of a column reach from a node on, the other columns as in the row.
inline void walk_free(const SmallNode* nodes, std::int32_t at, std::int32_t column, Word free, const std::uint8_t* row,
                      double* differences) {
    while (!nodes[at].is_leaf()) {
        const SmallNode& node = nodes[at];
        if (node.column != column) {
            at = to_left(node, row) ? at + 1 : node.right;
            continue;
        }
        const Word left = free & node.left, right = free & ~node.left;
        if (left && right) walk_free(nodes, at + 1, column, left, row, differences);
        at = right ? node.right : at + 1;
        free = right ? right : left;
    }
    add_to(differences, free, nodes[at].value);
}

// The score of a sum of leaves of model k, but for ties and rounding `Links::score`, in half the time.
inline double score_of(const Links& links, Index k, double sum) {
    double odds = sum / links.divisor[k];
    if (links.is_probability[k]) odds = odds <= 0.0 ? -1e300 : odds >= 1.0 ? 1e300 : std::log(odds / (1.0 - odds));
    return links.sign[k] * std::min(std::max(odds, -links.limit[k]), links.limit[k]) - links.threshold[k];
}

inline Said said_of(double today, double mean, double square, Index n_guides) {
    const double variance = n_guides > 1 ? std::max(square / static_cast<double>(n_guides - 1), 0.0) : 0.0;
    return {today, mean, std::sqrt(variance)};
}

// Walks the trees of one problem.
class Walker {
public:
    Walker(const Specialised& problem, const Links& links)
        : problem_(problem), links_(links), n_models_(static_cast<Index>(problem.ensembles.size()) - 1),
          n_open_(problem.open.size()), stays_(n_open_) {
        for (const OpenColumn& open : problem.open) {
            const std::size_t n = open.values.size();
            all_.push_back(n == 64 ? ~Word{0} : (Word{1} << n) - 1);
        }
        offsets_.assign(1, 0);
        for (const OpenColumn& open : problem.open) offsets_.push_back(offsets_.back() + open.values.size() + 1);
    }

    Index n_guides() const { return n_models_ - 1; }

    // What the models say of a row; of today's model alone where that refuses it, and `only_accepted`.
    Said score(const std::uint8_t* row, double least_today) const {
        const double today = score_of(links_, 0, sum_of(0, row));
        if (today < least_today || n_models_ == 1) return {today, 0.0, 0.0};
        double mean = 0.0, square = 0.0;
        for (Index k = 1; k < n_models_; ++k) add_moment(k, score_of(links_, k, sum_of(k, row)), mean, square);
        return said_of(today, mean, square, n_guides());
    }

    // Fill a table with what the models say of all rows that differ from this one in one column.
    void table(const std::uint8_t* row, MoveTable& table) {
        const std::size_t size = problem_.first.back();
        differences_.assign(offsets_.back(), 0.0);
        table.today.assign(size, 0.0), table.mean.assign(size, 0.0), table.square.assign(size, 0.0);
        for (Index k = 0; k < n_models_; ++k) {
            std::fill(differences_.begin(), differences_.end(), 0.0);
            double sum = links_.base[k];
            for (Index t = problem_.ensembles[k]; t < problem_.ensembles[k + 1]; ++t) sum += walk(problem_.roots[t], row);
            for (std::size_t i = 0; i < n_open_; ++i) {
                double change = 0.0;
                const std::size_t n = problem_.open[i].values.size();
                for (std::size_t j = 0; j < n; ++j) {
                    change += differences_[offsets_[i] + j];
                    const double score = score_of(links_, k, sum + change);
                    const std::size_t at = problem_.first[i] + j;
                    if (k == 0) {
                        table.today[at] = score;
                    } else {
                        add_moment(k, score, table.mean[at], table.square[at]);
                    }
                }
            }
        }
    }

private:
    // Moments one score at a time, by Welford's recurrences.
    static void add_moment(Index k, double score, double& mean, double& square) {
        const double before = score - mean;
        mean += before / static_cast<double>(k);
        square += before * (score - mean);
    }

    double sum_of(Index k, const std::uint8_t* row) const {
        const SmallNode* nodes = problem_.nodes.data();
        double sum = links_.base[k];
        for (Index t = problem_.ensembles[k]; t < problem_.ensembles[k + 1]; ++t) {
            std::int32_t at = problem_.roots[t];
            while (!nodes[at].is_leaf()) at = to_left(nodes[at], row) ? at + 1 : nodes[at].right;
            sum += nodes[at].value;
        }
        return sum;
    }

    // The leaf that the row reaches in a tree; the differences of all single moves are added.
    double walk(std::int32_t at, const std::uint8_t* row) {
        const SmallNode* nodes = problem_.nodes.data();
        touched_.clear();
        while (!nodes[at].is_leaf()) {
            const SmallNode& node = nodes[at];
            const std::int32_t i = node.column;
            if (stays_[i] == 0) stays_[i] = all_[i], touched_.push_back(i);
            const bool left = to_left(node, row);
            const Word stay = stays_[i] & (left ? node.left : ~node.left), away = stays_[i] & ~stay;
            if (away) walk_free(nodes, left ? node.right : at + 1, i, away, row, &differences_[offsets_[i]]);
            stays_[i] = stay;
            at = left ? at + 1 : node.right;
        }
        const double value = nodes[at].value;
        for (std::int32_t i : touched_) {  // those who left the row's way do not reach its leaf
            add_to(&differences_[offsets_[i]], all_[i] & ~stays_[i], -value);
            stays_[i] = 0;
        }
        return value;
    }

    const Specialised& problem_;
    const Links& links_;
    Index n_models_;
    std::size_t n_open_;
    std::vector<Word> all_, stays_;
    std::vector<std::size_t> offsets_;  // of each open column in the differences, one more place each than candidates
    std::vector<double> differences_;
    std::vector<std::int32_t> touched_;
};

}  // namespace copa::search::on_trees
