"""What the kernels for trees read: named tuples, by the names of their fields.

Rows are coded first. The code of a number is how many of its column's cuts are below it, so `number <= cut[i]` is
`code <= i`; the code of a value is its place among the values of its column. The last code of every column is that of a
missing cell, and in a column of values the last but one is that of a value that no tree knows.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Masks = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

LEAF, MISSING_RIGHT, MISSING_LEFT, SET = 0, 1, 2, 3  # kinds of nodes; of the second and third where missing cells go
BITS = 64  # of a word


class TreeArrays(NamedTuple):
    """T trees of K ensembles over C coded columns, M nodes in all; children are behind their parents, side by side."""

    ensembles: Ints  # (K + 1,) first tree of each ensemble, and T at last
    roots: Ints  # (T + 1,) first node of each tree, its root, and M at last
    kind: Bytes  # (M,)
    column: Int32s  # (M,) coded column that is tested; 0 in a leaf
    cut: Int32s  # (M,) codes up to here go left; of a set the position of its first word among `sets`
    left: Int32s  # (M,) children, among all nodes; of a leaf itself
    right: Int32s  # (M,)
    value: Floats  # (M,) of leaves
    sets: Words  # (W,) one bit for each code of a column, set where it goes left; missing cells and unknown values too
    n_codes: Ints  # (C,)


class WordArrays(NamedTuple):
    """The same trees for scoring, a node in a word: what is read together lies together."""

    ensembles: Ints  # (K + 1,) as before
    roots: Ints  # (T + 1,)
    nodes: Words  # (M,) from the lowest bit on: 11 of the column, 1 of sets, 20 of the left child, 32 of the cut
    has_sets: Flags  # (T,) whether a tree asks for sets
    value: Floats  # (M,)
    sets: Words  # (W,)
    n_codes: Ints  # (C,)


class SmallTrees(NamedTuple):
    """The tests of trees of at most 32 leaves, a bit for each leaf; of other trees there is only the room."""

    is_small: Flags  # (T,)
    tests: Words  # ((M - T) / 2,) inner nodes
    kept: Masks  # ((M - T) / 2,) leaves that are still possible behind a test that sends a row to the right
    leaves: Floats  # ((M + T) / 2,) from left to right

    @classmethod
    def room(cls, n_trees: int, n_nodes: int) -> "SmallTrees":
        """Room for trees."""
        n_tests = (n_nodes - n_trees) // 2
        tests, kept = np.zeros(n_tests, dtype=np.uint64), np.zeros(n_tests, dtype=np.uint32)
        return cls(np.zeros(n_trees, dtype=np.bool_), tests, kept, np.zeros(n_tests + n_trees))


class Links(NamedTuple):
    """How sums of leaves become the scores of K ensembles: log-odds beyond the threshold's, accepted from zero on."""

    base: Floats  # (K,) what the leaves are added to
    divisor: Floats  # (K,) what the sum is divided by
    is_single: Flags  # (K,) whether every sum is rounded to single precision
    is_probability: Flags  # (K,) whether this is the probability of the favourable label, else log-odds
    sign: Floats  # (K,) -1 where these are of the other label
    limit: Floats  # (K,) largest log-odds either way, before the threshold's are taken off
    threshold: Floats  # (K,) log-odds of the threshold
    tie: Floats  # (K,) score where neither label is more probable: below zero where the other one comes first


MOST_COLUMNS, MOST_NODES = 2**10, 2**20  # that words have room for: columns in all, and nodes of a tree
ALWAYS_LEFT = np.iinfo(np.int32).max  # the cut of a leaf, which is its own left child


def as_words(arrays: TreeArrays) -> WordArrays:
    """The nodes as words; one that sends missing cells to the left reads the second half of a row coded twice."""
    sizes = np.diff(arrays.roots)
    is_set = arrays.kind == SET
    column = arrays.column + len(arrays.n_codes) * (arrays.kind == MISSING_LEFT)
    left = arrays.left - np.repeat(arrays.roots[:-1], sizes)
    cut = np.where(arrays.kind == LEAF, ALWAYS_LEFT, arrays.cut)
    fields = ((column, 0), (is_set, 11), (left, 12), (cut, 32))
    nodes = np.zeros(len(column), dtype=np.uint64)
    for field, place in fields:
        nodes |= field.astype(np.uint64) << np.uint64(place)
    has_sets = np.logical_or.reduceat(is_set, arrays.roots[:-1]) if len(sizes) else np.zeros(0, dtype=np.bool_)
    return WordArrays(arrays.ensembles, arrays.roots, nodes, has_sets, arrays.value, arrays.sets, arrays.n_codes)


def take_ensembles(arrays: TreeArrays, chosen: Ints) -> TreeArrays:
    """Some of the ensembles, in the order given."""
    trees = _ranges(arrays.ensembles, chosen)
    nodes = _ranges(arrays.roots, trees)
    sizes = np.diff(arrays.roots)[trees]
    roots = np.concatenate([[0], np.cumsum(sizes)])
    moved = np.repeat(roots[:-1] - arrays.roots[trees], sizes).astype(np.int32)
    return arrays._replace(
        ensembles=np.concatenate([[0], np.cumsum(np.diff(arrays.ensembles)[chosen])]),
        roots=roots,
        kind=arrays.kind[nodes],
        column=arrays.column[nodes],
        cut=arrays.cut[nodes],
        left=arrays.left[nodes] + moved,
        right=arrays.right[nodes] + moved,
        value=arrays.value[nodes],
    )


def _ranges(first: Ints, chosen: Ints) -> Ints:
    """Positions from `first[k]` to before `first[k + 1]` for all chosen k, one after another."""
    sizes = np.diff(first)[chosen]
    ends = np.cumsum(sizes)
    positions: Ints = np.repeat(first[chosen] - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
    return positions
