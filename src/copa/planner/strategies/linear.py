"""Models that are linear in the columns: plans at a level by the compiled search."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from copa._core.arrays import Array, Indices
from copa.bounds import bound_plans
from copa.models import Encoding, LinearModel
from copa.models.encoding import NotLinearError
from copa.planner.deliver import write_options
from copa.planner.explain import explain_shortfall
from copa.planner.request import Request
from copa.planner.settings import FitSettings
from copa.planner.strategies.base import ROUNDING, Applicants, Found, Options
from copa.planner.strategies.feature_map import FeatureMap
from copa.planner.strategies.parametric import Parametric
from copa.schema import FeatureSchema
from copa.search._kernels.arguments import FoundPlans, FoundRows, Outcome
from copa.search.nearest import find_nearest_rows
from copa.search.rows import relaxed_rows
from copa.search.run import Goals, search_plans

if TYPE_CHECKING:
    import pandas as pd

ATTEMPTS = 6  # to find options that the model accepts, requesting more score each time
RULE_SPARE = 1e-9  # of the size of a rule's terms is required in addition, where rounding breaks it
HALVINGS = 5  # of the interval of levels, for a joint guarantee


@dataclass(frozen=True, eq=False, kw_only=True)
class Linear(Parametric):
    """A model whose encoded rows are sums over the columns: the search knows its score and moments exactly."""

    kind: ClassVar[str] = "linear"
    additive: ClassVar[bool] = True

    @classmethod
    def fit(
        cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame", y: Any, settings: FitSettings
    ) -> Parametric:
        """Estimate the moments and the radius, and probe what each column does.

        Returns
        -------
        Parametric
            A `FeatureMap` where the encoded columns are no sums over the raw ones.
        """
        try:
            return super().fit(model, schema, X, y, settings)
        except NotLinearError:
            return FeatureMap.fit(model, schema, X, y, settings)

    @classmethod
    def probe(cls, model: LinearModel, schema: FeatureSchema, X: "pd.DataFrame") -> Encoding:
        """What each column does, the same at every row."""
        return Encoding.probe(model, schema, X)

    def build(self, applicants: Applicants, request: Request) -> Found:
        """Search plans whose options each reach the level, or which reach a joint guarantee."""
        levels = np.full(len(applicants), request.guarantee)
        plans, options = self._accepted_plans(applicants, levels, request)
        if request.guarantee_for != "each":
            quiet = replace(request, progress=None)
            joint, changed = self._joint_plans(applicants, plans, options, quiet)
            if changed:
                plans, options = joint, write_options(self, applicants, joint, request)
        return Found(plans, options, self._relaxed(applicants, plans))

    def explain(self, applicants: Applicants, plans: FoundPlans, levels: Array, request: Request) -> list[str]:
        """Name the constraints that keep applicants from the level."""
        return explain_shortfall(self, applicants, plans, levels, request)

    def nearest_rows(
        self,
        applicants: Applicants,
        owner: Indices,
        targets: Array,
        request: Request,
        *,
        margin: float = -np.inf,
        levels: Array | None = None,
    ) -> FoundRows:
        """The allowed and accepted rows nearest to encoded points (M, D)."""
        m = len(targets)
        levels = np.full(m, -1.0) if levels is None else levels
        some = applicants.take(owner)
        return find_nearest_rows(
            self.space,
            some.regions,
            some.encoded,
            some.slack,
            targets,
            Goals(self.parameters, levels, np.full(m, self.floor), margin),
            n_jobs=request.n_jobs,
            deadline=request.deadline,
        )

    def _relaxed(self, applicants: Applicants, plans: FoundPlans) -> tuple[Array, Indices]:
        """The plans before their values were rounded to steps, (M, D)."""
        owner, option = plans.positions
        own, encoded = applicants.regions.own[owner], applicants.encoded[owner]
        return relaxed_rows(self.space, own, encoded, plans.relaxed[owner, option]), owner

    def _accepted_plans(self, applicants: Applicants, levels: Array, request: Request) -> tuple[FoundPlans, Options]:
        """Plans at the given levels whose options the model accepts and the rules allow.

        The search knows the model's own linear score; where the model is not quite that (calibration over folds), more
        is required until the model agrees. So it is where a row falls short of its level once it is written out,
        because its columns hold fewer digits (single precision), or where its decimals break a rule by as little as
        rounding.
        """
        floors, sought = np.full(len(applicants), self.floor), levels.copy()
        spare = np.zeros(len(applicants))
        plans = self._search(applicants, sought, floors, request)
        options = write_options(self, applicants, plans, request)
        for _ in range(ATTEMPTS):
            owner, refused = options.owner, ~options.accepted
            scores = (options.points[:, None] @ self.model.theta)[:, 0]  # one product per row: the same in any batch
            np.maximum.at(floors, owner[refused], 1.5 * scores[refused] + self.floor)
            required = np.where(plans.outcomes == Outcome.MET, levels, 0.0)[owner]
            missing = required - self.parameters.option_guarantees(options.points)
            short = missing > 0.0
            np.maximum.at(sought, owner[short], (levels[owner] + 2.0 * missing)[short])
            broken = np.zeros_like(refused)
            if self.schema.rules:
                broken = ~self.schema.obeys(applicants.origins.iloc[owner], options.table)
                spare[owner[broken]] = np.maximum(4.0 * spare[owner[broken]], RULE_SPARE)
            rows = np.unique(owner[refused | short | broken])
            if len(rows) == 0:
                break
            some = applicants.take(rows)
            some = replace(some, slack=some.slack - spare[rows, None])
            again = self._search(some, sought[rows], floors[rows], replace(request, progress=None))
            plans = plans.replaced(rows, again)
            options = write_options(self, applicants, plans, request)
        return plans, options

    def _search(self, applicants: Applicants, levels: Array, floors: Array, request: Request) -> FoundPlans:
        capped = np.minimum(levels + ROUNDING, 1.0 - ROUNDING)
        return search_plans(
            self.space,
            applicants.regions,
            applicants.encoded,
            applicants.slack,
            Goals(self.parameters, capped, floors),
            n_options=request.n_options,
            diversity_weight=request.diversity_weight,
            multipliers=request.multipliers,
            n_jobs=request.n_jobs,
            deadline=request.deadline,
            progress=request.progress,
        )

    def _joint_plans(
        self, applicants: Applicants, plans: FoundPlans, options: Options, request: Request
    ) -> tuple[FoundPlans, bool]:
        """Plans whose joint guarantee ("all" or "any") is reached, each option at as low a level as possible.

        If each of J options holds with 1 - (1 - P) / J, all of them hold with P; if one holds with P, then at least one
        does. So the level of the options lies between P and the first for "all", and up to P for "any"; between the two
        it is found by halving.

        Returns
        -------
        plans : FoundPlans
        changed : bool
            Whether they are others than the given ones.
        """
        wanted, n = request.guarantee, len(applicants)
        wants_all = request.guarantee_for == "all"
        low = np.full(n, wanted if wants_all else 0.0)
        high = np.full(n, 1.0 - (1.0 - wanted) / request.n_options if wants_all else wanted)
        kept, joint = plans, self._joint(options, n, request)
        rows = np.flatnonzero((plans.counts > 0) & ((joint < wanted) if wants_all else np.ones(n, dtype=bool)))
        some = applicants.take(rows)
        for turn in range(HALVINGS + 1):
            if len(rows) == 0:
                break
            levels = high[rows] if wants_all and turn == 0 else 0.5 * (low + high)[rows]
            trial, written = self._accepted_plans(some, levels, request)
            value = self._joint(written, len(rows), request)
            enough = value >= wanted
            better = enough | ((joint[rows] < wanted) & (value > joint[rows]))
            kept = kept.replaced(rows[better], trial.take(better)) if better.any() else kept
            joint[rows[better]] = value[better]
            lower_it = enough | (trial.outcomes != Outcome.MET)  # a level that is out of reach is too high as well
            high[rows] = np.where(lower_it, levels, high[rows])
            low[rows] = np.where(lower_it, low[rows], levels)
        return kept, kept is not plans

    def _joint(self, options: Options, n_applicants: int, request: Request) -> Array:
        """The joint guarantee of plans, (N,)."""
        bounds = bound_plans(self.parameters, options.points, options.owner, n_applicants, request.n_jobs)
        return bounds.lower if request.guarantee_for == "all" else bounds.any_lower
