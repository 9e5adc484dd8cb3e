"""Correction of external plans: options are moved until they are good enough, and delivered as real rows.

For models that are linear in the columns, an encoded point is corrected and the nearest real row delivered; for any
other model, a search from the option finds the nearest row that is good enough.
"""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.progress import stage
from copa._core.reading import read_count, read_number, read_word
from copa._core.representation import short_repr
from copa._core.words import ERROR, INFEASIBLE, METHODS, OK, TIME_LIMIT
from copa.data.tables.frames import as_backend, with_columns
from copa.planner.audit import Audit, ReadablePlans, audit_plans
from copa.planner.plan import deliver, reasons_against
from copa.planner.search.arguments import FoundRows, Outcome, Regions
from copa.planner.search.neighbourhood import rows_within
from copa.planner.search.problem import ActionSpace
from copa.planner.search.regions import keeping, read_regions, standing_at
from copa.planner.search.rows import make_room, overwritten, relaxed_rows, write_rows
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.exploration import enough_for_each, level_of_each
from copa.planner.strategies.linear import Linear
from copa.planner.strategies.options import Flags
from copa.planner.strategies.weighted import relaxed_box
from copa.plans import PlanBatch, PlanRequest
from copa.plans.cost import unit_of_effort
from copa.plans.external import ExternalPlans
from copa.theory.corrections import mahalanobis_correction, requirement_correction

if TYPE_CHECKING:
    import pandas as pd

POINT_ROUNDING = 1e-9  # of a score
BATCH_SIZE = 128  # plans that are corrected at once; then the clock is looked at
# Shares of a correction that are tried, one after the other, where the nearest real row is beyond the budget.
SHARES = (0.75, 0.5, 0.25)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Correction:
    """Method of a correction and its limits, as `RecoursePlanner.correct` documents them.

    The budget of "mahalanobis" includes the way to a real row. It holds for options of a plan that is allowed and
    accepted as given; those of another plan go on to the nearest row that is, however far.
    """

    method: str
    budget: float
    margin: float
    n_corrections: int | None

    @classmethod
    def read(cls, method: Any, budget: Any, margin: Any, n_corrections: Any) -> "Correction":
        """Check the arguments of a caller."""
        return cls(
            read_word(method, METHODS, "method"),
            read_number(budget, "budget"),
            read_number(margin, "margin"),
            None if n_corrections is None else read_count(n_corrections, "n_corrections"),
        )


@dataclass(frozen=True, eq=False)
class CorrectedPlans:
    """Plans before and after a correction; both are about real rows.

    Attributes
    ----------
    before, after : PlanBatch
        Of the same applicants.
    moved : ndarray of shape (M,)
        Distance by which each given option was moved, in the model's encoded units (Euclidean), or in units of effort
        for a black box; 0 where it was left out.
    left_out : ndarray of bool of shape (M,)
        Given options that are not in `after`: the schema or today's model refuses them, and they were not or could not
        be moved.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> data = copa.datasets.load_german()
    >>> numbers = data.features[[feature.name for feature in data.schema.features if feature.is_numeric]]
    >>> model = LogisticRegression(max_iter=2000).fit(numbers, data.favourable)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, n_options=2, guarantee=0.7, later_models=later)
    >>> _ = planner.fit(numbers, data.favourable)
    >>> declined = numbers[~model.predict(numbers)].head(2)
    >>> weak = planner.with_wishes(copa.Wishes(guarantee=0.2))
    >>> corrected = planner.correct(weak.plan(declined))
    >>> corrected.before.status.tolist(), corrected.after.status.tolist()
    (['fragile', 'fragile'], ['ok', 'ok'])
    """

    __repr__ = short_repr

    before: PlanBatch
    after: PlanBatch
    moved: Array
    left_out: Flags

    def summary(self) -> Any:
        """Return one row per applicant: guarantees before and after, and the mean distance that its options moved."""
        import pandas as pd

        n = len(self.before)
        moved = np.bincount(self.before.owner, weights=self.moved, minlength=n) / np.maximum(self.after.counts, 1)
        table = pd.DataFrame(
            {
                "applicant": self.before.applicants.index,
                "status_before": self.before.status,
                "status_after": self.after.status,
                "all_before": self.before.lower,
                "all_after": self.after.lower,
                "any_before": self.before.any_lower,
                "any_after": self.after.any_lower,
                "moved": moved,
                "left_out": self.before.counts - self.after.counts,
            }
        )
        return as_backend(table, self.before.backend)


