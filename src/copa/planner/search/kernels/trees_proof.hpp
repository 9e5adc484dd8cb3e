// The cheapest row on tree ensembles, proven by branch and bound.
//
// A box of rows leaves to each column the candidates that are affordable: those with which a row would still cost less
// than the best one known. The greatest sum of leaves that a tree has in the box is found by walking all its sides that the
// box reaches; the sum of these over the trees is at least the score of every row in it. Columns are decided one after
// another, those that can change the score most first, and each begins with its cheapest candidate. Rules are left
// out: they only ever rule rows out, so what is proven stays true.
#pragma once

#include <limits>

#include "trees_problem.hpp"

namespace copa::search::on_trees {

// What is proven for one applicant, see search/tree_arguments.py.
struct TreeProof {
    Floats bound;     // (1,) no row costs less; infinite where there is none
    Ints finished;    // (1,) 0 where the time was up: the bound is then that of the boxes left
    Ints found;       // (1,) whether a row that costs no more than the bound was met
    Floats row;       // (F,)
};

// What a row must reach: today's score, and mean - factor * spread of the certifying models, none where factor < 0.
struct Requirement {
    double least_today, factor;
};

class Proof {
public:
    Proof(const Standing& at, const Links& links, Requirement asked, double best)
        : at_(at), links_(links), asked_(asked), best_(best), n_columns_(at.trees.n_codes.size),
          low_(n_columns_), high_(n_columns_), missing_(n_columns_, 0), members_(n_columns_) {
        for (Index c = 0; c < n_columns_; ++c) only(c, at.codes[c]);
        for (Index f = 0; f < at.own.size; ++f) {
            if (at.problem.coded[f] < 0) continue;
            OpenColumn open{f, {}, {}, {}, {}, 0, at.prices.penalties[f]};
            if (!at.is_number(f)) {
                every_level(open);
            } else if (at.upper[f] > at.lower[f] || at.own[f] < at.lower[f] || at.own[f] > at.upper[f]) {
                number_candidates(at, open, open_cells(at, f));
            }
            if (open.values.size() > 1) columns_.push_back(by_price(std::move(open)));
        }
        order();
    }

    void run(const TreeProof& proof) {
        std::vector<Index> chosen(columns_.size(), 0);
        least_left_ = std::numeric_limits<double>::infinity();
        branch(0, 0.0, 0.0, 0, chosen);
        const bool finished = !at_.problem.stop();
        proof.finished[0] = finished;
        proof.bound[0] = finished ? (met_.empty() ? given_or_none() : best_) : std::min(least_left_, best_);
        proof.found[0] = finished && !met_.empty();
        if (proof.found[0]) std::copy(met_.begin(), met_.end(), proof.row.begin());
    }

private:
    double given_or_none() const { return best_; }
};

}  // namespace copa::search::on_trees
