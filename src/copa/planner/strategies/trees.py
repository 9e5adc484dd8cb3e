"""Tree ensembles: options are searched on the trees themselves, today's and those of refits."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.formats import Archive
from copa.data.schema.columns import ReadTable
from copa.models.black_box import BlackBox
from copa.models.trees import TreeEnsembles
from copa.planner.search.arguments import Outcome
from copa.planner.search.cheapest import Bound
from copa.planner.search.regions import as_written
from copa.planner.search.run import read_coefficients
from copa.planner.search.tree_arguments import TreeRequirement
from copa.planner.search.trees import GUIDED, TreeSearcher, needed_ratios
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import ROUNDING
from copa.planner.strategies.exploration import choose_plans, level_of_each
from copa.planner.strategies.intervals import levels_to_keep
from copa.planner.strategies.options import Found, Options
from copa.planner.strategies.plausible import training_rows
from copa.planner.strategies.refitted import KeptRefits, Refitted, read_counts, read_reliability
from copa.planner.strategies.samples import Samples, signed_guarantee
from copa.plans.records import Intervals
from copa.plans.request import PlanRequest

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.search.problem import ActionSpace

STORED = "trees"  # what the names of their arrays in a file begin with


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trees(Refitted):
    """A tree ensemble, and its refits.

    Attributes
    ----------
    ensembles : TreeEnsembles
        Today's model, then the refits that the search goes by, then those that certify.
    n_searching : int
        How many refits the search goes by.
    """

    kind: ClassVar[str] = "trees"
    setting: ClassVar[str] = "boundary"  # which is that of all models that are queried, where nothing else is said

    ensembles: TreeEnsembles
    n_searching: int

    @classmethod
    def learn(
        cls, model: BlackBox, space: "ActionSpace", X: "pd.DataFrame", y: Any, settings: FitSettings
    ) -> dict[str, Any]:
        """Retrain the model; a NotTreesError, before that, if it cannot be read."""
        TreeEnsembles.read([model], X)
        return super().learn(model, space, X, y, settings)

    @classmethod
    def keep_refits(
        cls,
        model: BlackBox,
        searching: tuple[BlackBox, ...],
        held_out: tuple[BlackBox, ...],
        space: "ActionSpace",  # noqa: ARG003 - trees say something of every row
        X: "pd.DataFrame",
        n_jobs: int | None,
    ) -> KeptRefits:
        """Keep the trees of all of them."""
        ensembles = TreeEnsembles.read([model, *searching, *held_out], X)
        first, others = 1 + len(searching), len(ensembles)
        here, there = ensembles.take(np.arange(1, first)), ensembles.take(np.arange(first, others))
        return KeptRefits(
            {"ensembles": ensembles, "n_searching": len(searching)},
            lambda rows: here.scores(here.codes(rows), n_jobs),
            lambda rows: there.scores(there.codes(rows), n_jobs),
        )

    @property
    def n_held_out(self) -> int:
        """Number of refits that certify."""
        return len(self.ensembles) - 1 - self.n_searching

    @cached_property
    def _today(self) -> TreeEnsembles:
        return self.ensembles.take(np.arange(1))

    @cached_property
    def _unknown(self) -> Indices:
        """First code of each column that is no value or number which the trees know, (C,)."""
        others = np.array([2 if cuts is None else 1 for cuts in self.ensembles.cuts], dtype=np.int64)
        return np.asarray(self.ensembles.arrays.n_codes - others)

    @cached_property
    def _untested(self) -> tuple[str, ...]:
        """Columns of the model that no tree tests."""
        return tuple(name for name in self.model.columns if name not in self.ensembles.columns)

    @cached_property
    def _held_out(self) -> TreeEnsembles:
        return self.ensembles.take(np.arange(1 + self.n_searching, len(self.ensembles)))

    @cached_property
    def _searcher(self) -> TreeSearcher:
        return TreeSearcher(self.space, self.ensembles.take(np.arange(1 + self.n_searching)))

    @cached_property
    def _training(self) -> Array:
        return training_rows(self.space)

    def encode(self, table: "pd.DataFrame | ReadTable") -> Array:
        """Return today's scores, (N, 1); the model itself is asked about rows that it may be unable to read."""
        rows = ReadTable.of(table)
        codes = self._today.codes(rows)
        known = (codes < self._unknown).all(axis=1)
        for name in self._untested:
            known &= ~rows[name].missing & ~rows[name].wrong
        scores = self._today.scores(codes, n_jobs=1)[0]
        if not known.all():
            scores[~known] = self.model.scores(rows.take(np.flatnonzero(~known)))
        return np.asarray(scores[:, None])

    def held_out_scores(self, rows: "pd.DataFrame | ReadTable", n_jobs: int | None) -> Array:
        """Scores of raw rows by the refits that certify, (K, M)."""
        return self._held_out.scores(self._held_out.codes(rows), n_jobs)

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Search rows on the trees, and choose among all good ones."""
        level = min(level_of_each(request) + ROUNDING, 1.0 - ROUNDING)
        found = self._searcher.find(
            applicants,
            needed_ratios(self.search_set, level),
            self._training,
            GUIDED,
            n_jobs=run.n_jobs,
            deadline=run.deadline,
            progress=run.progress,
        )
        owner, position = np.nonzero(np.arange(found.rows.shape[1]) < found.counts[:, None])
        today, mean, spread = found.said[owner, position].T
        lower = signed_guarantee(self.search_set, mean, spread, self.search_set.radius * spread)
        rows = Samples(owner, found.rows[owner, position], np.zeros((len(owner), 0)), np.maximum(today, 0.0), lower)
        plans, _ = choose_plans(self.space, applicants, rows, request)
        late = found.finished == 0
        plans.outcomes[late], plans.counts[late] = Outcome.TIMED_OUT, 0
        options = self.write_options(applicants, plans, run.n_jobs)
        plans.highest[:] = 0.0  # what the search's own refits say is no guarantee: that of the options delivered is
        return Found(plans, options.take(self.certified(options, request)))

    @cached_property
    def _prover(self) -> TreeSearcher:
        certifying = np.arange(1 + self.n_searching, len(self.ensembles))
        return TreeSearcher(self.space, self.ensembles.take(np.append(0, certifying)))

    def intervals(
        self,
        applicants: Applicants,
        options: Options,
        request: PlanRequest,
        run: Execution,  # noqa: ARG002 - one walk of each tree
    ) -> Intervals | None:
        """Intervals within which neither today's model nor any that certifies comes to another leaf."""
        space, n = self.space, len(self.space.numeric)
        if n == 0:
            return None
        regions, values = as_written(space, applicants.regions.take(options.owner), options.rows)
        least, most = self._prover.boxes(applicants, options.owner, options.rows, values)
        numbers = values[:, :n]
        ranged = (numbers != regions.own[:, :n]) & (least <= numbers) & (numbers <= most) & (least < most)
        table = options.table
        places = [table.columns.get_loc(feature.name) for feature in space.numeric]
        at_least, at_most = np.full(table.shape, np.nan), np.full(table.shape, np.nan)
        at_least[:, places], at_most[:, places] = np.where(ranged, least, np.nan), np.where(ranged, most, np.nan)
        return Intervals(at_least, at_most, levels_to_keep(self.ambiguity(1), options, request))

    def cheapest_row(self, applicant: Applicants, level: float, best: float, points: Array, seconds: float) -> Bound:  # noqa: ARG002 - rows that are known say nothing of others
        """Bound the cost by branch and bound over the cells of today's model and of the refits that certify."""
        ambiguity, prover = self.ambiguity(1), self._prover
        if level < 0.0:
            return TreeSearcher(self.space, self._today).prove(applicant, TreeRequirement(0.0, -1.0, best), seconds)
        if float(ambiguity.guarantee(1.0, 0.0, 0.0)) < level:
            return Bound(np.inf)
        b, c = read_coefficients(ambiguity, level)
        return prover.prove(applicant, TreeRequirement(0.0, b + c * ambiguity.radius, best), seconds)

    def pack_refits(self, rows: "pd.DataFrame", arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:  # noqa: ARG002 - for strategies that store models
        """The trees as arrays."""
        numbers = [self.n_searching, self.n_held_out]
        return {"refits": numbers, "trees": self.ensembles.pack(STORED, arrays)}, {}

    @classmethod
    def unpack_learned(cls, archive: Archive, model: BlackBox) -> dict[str, Any]:
        """The trees, and the reliability."""
        if any(name.startswith("refits/") for name in archive.members):
            raise ValueError("it has other refits beside its trees")
        n_searching, n_held_out = read_counts(archive)
        ensembles = TreeEnsembles.unpack(archive.content["trees"], STORED, archive.arrays)
        if len(ensembles) != 1 + n_searching + n_held_out or not set(ensembles.columns) <= set(model.columns):
            raise ValueError("its trees are not those of its model and refits")
        return {"reliability": read_reliability(archive), "ensembles": ensembles, "n_searching": n_searching}