def correct_plans(
    strategy: Strategy,
    given: ExternalPlans,
    correction: Correction,
    request: PlanRequest,
    run: Execution,
) -> CorrectedPlans:
    """Repair external plans.

    An option stays as it was given where it may not move (`n_corrections`), where the time limit ends before its turn,
    and where nothing that is allowed is accepted today. It is left out if the schema or the model refuses it then.
    """
    strategy.require_method(correction.method)
    with stage("checking the plans as they are"):
        readable = ReadablePlans.read(strategy, given)
    audit = audit_plans(strategy, readable, request, run.n_jobs)
    before = audit.batch
    with_options, owner = np.unique(readable.owner, return_inverse=True)  # these applicants' own rows are good
    owner = owner.astype(np.int64)
    checked = readable.applicants
    places = np.searchsorted(checked.good, with_options)
    applicants = strategy.read_applicants(checked.rows.take(places), checked.encoded[places])
    moving = _breaking_first(before.owner, before.option_weights, correction.n_corrections)
    if correction.method == "level":  # a plan at the guarantee stays, whatever some option has by itself
        moving &= (before.status != OK)[before.owner]
    searched, reached = strategy, before.option_lower
    if request.expected:
        searched = strategy.expecting()
        b = before.reliability[before.owner]
        points = searched.deducted(before.points, None if np.isnan(b).all() else b)
        reached = searched.ambiguity(readable.n_options).option_guarantees(points)
    if isinstance(searched, Linear):
        sound = (before.status != INFEASIBLE)[before.owner]
        points = searched.encoded(before.points)
        task = PointCorrection(searched, applicants, owner, points, correction, request, run)
        found = task.rows(sound)
    else:
        least = np.where(audit.sound, reached, -1.0)
        found = search_from_options(searched, readable.rows.frame, applicants, owner, least, moving, request, run)
    flags = moving & (found.outcomes < Outcome.UNREACHABLE)
    with stage("writing the corrected rows"):
        rows = write_rows(strategy.space, applicants.table, applicants.regions, owner[flags], found.rows[flags]).frame
    good = strategy.schema.obeys(applicants.origins, rows, owner[flags]) & strategy.model.accepts(rows)
    flags[flags] = good
    corrected = _with_rows(strategy, readable, flags, rows[good])
    result = audit_plans(strategy, corrected, request, run.n_jobs)
    if correction.method != "level":  # the given plan stays where rounding to real rows has taken the gain away
        better = (before.status == INFEASIBLE) | (result.batch.lower >= before.lower)
        if not better.all():
            flags = better[before.owner]
            corrected = _with_rows(strategy, readable, flags, corrected.rows.frame[flags])
            result = audit_plans(strategy, corrected, request, run.n_jobs)
    after, kept = _without_refused(strategy, corrected, result, request, run.n_jobs)
    after = _with_late_ones(after, before.owner, moving & (found.outcomes == Outcome.TIMED_OUT))
    moved = np.zeros(len(kept))
    both = strategy.encoded(before.points[kept]), strategy.encoded(after.points)
    moved[kept] = strategy.changes(before.options[kept], after.options, both)
    return CorrectedPlans(before, _with_reasons(strategy, after, corrected, kept), moved, ~kept)


def _breaking_first(owner: Indices, weights: Array, n_corrections: int | None) -> Flags:
    """Flag the options that break first, (M,): `n_corrections` of each plan, or all of them, by their weights (M,)."""
    if n_corrections is None:
        return np.ones(len(owner), dtype=bool)
    order = np.lexsort((-weights, owner))
    marked = np.zeros(len(owner), dtype=bool)
    marked[order] = np.arange(len(owner)) - np.searchsorted(owner, owner) < n_corrections
    return marked


