// Tree ensembles over coded rows: the named tuples of models/trees/arrays.py, and how sums of leaves become scores.
#pragma once

#include <cmath>

#include "_core/kernels/views.hpp"

namespace copa::trees {

using Codes = Matrix<std::int32_t>;

enum Kind : std::uint8_t { LEAF = 0, MISSING_RIGHT = 1, MISSING_LEFT = 2, SET = 3 };

struct TreeArrays {
    Ints ensembles, roots;
    Vector<std::uint8_t> kind;
    Vector<std::int32_t> column, cut, left, right;
    Floats value;
    Vector<std::uint64_t> sets;
    Ints n_codes;

    // Whether a code goes left at an inner node.
    bool goes_left(Index node, std::int32_t code) const {
        if (kind[node] == SET) return sets[cut[node] + code / 64] >> (code % 64) & 1;
        return code <= cut[node] || (kind[node] == MISSING_LEFT && code == n_codes[column[node]] - 1);
    }
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
