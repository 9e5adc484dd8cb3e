"""Black boxes: options are searched on surrogates fitted at the boundary and chosen by the scores of refits."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.formats import Archive
from copa.models.black_box import BlackBox
from copa.models.stored_fits import pack_refits, unpack_refits
from copa.planner.search.arguments import FoundPlans
from copa.planner.search.problem import ActionSpace
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.black_box import require_readable, score_all
from copa.planner.strategies.boundary_exploration import BoundaryExploration, sparing
from copa.planner.strategies.exploration import build_in_turns
from copa.planner.strategies.options import Found
from copa.planner.strategies.refitted import KeptRefits, Refitted, read_counts, read_reliability
from copa.plans.request import PlanRequest

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema.columns import ReadTable

BATCH_SIZE = 256  # applicants whose rows the models are queried about in one call


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Boundary(Refitted):
    """A black box that is only queried, and its refits.

    Linear surrogates of the model and of its refits are fitted near the boundary, and again where they were wrong.

    Attributes
    ----------
    retrained : tuple of BlackBox
        Fits of the same model to resampled data, which the search goes by.
    held_out : tuple of BlackBox
        Further fits, by which nothing is searched.
    """

    kind: ClassVar[str] = "boundary"

    retrained: tuple[BlackBox, ...]
    held_out: tuple[BlackBox, ...]

    @classmethod
    def keep_refits(
        cls,
        model: BlackBox,
        searching: tuple[BlackBox, ...],
        held_out: tuple[BlackBox, ...],
        space: ActionSpace,
        X: "pd.DataFrame",
        n_jobs: int | None,
    ) -> KeptRefits:
        """Keep the refits themselves."""
        require_readable([model, *searching, *held_out], space, X)
        fields = {"retrained": searching, "held_out": held_out}
        return KeptRefits(
            fields, lambda rows: score_all(searching, rows, n_jobs), lambda rows: score_all(held_out, rows, n_jobs)
        )

    @property
    def n_held_out(self) -> int:
        """Number of refits that certify."""
        return len(self.held_out)

    def held_out_scores(self, rows: "pd.DataFrame | ReadTable", n_jobs: int | None) -> Array:
        """Scores of raw rows by the refits that certify, (K, M)."""
        return score_all(self.held_out, rows, n_jobs)

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Search plans on surrogates, and choose among all rows tried by the scores that the models give them."""
        fidelity = np.full(len(applicants), np.nan)

        def build(some: Indices) -> FoundPlans:
            exploration = BoundaryExploration(
                sparing(self.space),
                applicants.take(some),
                request,
                run,
                model=self.model,
                refits=self.retrained,
                ambiguity=self.search_set,
                seed=self.seed,
            )
            plans, evaluated, chosen = exploration.plans()
            fidelity[some] = exploration.fidelity(evaluated, evaluated.take(chosen))
            return plans

        plans = build_in_turns(self.space, len(applicants), BATCH_SIZE, build, request.n_options, run)
        options = self.write_options(applicants, plans, run.n_jobs)
        plans.highest[:] = 0.0  # what the search's own refits say is no guarantee: that of the options delivered is
        options = options.take(self.certified(options, request))
        return Found(plans, options, fidelity=fidelity)

    def pack_refits(self, rows: "pd.DataFrame", arrays: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:  # noqa: ARG002 - for strategies that store arrays
        """The numbers of retrained and held-out refits, and the refits."""
        numbers = [len(self.retrained), len(self.held_out)]
        return {"refits": numbers}, pack_refits([*self.retrained, *self.held_out], rows)

    @classmethod
    def unpack_learned(cls, archive: Archive, model: BlackBox) -> dict[str, Any]:
        """The refits, and the reliability."""
        n_retrained, n_held_out = read_counts(archive)
        fits = unpack_refits(archive.members, n_retrained + n_held_out, model, archive.budget)
        refits = {"retrained": fits[:n_retrained], "held_out": fits[n_retrained:]}
        return {"reliability": read_reliability(archive), **refits}
