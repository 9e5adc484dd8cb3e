"""Corrections of plans that someone else made."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.words import ERROR, INFEASIBLE, OK, TIME_LIMIT
from copa.external import ExternalPlans
from copa.planner.audit import Audit, ReadablePlans, audit_plans
from copa.planner.corrected_rows import Correction, PointCorrection, search_from_options
from copa.planner.plan import reasons_against
from copa.planner.settings import Execution
from copa.planner.strategies.base import Applicants, Flags, Strategy
from copa.plans import PlanBatch, PlanRequest
from copa.search._kernels.arguments import Outcome
from copa.search.rows import make_room, overwritten, write_rows

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CorrectedPlans:
    """Plans before and after a correction; both are about real rows.

    Attributes
    ----------
    before, after : PlanBatch
        Of the same applicants.
    moved : ndarray of shape (M,)
        How far each given option was moved, in the model's encoded units (Euclidean), of a black box in units of
        effort; 0 where it was left out.
    left_out : ndarray of shape (M,)
        Given options that are not in `after`: the schema or today's model refuses them, and they were not or could not
        be moved.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> data = copa.datasets.load_german()
    >>> numbers = data.features[[feature.name for feature in data.schema.features if feature.is_numeric]]
    >>> model = LogisticRegression(max_iter=2000).fit(numbers, data.favourable)
    >>> planner = copa.RecoursePlanner(model, n_options=2, n_models=50, guarantee=0.7).fit(numbers, data.favourable)
    >>> declined = numbers[~model.predict(numbers)].head(2)
    >>> weak = copa.RecoursePlanner(model, n_options=2, n_models=50, guarantee=0.2).fit(numbers, data.favourable)
    >>> corrected = planner.correct(weak.plan(declined))
    >>> corrected.before.status.tolist(), corrected.after.status.tolist()
    (['fragile', 'fragile'], ['ok', 'ok'])
    """

    before: PlanBatch
    after: PlanBatch
    moved: Array
    left_out: Flags

    @property
    def lower_before(self) -> Array:
        """L* of every plan as given, (N,)."""
        return self.before.lower

    @property
    def lower_after(self) -> Array:
        """L* of every plan after the correction, (N,)."""
        return self.after.lower

    def summary(self) -> "pd.DataFrame":
        """One row per applicant: guarantees before and after, how far the options that are left moved on average."""
        import pandas as pd

        n = len(self.before)
        moved = np.bincount(self.before.owner, weights=self.moved, minlength=n) / np.maximum(self.after.counts, 1)
        return pd.DataFrame(
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


def correct_plans(
    strategy: Strategy,
    given: ExternalPlans,
    correction: Correction,
    request: PlanRequest,
    run: Execution,
) -> CorrectedPlans:
    """Repair the options of a table: a correction in the encoded space, delivered as the nearest real rows.

    Where the model is not linear in the columns there is no such space, and a search begins at each option instead. An
    option stays as it was given where it may not move (`n_corrections`), where the time limit ends before its turn,
    and where nothing that is allowed is accepted today. If the schema or the model refuses it as it is, it is left out.
    """
    strategy.require_method(correction.method)
    readable = ReadablePlans.read(strategy, given)
    audit = audit_plans(strategy, readable, request, run.n_jobs)
    before, plans = audit.batch, readable.plans
    people, owner = np.unique(plans.owner, return_inverse=True)  # those with options, whose own rows are good
    owner = owner.astype(np.int64)
    applicants = Applicants.read(strategy, plans.factuals.iloc[people], readable.encoded_applicants[people])
    moving = may_move(before.owner, before.option_weights, correction.n_corrections)
    if correction.method == "level":  # a plan that holds as asked stays, though some option may not by itself
        moving &= (before.status != OK)[before.owner]
    if strategy.additive:
        sound = (before.status != INFEASIBLE)[before.owner]
        task = PointCorrection(strategy, applicants, owner, before.points, correction, request, run)
        found = task.rows(sound)
    else:
        found = search_from_options(strategy, plans.options, applicants, owner, audit, moving, request, run)
    flags = moving & (found.outcomes < Outcome.UNREACHABLE)
    rows = write_rows(strategy.space, applicants.table, applicants.regions.own, owner[flags], found.rows[flags])
    good = strategy.schema.obeys(applicants.origins.iloc[owner[flags]], rows) & strategy.model.accepts(rows)
    flags[flags] = good
    corrected = _with_rows(strategy, readable, flags, rows[good])
    result = audit_plans(strategy, corrected, request, run.n_jobs)
    if correction.method != "level":  # the given plan stays where rounding to real rows has taken the gain away
        better = (before.status == INFEASIBLE) | (result.batch.lower >= before.lower)
        if not better.all():
            flags = better[before.owner]
            corrected = _with_rows(strategy, readable, flags, corrected.plans.options[flags])
            result = audit_plans(strategy, corrected, request, run.n_jobs)
    after, kept = _without_refused(strategy, corrected, result, request, run.n_jobs)
    after = _with_late_ones(after, before.owner, moving & (found.outcomes == Outcome.TIMED_OUT))
    moved = np.zeros(len(kept))
    moved[kept] = strategy.changes(before.options[kept], after.options, (before.points[kept], after.points))
    return CorrectedPlans(before, _with_reasons(strategy, after, corrected, kept), moved, ~kept)


def may_move(owner: Indices, weights: Array, n_corrections: int | None) -> Flags:
    """Mark the options of every plan that break first: those with the largest weights, the first of equal ones, (M,).

    Parameters
    ----------
    owner : (M,) ascending
    weights : (M,) mass of the worst distribution against each option
    """
    if n_corrections is None:
        return np.ones(len(owner), dtype=bool)
    order = np.lexsort((-weights, owner))
    marked = np.zeros(len(owner), dtype=bool)
    marked[order] = np.arange(len(owner)) - np.searchsorted(owner, owner) < n_corrections
    return marked


def _with_rows(strategy: Strategy, given: ReadablePlans, flags: Flags, rows: "pd.DataFrame") -> ReadablePlans:
    """The plans with other rows where the flags are."""
    if flags.all():
        return given.with_options(rows)
    options = make_room(strategy.space, given.plans.options)
    columns = {name: overwritten(options[name], flags, rows[name]) for name in options.columns}
    return given.with_options(options.assign(**columns))


def _without_refused(
    strategy: Strategy, corrected: ReadablePlans, audit: Audit, request: PlanRequest, n_jobs: int | None
) -> tuple[PlanBatch, Flags]:
    """The corrected plans without the options that the schema or the model refuses, and which are left, (M,)."""
    kept = np.ones(len(audit.sound), dtype=bool)
    while not audit.sound.all():  # until the model accepts, among the rows that leave, all of them
        kept[kept] = audit.sound
        left = corrected.with_options(corrected.plans.options[kept].reset_index(drop=True), kept)
        audit = audit_plans(strategy, left, request, n_jobs)
    return audit.batch, kept


def _with_late_ones(after: PlanBatch, owner: Indices, late: Flags) -> PlanBatch:
    """The batch, in which those say so for whom the time was too short and something is left to do.

    Parameters
    ----------
    owner, late : (M,) of the given options
    """
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
    """The batch, in which the messages say which options were left out, and why."""
    if kept.all():
        return after
    message = after.message.copy()
    refused = np.flatnonzero(~kept)
    owner = corrected.plans.owner[refused]
    numbers = refused - np.searchsorted(corrected.plans.owner, owner) + 1
    against = reasons_against(strategy, corrected.origins.iloc[refused], corrected.plans.options.iloc[refused])
    for i, number, reason in zip(owner.tolist(), numbers.tolist(), against, strict=True):
        left_out = f"given option {number} is left out: {reason}"
        message[i] = f"{message[i]}; {left_out}" if message[i] else left_out
    return replace(after, message=message)
