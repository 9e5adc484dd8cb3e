"""The paper's weighted objective: relaxed plans by `build_plans`, delivered as the nearest real rows."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa.exceptions import InvalidInputError
from copa.objective.build import build_plans
from copa.planner.deliver import write_options
from copa.planner.explain import explain_obstacles
from copa.planner.request import Request
from copa.planner.strategies.base import Applicants, Found, Strategy
from copa.planner.strategies.linear import Linear
from copa.search.nearest import NearestRows
from copa.search.problem import ActionSpace
from copa.search.run import TIMED_OUT, UNREACHABLE, Menus

BATCH_SIZE = 64  # applicants between two looks at the clock


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Linear):
    """The fitted state of a linear model under objective="paper"."""

    kind: ClassVar[str] = "weighted"

    @classmethod
    def of(cls, strategy: Strategy) -> "Weighted":
        """The same state under the paper's objective."""
        if not isinstance(strategy, Linear):
            raise InvalidInputError(
                "objective='paper' is for models that are linear in the columns, and this one is not; use 'level'"
            )
        return cls(**vars(strategy))

    def build(self, applicants: Applicants, request: Request) -> Found:
        """Minimise the objective over the relaxed space, and take the real rows nearest to the minimiser."""
        n, n_options, dimension = len(applicants), request.n_options, self.parameters.dimension
        plans = Menus.empty(n, n_options, len(self.space.lines), len(self.space.choices))
        targets = np.zeros((n, n_options, dimension))
        for first in range(0, n, BATCH_SIZE):
            if perf_counter() > request.deadline:
                break
            some = np.arange(first, min(first + BATCH_SIZE, n))
            here = applicants.take(some)
            targets[some] = self._minimisers(here, request)
            owner = np.repeat(np.arange(len(some), dtype=np.int64), n_options)
            found = self.nearest_rows(here, owner, targets[some].reshape(-1, dimension), request, margin=request.margin)
            plans = plans.replaced(some, as_plans(found, owner, len(some), n_options))
            if request.progress is not None:
                request.progress(len(some))
        begun = np.flatnonzero(plans.outcomes != TIMED_OUT)
        relaxed = targets[begun].reshape(-1, dimension), np.repeat(begun, n_options)
        options = write_options(self, applicants, plans, request)
        return Found(plans, replace(options, relaxed_effort=np.full(len(options.owner), np.nan)), relaxed)

    def explain(self, applicants: Applicants, plans: Menus, levels: Array, request: Request) -> list[str]:
        """Name the constraints that keep applicants from the margin."""
        return explain_obstacles(self, applicants, plans, levels, request, margin=request.margin)

    def _minimisers(self, applicants: Applicants, request: Request) -> Array:
        """Plans (N, J, D) that minimise the objective, rows or not."""
        lower, upper = relaxed_box(self.space, applicants)
        return build_plans(
            applicants.encoded,
            self.parameters.mean,
            self.parameters.cov,
            n_options=request.n_options,
            validity_weight=request.validity_weight,
            diversity_weight=request.diversity_weight,
            margin=request.margin,
            lower=lower,
            upper=upper,
            cost=request.cost,
            random_state=request.seed,
            n_jobs=request.n_jobs,
        ).points


def relaxed_box(space: ActionSpace, applicants: Applicants) -> tuple[Array, Array]:
    """The smallest box of encoded vectors that holds every allowed row of each applicant, (N, D) both."""
    places = applicants.places
    lower, upper = applicants.encoded.copy(), applicants.encoded.copy()
    for k in range(len(space.lines)):
        ends = np.stack([places.lower[:, k], places.upper[:, k]]) - places.values[:, k]
        moves = ends[:, :, None] * space.directions[k]
        lower += np.minimum(moves.min(axis=0), 0.0)
        upper += np.maximum(moves.max(axis=0), 0.0)
    for k in range(len(space.choices)):
        start, end = space.ends[k], space.ends[k + 1]
        moves = space.directions[start:end] - space.directions[places.atoms[:, k]][:, None]
        allowed = places.allowed[:, start:end, None]
        lower += np.where(allowed, moves, 0.0).min(axis=1)
        upper += np.where(allowed, moves, 0.0).max(axis=1)
    return lower, upper


def as_plans(found: NearestRows, owner: Indices, n_applicants: int, n_options: int) -> Menus:
    """Rows of applicants as their plans: options that could be reached, each once."""
    plans = Menus.empty(n_applicants, n_options, found.values.shape[1], found.atoms.shape[1])
    for n in range(n_applicants):
        rows = np.flatnonzero(owner == n)
        outcomes = found.outcomes[rows]
        plans.outcomes[n] = outcomes.min(initial=TIMED_OUT) if len(rows) else UNREACHABLE
        good = rows[outcomes < UNREACHABLE]
        both = np.column_stack([found.values[good], found.atoms[good]])
        _, first = np.unique(both, axis=0, return_index=True)
        kept = good[np.sort(first)]
        plans.counts[n] = len(kept)
        plans.highest[n] = np.nan  # no level was requested
        for target, source in ((plans.values, found.values), (plans.atoms, found.atoms)):
            target[n, : len(kept)] = source[kept]
        plans.relaxed_values[n], plans.relaxed_atoms[n] = plans.values[n], plans.atoms[n]
        nearest = rows[:1]
        plans.surest_values[n] = found.values[nearest].sum(axis=0)
        plans.surest_atoms[n] = found.atoms[nearest].sum(axis=0)
    return plans
