"""Plans that someone else made: what they are worth, and how to repair them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from copa.adapters import GivenPlans
from copa.arrays import Array, Indices
from copa.exceptions import InvalidInputError
from copa.planner.audits import audit_plans, in_order, readable
from copa.planner.black_boxes.lime import LimePlanner
from copa.planner.black_boxes.state import BlackBoxPlanner
from copa.planner.corrected_points import Correction, Flags, corrected_points, may_move
from copa.planner.corrected_rows import Build, changes_between, search_from_options
from copa.planner.delivery import Applicants
from copa.planner.fitted import Fitted, FittedPlanner
from copa.planner.judge import passing, reasons_against
from copa.planner.relaxed import nearest_to
from copa.planner.request import Request
from copa.planner.statuses import ERROR, INFEASIBLE, OK, TIME_LIMIT
from copa.planner.tries.selection import enough_for_each
from copa.planning.menus import TIMED_OUT, UNREACHABLE
from copa.planning.nearest import NearestRows
from copa.planning.rows import make_room, overwritten, relaxed_rows, write_rows
from copa.plans import PlanBatch, PlanTerms

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CorrectedPlans", "Correction", "as_large_as", "audit_plans", "correct_plans"]

# Shares of a correction that are tried, one after the other, where the nearest real row is beyond the budget.
SHARES = (0.75, 0.5, 0.25)
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CorrectedPlans:
    """Plans before and after a correction; both are about real rows.

    Attributes
    ----------
    before, after : PlanBatch of the same applicants
    moved : (M,) how far each given option was moved, in the model's encoded units (Euclidean); where the model is only
        asked, in units of effort; 0 where it was left out
    left_out : (M,) given options that are not in `after`: the schema or today's model refuses them, and they were not
        or could not be moved
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
    fitted: Fitted,
    given: GivenPlans,
    request: Request,
    terms: PlanTerms,
    correction: Correction,
    build: Build,
) -> CorrectedPlans:
    """Repair the options of a table: a correction in the encoded space, delivered as the nearest real rows.

    Where the model is not linear in the columns there is no such space, and a search begins at each option instead. An
    option stays as it was given where it may not move (`n_corrections`), where the time limit ends before its turn,
    and where nothing that is allowed is accepted today. If the schema or the model refuses it as it is, it is left out.

    Parameters
    ----------
    build : builds the menus of a model that is not linear in the columns
    """
    straight = fitted if isinstance(fitted, FittedPlanner) and not fitted.curved else None
    if straight is None and correction.method != "level":
        raise InvalidInputError(
            f"method={correction.method!r} moves options along the straight lines of a model that is linear in the "
            "columns, and this one is not; method='level' searches from each option for a row that keeps the promise"
        )
    given, complaints = readable(fitted, in_order(given))
    before = audit_plans(fitted, given, request, terms, complaints)
    people, owner = np.unique(given.owner, return_inverse=True)  # those with options, whose own rows are good
    applicants = Applicants.read(fitted, given.factuals.iloc[people])
    owner = owner.astype(np.int64)
    moving = may_move(before.owner, before.option_weights, correction.n_corrections)
    if correction.method == "level":  # a plan that holds as asked stays, though some option may not by itself
        moving &= (before.status != OK)[before.owner]
    if straight is not None:
        found = _rows_found(straight, applicants, owner, before, correction, request)
    else:
        found = search_from_options(fitted, given, applicants, owner, before, moving, build, request)
    flags = moving & (found.outcomes < UNREACHABLE)
    rows = write_rows(
        fitted.space, applicants.table, applicants.places, owner[flags], found.values[flags], found.atoms[flags]
    )
    good = passing(fitted, applicants, owner[flags], rows)
    flags[flags] = good
    corrected = _with_rows(fitted, given, flags, rows[good])
    if correction.method != "level":
        corrected = _kept_where_worse(fitted, given, corrected, before, request, terms)
    after, kept, reasons = _without_refused(fitted, corrected, request, terms, complaints)
    after = _with_late_ones(after, before.owner, moving & (found.outcomes == TIMED_OUT))
    return CorrectedPlans(before, _with_reasons(after, reasons), _distances(fitted, before, after, kept), ~kept)


def as_large_as(fitted: Fitted, given: GivenPlans) -> Fitted:
    """The planner for menus of as many options as the given ones have."""
    if isinstance(fitted, LimePlanner):
        raise InvalidInputError(
            "surrogate='lime' has a stand-in for each applicant it plans for, none to judge other plans by"
        )
    return fitted.resized(int(np.bincount(given.owner, minlength=1).max()))


def _distances(fitted: Fitted, before: PlanBatch, after: PlanBatch, kept: Flags) -> Array:
    """How far each option was moved, (M,); 0 for those that are not kept."""
    moved = np.zeros(len(kept))
    if isinstance(fitted, BlackBoxPlanner):  # whose points are what the models say of rows, not the rows
        moved[kept] = changes_between(fitted.schema, before.options[kept], after.options)
    else:
        moved[kept] = np.linalg.norm(after.points - before.points[kept], axis=1)
    return moved


