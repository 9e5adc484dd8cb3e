// The cheapest row on tree ensembles, proven by branch and bound.
//
// A box of rows leaves to each column the candidates that are affordable: those with which a row may still cost less than
// the best one known. The greatest sum of leaves of a tree in the box is found by walking all sides that the box reaches;
// no row in it has a higher score than these sums make. Columns are decided one after another, those that can change
// today's score most first, each beginning with its cheapest candidate. Rules are left out: they only ever rule rows out,
// so a bound stays a bound.
#pragma once

#include <limits>

#include "trees_problem.hpp"

namespace copa::search::on_trees {

// What a row must reach, and what is proven; see search/tree_arguments.py.
struct TreeRequirement {
    double least_today;  // score of today's model
    double factor;       // of the spread of the other models' scores, up to which it may take from their mean; negative for none
    double best;         // cost of a row that is known; infinite without one
};
struct TreeProof {
    Floats cost;    // (1,)
    Ints finished;  // (1,)
    Ints met;       // (1,)
    Floats row;     // (F,)
};

inline constexpr double SAME_COST = 1e-9;  // relative difference of two costs that is rounding

// Codes of a column that a box holds.
struct CodeSet {
    std::int32_t low, high;  // of the codes of cells; low > high for none
    bool missing;            // whether the code of a missing cell is among them
    std::vector<Word> bits;  // all of them, where trees test sets of the column

    bool any(const Word* left, bool inside) const {
        for (std::size_t w = 0; w < bits.size(); ++w) {
            if (bits[w] & (inside ? left[w] : ~left[w])) return true;
        }
        return false;
    }
};

class CheapestTreeRow {
public:
    CheapestTreeRow(const Standing& at, const Links& links, const TreeRequirement& asked)
        : at_(at), trees_(at.trees), links_(links), asked_(asked), best_(asked.best), box_(at.trees.n_codes.size) {
        for (Index c = 0; c < trees_.n_codes.size; ++c) box_[c] = set_of(c, &at.codes[c], 1);
        for (Index f = 0; f < at.own.size; ++f) {
            if (at.problem.coded[f] < 0) continue;
            OpenColumn open{f, {}, {}, {}, {}, 0, at.prices.penalties[f]};
            if (!at.is_number(f)) {
                level_candidates(at, open, std::numeric_limits<Index>::max());
            } else if (at.upper[f] > at.lower[f] || at.own[f] < at.lower[f] || at.own[f] > at.upper[f]) {
                number_candidates(at, open, open_cells(at, f));
            }
            if (open.values.size() > 1) columns_.push_back(by_price(open));
        }
        order_columns();
    }

    void run(const TreeProof& proof) {
        std::vector<Index> chosen(columns_.size(), 0);
        branch(0, 0.0, 0.0, 0, chosen);
        proof.finished[0] = !at_.problem.stop();
        proof.met[0] = !row_.empty();
        proof.cost[0] = std::min(best_, least_left_);
        if (proof.met[0]) std::copy(row_.begin(), row_.end(), proof.row.begin());
    }

private:
    // A column with its candidates by price, the own one first, and the codes of the first few of them.
    struct Column {
        Index column, coded;
        double penalty;
        std::vector<double> values, prices;
        std::vector<std::int32_t> codes;
        std::vector<CodeSet> first;  // of the first, the first two, ...
    };

    CodeSet set_of(Index coded, const std::int32_t* codes, std::size_t n) const {
        const Index n_codes = trees_.n_codes[coded];
        CodeSet set{static_cast<std::int32_t>(n_codes), -1, false, std::vector<Word>((n_codes + 63) / 64, 0)};
        for (std::size_t j = 0; j < n; ++j) add_code(set, codes[j], n_codes);
        return set;
    }

    static void add_code(CodeSet& set, std::int32_t code, Index n_codes) {
        set.bits[code / 64] |= Word{1} << (code % 64);
        if (code == n_codes - 1) {
            set.missing = true;
        } else {
            set.low = std::min(set.low, code), set.high = std::max(set.high, code);
        }
    }

