"""Models that are linear in the columns: plans at a level by the compiled search."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from copa._core.arrays import Array, Indices
from copa.data.schema import FeatureSchema, Violation
from copa.data.schema.columns import ReadTable
from copa.models import Encoding, LinearModel
from copa.models.encoding import NotLinearError
from copa.models.refits.reliability import LEAST_RELIABILITY
from copa.planner.search.arguments import FoundPlans, FoundRows, Outcome, Regions
from copa.planner.search.cheapest import Bound, CheapestRow
from copa.planner.search.nearest import find_nearest_rows
from copa.planner.search.problem import NO_RULE
from copa.planner.search.regions import keeping, read_regions, standing_at
from copa.planner.search.rows import relaxed_rows, write_rows
from copa.planner.search.run import Goals, search_plans
from copa.planner.settings import Execution, FitSettings
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import ROUNDING, Texts, out_of_reach
from copa.planner.strategies.feature_map import FeatureMap
from copa.planner.strategies.intervals import find_intervals
from copa.planner.strategies.local_reliability import LEVEL, local_reliability, pooled_reliability
from copa.planner.strategies.next_parameters import Chooser
from copa.planner.strategies.options import Flags, Found, Options
from copa.planner.strategies.parametric import Parametric
from copa.planner.strategies.plausible import plausible_plans, training_rows
from copa.plans.records import Intervals
from copa.plans.request import PlanRequest
from copa.plans.tested import TESTED_ROWS
from copa.theory.bounds import bound_plans
from copa.theory.sets.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd

ATTEMPTS = 6  # to find options that the model accepts, requesting more score each time
RULE_SPARE = 1e-9  # of the size of a rule's terms is required in addition, where rounding breaks it
FURTHEST = 0.9  # share of the highest level that rows may have where the level is out of reach (see `plans.ROOM`)
HALVINGS = 5  # of the interval of levels, for a joint guarantee
NOT_FOUND = {
    Outcome.BELOW: "Even without the constraints no change of these columns is enough",
    Outcome.UNREACHABLE: "Even without the constraints no change of these columns is enough",
    Outcome.TIMED_OUT: "The time limit ended before the constraints could be examined",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
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
        """Probe the effect of each column, which is the same at every row."""
        return Encoding.probe(model, schema, X)

    @property
    def tested(self) -> bool:
        """Whether this is a logistic regression on as many rows as were tested, without a history or wishes.

        Requests with wishes were measured too, by another benchmark, at one size and level (docs/evidence.md).
        """
        like = isinstance(self.model.classifier, LogisticRegression) and self.model.threshold is None
        few, many = TESTED_ROWS
        return like and not self.wished and self.past is None and few <= (self.n_rows or 0) <= many

    def build(self, applicants: Applicants, request: PlanRequest, run: Execution) -> Found:
        """Search plans whose options each reach the level, or which reach a joint guarantee."""
        levels = np.full(len(applicants), request.guarantee)
        plans, options = self._accepted_plans(applicants, levels, request, run)
        if request.guarantee_for != "each":
            quiet = run.silent()
            joint, changed = self._joint_plans(applicants, plans, options, request, quiet)
            if changed:
                plans, options = joint, self.write_options(applicants, joint, run.n_jobs)
        return Found(plans, options)

    def explain(
        self, applicants: Applicants, plans: FoundPlans, levels: Array, request: PlanRequest, run: Execution
    ) -> list[str]:
        """Name the constraints that keep applicants from the level."""
        return explain_shortfall(self, applicants, plans, levels, request, run)

    def intervals(
        self, applicants: Applicants, options: Options, request: PlanRequest, run: Execution
    ) -> Intervals | None:
        """Intervals that are proven by the corners of their boxes; None where acceptance is not linear."""
        if not self.model.accepts_linearly:
            return None
        return find_intervals(self, applicants, options, request, run, self.floor)

    def cheapest_row(self, applicant: Applicants, level: float, best: float, points: Array, seconds: float) -> Bound:
        """Bound the cost by a mixed-integer program; acceptance is left out of it where it is not linear."""
        floor = self.floor if self.model.accepts_linearly else -np.inf
        b = applicant.reliability
        if level >= 0.0 and (self.shortage if b is None else self.shortages(b)[0]):
            return Bound(np.inf)  # nothing is guaranteed of any row
        goals = Goals(self.parameters, np.array([level]), np.array([floor]), shrinkage=self.shrinkage(b))
        parts = (applicant.regions, applicant.encoded, applicant.slack, goals.arrays())
        return CheapestRow(self.linearisation, *parts).solve(best, self.encoded(points), seconds)

    def nearest_rows(
        self,
        applicants: Applicants,
        owner: Indices,
        targets: Array,
        run: Execution,
        *,
        margin: float = -np.inf,
        levels: Array | None = None,
    ) -> FoundRows:
        """The allowed and accepted rows nearest to encoded points (M, D)."""
        m = len(targets)
        levels = np.full(m, -1.0) if levels is None else levels
        some = applicants.take(owner)
        return find_nearest_rows(
            self.linearisation,
            some.regions,
            some.encoded,
            some.slack,
            targets,
            Goals(self.parameters, levels, np.full(m, self.floor), margin, self.shrinkage(some.reliability)),
            n_jobs=run.n_jobs,
            deadline=run.deadline,
        )

    def read_applicants(
        self,
        rows: "pd.DataFrame | ReadTable",
        encoded: Array | None = None,
        *,
        n_jobs: int | None = None,
        deadline: float = np.inf,
    ) -> Applicants:
        """Read checked rows, and judge how reliable scores are within the limits of each applicant."""
        applicants = super().read_applicants(rows, encoded)
        if self.reliability is None:
            return applicants
        goal = self.floor, self.parameters.laws
        b = local_reliability(self.linearisation, self.halves, applicants, *goal, n_jobs=n_jobs, deadline=deadline)
        return replace(applicants, reliability=np.minimum(b, min(self.reliability, self.within_wishes)))

    def with_fields(self, changes: Mapping[str, Mapping[str, Any]]) -> Self:
        """The same state within wishes, which are judged for the references too: one estimate by itself is noisy."""
        wished = super().with_fields(changes)
        if wished.references is None or len(wished.references) == 0:
            return wished
        people = super(Linear, wished).read_applicants(wished.references)
        b = pooled_reliability(wished.linearisation, wished.halves, people, wished.floor, wished.parameters.laws)
        return replace(wished, within_wishes=b)

    def reliability_of(self, origins: ReadTable, owner: Indices, n_jobs: int | None) -> Array | None:
        """Return the reliability within the limits of each row's applicant, (M,)."""
        whose, position = np.unique(owner, return_inverse=True)
        b = self.read_applicants(origins.take(whose), n_jobs=n_jobs).reliability
        return None if b is None else b[position]

    def shortages(self, reliability: Array) -> Texts:
        """Say that the data are too few, or that the columns left to an applicant say too little."""
        texts = super().shortages(reliability)
        if not self.shortage:
            for i in np.flatnonzero(reliability < LEAST_RELIABILITY).tolist():
                texts[i] = weak_columns(float(reliability[i]))
        return texts

    def chooser(self, applicants: Applicants) -> Chooser:
        """The cheapest row at the level, by the search itself."""
        columns = len(self.space.columns)

        def choose(half: AmbiguitySet) -> Array:
            some = applicants.take(np.flatnonzero(applicants.encoded @ half.mean < self.floor))
            shape = half.cov if half.drift is None else half.drift
            linear = replace(self.linearisation, mean=half.mean, cov=half.cov, drift=shape, theta=half.mean)
            plans = search_plans(
                linear,
                some.regions,
                some.encoded,
                some.slack,
                Goals(half, np.full(len(some), LEVEL), np.full(len(some), self.floor)),
                n_options=1,
                diversity_weight=0.0,
                multipliers=np.ones((1, columns)),
            )
            owner, option = plans.positions
            return relaxed_rows(linear, some.regions.take(owner), some.encoded[owner], plans.options[owner, option])

        return choose

    def _accepted_plans(
        self, applicants: Applicants, levels: Array, request: PlanRequest, run: Execution
    ) -> tuple[FoundPlans, Options]:
        """Plans at the given levels whose options the model accepts and the rules allow.

        The search knows the model's own linear score; where the model is not quite that (calibration over folds), more
        is required until the model agrees. So it is where a row falls short of its level once it is written out,
        because its columns hold fewer digits (single precision), or where its decimals break a rule by as little as
        rounding.
        """
        floors, sought = np.full(len(applicants), self.floor), levels.copy()
        spare = np.zeros(len(applicants))
        plans = self._search(applicants, sought, floors, request, run)
        options = self.write_options(applicants, plans, run.n_jobs)
        for _ in range(ATTEMPTS):
            owner, refused = options.owner, ~options.accepted
            scores = (self.encoded(options.points)[:, None] @ self.model.theta)[:, 0]  # as in any other batch
            np.maximum.at(floors, owner[refused], 1.5 * scores[refused] + self.floor)
            required = np.where(plans.outcomes == Outcome.MET, levels, 0.0)[owner]
            missing = required - self.ambiguity(request.n_options).option_guarantees(options.points)
            short = missing > 0.0
            np.maximum.at(sought, owner[short], (sought[owner] + 2.0 * missing)[short])  # more at each attempt
            broken = np.zeros_like(refused)
            if self.schema.rules:
                broken = ~self.schema.obeys(applicants.origins, options.rows, owner)
                spare[owner[broken]] = np.maximum(4.0 * spare[owner[broken]], RULE_SPARE)
            rows = np.unique(owner[refused | short | broken])
            if len(rows) == 0:
                break
            some = applicants.take(rows)
            some = replace(some, slack=some.slack - spare[rows, None])
            again = self._search(some, sought[rows], floors[rows], request, run.silent())
            plans = plans.replaced(rows, again)
            options = self.write_options(applicants, plans, run.n_jobs)
        return plans, options

    def _search(
        self, applicants: Applicants, levels: Array, floors: Array, request: PlanRequest, run: Execution
    ) -> FoundPlans:
        capped = np.minimum(levels + ROUNDING, 1.0 - ROUNDING)
        plans = search_plans(
            self.linearisation,
            applicants.regions,
            applicants.encoded,
            applicants.slack,
            Goals(self.parameters, capped, floors, shrinkage=self.shrinkage(applicants.reliability)),
            n_options=request.n_options,
            diversity_weight=request.diversity_weight or 0.0,
            multipliers=run.multipliers,
            n_jobs=run.n_jobs,
            deadline=run.deadline,
            progress=run.progress,
            keep_pool=request.plausibility > 0.0,
        )
        reached = np.where(plans.outcomes == Outcome.MET, capped, FURTHEST * plans.highest)

        def judge(owner: Indices, rows: Array) -> Flags:
            regions = applicants.regions.take(owner)
            points = relaxed_rows(self.linearisation, regions, applicants.encoded[owner], rows)
            slack = self.space.slack_after(applicants.slack[owner], regions.own, rows)
            good = ((points[:, None] @ self.model.theta)[:, 0] >= floors[owner]) & (slack >= 0.0).all(axis=1)
            b = None if applicants.reliability is None else applicants.reliability[owner[good]]
            proven = self.ambiguity(request.n_options).option_guarantees(self.deducted(self.padded(points[good]), b))
            good[good] = proven >= reached[owner[good]]
            return good

        return plausible_plans(self.space, applicants, plans, request, judge, lambda: self._training_rows)

    @cached_property
    def _training_rows(self) -> Array:
        """Training rows whose values applicants may take over."""
        return training_rows(self.space)

    def _joint_plans(
        self, applicants: Applicants, plans: FoundPlans, options: Options, request: PlanRequest, run: Execution
    ) -> tuple[FoundPlans, bool]:
        """Plans whose joint guarantee ("all" or "any") is reached, each option at as low a level as possible.

        If each of J options has the guarantee 1 - (1 - P) / J, all of them together have P; if one has P, then so has
        at least one. So the level of the options lies between P and the former for "all", and is at most P for "any";
        it is found by bisection.

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
        kept, joint = plans, self._joint(options, n, request, run)
        rows = np.flatnonzero((plans.counts > 0) & ((joint < wanted) if wants_all else np.ones(n, dtype=bool)))
        some = applicants.take(rows)
        for turn in range(HALVINGS + 1):
            if len(rows) == 0:
                break
            levels = high[rows] if wants_all and turn == 0 else 0.5 * (low + high)[rows]
            trial, written = self._accepted_plans(some, levels, request, run)
            value = self._joint(written, len(rows), request, run)
            enough = value >= wanted
            better = enough | ((joint[rows] < wanted) & (value > joint[rows]))
            kept = kept.replaced(rows[better], trial.take(better)) if better.any() else kept
            joint[rows[better]] = value[better]
            lower_it = enough | (trial.outcomes != Outcome.MET)  # a level that is out of reach is too high as well
            high[rows] = np.where(lower_it, levels, high[rows])
            low[rows] = np.where(lower_it, low[rows], levels)
        return kept, kept is not plans

    def _joint(self, options: Options, n_applicants: int, request: PlanRequest, run: Execution) -> Array:
        """The joint guarantee of plans, (N,)."""
        bounds = bound_plans(self.ambiguity(request.n_options), options.points, options.owner, n_applicants, run.n_jobs)
        return bounds.lower if request.guarantee_for == "all" else bounds.any_lower


def weak_columns(b: float) -> str:
    """Say that the columns an applicant may change carry too little of the score for a guarantee."""
    few = "the columns that are left to change say too little for a guarantee"
    if b == 0.0:
        return f"{few}: of no row that half of the training data take for certain the other half say anything alike"
    return (
        f"{few}: of a score that half of the training data find here, the other half find only {b / (2.0 - b):.2f}, "
        f"so that a model on all rows is {b:.2f} reliable, and {LEAST_RELIABILITY:g} is needed"
    )


def explain_shortfall(
    strategy: Linear,
    applicants: Applicants,
    plans: FoundPlans,
    levels: Array,
    request: PlanRequest,
    run: Execution,
    *,
    margin: float = -np.inf,
) -> list[str]:
    """Say for each applicant what was not reached, and which constraints block it."""
    blocking = find_blocking_constraints(strategy, applicants, plans, levels, run, margin=margin)
    enough = "" if np.isinf(margin) else f" with a mean score of at least {margin:g}"
    return [
        f"no allowed row was found that today's model accepts{enough}. {constraints}"
        if level < 0.0
        else f"{out_of_reach(request, best)}. {constraints}"
        for constraints, level, best in zip(blocking, levels, plans.highest, strict=True)
    ]


def find_blocking_constraints(
    strategy: Linear,
    applicants: Applicants,
    plans: FoundPlans,
    levels: Array,
    run: Execution,
    *,
    margin: float = -np.inf,
) -> list[str]:
    """Say for each applicant which constraints would have to give way, and how far, to reach the level.

    The search starts from the surest row that is allowed, all limits are taken away, and the cheapest further changes
    are looked for: the constraints that these violate are the blocking ones. It is a search, not a proof: to relax what
    it names is enough, and no single part of it can be left out; relaxing other constraints may be enough as well.

    Parameters
    ----------
    strategy : Linear
    applicants : Applicants
        N of them.
    plans : FoundPlans
        Of the applicants, with their surest rows.
    levels : ndarray of shape (N,)
        To be reached; -1 for acceptance by today's model alone.
    run : Execution
    margin : float
        Least mean score.
    """
    regions, start, slack = _at_the_surest_rows(strategy, applicants, plans)
    outcomes = np.full(len(applicants), Outcome.TIMED_OUT)
    sentences = np.full(len(applicants), "", dtype=object)
    for rules_hold in (True, False):  # first the limits of single columns give way, then the rules between them too
        some = np.flatnonzero(outcomes != Outcome.MET)
        if len(some) == 0 or not (rules_hold or slack.shape[1]):
            break
        b = applicants.reliability
        shrinkage = strategy.shrinkage(None if b is None else b[some])
        unlimited = search_plans(
            strategy.linearisation,
            regions.take(some),
            start[some],
            slack[some] if rules_hold else np.full_like(slack[some], NO_RULE),
            Goals(strategy.parameters, levels[some], np.full(len(some), strategy.floor), margin, shrinkage),
            n_options=1,
            diversity_weight=0.0,
            multipliers=np.ones((1, len(strategy.space.columns))),
            cap=len(strategy.space.columns),
            n_jobs=run.n_jobs,
            deadline=run.deadline,
        )
        outcomes[some] = unlimited.outcomes
        met = np.flatnonzero(unlimited.outcomes == Outcome.MET)
        here = applicants.take(some[met])
        rows = write_rows(strategy.space, here.table, here.regions, np.arange(len(met)), unlimited.options[met, 0])
        violations = strategy.schema.find_violations(here.table.frame, rows.frame)
        sentences[some[met]] = [_sentence(of_one) for of_one in violations]
    return [NOT_FOUND.get(outcomes[i], "") or str(sentences[i]) for i in range(len(applicants))]


def _at_the_surest_rows(strategy: Linear, applicants: Applicants, plans: FoundPlans) -> tuple[Regions, Array, Array]:
    """Regions, encoded rows and slack of the applicants, had they taken up their surest rows and had no limits."""
    space, regions = strategy.space, applicants.regions
    start = relaxed_rows(strategy.linearisation, regions, applicants.encoded, plans.surest)
    released = standing_at(space, read_regions(space, applicants.table, released=True), plans.surest)
    slack = space.slack_after(applicants.slack, regions.own, plans.surest)
    return keeping(released, released.kinds > 0.0), start, slack


def _sentence(violations: list[Violation]) -> str:
    # The schema's judge says what is wrong with a row; seen from here, that is what would have to be allowed.
    blocking = "; ".join(violation.sentence("would have to be") for violation in violations)
    return f"Blocking constraints: {blocking or 'none was identified'}"
