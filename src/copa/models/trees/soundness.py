"""Whether stored trees are what the kernels may read: they look at nothing but the arrays."""

import numpy as np

from copa.models.trees.arrays import BITS, LEAF, MOST_COLUMNS, MOST_NODES, SET, Flags, Ints, TreeArrays


def require_sound_trees(arrays: TreeArrays) -> None:
    """Raise ValueError unless every index is within the bounds of what it points to, and the nodes form trees."""
    n_nodes = len(arrays.kind)
    if any(len(column) != n_nodes for column in (arrays.column, arrays.cut, arrays.left, arrays.right, arrays.value)):
        raise ValueError("the nodes of its trees have another number of entries in one field than in another")
    _require_ranges(arrays.ensembles, len(arrays.roots) - 1, "ensembles", least=0)
    _require_ranges(arrays.roots, n_nodes, "roots", least=1)
    if (arrays.kind > SET).any() or not np.isfinite(arrays.value).all():
        raise ValueError("it has a kind of node that is not known, or a leaf that is no finite number")
    if len(arrays.n_codes) > MOST_COLUMNS or np.diff(arrays.roots).max(initial=0) > MOST_NODES:
        raise ValueError("its trees are larger than those that are scored here")
    leaf = arrays.kind == LEAF
    _require_trees(arrays, leaf)
    _require_tests(arrays, leaf)


def _require_ranges(first: Ints, n_items: int, what: str, least: int) -> None:
    whole = len(first) > 0 and first[0] == 0 and first[-1] == n_items
    if not whole or (np.diff(first) < least).any():
        raise ValueError(f"the {what} of its trees do not follow one another")


def _require_trees(arrays: TreeArrays, leaf: Flags) -> None:
    """Raise unless every node but the roots is the child of one node before it, in the same tree."""
    own = np.arange(len(leaf))
    tree_end = np.repeat(arrays.roots[1:], np.diff(arrays.roots))
    for children in (arrays.left, arrays.right):
        if not np.where(leaf, children == own, (children > own) & (children < tree_end)).all():
            raise ValueError("a child of a tree's node is not behind it in the same tree")
    if not (leaf | (arrays.right == arrays.left + 1)).all():
        raise ValueError("the children of a node are not side by side")
    parents = np.bincount(np.concatenate([arrays.left[~leaf], arrays.right[~leaf]]), minlength=len(leaf))
    parents[arrays.roots[:-1]] += 1
    if (parents != 1).any():
        raise ValueError("a node is the child of several nodes, or of none")


def _require_tests(arrays: TreeArrays, leaf: Flags) -> None:
    """Raise unless nodes test codes that their columns have; the highest cut is below the last but two of the codes."""
    n_columns, is_set = len(arrays.n_codes), arrays.kind == SET
    if (arrays.n_codes < 1).any():
        raise ValueError("a column has no codes")
    if (arrays.column < 0).any() or (arrays.column[~leaf] >= n_columns).any():
        raise ValueError("a node tests a column that there is not")
    codes, cut = np.append(arrays.n_codes, 0)[np.where(leaf, n_columns, arrays.column)], arrays.cut
    size = np.where(is_set, -(-codes // BITS), np.where(leaf, 0, 3))
    if ((cut < 0) | (cut + size > np.where(is_set, len(arrays.sets), np.where(leaf, cut, codes)))).any():
        raise ValueError("a node tests a code that there is not")