    Column by_price(const OpenColumn& open) const {
        std::vector<Index> order;
        for (Index j = 0; j < static_cast<Index>(open.values.size()); ++j) order.push_back(j);
        std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
            return (a != open.own) != (b != open.own) ? a == open.own : open.prices[a] < open.prices[b];
        });
        Column column{open.column, at_.problem.coded[open.column], open.penalty, {}, {}, {}, {}};
        CodeSet set = set_of(column.coded, nullptr, 0);
        for (Index j : order) {
            column.values.push_back(open.values[j]);
            column.prices.push_back(j == open.own ? 0.0 : open.prices[j]);
            column.codes.push_back(open.codes[j]);
            add_code(set, open.codes[j], trees_.n_codes[column.coded]);
            column.first.push_back(set);
        }
        return column;
    }

    // Columns with which alone today's score can rise most come first.
    void order_columns() {
        std::vector<std::pair<double, Index>> gains;
        for (Index i = 0; i < static_cast<Index>(columns_.size()); ++i) {
            const Column& column = columns_[i];
            CodeSet own = box_[column.coded];
            box_[column.coded] = column.first.back();
            gains.emplace_back(-greatest_score(0), i);
            box_[column.coded] = std::move(own);
        }
        std::stable_sort(gains.begin(), gains.end());
        std::vector<Column> ordered;
        for (const auto& gain : gains) ordered.push_back(std::move(columns_[gain.second]));
        columns_ = std::move(ordered);
    }

    double cost(double prices, double penalties) const {
        return (at_.prices.power == 2 ? std::sqrt(prices) : prices) + penalties;
    }
    bool is_cheaper(double cost) const { return cost < best_ * (1.0 - SAME_COST); }

    // How many of a column's candidates a row may have that costs so much without it.
    std::size_t n_affordable(const Column& column, double prices, double penalties, Index changes) const {
        if (changes == at_.problem.cap) return 1;
        std::size_t n = 1;
        while (n < column.values.size() && is_cheaper(cost(prices + column.prices[n], penalties + column.penalty))) ++n;
        return n;
    }

    // Decide the columns from the i-th on, where those before cost so much.
    void branch(std::size_t i, double prices, double penalties, Index changes, std::vector<Index>& chosen) {
        for (std::size_t later = i; later < columns_.size(); ++later) {
            const Column& column = columns_[later];
            box_[column.coded] = column.first[n_affordable(column, prices, penalties, changes) - 1];
        }
        if (greatest_score(0) < asked_.least_today || !may_reach_level(i == columns_.size())) return;
        if (i == columns_.size()) {
            best_ = cost(prices, penalties);
            row_.assign(at_.own.begin(), at_.own.end());
            for (std::size_t k = 0; k < columns_.size(); ++k) row_[columns_[k].column] = columns_[k].values[chosen[k]];
            return;
        }
        const Column& column = columns_[i];
        const std::size_t n = n_affordable(column, prices, penalties, changes);
        for (std::size_t j = 0; j < n; ++j) {
            const double price = prices + column.prices[j], penalty = penalties + (j ? column.penalty : 0.0);
            if (!is_cheaper(cost(price, penalty))) break;
            if (at_.problem.stop()) {
                least_left_ = std::min(least_left_, cost(price, penalty));
                return;
            }
            chosen[i] = static_cast<Index>(j);
            box_[column.coded] = set_of(column.coded, &column.codes[j], 1);
            branch(i + 1, price, penalty, changes + (j > 0), chosen);
        }
        chosen[i] = 0;
    }

    // Whether the mean of the models but today's can be high enough in the box; of a single row, whether it is.
    bool may_reach_level(bool is_row) {
        if (asked_.factor < 0.0) return true;
        const Index n = at_.problem.n_models - 1;
        double mean = 0.0, square = 0.0;
        for (Index k = 1; k <= n; ++k) {
            const double score = greatest_score(k), before = score - mean;
            mean += before / static_cast<double>(k);
            square += before * (score - mean);
        }
        return is_row ? mean >= asked_.factor * std::sqrt(square / static_cast<double>(n - 1)) : mean >= 0.0;
    }

    // The greatest score that a model has in the box.
    double greatest_score(Index k) {
        sign_ = links_.sign[k];
        double sum = sign_ * links_.base[k];
        for (Index t = trees_.ensembles[k]; t < trees_.ensembles[k + 1]; ++t) sum += greatest(trees_.roots[t]);
        return links_.score(k, sign_ * sum);
    }

    // The greatest leaf below a node, of its favourable sign.
    double greatest(Index node) {
        const std::int32_t test = trees_.nodes(node, TEST), kind = test % KINDS, cut = trees_.nodes(node, CUT);
        if (kind == LEAF) return sign_ * trees_.value[node];
        CodeSet& set = box_[test / KINDS];
        return kind == SET ? greatest_by_set(node, set, &trees_.sets[cut]) : greatest_by_cut(node, set, cut, kind == MISSING_LEFT);
    }

    double greatest_by_cut(Index node, CodeSet& set, std::int32_t cut, bool missing_left) {
        const std::int32_t low = set.low, high = set.high;
        const bool missing = set.missing;
        double most = -std::numeric_limits<double>::infinity();
        if (low <= std::min(high, cut) || (missing && missing_left)) {
            set.high = std::min(high, cut), set.missing = missing && missing_left;
            most = greatest(trees_.nodes(node, LEFT));
            set.high = high;
        }
        if (std::max(low, cut + 1) <= high || (missing && !missing_left)) {
            set.low = std::max(low, cut + 1), set.missing = missing && !missing_left;
            most = std::max(most, greatest(trees_.nodes(node, RIGHT)));
            set.low = low;
        }
        set.missing = missing;
        return most;
    }

    double greatest_by_set(Index node, CodeSet& set, const Word* left) {
        const std::vector<Word> bits = set.bits;
        double most = -std::numeric_limits<double>::infinity();
        for (const bool inside : {true, false}) {
            if (!set.any(left, inside)) continue;
            for (std::size_t w = 0; w < bits.size(); ++w) set.bits[w] = bits[w] & (inside ? left[w] : ~left[w]);
            most = std::max(most, greatest(trees_.nodes(node, inside ? LEFT : RIGHT)));
            set.bits = bits;
        }
        return most;
    }

    const Standing& at_;
    const SearchedTrees& trees_;
    const Links& links_;
    TreeRequirement asked_;
    double best_, least_left_ = std::numeric_limits<double>::infinity(), sign_ = 1.0;
    std::vector<CodeSet> box_;     // (C,)
    std::vector<Column> columns_;
    std::vector<double> row_;      // the best row met
};

// Prove what the first applicant's rows cost at least.
inline void prove_cheapest(const TreeProblem& problem, const SearchedTrees& trees, const Links& links,
                           const Prices& prices, const Regions& regions, Matrix<std::int32_t> codes,
                           const TreeRequirement& asked, const TreeProof& proof) {
    const Standing at{problem, trees, prices, regions.own[0], regions.lower[0], regions.upper[0], regions.allowed[0],
                      regions.reference[0], regions.leaving[0], regions.level_prices[0], codes[0], Floats{nullptr, 0}};
    CheapestTreeRow(at, links, asked).run(proof);
}

}  // namespace copa::search::on_trees
