"""Plans that someone else made: what they are worth, and how to repair them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.reading import read_count, read_number, read_word
from copa._core.words import ERROR, INFEASIBLE, OK, TIME_LIMIT
from copa.corrections import improve_bound, mahalanobis_correction, requirement_correction
from copa.exceptions import InvalidInputError
from copa.external import ExternalPlans
from copa.planner.audit import audit_plans, in_order, readable
from copa.planner.deliver import Applicants, Construction, passing, reasons_against
from copa.planner.fitted import Fitted, FittedPlanner
from copa.planner.request import Request
from copa.planner.strategies.black_box_state import BlackBoxPlanner, local_space
from copa.planner.strategies.exploration import enough_for_each, level_of_each
from copa.planner.strategies.lime import LimePlanner
from copa.planner.strategies.weighted import nearest_to, relaxed_box
from copa.plans import PlanBatch, PlanTerms
from copa.schema import FeatureSchema
from copa.search.nearest import NearestRows
from copa.search.problem import ActionSpace, Places, unit_of_effort
from copa.search.rows import make_room, overwritten, relaxed_rows, write_rows
from copa.search.run import TIMED_OUT, UNREACHABLE
from copa.tables.steps import snap

if TYPE_CHECKING:
    import pandas as pd


METHODS = ("level", "requirement", "mahalanobis", "ascent")
POINT_ROUNDING = 1e-9  # of a score
TOGETHER = 128  # plans that are corrected at once; then the clock is looked at

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Correction:
    """What to do with given options.

    Attributes
    ----------
    method : one of METHODS
    budget : how far "mahalanobis" and "ascent" may move an option of a plan that is allowed and accepted as given, its
        way to a real row included; options of another plan go on to the nearest row that is, however far
    margin : mean score that "requirement" asks for
    n_corrections : how many options of a plan may move, those that break first; None for all
    """

    method: str
    budget: float
    margin: float
    n_corrections: int | None

    @classmethod
    def read(cls, method: Any, budget: Any, margin: Any, n_corrections: Any) -> "Correction":
        """Check what a caller asks for."""
        return cls(
            read_word(method, METHODS, "method"),
            read_number(budget, "budget"),
            read_number(margin, "margin"),
            None if n_corrections is None else read_count(n_corrections, "n_corrections"),
        )

    @property
    def has_budget(self) -> bool:
        """Whether the budget means something for the method."""
        return self.method in ("mahalanobis", "ascent")


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


def corrected_points(
    fitted: FittedPlanner,
    applicants: Applicants,
    owner: Indices,
    points: Array,
    correction: Correction,
    request: Request,
) -> tuple[Array, Flags]:
    """The options after a correction in the encoded space, inside what each applicant may do.

    Parameters
    ----------
    owner : (M,) position of the applicant of each option, ascending;  points : (M, D)

    Returns
    -------
    points : (M, D)
    late : (M,) options whose turn did not come within the time limit; their points are the given ones
    """
    result, late = points.copy(), np.zeros(len(points), dtype=bool)
    if correction.method == "level":  # what is asked for is asked of the rows
        return result, late
    lower, upper = relaxed_box(fitted.space, applicants)
    counts = np.bincount(owner, minlength=len(applicants))
    for size in np.unique(counts[counts > 0]).tolist():
        everyone = np.flatnonzero(counts == size)
        for first in range(0, len(everyone), TOGETHER):
            whose = everyone[first : first + TOGETHER]
            rows = np.searchsorted(owner, whose)[:, None] + np.arange(size)
            if perf_counter() > request.deadline:
                late[rows] = True
                continue
            box = {"lower": lower[whose], "upper": upper[whose]}
            plans = np.clip(points[rows], lower[whose][:, None], upper[whose][:, None])
            result[rows] = _corrected(fitted, plans, correction, box, request)
    return result, late


def _corrected(
    fitted: FittedPlanner, plans: Array, correction: Correction, box: dict[str, Array], request: Request
) -> Array:
    """Plans (N, J, D) after a correction."""
    ball = fitted.ball
    if correction.method == "requirement":
        return _required_scores(plans, ball.mean, correction.margin, box)
    correct = mahalanobis_correction if correction.method == "mahalanobis" else improve_bound
    limits: dict[str, Any] = box
    return correct(
        plans,
        ball.mean,
        ball.cov,
        radius=ball.radius,
        drift=ball.drift,
        budget=correction.budget,
        n_corrections=None if correction.n_corrections is None else min(correction.n_corrections, plans.shape[1]),
        n_jobs=request.n_jobs,
        **limits,
    )


def _required_scores(plans: Array, mean: Array, margin: float, box: dict[str, Array]) -> Array:
    """The requirement correction, at the highest margin up to the given one that every option of a plan can reach.

    Options that cannot reach a mean score of zero stay.
    """
    high = np.where(mean > 0.0, box["upper"], box["lower"])
    reachable = np.minimum(margin, (high * mean).sum(axis=1))
    result = plans.copy()
    for i in np.flatnonzero(reachable >= POINT_ROUNDING).tolist():
        limits = {name: bound[i] for name, bound in box.items()}
        result[i] = requirement_correction(plans[i], mean, margin=float(reachable[i] - POINT_ROUNDING), **limits)
    return result


RowFlags = npt.NDArray[np.bool_]
Build = Callable[[Any, Applicants, Request], Construction]  # each for the planners it is made for


def search_from_options(
    fitted: Fitted,
    given: ExternalPlans,
    applicants: Applicants,
    owner: Indices,
    before: PlanBatch,
    moving: RowFlags,
    build: Build,
    request: Request,
) -> NearestRows:
    """For every option that may move and is not good enough, the row with the least effort from there that is.

    Where the guarantee is out of reach, the cheapest of the surest rows found is taken if it is surer than the option
    was, or the option was not allowed or is refused today.

    Parameters
    ----------
    given : options of each applicant together;  owner : (M,) positions of theirs among `applicants`
    build : builds menus for the fitted planner
    """
    own = applicants.places.take(owner)
    result = NearestRows(np.full(len(owner), UNREACHABLE), own.values.copy(), own.atoms.copy(), np.zeros(len(owner)))
    sound = before.accepted & fitted.schema.obeys(given.factuals.iloc[given.owner], given.options)
    least = np.where(sound, before.option_lower, -1.0)
    sizes = np.bincount(owner)[owner]
    wanting = np.flatnonzero(moving & (least < enough_for_each(request, sizes)))
    request = replace(request, n_options=int(sizes.max(initial=1)))
    # A cap on changes counts from the applicant, the search from the option: it may ask for too many. Then it has to do
    # with the columns that the option changes already.
    for no_more in (False,) if fitted.schema.max_changes is None else (False, True):
        if len(wanting):
            starts = _at_options(fitted, given, applicants, owner, no_more=no_more).take(wanting)
            _search(fitted, starts, wanting, least, build, request, result)
        wanting = wanting[result.outcomes[wanting] == UNREACHABLE]
    return result


def _at_options(
    fitted: Fitted, given: ExternalPlans, applicants: Applicants, owner: Indices, *, no_more: bool
) -> Applicants:
    """People who stand at the options, or at the allowed rows nearest to them, and may go where the applicants may.

    Parameters
    ----------
    no_more : whether no column may change that the option does not change already: then a cap on changes holds
    """
    space, own = fitted.space, applicants.places.take(owner)
    rows = Places.read(space, given.options)
    values, atoms = _allowed(space, own, rows.values, rows.atoms)
    if no_more:
        own = _without_new_columns(space, own, values, atoms)
        values, atoms = _allowed(space, own, values, atoms)
    table = write_rows(space, applicants.table, applicants.places, owner, values, atoms)
    places = replace(own, values=values, atoms=atoms)
    return Applicants(table, applicants.origins.iloc[owner], places, fitted.start(table), space.slack(table))


def _search(
    fitted: Fitted,
    starts: Applicants,
    whose: Indices,
    least: Array,
    build: Build,
    request: Request,
    result: NearestRows,
) -> None:
    """Search from some options, and put what is allowed and surer than `least` (M,) into the result."""
    level = level_of_each(request)
    alone = replace(request, guarantee=level, n_options=1, guarantee_for="each", progress=None)
    made = build(fitted.resized(1), starts, alone)
    result.outcomes[whose[made.menus.outcomes == TIMED_OUT]] = TIMED_OUT
    found = made.delivered.owner
    rows = whose[found]
    taken = made.bounds.option_lower > least[rows]
    for name in ("values", "atoms"):
        getattr(result, name)[rows[taken]] = getattr(made.menus, name)[found[taken], 0]
    result.outcomes[rows[taken]] = made.menus.outcomes[found[taken]]


def changes_between(schema: FeatureSchema, before: "pd.DataFrame", after: "pd.DataFrame") -> Array:
    """Distance of M rows from M others in units of effort, columns that may not change included, (M,)."""
    space = local_space(replace(schema, features=tuple(f.replace(immutable=False) for f in schema.features)), power=1)
    old, new = Places.read(space, before), Places.read(space, after)
    return space.effort(old, new.values[:, None], new.atoms[:, None])[:, 0]


def _allowed(space: ActionSpace, own: Places, values: Array, atoms: Indices) -> tuple[Array, Indices]:
    """Rows brought into the limits of their applicants, column by column."""
    inside = values.copy()
    for k, feature in enumerate(space.lines):
        if feature.step is not None:
            inside[:, k] = np.where(values[:, k] == own.values[:, k], values[:, k], snap(values[:, k], feature.step))
    inside = np.where(values == own.values, values, np.clip(inside, own.lower, own.upper))
    return inside, np.where(np.take_along_axis(own.allowed, atoms, axis=1), atoms, own.atoms)


def _without_new_columns(space: ActionSpace, own: Places, values: Array, atoms: Indices) -> Places:
    """Limits that hold all columns but the largest changes of each row, as many as may change."""
    units = np.array([unit_of_effort(feature) for feature in space.lines])
    sizes = np.hstack([np.abs(values - own.values) / units, (atoms != own.atoms).astype(np.float64)])
    rank = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1, kind="stable")
    held = (rank >= space.cap) | (sizes == 0.0)
    lines, choices = held[:, : len(space.lines)], held[:, len(space.lines) :]
    lower, upper = np.where(lines, own.values, own.lower), np.where(lines, own.values, own.upper)
    allowed = own.allowed.copy()
    for k in range(len(space.choices)):
        atoms_of = np.arange(space.ends[k], space.ends[k + 1])
        only_own = own.atoms[:, [k]] == atoms_of
        flags = allowed[:, atoms_of]
        allowed[:, atoms_of] = np.where(choices[:, [k]], flags & only_own, flags)
    return replace(own, lower=lower, upper=upper, allowed=allowed)


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
    given: ExternalPlans,
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


def as_large_as(fitted: Fitted, given: ExternalPlans) -> Fitted:
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


def _with_rows(fitted: Fitted, given: ExternalPlans, flags: Flags, rows: "pd.DataFrame") -> ExternalPlans:
    """The plans with other rows where the flags are."""
    if flags.all():
        return ExternalPlans(given.factuals, rows, given.owner)
    options = make_room(fitted.space, given.options)
    columns = {name: overwritten(options[name], flags, rows[name]) for name in options.columns}
    return ExternalPlans(given.factuals, options.assign(**columns), given.owner)


def _kept_where_worse(
    fitted: Fitted,
    given: ExternalPlans,
    corrected: ExternalPlans,
    before: PlanBatch,
    request: Request,
    terms: PlanTerms,
) -> ExternalPlans:
    """The corrected plans, but the given ones where rounding to real rows has taken the gain away."""
    after = audit_plans(fitted, corrected, request, terms)
    better = (before.status == INFEASIBLE) | (after.lower >= before.lower)
    flags = better[given.owner]
    return _with_rows(fitted, given, flags, corrected.options[flags])


def _without_refused(
    fitted: Fitted, corrected: ExternalPlans, request: Request, terms: PlanTerms, complaints: dict[int, str]
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
        left = ExternalPlans(corrected.factuals, corrected.options[kept].reset_index(drop=True), corrected.owner[kept])
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
