// The boxes around rows within which no tree comes to another leaf.
#pragma once

#include "trees_problem.hpp"

namespace copa::search::on_trees {

// Narrow boxes of codes (M, C) around coded rows to the leaves that the rows reach in all trees. Missing cells have no box,
// and sets of values none either: only numbers are narrowed, by the cuts on their way.
inline void leaf_boxes(const SearchedTrees& trees, Matrix<std::int32_t> codes, Matrix<std::int32_t> low,
                       Matrix<std::int32_t> high) {
    for (Index t = 0; t < trees.roots.size - 1; ++t) {  // a tree stays in the cache for all rows
        for (Index m = 0; m < codes.rows; ++m) {
            Index node = trees.roots[t];
            for (;;) {
                const std::int32_t test = trees.nodes(node, TEST), kind = test % KINDS, cut = trees.nodes(node, CUT);
                if (kind == LEAF) break;
                const Index c = test / KINDS;
                const std::int32_t code = codes(m, c);
                bool left;
                if (kind == SET) {
                    left = trees.sets[cut + code / 64] >> (code % 64) & 1;
                } else if (code == trees.n_codes[c] - 1) {
                    left = kind == MISSING_LEFT;
                } else {
                    left = code <= cut;
                    if (left) {
                        high(m, c) = std::min(high(m, c), cut);
                    } else {
                        low(m, c) = std::max(low(m, c), cut + 1);
                    }
                }
                node = trees.nodes(node, left ? LEFT : RIGHT);
            }
        }
    }
}

}  // namespace copa::search::on_trees
