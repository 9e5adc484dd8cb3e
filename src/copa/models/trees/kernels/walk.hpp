// Paths of coded rows from roots to leaves.
//
// A step from a node to its child waits for two loads, one after the other. So several paths are walked at a time: those
// of several rows through one tree, or those of one row through several trees. A leaf is its own child, so that a path
// that has arrived may go on until all have.
#pragma once

#include "models/trees/kernels/trees.hpp"

namespace copa::trees {

inline constexpr int PATHS = 8;  // that are walked at a time

using Starts = const std::uint64_t* const (&)[PATHS];       // first node of each path's tree
using CodedRows = const std::int32_t* const (&)[PATHS];  // codes of each path's row, once again with missing cells at -1

template <bool has_sets>
inline std::uint32_t child(Word node, const std::int32_t* codes, const std::uint64_t* sets) {
    const std::int32_t code = codes[node.column()], cut = node.cut();
    bool right = code > cut;
    if (has_sets) {
        const std::uint64_t word = sets[node.is_set() ? cut + (code >> 6) : 0];
        right = node.is_set() ? !(word >> (code & 63) & 1) : right;
    }
    return node.left() + right;
}

// The leaves that paths reach, numbered within their trees.
template <bool has_sets>
inline void walk(Starts trees, CodedRows rows, const std::uint64_t* sets, std::uint32_t (&at)[PATHS]) {
    for (int path = 0; path < PATHS; ++path) at[path] = 0;
    std::uint32_t moved = 1;
    while (moved != 0) {
        moved = 0;
        for (int path = 0; path < PATHS; ++path) {
            const std::uint32_t next = child<has_sets>({trees[path][at[path]]}, rows[path], sets);
            at[path] = child<has_sets>({trees[path][next]}, rows[path], sets);
            moved |= at[path] ^ next;
        }
    }
}

}  // namespace copa::trees