def _rows_found(
    fitted: FittedPlanner,
    applicants: Applicants,
    owner: Indices,
    before: PlanBatch,
    correction: Correction,
    request: Request,
) -> NearestRows:
    """The rows that the correction leads to, one for each option."""
    targets, late = corrected_points(fitted, applicants, owner, before.points, correction, request)
    levels = np.full(len(owner), -1.0)
    if correction.method == "level":
        levels = enough_for_each(request, np.bincount(owner, minlength=len(applicants))[owner])
    margin = correction.margin if correction.method == "requirement" else -np.inf
    found = nearest_to(fitted, applicants, owner, targets, request, levels=levels, margin=margin)
    short = np.flatnonzero(found.outcomes == UNREACHABLE)
    if correction.method == "requirement" and len(short):  # as near to the margin as they can come
        found.put(short, nearest_to(fitted, applicants, owner[short], targets[short], request))
    elif request.guarantee_for == "all" and correction.method == "level" and len(short):  # at least each by itself
        levels = np.full(len(short), request.guarantee)
        found.put(short, nearest_to(fitted, applicants, owner[short], targets[short], request, levels=levels))
    if correction.has_budget:
        _keep_to_budget(fitted, applicants, owner, before, targets, found, correction.budget, request)
    found.outcomes[late] = TIMED_OUT
    return found


def _keep_to_budget(
    fitted: FittedPlanner,
    applicants: Applicants,
    owner: Indices,
    before: PlanBatch,
    targets: Array,
    found: NearestRows,
    budget: float,
    request: Request,
) -> None:
    """Where the real row nearest to a corrected option is beyond the budget, go less far; as a last resort, stay.

    Options of plans that ask for what is not allowed, or are refused today, are let go: they have to move anyway.
    """
    sound = (before.status != INFEASIBLE)[before.owner]

    def beyond() -> Indices:
        rows = relaxed_rows(fitted.space, applicants.places, applicants.encoded, owner, found.values, found.atoms)
        length = np.linalg.norm(rows - before.points, axis=1)
        return np.flatnonzero(sound & (found.outcomes < UNREACHABLE) & (length > budget + ROUNDING * (1.0 + budget)))

    for share in SHARES:
        far = beyond()
        if len(far) == 0:
            return
        nearer = before.points[far] + share * (targets[far] - before.points[far])
        found.put(far, nearest_to(fitted, applicants, owner[far], nearer, request))
    found.outcomes[beyond()] = UNREACHABLE


def _with_rows(fitted: Fitted, given: GivenPlans, flags: Flags, rows: "pd.DataFrame") -> GivenPlans:
    """The plans with other rows where the flags are."""
    if flags.all():
        return GivenPlans(given.factuals, rows, given.owner)
    options = make_room(fitted.space, given.options)
    columns = {name: overwritten(options[name], flags, rows[name]) for name in options.columns}
    return GivenPlans(given.factuals, options.assign(**columns), given.owner)


def _kept_where_worse(
    fitted: Fitted,
    given: GivenPlans,
    corrected: GivenPlans,
    before: PlanBatch,
    request: Request,
    terms: PlanTerms,
) -> GivenPlans:
    """The corrected plans, but the given ones where rounding to real rows has taken the gain away."""
    after = audit_plans(fitted, corrected, request, terms)
    better = (before.status == INFEASIBLE) | (after.lower >= before.lower)
    flags = better[given.owner]
    return _with_rows(fitted, given, flags, corrected.options[flags])


def _without_refused(
    fitted: Fitted, corrected: GivenPlans, request: Request, terms: PlanTerms, complaints: dict[int, str]
) -> tuple[PlanBatch, Flags, dict[int, list[str]]]:
    """Audit the corrected plans without the options that the schema or the model refuses.

    Returns
    -------
    after : PlanBatch
    kept : (M,) the options that are in it
    reasons : of applicants with others, which these are and why
    """
    kept = np.ones(len(corrected.owner), dtype=bool)
    while True:  # until the model accepts, among the rows that leave, all of them
        left = GivenPlans(corrected.factuals, corrected.options[kept].reset_index(drop=True), corrected.owner[kept])
        after = audit_plans(fitted, left, request, terms, complaints)
        good = after.accepted & fitted.schema.obeys(left.factuals.iloc[left.owner], left.options)
        if good.all():
            break
        kept[kept] = good
    reasons: dict[int, list[str]] = {}
    refused = np.flatnonzero(~kept)
    owner = corrected.owner[refused]
    against = reasons_against(fitted, corrected.factuals.iloc[owner], corrected.options.iloc[refused])
    numbers = refused - np.searchsorted(corrected.owner, owner) + 1
    for i, number, reason in zip(owner.tolist(), numbers.tolist(), against, strict=True):
        reasons.setdefault(i, []).append(f"given option {number} is left out: {reason}")
    return after, kept, reasons


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


def _with_reasons(after: PlanBatch, reasons: dict[int, list[str]]) -> PlanBatch:
    """The batch, in which the messages say what was left out."""
    message = after.message.copy()
    for i, whats in reasons.items():
        message[i] = "; ".join([message[i], *whats] if message[i] else whats)
    return replace(after, message=message)
