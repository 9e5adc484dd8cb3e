// Trees of at most 32 leaves: rows go through all of a tree's tests at once, without a path.
//
// The leaves have a bit each, from left to right. A test that sends a row to the right takes away those below its left
// child; the lowest bit that is left at the end is the leaf. No test waits for another, and they are the same for all
// rows, so that the processor compares several rows at a time. (C. Lucchese et al., QuickScorer, SIGIR 2015.)
#pragma once

#include <cstring>
#include <vector>

#ifdef _MSC_VER
#include <intrin.h>
#endif

#include "models/trees/kernels/trees.hpp"

namespace copa::trees {

inline constexpr Index LANES = 16;        // rows that are compared at a time
inline constexpr Index AHEAD = 6;         // trees for which leaves are fetched before they are needed
inline constexpr Index MOST_LEAVES = 32;  // of a small tree

// A tree with L leaves has L - 1 tests, so the first tree's are followed by the next one's at half of the nodes' place.
inline Index first_test(const WordArrays& trees, Index tree) { return (trees.roots[tree] - tree) / 2; }
inline Index first_leaf(const WordArrays& trees, Index tree) { return (trees.roots[tree] + tree) / 2; }

struct SmallTrees {
    Vector<bool> is_small;             // (T,)
    Vector<std::uint64_t> tests;       // inner nodes, tree by tree
    Vector<std::uint32_t> kept;        // the leaves that a row keeps at a test that sends it to the right
    Floats leaves;                     // from left to right
};

// Lay out one tree; the counts and places have room for its nodes.
inline void lay_out_tree(const WordArrays& trees, Index tree, std::vector<Index>& counts, std::vector<Index>& places,
                         const SmallTrees& out) {
    const Index root = trees.roots[tree], n = trees.roots[tree + 1] - root;
    out.is_small[tree] = !trees.has_sets[tree] && (n + 1) / 2 <= MOST_LEAVES;
    if (!out.is_small[tree]) return;
    const Vector<std::uint64_t> nodes = trees.nodes.part(root, root + n);
    for (Index i = n - 1; i >= 0; --i) {
        const Index left = Word{nodes[i]}.left();
        counts[i] = left == i ? 1 : counts[left] + counts[left + 1];
    }
    Index test = first_test(trees, tree);
    places[0] = 0;
    for (Index i = 0; i < n; ++i) {
        const Index left = Word{nodes[i]}.left();
        if (left == i) {
            out.leaves[first_leaf(trees, tree) + places[i]] = trees.value[root + i];
            continue;
        }
        places[left] = places[i];
        places[left + 1] = places[i] + counts[left];
        const std::uint32_t below = static_cast<std::uint32_t>((std::uint64_t{1} << counts[left]) - 1) << places[i];
        out.tests[test] = nodes[i];
        out.kept[test] = ~below;
        ++test;
    }
}

inline void lay_out(const WordArrays& trees, const SmallTrees& out) {
    std::vector<Index> counts(2 * MOST_LEAVES), places(2 * MOST_LEAVES);
    for (Index tree = 0; tree + 1 < trees.roots.size; ++tree) lay_out_tree(trees, tree, counts, places, out);
}

inline Index lowest_bit(std::uint32_t bits) {
#ifdef _MSC_VER
    unsigned long place;
    _BitScanForward(&place, bits);
    return static_cast<Index>(place);
#else
    return __builtin_ctz(bits);
#endif
}

// Ask for the leaves of a tree that is soon to come: which one is needed says only the end of its tests.
inline void fetch_leaves(const WordArrays& trees, const SmallTrees& small, Index tree) {
#if defined(__GNUC__)
    for (Index leaf = first_leaf(trees, tree); leaf < first_leaf(trees, tree + 1); leaf += 8) {
        __builtin_prefetch(small.leaves.data + leaf);
    }
#endif
}

// Four numbers at a time, as every processor can: GCC and Clang do not find it in a loop, and can be told.
#if defined(__GNUC__)
using Four = std::int32_t __attribute__((vector_size(16)));
inline void drop(Four& kept, const std::int32_t* codes, std::int32_t cut, std::int32_t taken) {
    Four own;
    std::memcpy(&own, codes, sizeof(own));
    kept &= ~((own > cut) & taken);
}
#else
struct Four {
    std::int32_t of[4];
};
inline void drop(Four& kept, const std::int32_t* codes, std::int32_t cut, std::int32_t taken) {
    for (int row = 0; row < 4; ++row) kept.of[row] &= ~(-static_cast<std::int32_t>(codes[row] > cut) & taken);
}
#endif

// The leaves that up to four times `parts` rows keep; of each column their codes are side by side, `stride` apart from
// those of the next.
template <Index parts>
inline void keep_leaves(const std::uint64_t* tests, const std::uint32_t* kept, Index n_tests,
                        const std::int32_t* codes, Index stride, std::uint32_t* leaves) {
    Four bits[parts];
    std::memset(bits, 0xff, sizeof(bits));
    for (Index k = 0; k < n_tests; ++k) {
        const Word test{tests[k]};
        const std::int32_t* own = codes + test.column() * stride;
        const auto taken = static_cast<std::int32_t>(~kept[k]);
        for (Index part = 0; part < parts; ++part) drop(bits[part], own + 4 * part, test.cut(), taken);
    }
    std::memcpy(leaves, bits, sizeof(bits));
}

}  // namespace copa::trees
