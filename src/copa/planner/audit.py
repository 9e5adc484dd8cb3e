"""What given plans are worth, exactly as they are."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK
from copa.external import ExternalPlans, read_plans
from copa.planner.deliver import Construction, Delivered, bound_options, guarantee_holds
from copa.planner.fitted import Fitted
from copa.planner.plan import Verdicts, assemble, encodable
from copa.planner.request import Request
from copa.plans import PlanBatch, PlanTerms
from copa.search.problem import Places
from copa.search.run import Menus

if TYPE_CHECKING:
    import pandas as pd


def audit_plans(
    fitted: Fitted,
    given: ExternalPlans,
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
    points = fitted.points(given.options, owner, request.n_jobs)
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
    made = Construction(
        menus=Menus.empty(n, 0, rows.values.shape[1], rows.atoms.shape[1]),
        delivered=delivered,
        bounds=bounds,
        relaxed_lower=bounds.lower,
        reached=guarantee_holds(bounds, owner, request.guarantee_for, request.guarantee),
        refused={},  # nothing is left out: what is wrong with given options is said of them
    )
    status, message = _verdicts(fitted, given, made, request)
    for i, complaint in complaints.items():
        status[i], message[i] = ERROR, complaint
    verdicts = Verdicts(status, message, np.full(n, np.nan))
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    return assemble(fitted, given.factuals, np.arange(n), made, verdicts, terms, seconds)


def read_given(fitted: Fitted, source: Any, applicants: "pd.DataFrame | None") -> ExternalPlans:
    """Read given plans in the columns of the model, and in those of the schema that it does not use."""
    return read_plans(source, fitted.model.columns, applicants, others=fitted.schema.names)


def in_order(given: ExternalPlans) -> ExternalPlans:
    """The same plans with the options of each applicant together."""
    order = np.argsort(given.owner, kind="stable")
    return ExternalPlans(given.factuals, given.options.iloc[order].reset_index(drop=True), given.owner[order])


def readable(fitted: Fitted, given: ExternalPlans) -> tuple[ExternalPlans, dict[int, str]]:
    """The options that the model can read, and for each applicant with others (or a bad row) what is wrong."""
    own, messages = _complaints(fitted, given.factuals), _complaints(fitted, given.options)
    complaints = {i: f"the applicant's own row: {message}" for i, message in enumerate(own) if message}
    for owner, message in zip(given.owner.tolist(), messages, strict=True):
        if message:
            complaints.setdefault(owner, f"an option cannot be read: {message}")
    good = np.array([not messages[k] and not own[i] for k, i in enumerate(given.owner)], dtype=bool)
    if good.all():
        return given, complaints
    return ExternalPlans(given.factuals, given.options[good].reset_index(drop=True), given.owner[good]), complaints


def _complaints(fitted: Fitted, table: "pd.DataFrame") -> list[str]:
    """What the schema or the pipeline has against each row, "" where nothing."""
    messages = fitted.schema.check(table) if len(table) else []
    good = np.flatnonzero([not message for message in messages])
    for row, message in zip(good.tolist(), encodable(fitted, table.iloc[good])[0], strict=True):
        messages[row] = message
    return messages


def _verdicts(fitted: Fitted, given: ExternalPlans, made: Construction, request: Request) -> tuple[Any, Any]:
    n = len(given.factuals)
    status, message = np.full(n, OK, dtype=object), np.full(n, "", dtype=object)
    owner = made.delivered.owner
    faults = fitted.schema.violations(given.factuals.iloc[owner], given.options)
    edges = np.searchsorted(owner, np.arange(n + 1)).tolist()  # the options of an applicant are together
    for i in range(n):
        own = slice(edges[i], edges[i + 1])
        if own.start == own.stop:
            status[i], message[i] = INFEASIBLE, "there is no option for this applicant"
            continue
        broken = [
            f"option {k} asks for what is not allowed: {'; '.join(fault)}"
            for k, fault in enumerate(faults[own], start=1)
            if fault
        ]
        refused = [f"option {k}" for k, good in enumerate(made.delivered.accepted[own].tolist(), start=1) if not good]
        if refused:
            broken.append(f"today's model does not accept {', '.join(refused)}")
        if broken:
            status[i], message[i] = INFEASIBLE, "; ".join(broken)
        elif not made.reached[i]:
            weakest = int(np.argmax(made.bounds.weights[own])) + 1
            status[i] = FRAGILE
            message[i] = (
                f"the guarantee asked for, {request.guarantee:g} for {request.guarantee_for}, is not reached; "
                f"option {weakest} breaks first"
            )
    return status, message
