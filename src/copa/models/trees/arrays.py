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


class TreeArrays(NamedTuple):
    """T trees of K ensembles over C coded columns, M nodes in all."""

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

    base: Floats  # (K,) added to the sum
    divisor: Floats  # (K,) and what that is divided by
    is_probability: Flags  # (K,) whether this is the probability of the second label, else its log-odds
    sign: Floats  # (K,) -1 where the favourable label is the first one
    limit: Floats  # (K,) largest log-odds either way, before the threshold's are taken off
    threshold: Floats  # (K,) log-odds of the threshold