def _with_rows(strategy: Strategy, given: ReadablePlans, flags: Flags, rows: "pd.DataFrame") -> ReadablePlans:
    """Return the plans with other rows in place of the options flagged."""
    if flags.all():
        return given.with_options(rows)
    options = make_room(strategy.space, given.rows).frame
    columns = {name: overwritten(options[name], flags, rows[name]) for name in options.columns}
    return given.with_options(with_columns(options, columns))


def _without_refused(
    strategy: Strategy, corrected: ReadablePlans, audit: Audit, request: PlanRequest, n_jobs: int | None
) -> tuple[PlanBatch, Flags]:
    """Return the corrected plans without options that the schema or the model refuses, and flags (M,) of those left."""
    kept = np.ones(len(audit.sound), dtype=bool)
    while not audit.sound.all():  # until the model accepts, among the rows that leave, all of them
        kept[kept] = audit.sound
        left = corrected.with_options(corrected.rows.frame[kept].reset_index(drop=True), kept)
        audit = audit_plans(strategy, left, request, n_jobs)
    return audit.batch, kept


def _with_late_ones(after: PlanBatch, owner: Indices, late: Flags) -> PlanBatch:
    """Give applicants the status "time_limit" where the turn of some of their options, flagged (M,), did not come."""
    status, message = after.status.astype(object), after.message.copy()
    edges = np.searchsorted(owner, np.arange(len(after) + 1)).tolist()
    for i in np.unique(owner[late]).tolist():
        if status[i] in (OK, ERROR):
            continue
        names = [f"option {k + 1}" for k in np.flatnonzero(late[edges[i] : edges[i + 1]]).tolist()]
        which = f"{', '.join(names)} could be corrected; what is allowed stays as it was given"
        status[i], message[i] = TIME_LIMIT, f"the time limit ended before {which}: {message[i]}"
    return replace(after, status=status, message=message)


def _with_reasons(strategy: Strategy, after: PlanBatch, corrected: ReadablePlans, kept: Flags) -> PlanBatch:
    """Add to the messages which options are left out, and why."""
    if kept.all():
        return after
    message = after.message.copy()
    refused = np.flatnonzero(~kept)
    owner = corrected.owner[refused]
    numbers = refused - np.searchsorted(corrected.owner, owner) + 1
    against = reasons_against(strategy, corrected.origins.frame.iloc[owner], corrected.rows.frame.iloc[refused])
    for i, number, reason in zip(owner.tolist(), numbers.tolist(), against, strict=True):
        left_out = f"given option {number} is left out: {reason}"
        message[i] = f"{message[i]}; {left_out}" if message[i] else left_out
    return replace(after, message=message)


