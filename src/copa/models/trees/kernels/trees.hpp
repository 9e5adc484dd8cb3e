// Tree ensembles over coded rows, and how sums of leaves become scores.
#pragma once

#include <cmath>

#include "_core/kernels/views.hpp"

namespace copa::trees {

using Codes = Matrix<std::int32_t>;

// A node in a word: 11 bits of the column, one whether the cut is the position of a set, 20 bits of the left child
// within its tree, which the right one follows, and 32 bits of the cut. A leaf is its own left child.
struct Word {
    std::uint64_t bits;
    Index column() const { return bits & 0x7ff; }
    bool is_set() const { return bits >> 11 & 1; }
    std::uint32_t left() const { return bits >> 12 & 0xfffff; }
    std::int32_t cut() const { return static_cast<std::int32_t>(bits >> 32); }
};

// WordArrays of models/trees/arrays.py.
struct WordArrays {
    Ints ensembles, roots;
    Vector<std::uint64_t> nodes;
    Vector<bool> has_sets;
    Floats value;
    Vector<std::uint64_t> sets;
    Ints n_codes;
};

struct Links {
    Floats base, divisor;
    Vector<bool> is_single, is_probability;
    Floats sign, limit, threshold, tie;

    // The score of a sum of leaves, to which the base is added already.
    double score(Index k, double sum) const {
        double odds = sum / divisor[k];
        if (is_probability[k]) odds = std::log(odds) - std::log1p(-odds);
        const double score = sign[k] * std::min(std::max(odds, -limit[k]), limit[k]) - threshold[k];
        return score == 0.0 ? tie[k] : score;
    }
};

}  // namespace copa::trees
