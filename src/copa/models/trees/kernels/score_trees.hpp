// Scores of coded rows by tree ensembles: small trees by their leaves' bits, others by paths.
//
// Every row's leaves are added in the order of the trees, whichever way they are found, so that sums are the same bits.
#pragma once

#include "models/trees/kernels/small_trees.hpp"
#include "models/trees/kernels/walk.hpp"

namespace copa::trees {

inline constexpr Index ROWS = 256;  // that go through one tree before the next one is fetched

// Some rows, coded once with missing cells above all cuts and once with them below.
struct Block {
    Matrix<std::int32_t> rows;     // (n, 2C)
    Matrix<std::int32_t> columns;  // (2C, n and what is missing to a multiple of LANES)
    Floats sums;                   // (n,)

    void read(Codes codes, Ints n_codes, Index first) const {
        for (Index row = 0; row < rows.rows; ++row) {
            for (Index column = 0; column < codes.cols; ++column) {
                const std::int32_t code = codes(first + row, column);
                const std::int32_t below = code == n_codes[column] - 1 ? -1 : code;
                rows(row, column) = columns(column, row) = code;
                rows(row, codes.cols + column) = columns(codes.cols + column, row) = below;
            }
        }
    }
    void add(Index row, double leaf, bool is_single) const {
        const double sum = sums[row] + leaf;
        sums[row] = is_single ? static_cast<double>(static_cast<float>(sum)) : sum;
    }
};

struct Scorer {
    const WordArrays& trees;
    const SmallTrees& small;
    const Block& block;
    bool is_single;

    // Add the leaves of all rows in a small tree.
    void add_small(Index tree) const {
        fetch_leaves(trees, small, std::min<Index>(tree + AHEAD, trees.roots.size - 2));
        const Index test = first_test(trees, tree), n_tests = first_test(trees, tree + 1) - test, n = block.rows.rows;
        const double* leaves = small.leaves.data + first_leaf(trees, tree);
        std::uint32_t bits[LANES];
        for (Index first = 0; first < n; first += LANES) {
            const Index last = std::min(first + LANES, n);
            const auto keep = last - first <= 4 ? keep_leaves<1> : keep_leaves<LANES / 4>;
            keep(small.tests.data + test, small.kept.data + test, n_tests, block.columns.data + first, block.columns.stride,
                 bits);
            for (Index row = first; row < last; ++row) block.add(row, leaves[lowest_bit(bits[row - first])], is_single);
        }
    }

    // Add the leaves of rows from `first` up to `last` in trees from `tree` on: of one tree, or of one row.
    template <bool has_sets>
    void add_paths(Index first, Index last, Index tree, Index last_tree) const {
        const std::uint64_t* starts[PATHS];
        const std::int32_t* codes[PATHS];
        std::uint32_t at[PATHS];
        for (Index path = 0; path < PATHS; ++path) {
            starts[path] = trees.nodes.data + trees.roots[std::min(tree + path, last_tree - 1)];
            codes[path] = block.rows[std::min(first + path, last - 1)].data;
        }
        walk<has_sets>(starts, codes, trees.sets.data, at);
        const Index n = std::max(last - first, last_tree - tree);
        for (Index path = 0; path < n; ++path) {
            const Index own = std::min(tree + path, last_tree - 1), row = std::min(first + path, last - 1);
            block.add(row, trees.value[trees.roots[own] + at[path]], is_single);
        }
    }

    void add_tree(Index tree) const {
        for (Index row = 0; row < block.rows.rows; row += PATHS) {
            const Index last = std::min<Index>(row + PATHS, block.rows.rows);
            trees.has_sets[tree] ? add_paths<true>(row, last, tree, tree + 1) : add_paths<false>(row, last, tree, tree + 1);
        }
    }

    // Add the leaves of one row in the trees of an ensemble.
    void add_row(Index begin, Index end) const {
        for (Index tree = begin; tree < end; tree += PATHS) {
            const Index last = std::min<Index>(tree + PATHS, end);
            bool has_sets = false;
            for (Index one = tree; one < last; ++one) has_sets |= trees.has_sets[one];
            has_sets ? add_paths<true>(0, 1, tree, last) : add_paths<false>(0, 1, tree, last);
        }
    }

    void add_ensemble(Index begin, Index end) const {
        bool all_small = true;
        for (Index tree = begin; tree < end; ++tree) all_small &= small.is_small[tree];
        if (block.rows.rows == 1 && !all_small) return add_row(begin, end);
        for (Index tree = begin; tree < end; ++tree) small.is_small[tree] ? add_small(tree) : add_tree(tree);
    }
};

// Scores (K, N) of the rows from `first` up to `last`.
inline void score_trees(const WordArrays& trees, const SmallTrees& small, const Links& links, Codes codes, Index first,
                        Index last, Floats2 scores) {
    Arena arena;
    const Index size = std::min(ROWS, last - first), padded = (size + LANES - 1) / LANES * LANES;
    const auto rows = arena.matrix_of<std::int32_t>(size, 2 * codes.cols);
    const auto columns = arena.matrix_of<std::int32_t>(2 * codes.cols, padded);
    const Floats sums = arena.vector(size);
    for (Index begin = first; begin < last; begin += size) {
        const Index n = std::min(size, last - begin);
        const Block block{{rows.data, n, rows.cols}, columns, sums.part(0, n)};
        block.read(codes, trees.n_codes, begin);
        for (Index k = 0; k + 1 < trees.ensembles.size; ++k) {
            sums.fill(links.base[k]);
            Scorer{trees, small, block, links.is_single[k]}.add_ensemble(trees.ensembles[k], trees.ensembles[k + 1]);
            for (Index row = 0; row < n; ++row) scores(k, begin + row) = links.score(k, sums[row]);
        }
    }
}

}  // namespace copa::trees