@dataclass(frozen=True, eq=False)
class PointCorrection:
    """Correction of M encoded options, for a model that is linear in the columns."""

    strategy: Linear
    applicants: Applicants
    owner: Indices  # (M,), ascending
    points: Array  # (M, D)
    correction: Correction
    request: PlanRequest
    run: Execution

    def rows(self, sound: Flags) -> FoundRows:
        """Return a row for each option; the budget holds for those of plans that are `sound` (M,) as given."""
        targets, late = self._targets()
        method, everyone = self.correction.method, np.arange(len(self.owner))
        levels = np.full(len(self.owner), -1.0)
        if method == "level":
            levels = enough_for_each(self.request, np.bincount(self.owner)[self.owner])
        margin = self.correction.margin if method == "requirement" else -np.inf
        found = self._nearest(everyone, targets, levels=levels, margin=margin)
        short = np.flatnonzero(found.outcomes == Outcome.UNREACHABLE)
        if method == "requirement" and len(short):  # as near to the margin as they can come
            found.put(short, self._nearest(short, targets[short]))
        elif self.request.guarantee_for == "all" and method == "level" and len(short):  # at least each by itself
            levels = np.full(len(short), self.request.guarantee)
            found.put(short, self._nearest(short, targets[short], levels=levels))
        if method == "mahalanobis":
            self._keep_to_budget(targets, found, np.where(sound, self.correction.budget, np.inf))
        found.outcomes[late] = Outcome.TIMED_OUT
        return found

    def _nearest(self, which: Indices, targets: Array, **goal: Any) -> FoundRows:
        """Return the allowed and accepted rows nearest to the targets of some options."""
        return self.strategy.nearest_rows(self.applicants, self.owner[which], targets, self.run, **goal)

    def _targets(self) -> tuple[Array, Flags]:
        """Correct the points within each applicant's box, (M, D), and flag those whose turn did not come, (M,)."""
        targets, late = self.points.copy(), np.zeros(len(self.points), dtype=bool)
        if self.correction.method == "level":  # what is asked for is asked of the rows
            return targets, late
        lower, upper = relaxed_box(self.strategy.linearisation, self.applicants)
        counts = np.bincount(self.owner, minlength=len(self.applicants))
        alike = [np.flatnonzero(counts == size) for size in np.unique(counts[counts > 0]).tolist()]
        batches = [some[first : first + BATCH_SIZE] for some in alike for first in range(0, len(some), BATCH_SIZE)]
        with stage("moving options", sum(map(len, alike)), "plans") as advance:
            for whose in batches:
                size = int(counts[whose[0]])
                rows = np.searchsorted(self.owner, whose)[:, None] + np.arange(size)
                if perf_counter() > self.run.deadline:
                    late[rows] = True
                    continue
                box = {"lower": lower[whose], "upper": upper[whose]}
                plans = np.clip(self.points[rows], lower[whose][:, None], upper[whose][:, None])
                targets[rows] = self._corrected(plans, box)
                advance(len(whose))
        return targets, late

    def _corrected(self, plans: Array, box: dict[str, Any]) -> Array:
        """Correct plans (N, J, D)."""
        ambiguity, n_corrections = self.strategy.parameters, self.correction.n_corrections
        if self.correction.method == "requirement":
            return _required_scores(plans, ambiguity.mean, self.correction.margin, box)
        return mahalanobis_correction(
            plans,
            ambiguity=ambiguity,
            budget=self.correction.budget,
            n_corrections=None if n_corrections is None else min(n_corrections, plans.shape[1]),
            n_jobs=self.run.n_jobs,
            **box,
        )

    def _keep_to_budget(self, targets: Array, found: FoundRows, budgets: Array) -> None:
        """Move options less far, or not at all, whose nearest real rows are beyond their budgets (M,); in place."""
        for share in SHARES:
            far = self._beyond(found, budgets)
            if len(far) == 0:
                return
            found.put(far, self._nearest(far, self.points[far] + share * (targets[far] - self.points[far])))
        found.outcomes[self._beyond(found, budgets)] = Outcome.UNREACHABLE

    def _beyond(self, found: FoundRows, budgets: Array) -> Indices:
        """Return positions of options whose rows are beyond their budgets."""
        regions, encoded = self.applicants.regions.take(self.owner), self.applicants.encoded[self.owner]
        rows = relaxed_rows(self.strategy.linearisation, regions, encoded, found.rows)
        length = np.linalg.norm(rows - self.points, axis=1)
        return np.flatnonzero((found.outcomes < Outcome.UNREACHABLE) & (length > budgets + ROUNDING * (1.0 + budgets)))


def _required_scores(plans: Array, mean: Array, margin: float, box: dict[str, Array]) -> Array:
    """Correct plans to the highest margin up to the given one that all their options can reach; others stay."""
    high = np.where(mean > 0.0, box["upper"], box["lower"])
    reachable = np.minimum(margin, (high * mean).sum(axis=1))
    result = plans.copy()
    for i in np.flatnonzero(reachable >= POINT_ROUNDING).tolist():
        limits = {name: bound[i] for name, bound in box.items()}
        result[i] = requirement_correction(plans[i], mean, margin=float(reachable[i] - POINT_ROUNDING), **limits)
    return result


