"""The paper's weighted objective: relaxed plans by `build_plans`, delivered as the nearest real rows."""

from dataclasses import dataclass, fields
from time import perf_counter
from typing import ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa.exceptions import InvalidInputError
from copa.planner.search.arguments import FoundPlans, FoundRows, Outcome
from copa.planner.search.problem import Linearisation, as_levels
from copa.planner.search.rows import left_entries
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.linear import Linear, explain_shortfall
from copa.planner.strategies.options import Found
from copa.plans.request import PlanRequest
from copa.theory.objective.build import build_plans

BATCH_SIZE = 64  # applicants between two looks at the clock


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Weighted(Linear):
    """The fitted state of a linear model under the paper's objective."""

    kind: ClassVar[str] = "weighted"

    @classmethod
    def of(cls, strategy: Strategy) -> "Weighted":
        """The same state under the paper's objective."""
        if not isinstance(strategy, Linear):
            raise InvalidInputError(
                "PaperObjective is for models that are linear in the columns, and this one is not; use objective=None"
            )
        return cls(**{part.name: getattr(strategy, part.name) for part in fields(strategy)})

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Minimise the objective over the relaxed space, and take the real rows nearest to the minimiser."""
        n, n_options = len(applicants), request.n_options
        plans = FoundPlans.empty(n, n_options, len(self.space.columns))
        for first in range(0, n, BATCH_SIZE):
            if perf_counter() > run.deadline:
                break
            some = np.arange(first, min(first + BATCH_SIZE, n))
            here = applicants.take(some)
            owner = np.repeat(np.arange(len(some), dtype=np.int64), n_options)
            points = self._minimisers(here, request, run).reshape(-1, self.parameters.dimension)
            nearest = self.nearest_rows(here, owner, points, run, margin=request.margin)
            plans = plans.replaced(some, as_plans(nearest, owner, len(some), n_options))
            run.advance(len(some))
        return Found(plans, self.write_options(applicants, plans, run.n_jobs))

    def explain(
        self, applicants: Applicants, plans: FoundPlans, levels: Array, request: PlanRequest, run: Execution
    ) -> list[str]:
        """Name the constraints that keep applicants from the margin."""
        return explain_shortfall(self, applicants, plans, levels, request, run, margin=request.margin)

    def _minimisers(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Array:
        """Plans (N, J, D) that minimise the objective, rows or not."""
        lower, upper = relaxed_box(self.linearisation, applicants)
        return build_plans(
            applicants.encoded,
            self.parameters.mean,
            self.parameters.cov,
            n_options=request.n_options,
            validity_weight=request.validity_weight,
            diversity_weight=request.diversity_weight or 0.0,
            margin=request.margin,
            lower=lower,
            upper=upper,
            cost=self.space.cost.name,
            random_state=run.seed,
            n_jobs=run.n_jobs,
        ).points


def relaxed_box(linear: Linearisation, applicants: Applicants) -> tuple[Array, Array]:
    """The smallest box of encoded vectors that holds every allowed row of each applicant, (N, D) both."""
    space, regions = linear.space, applicants.regions
    lower, upper = applicants.encoded.copy(), applicants.encoded.copy()
    for f in range(len(space.numeric)):
        ends = np.stack([regions.lower[:, f], regions.upper[:, f]]) - regions.own[:, f]
        others = np.arange(len(space.numeric)) == f
        left = left_entries(linear, regions, np.tile(others, (len(lower), 1)))
        moves = ends[:, :, None] * linear.directions[f] + left
        lower += np.minimum(moves.min(axis=0), 0.0)
        upper += np.maximum(moves.max(axis=0), 0.0)
    for f, _ in space.level_columns:
        levels = space.levels(f)
        moves = linear.directions[levels] - linear.directions[as_levels(regions.own[:, f])][:, None]
        allowed = regions.allowed[:, levels, None]
        lower += np.where(allowed, moves, 0.0).min(axis=1)
        upper += np.where(allowed, moves, 0.0).max(axis=1)
    return lower, upper


def as_plans(nearest: FoundRows, owner: Indices, n_applicants: int, n_options: int) -> FoundPlans:
    """Rows of applicants as their plans: options that could be reached, each once."""
    plans = FoundPlans.empty(n_applicants, n_options, nearest.rows.shape[1])
    for n in range(n_applicants):
        rows = np.flatnonzero(owner == n)
        outcomes = nearest.outcomes[rows]
        plans.outcomes[n] = outcomes.min(initial=Outcome.TIMED_OUT) if len(rows) else Outcome.UNREACHABLE
        good = rows[outcomes < Outcome.UNREACHABLE]
        _, first = np.unique(nearest.rows[good], axis=0, return_index=True)
        kept = good[np.sort(first)]
        plans.counts[n] = len(kept)
        plans.highest[n] = np.nan  # no level was requested
        plans.options[n, : len(kept)] = nearest.rows[kept]
        plans.surest[n] = nearest.rows[rows[:1]].sum(axis=0)
    return plans
