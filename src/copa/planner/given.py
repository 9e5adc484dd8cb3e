"""Plans that someone else made: what they are worth, and how to repair them."""

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.adapters import GivenPlans
from copa.arrays import Array, Indices
from copa.corrections import improve_bound, mahalanobis_correction, requirement_correction
from copa.planner.blocks import Verdicts, assemble, encodable
from copa.planner.construction import Construction, Request
from copa.planner.delivery import Applicants, Delivered, bound_options
from copa.planner.fitted import FittedPlanner
from copa.planner.relaxed import nearest_to, relaxed_box
from copa.planner.statuses import ERROR, FRAGILE, INFEASIBLE, OK
from copa.planning.actions import Places
from copa.planning.menus import UNREACHABLE, Menus
from copa.planning.rows import write_rows
from copa.plans import PlanBatch, PlanTerms

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("level", "requirement", "mahalanobis", "ascent")


@dataclass(frozen=True, eq=False)
class CorrectedPlans:
    """Plans before and after a correction; both are about real rows.

    Attributes
    ----------
    before, after : PlanBatch of the same applicants
    moved : (M,) how far each option was moved, in the model's encoded units (Euclidean)
    """

    before: PlanBatch
    after: PlanBatch
    moved: Array

    @property
    def lower_before(self) -> Array:
        """L* of every plan as given, (N,)."""
        return self.before.lower

    @property
    def lower_after(self) -> Array:
        """L* of every plan after the correction, (N,)."""
        return self.after.lower

    def summary(self) -> "pd.DataFrame":
        """One row per applicant: guarantees before and after, and how far the options moved on average."""
        import pandas as pd

        n = len(self.before)
        moved = np.bincount(self.before.owner, weights=self.moved, minlength=n) / np.maximum(self.before.counts, 1)
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
            }
        )


def audit_plans(
    fitted: FittedPlanner,
    given: GivenPlans,
    request: Request,
    terms: PlanTerms,
    known: dict[int, str] | None = None,
) -> PlanBatch:
    """Bounds and verdicts for the options of a table, exactly as they are.

    Parameters
    ----------
    known : what is wrong with applicants whose bad options were left out before
    """
    started = perf_counter()
    given, complaints = readable(fitted, in_order(given))
    complaints = (known or {}) | complaints
    owner = given.owner.astype(np.int64)
    n = len(given.factuals)
    places = Places.read(fitted.space, given.factuals).take(owner)
    rows = Places.read(fitted.space, given.options)
    effort = fitted.space.effort(places, rows.values[:, None], rows.atoms[:, None])[:, 0]
    points = encode_options(fitted, given.options)
    delivered = Delivered(
        options=given.options,
        owner=owner,
        points=points,
        relaxed=points,
        accepted=fitted.model.accepts(given.options),
        effort=effort,
        relaxed_effort=effort,
    )
    bounds = bound_options(points, owner, n, fitted.ball, request.n_jobs)
    lowest = np.ones(n)
    np.minimum.at(lowest, owner, bounds.option_lower)
    value = {"each": lowest, "all": bounds.lower, "any": bounds.any_lower}[request.guarantee_for]
    made = Construction(
        menus=Menus.empty(n, 0, rows.values.shape[1], rows.atoms.shape[1]),
        delivered=delivered,
        bounds=bounds,
        relaxed_lower=bounds.lower,
        reached=value >= request.guarantee,
    )
    status, message = _verdicts(fitted, given, made, request)
    for i, complaint in complaints.items():
        status[i], message[i] = ERROR, complaint
    verdicts = Verdicts(status, message, np.full(n, np.nan))
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    return assemble(fitted, given.factuals, np.arange(n), made, verdicts, terms, seconds)


def in_order(given: GivenPlans) -> GivenPlans:
    """The same plans with the options of each applicant together."""
    order = np.argsort(given.owner, kind="stable")
    return GivenPlans(given.factuals, given.options.iloc[order].reset_index(drop=True), given.owner[order])


def readable(fitted: FittedPlanner, given: GivenPlans) -> tuple[GivenPlans, dict[int, str]]:
    """The options that the model can read, and for each applicant with others (or a bad row) what is wrong."""
    own, messages = _complaints(fitted, given.factuals), _complaints(fitted, given.options)
    complaints = {i: f"the applicant's own row: {message}" for i, message in enumerate(own) if message}
    for owner, message in zip(given.owner.tolist(), messages, strict=True):
        if message:
            complaints.setdefault(owner, f"an option cannot be read: {message}")
    good = np.array([not messages[k] and not own[i] for k, i in enumerate(given.owner)], dtype=bool)
    if good.all():
        return given, complaints
    return GivenPlans(given.factuals, given.options[good].reset_index(drop=True), given.owner[good]), complaints


def _complaints(fitted: FittedPlanner, table: "pd.DataFrame") -> list[str]:
    """What the schema or the pipeline has against each row, "" where nothing."""
    messages = fitted.schema.check(table) if len(table) else []
    good = np.flatnonzero([not message for message in messages])
    for row, message in zip(good.tolist(), encodable(fitted, table.iloc[good])[0], strict=True):
        messages[row] = message
    return messages


def encode_options(fitted: FittedPlanner, options: "pd.DataFrame") -> Array:
    """Options as the model sees them, (M, D)."""
    return fitted.model.encode(options) if len(options) else np.zeros((0, fitted.ball.dimension))


