// Scores of coded rows by tree ensembles.
#pragma once

#include "models/trees/kernels/trees.hpp"

namespace copa::trees {

// Scores (K, N) of the rows from `first` up to `last`.
inline void score_trees(const TreeArrays& trees, const Links& links, Codes codes, Index first, Index last, Floats2 scores) {
    for (Index k = 0; k + 1 < trees.ensembles.size; ++k) {
        for (Index row = first; row < last; ++row) {
            double sum = links.base[k];
            for (Index tree = trees.ensembles[k]; tree < trees.ensembles[k + 1]; ++tree) {
                Index node = trees.roots[tree];
                while (trees.kind[node] != LEAF) {
                    node = trees.goes_left(node, codes(row, trees.column[node])) ? trees.left[node] : trees.right[node];
                }
                sum += trees.value[node];
                if (links.is_single[k]) sum = static_cast<float>(sum);
            }
            scores(k, row) = links.score(k, sum);
        }
    }
}

}  // namespace copa::trees