def search_from_options(
    strategy: Strategy,
    options: "pd.DataFrame",
    applicants: Applicants,
    owner: Indices,
    least: Array,
    moving: Flags,
    request: PlanRequest,
    run: Execution,
) -> FoundRows:
    """Find the row of least effort that is good enough, from every option that may move and is not.

    `least` (M,) is the guarantee of each option, -1 where the schema or the model refuses it. Where the guarantee asked
    for is out of reach, the cheapest of the rows with the highest one is taken, if that is above `least`.
    """
    outcomes = np.full(len(owner), Outcome.UNREACHABLE, dtype=np.int64)
    result = FoundRows(outcomes, applicants.regions.own[owner], np.zeros(len(owner)))
    sizes = np.bincount(owner)[owner]
    wanting = np.flatnonzero(moving & (least < enough_for_each(request, sizes)))
    request = replace(request, n_options=int(sizes.max(initial=1)))
    # A cap on changes counts from the applicant, the search from the option: it may ask for too many. Then it has to do
    # with the columns that the option changes already.
    for no_more in (False,) if strategy.schema.max_changes is None else (False, True):
        if len(wanting):
            starts = _at_options(strategy, options, applicants, owner, no_more=no_more).take(wanting)
            _search(strategy, starts, wanting, least, request, run, result)
        wanting = wanting[result.outcomes[wanting] == Outcome.UNREACHABLE]
    return result


def _at_options(
    strategy: Strategy, options: "pd.DataFrame", applicants: Applicants, owner: Indices, *, no_more: bool
) -> Applicants:
    """Return applicants whose search begins at the allowed rows nearest to the options, with their own limits.

    With `no_more`, only columns may change that the option changes already, so that a cap on changes holds.
    """
    space, regions = strategy.space, applicants.regions.take(owner)
    rows = rows_within(space, regions, read_regions(space, options).own)
    if no_more:
        regions = _without_new_columns(space, regions, rows)
        rows = rows_within(space, regions, rows)
    table = write_rows(space, applicants.table, applicants.regions, owner, rows)
    origins = applicants.origins.take(owner)
    return Applicants(table, origins, standing_at(space, regions, rows), strategy.start(table), space.slack(table))


def _search(
    strategy: Strategy,
    starts: Applicants,
    whose: Indices,
    least: Array,
    request: PlanRequest,
    run: Execution,
    result: FoundRows,
) -> None:
    """Search from some options, and put into the result rows whose guarantees are above `least` (M,)."""
    alone = replace(request, guarantee=level_of_each(request), n_options=1, guarantee_for="each")
    with stage("searching from options", len(starts), "options") as advance:
        found = strategy.build(starts, alone, replace(run, progress=advance))
    delivered = deliver(strategy, starts.origins, found.options, alone, run.n_jobs)
    result.outcomes[whose[found.plans.outcomes == Outcome.TIMED_OUT]] = Outcome.TIMED_OUT
    owner = delivered.options.owner
    rows = whose[owner]
    taken = delivered.bounds.option_lower > least[rows]
    result.rows[rows[taken]] = found.plans.options[owner[taken], 0]
    result.outcomes[rows[taken]] = found.plans.outcomes[owner[taken]]


def _without_new_columns(space: ActionSpace, regions: Regions, rows: Array) -> Regions:
    """Return limits that hold all columns but the largest changes of each row, as many as may change."""
    own, n = regions.own, len(space.numeric)
    units = np.array([unit_of_effort(feature) for feature in space.numeric])
    sizes = np.hstack([np.abs(rows - own)[:, :n] / units, (rows != own)[:, n:].astype(np.float64)])
    rank = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1, kind="stable")
    held = (rank >= space.cap) | (sizes == 0.0)
    allowed = regions.allowed.copy()
    for f, _ in space.level_columns:
        levels = space.levels(f)
        allowed[:, levels] &= ~held[:, [f]] | (own[:, [f]] == levels)
    return keeping(regions, held[:, :n])._replace(allowed=allowed)