def _verdicts(fitted: FittedPlanner, given: GivenPlans, made: Construction, request: Request) -> tuple[Any, Any]:
    n = len(given.factuals)
    status, message = np.full(n, OK, dtype=object), np.full(n, "", dtype=object)
    owner = made.delivered.owner
    all_faults = fitted.schema.violations(given.factuals.iloc[owner], given.options)
    for i in range(n):
        rows = np.flatnonzero(owner == i)
        if len(rows) == 0:
            status[i], message[i] = INFEASIBLE, "there is no option for this applicant"
            continue
        faults = [all_faults[row] for row in rows]
        broken = [f"option {k + 1} asks for what is not allowed: {'; '.join(f)}" for k, f in enumerate(faults) if f]
        refused = [f"option {k + 1}" for k in range(len(rows)) if not made.delivered.accepted[rows[k]]]
        if refused:
            broken.append(f"today's model does not accept {', '.join(refused)}")
        if broken:
            status[i], message[i] = INFEASIBLE, "; ".join(broken)
        elif not made.reached[i]:
            weakest = int(np.argmax(made.bounds.weights[rows])) + 1
            status[i] = FRAGILE
            message[i] = (
                f"the guarantee asked for, {request.guarantee:g} for {request.guarantee_for}, is not reached; "
                f"option {weakest} breaks first"
            )
    return status, message


def correct_plans(
    fitted: FittedPlanner,
    given: GivenPlans,
    request: Request,
    terms: PlanTerms,
    *,
    method: str,
    budget: float,
    n_corrections: int | None,
) -> CorrectedPlans:
    """Repair the options of a table: a correction in the encoded space, delivered as the nearest real rows."""
    given, complaints = readable(fitted, in_order(given))
    before = audit_plans(fitted, given, request, terms, complaints)
    people, owner = np.unique(given.owner, return_inverse=True)  # those with options, whose own rows are good
    applicants = Applicants.read(fitted, given.factuals.iloc[people])
    owner = owner.astype(np.int64)
    targets = before.points
    if method != "level":
        targets = _corrected_points(fitted, applicants, owner, before.points, method, budget, n_corrections)
    level = request.guarantee if method == "level" else -1.0
    margin = budget if method == "requirement" else -np.inf
    found = nearest_to(fitted, applicants, owner, targets, request, level=level, margin=margin)
    short = np.flatnonzero(found.outcomes == UNREACHABLE)
    if method == "requirement" and len(short):  # as near to the margin as they can come
        others = nearest_to(fitted, applicants, owner[short], targets[short], request)
        found.values[short], found.atoms[short] = others.values, others.atoms
    rows = write_rows(fitted.space, applicants.table, applicants.places, owner, found.values, found.atoms)
    corrected = GivenPlans(given.factuals, rows, given.owner)
    if method != "level":
        corrected = _kept_where_worse(fitted, given, corrected, before, request, terms)
    after = audit_plans(fitted, corrected, request, terms, complaints)
    return CorrectedPlans(before, after, np.linalg.norm(after.points - before.points, axis=1))


def _kept_where_worse(
    fitted: FittedPlanner,
    given: GivenPlans,
    corrected: GivenPlans,
    before: PlanBatch,
    request: Request,
    terms: PlanTerms,
) -> GivenPlans:
    """The corrected plans, but the given ones where rounding to real rows has taken the gain away."""
    import pandas as pd

    after = audit_plans(fitted, corrected, request, terms)
    allowed = before.status != INFEASIBLE
    worse = allowed & (after.lower < before.lower)
    keep = worse[given.owner]
    options = corrected.options.copy()
    for name in options.columns:
        if keep.any():
            array = options[name].array.copy()
            array[keep] = given.options[name].array[keep]
            options[name] = pd.Series(array, index=options.index, dtype=options[name].dtype)
    return GivenPlans(given.factuals, options, given.owner)


def _corrected_points(
    fitted: FittedPlanner,
    applicants: Applicants,
    owner: Indices,
    points: Array,
    method: str,
    budget: float,
    n_corrections: int | None,
) -> Array:
    """The options after a correction in the encoded space, (M, D), inside what each applicant may do."""
    ball = fitted.ball
    lower, upper = relaxed_box(fitted.space, applicants)
    result = points.copy()
    counts = np.bincount(owner, minlength=len(applicants))
    for size in np.unique(counts[counts > 0]):
        whose = np.flatnonzero(counts == size)
        rows = np.flatnonzero(np.isin(owner, whose)).reshape(len(whose), size)
        box: dict[str, Any] = {"lower": lower[whose], "upper": upper[whose]}
        plans = np.clip(points[rows], lower[whose][:, None], upper[whose][:, None])
        how_many = None if n_corrections is None else min(n_corrections, int(size))
        if method == "requirement":
            result[rows] = _required_scores(plans, ball.mean, budget, box)
        else:
            correct = mahalanobis_correction if method == "mahalanobis" else improve_bound
            result[rows] = correct(
                plans,
                ball.mean,
                ball.cov,
                radius=ball.radius,
                drift=ball.drift,
                budget=budget,
                n_corrections=how_many,
                **box,
            )
    return result


def _required_scores(plans: Array, mean: Array, margin: float, box: dict[str, Array]) -> Array:
    """The requirement correction, at the highest margin up to the given one that every option of a plan can reach."""
    high = np.where(mean > 0.0, box["upper"], box["lower"])
    reachable = np.minimum(margin, (high * mean).sum(axis=1))
    result = plans.copy()
    for i, plan in enumerate(plans):
        limits = {name: bound[i] for name, bound in box.items()}
        result[i] = requirement_correction(plan, mean, margin=float(max(reachable[i] - 1e-9, 0.0)), **limits)
    return result
