"""The nodes of a tree ensemble, whichever library fitted it, over the columns that its encoders give it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class CategorySet(NamedTuple):
    """Categories of a split."""

    members: frozenset[int]
    go_left: bool  # whether the members go left, and all others right, or the other way round


class Nodes(NamedTuple):
    """M nodes of T trees, one tree behind the other; children are numbered within their tree."""

    first: Ints  # (T + 1,) first node of each tree, and M
    feature: Ints  # (M,) encoded column that is tested; -1 in a leaf
    threshold: Floats  # (M,) numbers up to here go left
    missing_left: Flags  # (M,) where a missing value goes
    category_set: Ints  # (M,) position of a set of categories that is tested instead; -1 for a threshold
    left: Ints  # (M,)
    right: Ints  # (M,)
    value: Floats  # (M,) of leaves
    category_sets: tuple[CategorySet, ...] = ()

    @property
    def n_trees(self) -> int:
        """Number of trees, T."""
        return len(self.first) - 1


class Ensemble(NamedTuple):
    """A tree ensemble: base + sum of the leaves that a row reaches, divided by `divisor`.

    It is the probability of the second label, or what the logistic function makes a probability of.
    """

    nodes: Nodes
    base: float
    divisor: float
    is_probability: bool
    reads_single: bool  # rows are cast to single precision
    sums_single: bool  # and so are the sums
    unknown_is_missing: bool  # categories below zero go where missing values go
    zero_is_missing: bool  # an encoded value that is zero counts as missing: in sparse rows of XGBoost


def joined(parts: list[Nodes]) -> Nodes:
    """The trees of several ensembles without categories, one behind the other."""
    first = np.cumsum([0, *[size for part in parts for size in np.diff(part.first)]])
    columns = zip(*(part[1:8] for part in parts), strict=True)
    return Nodes(first, *(np.concatenate(column) for column in columns))
