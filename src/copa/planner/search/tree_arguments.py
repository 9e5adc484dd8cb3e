"""What the compiled search on trees is given and gives back: named tuples, which it reads by the names of their fields.

Rows are those of `arguments`. All values of a column of numbers that no tree tells apart are one cell; a column of
levels has a cell for each of them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copa.models.trees.arrays import Int32s, TreeArrays, Words
from copa.planner.search.arguments import Cube, Floats, Ints, Matrix

Nodes = npt.NDArray[np.int32]

N_KINDS = 4  # of nodes


class SearchedTrees(NamedTuple):
    """The trees of `models.trees`, with what the search reads of a node side by side: it meets them in no order."""

    ensembles: Ints  # (K + 1,) as in `TreeArrays`
    roots: Ints  # (T + 1,)
    nodes: Nodes  # (M, 4) of each the column that is tested, times four, plus the kind; the cut; and the two children
    value: Floats  # (M,)
    sets: Words  # (W,)
    n_codes: Ints  # (C,)

    @classmethod
    def of(cls, trees: TreeArrays) -> "SearchedTrees":
        """Put the fields of the nodes together."""
        test = N_KINDS * trees.column + trees.kind
        nodes = np.ascontiguousarray(np.stack([test, trees.cut, trees.left, trees.right], axis=1), dtype=np.int32)
        return cls(trees.ensembles, trees.roots, nodes, trees.value, trees.sets, trees.n_codes)


class TreeProblem(NamedTuple):
    """What all applicants share."""

    starts: Ints  # (F + 1,) first direction of each column, as in `SearchProblem`
    coded: Ints  # (F,) place of each column among those that the trees test; -1 for none
    first_cell: Ints  # (F + 1,) first cell of each column
    least: Floats  # (cells,) least number in each that the schema allows; 0 for levels
    greatest: Floats  # (cells,)
    cell_codes: Int32s  # (cells,)
    rules: Matrix  # (R, A) what a direction takes from the slack of each rule
    factors: Floats  # (Q,) of the rungs above acceptance today: what the mean must be of the spread, ascending
    cap: int  # most columns that may change
    n_models: int  # ensembles that count: today's, which decides what is accepted, and those that guide
    stop: Ints  # (1,) not zero once the time is up


class TreeSettings(NamedTuple):
    """How much is tried for each applicant."""

    width: int  # rows that are followed, of each number of changes
    depth: int  # changes, one after another
    n_reduced: int  # rows that are made cheaper, each with other columns changed
    n_exchanged: int  # of these, rows in which changes are exchanged as well
    n_starts: int  # training rows that are followed
    spare: float  # rows dearer than so many times the cheapest one are not looked for


class FoundTreeRows(NamedTuple):
    """Rows that today's model accepts, those of the highest rung first, of each rung the cheapest first."""

    counts: Ints  # (N,)
    rows: Cube  # (N, P, F)
    said: Cube  # (N, P, 3) today's score; mean and standard deviation of the guiding models' scores
    finished: Ints  # (N,) 0 where the time was up

    @classmethod
    def empty(cls, n_applicants: int, n_rows: int, n_columns: int) -> "FoundTreeRows":
        """Room for so many rows of each applicant."""
        return cls(
            np.zeros(n_applicants, dtype=np.int64),
            np.zeros((n_applicants, n_rows, n_columns)),
            np.zeros((n_applicants, n_rows, 3)),
            np.zeros(n_applicants, dtype=np.int64),
        )


class TreeRequirement(NamedTuple):
    """What a row must reach whose cost is to be bounded."""

    least_today: float  # score of today's model
    factor: float  # of the spread of the others' scores, up to which it may take from their mean; negative for none
    best: float  # cost of a row that is known; infinite without one


class TreeProof(NamedTuple):
    """What is proven of the rows of one applicant."""

    cost: Floats  # (1,) no row costs less; infinite where there is none
    finished: Ints  # (1,) 0 where the time was up before the cost was that of a row
    met: Ints  # (1,) whether a row was met that costs less than the one that was known
    row: Floats  # (F,) the cheapest that was met

    @classmethod
    def empty(cls, n_columns: int) -> "TreeProof":
        """Room for a proof about rows of so many columns."""
        return cls(np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.zeros(n_columns))
