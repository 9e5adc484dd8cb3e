// One applicant's problem on tree ensembles: the values worth trying, and the trees cut down to what these can reach.
//
// A column's values that no tree tells apart are a cell; of each cell only the cheapest allowed value is tried, a
// candidate. A column has up to 64 of them, so a test of a tree is one word: the candidates that go left. Tests of columns
// that do not change are decided once, for all rows of the applicant.
#pragma once

#include <vector>

#include "cost.hpp"
#include "models/trees/kernels/trees.hpp"

namespace copa::search::on_trees {

using copa::trees::Links;
using Int32s = Vector<std::int32_t>;
using Word = std::uint64_t;

enum NodeField { TEST, CUT, LEFT, RIGHT };                             // of `SearchedTrees::nodes`
enum Kind : std::int32_t { LEAF, MISSING_RIGHT, MISSING_LEFT, SET, KINDS };  // as in models/trees/arrays.py
inline constexpr Index MOST_CANDIDATES = 64;  // of a column: the bits of a word

// Trees of K ensembles over coded columns, see search/tree_arguments.py; so is what follows.
struct SearchedTrees {
    Ints ensembles, roots;
    Matrix<std::int32_t> nodes;  // (M, 4)
    Floats value;
    Vector<std::uint64_t> sets;
    Ints n_codes;
};

// What all applicants share.
struct TreeProblem {
    Ints starts;                // (F + 1,) as in `SearchProblem`
    Ints coded;                 // (F,) coded column of each column, -1 where no tree reads it
    Ints first_cell;            // (F + 1,) first cell, or level, of each column
    Floats least, greatest;     // of the numbers in each cell
    Int32s cell_codes;          // code of each cell, or level
    Floats2 rules;              // (R, A)
    Floats factors;             // (Q,) of the rungs above today's acceptance
    std::int64_t cap, n_models;
    Stop stop;
};

// A column with other values than the row that a problem is about, and its candidates in the order of their cells.
struct OpenColumn {
    Index column;                    // of the space
    std::vector<double> values;
    std::vector<std::int32_t> codes;
    std::vector<Index> cells;        // cell, or level, of each
    std::vector<double> prices;      // to the power of the prices, without the penalty
    Index own;                       // the applicant's own value among them
    double penalty;
};

struct SmallNode {
    std::int32_t column;  // open column that is tested; -1 in a leaf
    std::int32_t right;   // the left child is the next node
    union {
        Word left;     // candidates that go left
        double value;  // of a leaf
    };

    static SmallNode test(std::int32_t column, Word left) {
        SmallNode node{column, 0, {}};
        node.left = left;
        return node;
    }
    static SmallNode leaf(double value) {
        SmallNode node{-1, 0, {}};
        node.value = value;
        return node;
    }
    bool is_leaf() const { return column < 0; }
};

// One applicant's problem.
struct Specialised {
    std::vector<OpenColumn> open;
    std::vector<SmallNode> nodes;
    std::vector<std::int32_t> roots;      // of the trees of all models
    std::vector<Index> ensembles;         // (K + 1,) first tree of each
    std::vector<Index> first;             // (O + 1,) first candidate of each open column among all
};

// What the applicants have of their own.
struct TreeApplicants {
    Regions regions;
    Matrix<std::int32_t> codes;  // (N, C)
    Floats2 slack;               // (N, R)
};

// Where an applicant stands, with prices.
struct Standing {
    const TreeProblem& problem;
    const SearchedTrees& trees;
    const Prices& prices;
    Floats own, lower, upper;
    Flags allowed;
    Floats reference, leaving, level_prices;
    Int32s codes;
    Floats slack;

