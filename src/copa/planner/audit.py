"""What given plans are worth, exactly as they are."""

from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK
from copa.external import ExternalPlans, read_plans
from copa.planner.deliver import Delivered, deliver, read_options
from copa.planner.plan import assemble, read_rows
from copa.planner.request import Request
from copa.planner.strategies.base import Strategy
from copa.plans import PlanBatch, PlanTerms

if TYPE_CHECKING:
    import pandas as pd


def audit_plans(
    strategy: Strategy,
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
    given, complaints = readable(strategy, in_order(given))
    complaints = (known or {}) | complaints
    owner = given.owner.astype(np.int64)
    n = len(given.factuals)
    options = read_options(strategy, given.factuals, given.options, owner, request)
    made = deliver(strategy, given.factuals, options, request, keep_refused=True)  # what is wrong is said of them
    status, message = _verdicts(strategy, given, made, request)
    for i, complaint in complaints.items():
        status[i], message[i] = ERROR, complaint
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    return assemble(given.factuals, np.arange(n), made, (status, message, np.full(n, np.nan), seconds), terms)


def read_given(strategy: Strategy, source: Any, applicants: "pd.DataFrame | None") -> ExternalPlans:
    """Read given plans in the columns of the model, and in those of the schema that it does not use."""
    return read_plans(source, strategy.model.columns, applicants, others=strategy.schema.names)


def in_order(given: ExternalPlans) -> ExternalPlans:
    """The same plans with the options of each applicant together."""
    order = np.argsort(given.owner, kind="stable")
    return ExternalPlans(given.factuals, given.options.iloc[order].reset_index(drop=True), given.owner[order])


def readable(strategy: Strategy, given: ExternalPlans) -> tuple[ExternalPlans, dict[int, str]]:
    """The options that the model can read, and for each applicant with others (or a bad row) what is wrong."""
    own, messages = read_rows(strategy, given.factuals)[1], read_rows(strategy, given.options)[1]
    complaints = {i: f"the applicant's own row: {message}" for i, message in enumerate(own) if message}
    for owner, message in zip(given.owner.tolist(), messages, strict=True):
        if message:
            complaints.setdefault(owner, f"an option cannot be read: {message}")
    good = np.array([not messages[k] and not own[i] for k, i in enumerate(given.owner)], dtype=bool)
    if good.all():
        return given, complaints
    return ExternalPlans(given.factuals, given.options[good].reset_index(drop=True), given.owner[good]), complaints


def _verdicts(strategy: Strategy, given: ExternalPlans, made: Delivered, request: Request) -> tuple[Any, Any]:
    n = len(given.factuals)
    status, message = np.full(n, OK, dtype=object), np.full(n, "", dtype=object)
    owner = made.options.owner
    faults = strategy.schema.violations(given.factuals.iloc[owner], given.options)
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
        refused = [f"option {k}" for k, good in enumerate(made.options.accepted[own].tolist(), start=1) if not good]
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
