"""Rows for many applicants on tree ensembles: the compiled search, spread over threads and stopped in time."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk, stopping_at
from copa._kernels import leaf_boxes, prove_tree_row, search_trees
from copa.models.trees import TreeEnsembles
from copa.models.trees.arrays import Int32s
from copa.planner.search.arguments import take_rows
from copa.planner.search.cheapest import Bound
from copa.planner.search.problem import ActionSpace
from copa.planner.search.ranges import precision_of
from copa.planner.search.run import read_coefficients
from copa.planner.search.tree_arguments import (
    FoundTreeRows,
    SearchedTrees,
    TreeProblem,
    TreeProof,
    TreeRequirement,
    TreeSettings,
)
from copa.planner.search.tree_cells import CellsOfColumn, number_cells, place_of, read_cells
from copa.theory.sets.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    from copa.data.schema.columns import ReadTable
    from copa.planner.strategies.applicants import Applicants

N_ROWS = 192  # kept of each applicant's rows
LOWER_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)  # that are looked for where the one asked for is out of reach
FAR_SPREAD = 0.1  # standard deviation of a score far from the boundary, relative to its mean
GUIDED = TreeSettings(width=4, depth=6, n_reduced=3, n_exchanged=1, n_starts=3, spare=1.5)
ALONE = TreeSettings(
    width=48, depth=6, n_reduced=12, n_exchanged=6, n_starts=6, spare=1.5
)  # where today's model alone counts


def needed_ratios(ambiguity: AmbiguitySet, level: float) -> Array:
    """What the mean of the guiding models' scores must be at the rungs of a ladder, as multiples of their spread, (Q,).

    The last one is the level, or the highest that any score can reach where that is lower. It is all that the search
    needs to know of a guarantee.
    """
    radius = float(ambiguity.radius)
    highest = float(ambiguity.guarantee(1.0, FAR_SPREAD, radius * FAR_SPREAD))
    top = min(level, highest)
    levels = [lower for lower in LOWER_LEVELS if lower < top] + [top]
    pairs = [read_coefficients(ambiguity, lower) for lower in levels]
    return np.array([b + c * radius for b, c in pairs])


@dataclass(frozen=True, eq=False)
class TreeSearcher:
    """Searches rows on the trees of today's model and of those that guide the search.

    Attributes
    ----------
    space : ActionSpace
    ensembles : TreeEnsembles
        Today's model first.
    """

    space: ActionSpace
    ensembles: TreeEnsembles

    @cached_property
    def _of_precision(self) -> "dict[tuple[Any, ...], dict[str, CellsOfColumn]]":
        return {}

    @cached_property
    def _trees(self) -> SearchedTrees:
        return SearchedTrees.of(self.ensembles.arrays)

    def _number_cells(self, applicants: "Applicants") -> "dict[str, CellsOfColumn]":
        """Cells of the columns of numbers, which depend on no applicant but on the types of their columns."""
        precisions = tuple(precision_of(applicants.table[feature.name]) for feature in self.space.numeric)
        if precisions not in self._of_precision:
            self._of_precision[precisions] = number_cells(self.space, self.ensembles, precisions)
        return self._of_precision[precisions]

    def find(
        self,
        applicants: "Applicants",
        factors: Array,
        training: Array,
        settings: TreeSettings,
        *,
        n_jobs: int | None = None,
        deadline: float = np.inf,
        progress: Callable[[int], None] | None = None,
    ) -> FoundTreeRows:
        """Find rows of N applicants.

        Parameters
        ----------
        applicants : Applicants
        factors : ndarray of shape (Q,)
            See `needed_ratios`; none where acceptance today is all that counts.
        training : ndarray of shape (T, F)
            Rows that applicants may take over as far as they are allowed to.
        settings : TreeSettings
        n_jobs : int, optional
        deadline : float
            Of `perf_counter`.
        progress : callable, optional
        """
        n = len(applicants)
        problem, codes = self._problem(applicants, np.asarray(factors, dtype=np.float64))
        found = FoundTreeRows.empty(n, N_ROWS, len(self.space.columns))
        training = np.ascontiguousarray(training)

        def work(some: slice) -> None:
            regions, rows = take_rows(applicants.regions, some), take_rows(found, some)
            own = (codes[some], np.ascontiguousarray(applicants.slack[some]), training)
            search_trees(
                problem._replace(stop=stop),
                self._trees,
                self.ensembles.links,
                self.space.prices,
                regions,
                *own,
                settings,
                rows,
            )
            if progress is not None:
                progress(len(range(*some.indices(n))))

        with stopping_at(deadline) as stop:
            for_each_chunk(work, n, 1, n_jobs, in_kernels=True)
        return found

    def prove(self, applicant: "Applicants", requirement: TreeRequirement, seconds: float) -> Bound:
        """Bound the cost of the rows of one applicant that do what is required."""
        problem, codes = self._problem(applicant, np.zeros(0))
        proof = TreeProof.empty(len(self.space.columns))
        with stopping_at(perf_counter() + seconds) as stop:
            given = (self.space.prices, applicant.regions, codes, requirement, proof)
            prove_tree_row(problem._replace(stop=stop), self._trees, self.ensembles.links, *given)
        exact = bool(proof.finished[0]) and bool(proof.met[0]) and self._obeys(applicant, proof.row)
        return Bound(float(proof.cost[0]), proof.row if exact else None)

    def boxes(self, applicants: "Applicants", owner: Indices, rows: "ReadTable", values: Array) -> tuple[Array, Array]:
        """Ends of the numbers (M, L) both, within which no model comes to another leaf, whatever the combination.

        Parameters
        ----------
        applicants : Applicants
        owner : ndarray of shape (M,)
        rows : ReadTable
            M rows of theirs.
        values : ndarray of shape (M, F)
            The same as the search has them.
        """
        space, codes = self.space, self.ensembles.codes(rows)
        low, high = np.zeros_like(codes), np.ones_like(codes) * (self.ensembles.arrays.n_codes.astype(np.int32) - 2)
        leaf_boxes(self._trees, codes, low, high)
        cells, regions, n = self._number_cells(applicants), applicants.regions.take(owner), len(space.numeric)
        least, most = values[:, :n].copy(), values[:, :n].copy()
        for f, feature in enumerate(space.numeric):
            place = place_of(self.ensembles, feature)
            if feature.name in space.ruled or (place >= 0 and self.ensembles.cuts[place] is None):
                continue  # a combination could break the rule; a number that is read as a value stands alone
            least[:, f], most[:, f] = regions.lower[:, f], regions.upper[:, f]
            if place >= 0:
                first, last, cell_codes = cells[feature.name]
                at, after = (np.searchsorted(cell_codes, codes_of) for codes_of in (low[:, place], high[:, place] + 1))
                least[:, f] = np.maximum(least[:, f], first[at])
                most[:, f] = np.minimum(most[:, f], last[after - 1])
        return least, most

    def _obeys(self, applicant: "Applicants", row: Array) -> bool:
        """Return whether a row obeys the rules, which the proof leaves out."""
        slack = self.space.slack_after(applicant.slack, applicant.regions.own, row[None])
        return bool((slack >= 0.0).all())

    def _problem(self, applicants: "Applicants", factors: Array) -> tuple[TreeProblem, Int32s]:
        """What all applicants share, with a `stop` that is never set; and the codes of their rows."""
        space = self.space
        cells = read_cells(space, self.ensembles, self._number_cells(applicants), applicants)
        shared = (cells.coded, cells.first, cells.least, cells.greatest, cells.codes)
        never = np.zeros(1, dtype=np.int64)
        problem = TreeProblem(space.starts, *shared, space.rule_shares, factors, space.cap, len(self.ensembles), never)
        return problem, self.ensembles.codes(applicants.table)