    bool is_number(Index column) const { return column < prices.per_unit.size; }
    double price(Index column, double value) const {
        if (!is_number(column)) return level_prices[level(value)];
        if (value == own[column]) return 0.0;
        const double far = std::abs(value - reference[column]) + leaving[column];
        return to_power(prices.per_unit[column] * far, prices.power);
    }
};

// The cell that a number is in, or the next one where it is between two: the first that does not end below it.
inline Index cell_of(const TreeProblem& problem, Index column, double value) {
    const double* first = problem.greatest.data + problem.first_cell[column];
    const double* end = problem.greatest.data + problem.first_cell[column + 1];
    return std::lower_bound(first, end, value) - problem.greatest.data;
}

inline void add_candidate(const Standing& at, OpenColumn& open, double value, std::int32_t code, Index cell) {
    open.values.push_back(value);
    open.codes.push_back(code);
    open.cells.push_back(cell);
    open.prices.push_back(at.price(open.column, value));
}

// Up to 63 of some cells, ascending, evenly.
inline std::vector<Index> thinned(std::vector<Index> cells) {
    const Index n = static_cast<Index>(cells.size()), most = MOST_CANDIDATES - 1;
    if (n <= most) return cells;
    for (Index k = 0; k < most; ++k) cells[k] = cells[k * (n - 1) / (most - 1)];
    cells.resize(most);
    return cells;
}

// The cells of a column of numbers that the applicant may go to.
inline std::vector<Index> open_cells(const Standing& at, Index column) {
    std::vector<Index> cells;
    for (Index cell = at.problem.first_cell[column]; cell < at.problem.first_cell[column + 1]; ++cell) {
        if (at.problem.greatest[cell] >= at.lower[column] && at.problem.least[cell] <= at.upper[column]) cells.push_back(cell);
    }
    return cells;
}

// Candidates of a column of numbers: the own value, and the cheapest allowed one of each of some cells, ascending.
inline void number_candidates(const Standing& at, OpenColumn& open, const std::vector<Index>& cells) {
    const TreeProblem& p = at.problem;
    const Index f = open.column;
    const double own = at.own[f];
    const Index own_cell = cell_of(p, f, own);
    bool placed = false;
    const auto place_own = [&] {
        if (placed) return;
        open.own = static_cast<Index>(open.values.size()), placed = true;
        add_candidate(at, open, own, at.codes[p.coded[f]], own_cell);
    };
    for (Index cell : cells) {
        if (own_cell <= cell) place_own();
        const double low = std::max(p.least[cell], at.lower[f]), high = std::min(p.greatest[cell], at.upper[f]);
        const double value = std::min(std::max(at.reference[f], low), high);
        if (low <= high && value != own) add_candidate(at, open, value, p.cell_codes[cell], cell);
    }
    place_own();
}

// Candidates of a column of levels; where there are more than so many, the cheapest.
inline void level_candidates(const Standing& at, OpenColumn& open, Index most) {
    const TreeProblem& p = at.problem;
    const Index f = open.column, shift = p.first_cell[f] - p.starts[f];
    std::vector<Index> levels;
    for (Index a = p.starts[f]; a < p.starts[f + 1]; ++a) {
        if (at.allowed[a] && static_cast<double>(a) != at.own[f]) levels.push_back(a);
    }
    if (static_cast<Index>(levels.size()) >= most) {
        std::stable_sort(levels.begin(), levels.end(),
                         [&](Index a, Index b) { return at.level_prices[a] < at.level_prices[b]; });
        levels.resize(most - 1);
    }
    open.own = 0;
    add_candidate(at, open, at.own[f], at.codes[p.coded[f]], level(at.own[f]) + shift);
    for (Index a : levels) add_candidate(at, open, static_cast<double>(a), p.cell_codes[a + shift], a + shift);
}

// Cuts the trees down to what the candidates reach.
class Pruning {
public:
    Pruning(const TreeProblem& problem, const SearchedTrees& trees, std::vector<std::int32_t> codes, Specialised& out)
        : trees_(trees), nodes_(trees.nodes), codes_(std::move(codes)), out_(out), open_of_(trees.n_codes.size, -1), sets_(out.open.size()),
          missing_(out.open.size(), 0), up_to_(out.open.size()) {
        for (std::size_t i = 0; i < out.open.size(); ++i) {
            const OpenColumn& open = out.open[i];
            const Index coded = problem.coded[open.column], n_codes = trees.n_codes[coded];
            open_of_[coded] = static_cast<std::int32_t>(i);
            std::vector<Word>& up_to = up_to_[i];
            up_to.assign(n_codes, 0);
            for (std::size_t j = 0; j < open.codes.size(); ++j) {
                (open.codes[j] == n_codes - 1 ? missing_[i] : up_to[open.codes[j]]) |= Word{1} << j;
            }
            for (Index code = 1; code < n_codes; ++code) up_to[code] |= up_to[code - 1];
            const std::size_t n = open.codes.size();
            sets_[i] = n == 64 ? ~Word{0} : (Word{1} << n) - 1;
        }
    }

