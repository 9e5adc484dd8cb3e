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
Flags = npt.NDArray[np.bool_]

LEAF, MISSING_RIGHT, MISSING_LEFT, SET = 0, 1, 2, 3  # kinds of nodes; of the second and third where missing cells go
BITS = 64  # of a word


class TreeArrays(NamedTuple):
    """T trees of K ensembles over C coded columns, M nodes in all; children come after their parents."""

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


def require_sound_trees(arrays: TreeArrays) -> None:
    """Raise ValueError unless every index is within the bounds of what it points to, and no path is a cycle."""
    n_trees, n_nodes, n_columns = len(arrays.roots) - 1, len(arrays.kind), len(arrays.n_codes)
    if any(len(column) != n_nodes for column in (arrays.column, arrays.cut, arrays.left, arrays.right, arrays.value)):
        raise ValueError("the nodes of its trees have another number of entries in one field than in another")
    _require_ranges(arrays.ensembles, n_trees, "ensembles", least=0)
    _require_ranges(arrays.roots, n_nodes, "roots", least=1)
    own = np.arange(n_nodes)
    tree_end = np.repeat(arrays.roots[1:], np.diff(arrays.roots))
    leaf, is_set = arrays.kind == LEAF, arrays.kind == SET
    for children in (arrays.left, arrays.right):
        if not np.where(leaf, children == own, (children > own) & (children < tree_end)).all():
            raise ValueError("a child of a tree's node is not behind it in the same tree")
    if (arrays.kind > SET).any() or (arrays.n_codes < 1).any():
        raise ValueError("it has a kind of node that is not known, or a column without codes")
    if ((arrays.column < 0) | (arrays.column >= max(n_columns, 1))).any() or (n_columns == 0 and not leaf.all()):
        raise ValueError("a node tests a column that there is not")
    codes = arrays.n_codes[arrays.column] if n_columns else np.ones(n_nodes, dtype=np.int64)
    end = np.where(is_set, arrays.cut + -(-codes // BITS), np.where(leaf, 0, arrays.cut + 1))
    if ((arrays.cut < 0) | (end > np.where(is_set, len(arrays.sets), codes))).any():
        raise ValueError("a node tests a code that there is not")
    if not np.isfinite(arrays.value).all():
        raise ValueError("a leaf is no finite number")


def _require_ranges(first: Ints, n_items: int, what: str, least: int) -> None:
    whole = len(first) > 0 and first[0] == 0 and first[-1] == n_items
    if not whole or (np.diff(first) < least).any():
        raise ValueError(f"the {what} of its trees do not follow one another")
