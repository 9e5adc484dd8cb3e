"""The nodes of a tree ensemble, whichever library fitted it, over the columns that its encoders give it."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class NotTreesError(Exception):
    """A model that is no tree ensemble, or none that can be read; the message says why."""


class CategorySet(NamedTuple):
    """Categories of a split."""

    members: frozenset[int]
    go_left: bool  # whether the members go left, and all others right, or the other way round


class Nodes(NamedTuple):
    """M nodes of T trees, one tree behind the other."""

    first: Ints  # (T + 1,) first node of each tree, and M
    feature: Ints  # (M,) encoded column that is tested; -1 in a leaf
    threshold: Floats  # (M,) numbers up to here go left
    missing_left: Flags  # (M,) where a missing value goes
    category_set: Ints  # (M,) position of a set of categories that is tested instead; -1 for a threshold
    left: Ints  # (M,) children, numbered within their tree; of leaves anything
    right: Ints  # (M,)
    value: Floats  # (M,) of leaves
    category_sets: tuple[CategorySet, ...] = ()

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return len(self.first) - 1


class Ensemble(NamedTuple):
    """A tree ensemble: base + sum of the leaves that a row reaches, divided by `divisor`.

    It is the favourable label's probability, or the second label's log-odds.
    """

    nodes: Nodes
    base: float
    divisor: float
    is_probability: bool
    rounding: float  # by how much the library's own probability may differ: its last digits
    reads_single: bool = False  # rows are cast to single precision
    sums_single: bool = False  # every sum is rounded to it
    unknown_is_missing: bool = False  # categories below zero go where missing values go
    smallest: float = 0.0  # numbers up to this size count as zero
    zero_is_missing: bool = False  # an encoded value that is zero counts as missing: in sparse rows of XGBoost


def joined(parts: list[Nodes]) -> Nodes:
    """The trees of several ensembles without categories, one behind the other."""
    first = np.cumsum([0, *[size for part in parts for size in np.diff(part.first)]])
    fields = [name for name in Nodes._fields if name not in ("first", "category_sets")]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in fields}
    return Nodes(first, **columns)


def breadth_first(nodes: Nodes) -> Nodes:
    """The same trees with their nodes level by level, so that children come after their parents, and side by side.

    What no path leads to is left out. Children are numbered among all nodes, and a leaf is its own child.
    """
    sizes = np.diff(nodes.first)
    offset = np.repeat(nodes.first[:-1], sizes)
    left, right, inner = nodes.left + offset, nodes.right + offset, nodes.feature >= 0
    level, tree = nodes.first[:-1], np.arange(nodes.n_trees)
    levels, trees = [level], [tree]
    while len(level):
        grows = inner[level]
        parents = level[grows]
        level, tree = np.stack([left[parents], right[parents]], axis=1).ravel(), np.repeat(tree[grows], 2)
        levels.append(level)
        trees.append(tree)
        if sum(map(len, levels)) > len(inner):
            raise NotTreesError("its nodes are no trees: several paths lead to one of them")
    tree = np.concatenate(trees)
    order = np.concatenate(levels)[np.argsort(tree, kind="stable")]
    place = np.arange(len(inner))
    place[order] = np.arange(len(order))
    own, grows = np.arange(len(order)), inner[order]
    return Nodes(
        first=np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=nodes.n_trees))]),
        feature=nodes.feature[order],
        threshold=nodes.threshold[order],
        missing_left=nodes.missing_left[order],
        category_set=nodes.category_set[order],
        left=np.where(grows, place[left[order] * grows], own),
        right=np.where(grows, place[right[order] * grows], own),
        value=nodes.value[order],
        category_sets=nodes.category_sets,
    )