    void run(Index n_models) {
        out_.ensembles.assign(1, 0);
        for (Index k = 0; k < n_models; ++k) {
            for (Index t = trees_.ensembles[k]; t < trees_.ensembles[k + 1]; ++t) {
                out_.roots.push_back(static_cast<std::int32_t>(out_.nodes.size()));
                grow(trees_.roots[t]);
            }
            out_.ensembles.push_back(static_cast<Index>(out_.roots.size()));
        }
    }

private:
    void grow(Index node) {
        while (nodes_(node, TEST) != LEAF) {
            const std::int32_t column = nodes_(node, TEST) / KINDS, i = open_of_[column];
            if (i < 0) {
                node = goes_left(node, codes_[column]) ? nodes_(node, LEFT) : nodes_(node, RIGHT);
                continue;
            }
            const Word here = sets_[i], left = left_of(node, i), inside = here & left, outside = here & ~left;
            if (outside == 0) {
                node = nodes_(node, LEFT);
            } else if (inside == 0) {
                node = nodes_(node, RIGHT);
            } else {
                branch(node, i, inside, outside, left);
                sets_[i] = here;
                return;
            }
        }
        out_.nodes.push_back(SmallNode::leaf(trees_.value[node]));
    }

    void branch(Index node, std::int32_t i, Word inside, Word outside, Word left) {
        const std::size_t at = out_.nodes.size();
        out_.nodes.push_back(SmallNode::test(i, left));
        sets_[i] = inside;
        grow(nodes_(node, LEFT));
        const std::size_t right = out_.nodes.size();
        sets_[i] = outside;
        grow(nodes_(node, RIGHT));
        std::vector<SmallNode>& nodes = out_.nodes;
        const bool two_leaves = nodes.size() == at + 3;
        if (two_leaves && nodes[at + 1].value == nodes[at + 2].value) {  // they say the same
            nodes[at] = SmallNode::leaf(nodes[at + 1].value);
            nodes.resize(at + 1);
        } else {
            nodes[at].right = static_cast<std::int32_t>(right);
        }
    }

    Word left_of(Index node, std::int32_t i) const {
        const std::int32_t kind = nodes_(node, TEST) % KINDS;
        if (kind != SET) {
            return up_to_[i][nodes_(node, CUT)] | (kind == MISSING_LEFT ? missing_[i] : 0);
        }
        Word left = 0;
        const OpenColumn& open = out_.open[i];
        for (std::size_t j = 0; j < open.codes.size(); ++j) {
            left |= Word{goes_left(node, open.codes[j])} << j;
        }
        return left;
    }

    // As `TreeArrays::goes_left`.
    bool goes_left(Index node, std::int32_t code) const {
        const std::int32_t test = nodes_(node, TEST), cut = nodes_(node, CUT);
        if (test % KINDS == SET) return trees_.sets[cut + code / 64] >> (code % 64) & 1;
        return code <= cut || (test % KINDS == MISSING_LEFT && code == trees_.n_codes[test / KINDS] - 1);
    }

    const SearchedTrees& trees_;
    Matrix<std::int32_t> nodes_;
    std::vector<std::int32_t> codes_;
    Specialised& out_;
    std::vector<std::int32_t> open_of_;  // (C,)
    std::vector<Word> sets_;             // candidates of each open column that reach the node
    std::vector<Word> missing_;          // of each open column
    std::vector<std::vector<Word>> up_to_;  // of each open column: candidates with codes up to this one
};

// Complete a problem whose open columns are known; `codes` (C,) are those of the row that it is about.
inline void specialise(const TreeProblem& problem, const SearchedTrees& trees, std::vector<std::int32_t> codes,
                       Specialised& out) {
    out.first.assign(1, 0);
    for (const OpenColumn& open : out.open) out.first.push_back(out.first.back() + static_cast<Index>(open.values.size()));
    Pruning(problem, trees, std::move(codes), out).run(problem.n_models);
}

// The problem of an applicant with all columns that may change.
inline Specialised whole_problem(const Standing& at) {
    Specialised whole;
    for (Index f = 0; f < at.own.size; ++f) {
        if (at.problem.coded[f] < 0) continue;
        OpenColumn open{f, {}, {}, {}, {}, 0, at.prices.penalties[f]};
        if (at.is_number(f)) {
            if (at.upper[f] > at.lower[f] || at.own[f] < at.lower[f] || at.own[f] > at.upper[f]) {
                number_candidates(at, open, thinned(open_cells(at, f)));
            }
        } else {
            level_candidates(at, open, MOST_CANDIDATES);
        }
        if (open.values.size() > 1) whole.open.push_back(std::move(open));
    }
    specialise(at.problem, at.trees, {at.codes.begin(), at.codes.end()}, whole);
    return whole;
}

}  // namespace copa::search::on_trees
