// Scores of coded rows by tree ensembles.
//
// A step from a node to its child waits for two loads, one after the other. So several paths are walked at a time: those
// of several rows through one tree, or those of one row through several trees. A leaf is its own child, so that a path
// that has arrived may go on until all have.
#pragma once

#include "models/trees/kernels/trees.hpp"

namespace copa::trees {

inline constexpr int PATHS = 8;        // that are walked at a time
inline constexpr Index ROWS = 256;     // that go through one tree before the next one is fetched

// A node in a word: 11 bits of the column, one whether the cut is the position of a set, 20 bits of the left child
// within its tree, which the right one follows, and 32 bits of the cut.
struct Word {
    std::uint64_t bits;
    Index column() const { return bits & 0x7ff; }
    bool is_set() const { return bits >> 11 & 1; }
    std::uint32_t left() const { return bits >> 12 & 0xfffff; }
    std::int32_t cut() const { return static_cast<std::int32_t>(bits >> 32); }
};

struct WordArrays {
    Ints ensembles, roots;
    Vector<std::uint64_t> nodes;
    Vector<bool> has_sets;
    Floats value;
    Vector<std::uint64_t> sets;
    Ints n_codes;
};

// Codes of a row, once with missing cells above all cuts and once with them below.
inline void code_twice(Vector<std::int32_t> codes, Ints n_codes, Vector<std::int32_t> out) {
    for (Index column = 0; column < codes.size; ++column) {
        const std::int32_t code = codes[column];
        out[column] = code;
        out[codes.size + column] = code == n_codes[column] - 1 ? -1 : code;
    }
}

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

// Walk from the roots to leaves: each path in its own tree, by its own row.
template <bool has_sets>
inline void walk(const std::uint64_t* const (&trees)[PATHS], const std::int32_t* const (&rows)[PATHS],
                 const std::uint64_t* sets, std::uint32_t (&at)[PATHS]) {
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

struct Sums {
    const WordArrays& trees;
    Matrix<std::int32_t> rows;  // coded twice
    Floats sums;
    bool is_single;

    void add(Index row, double leaf) const {
        const double sum = sums[row] + leaf;
        sums[row] = is_single ? static_cast<double>(static_cast<float>(sum)) : sum;
    }

    // Add the leaves that rows reach in a tree, for the rows from `first` on.
    template <bool has_sets>
    void add_rows(Index tree, Index first) const {
        const std::uint64_t* starts[PATHS];
        const std::int32_t* codes[PATHS];
        std::uint32_t at[PATHS];
        for (int path = 0; path < PATHS; ++path) {
            starts[path] = trees.nodes.data + trees.roots[tree];
            codes[path] = rows[first + path].data;
        }
        walk<has_sets>(starts, codes, trees.sets.data, at);
        for (int path = 0; path < PATHS; ++path) add(first + path, trees.value[trees.roots[tree] + at[path]]);
    }

    // Add the leaves that a row reaches in the trees from `first` up to `last`, as many as there are paths at most.
    template <bool has_sets>
    void add_trees(Index row, Index first, Index last) const {
        const std::uint64_t* starts[PATHS];
        const std::int32_t* codes[PATHS];
        std::uint32_t at[PATHS];
        for (int path = 0; path < PATHS; ++path) {
            starts[path] = trees.nodes.data + trees.roots[std::min<Index>(first + path, last - 1)];
            codes[path] = rows[row].data;
        }
        walk<has_sets>(starts, codes, trees.sets.data, at);
        for (Index tree = first; tree < last; ++tree) add(row, trees.value[trees.roots[tree] + at[tree - first]]);
    }
};

// Sums of an ensemble's leaves: groups of rows go through one tree at a time, and a row that is left over through
// several.
inline void add_ensemble(const Sums& out, Index k) {
    const WordArrays& trees = out.trees;
    const Index begin = trees.ensembles[k], end = trees.ensembles[k + 1], n = out.rows.rows, grouped = n / PATHS * PATHS;
    for (Index tree = begin; tree < end && grouped > 0; ++tree) {
        for (Index row = 0; row < grouped; row += PATHS) {
            trees.has_sets[tree] ? out.add_rows<true>(tree, row) : out.add_rows<false>(tree, row);
        }
    }
    for (Index row = grouped; row < n; ++row) {
        for (Index tree = begin; tree < end; tree += PATHS) {
            const Index last = std::min<Index>(tree + PATHS, end);
            bool has_sets = false;
            for (Index one = tree; one < last; ++one) has_sets |= trees.has_sets[one];
            has_sets ? out.add_trees<true>(row, tree, last) : out.add_trees<false>(row, tree, last);
        }
    }
}

// Scores (K, N) of the rows from `first` up to `last`.
inline void score_trees(const WordArrays& trees, const Links& links, Codes codes, Index first, Index last, Floats2 scores) {
    Arena arena;
    const Index size = std::min(ROWS, last - first);
    const Matrix<std::int32_t> twice = arena.matrix_of<std::int32_t>(size, 2 * codes.cols);
    const Floats sums = arena.vector(size);
    for (Index begin = first; begin < last; begin += size) {
        const Index n = std::min(size, last - begin);
        for (Index row = 0; row < n; ++row) code_twice(codes[begin + row], trees.n_codes, twice[row]);
        const Matrix<std::int32_t> rows{twice.data, n, twice.cols};
        for (Index k = 0; k + 1 < trees.ensembles.size; ++k) {
            sums.fill(links.base[k]);
            add_ensemble({trees, rows, sums, links.is_single[k]}, k);
            for (Index row = 0; row < n; ++row) scores(k, begin + row) = links.score(k, sums[row]);
        }
    }
}

}  // namespace copa::trees
