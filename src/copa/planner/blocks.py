"""One block of applicants, from their rows to their plans."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.arrays import Array
from copa.planner.delivery import Applicants
from copa.planner.fitted import Fitted
from copa.planner.judge import Construction
from copa.planner.request import Request
from copa.planner.statuses import ALREADY_VALID, ERROR, Explain, already_valid_message, status_of_each
from copa.plans import PlanBatch, PlanTerms

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 512  # applicants whose rows are held at once


@dataclass(frozen=True, eq=False)
class Engine:
    """How menus are made for a kind of model.

    Attributes
    ----------
    build : makes the menus of applicants who need one
    explain : says what keeps applicants from the level
    """

    build: Callable[[Any, Applicants, Request], Construction]
    explain: Explain


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Status and message of N applicants, and the highest level found for them."""

    status: Any  # (N,) object
    message: Any  # (N,) object
    highest: Array  # (N,)


def plan_block(fitted: Fitted, table: "pd.DataFrame", engine: Engine, request: Request, terms: PlanTerms) -> PlanBatch:
    """Plans for the applicants of a table, whatever they are: bad rows and accepted ones get a status."""
    started = perf_counter()
    n = len(table)
    message = np.array(fitted.schema.check(table), dtype=object)
    status = np.where(message != "", ERROR, "").astype(object)
    good = np.flatnonzero(message == "")
    message[good], status[good] = encodable(fitted, table.iloc[good])
    good = np.flatnonzero(status == "")
    accepted = np.zeros(n, dtype=bool)
    accepted[good] = fitted.model.accepts(table.iloc[good])
    valid = np.flatnonzero(accepted)
    if len(valid):
        status[valid] = ALREADY_VALID
        points = fitted.points(table.iloc[valid], np.arange(len(valid)), request.n_jobs)
        message[valid] = already_valid_message(fitted, points)
    declined = np.flatnonzero((status == "") & ~accepted)
    if request.progress is not None:
        request.progress(n - len(declined))
    highest = np.full(n, np.nan)
    applicants = Applicants.read(fitted, table.iloc[declined])
    made = engine.build(fitted, applicants, request)
    status[declined], message[declined] = status_of_each(fitted, applicants, made, request, engine.explain)
    highest[declined] = np.where(made.reached, np.nan, made.menus.highest)
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    return assemble(fitted, table, declined, made, Verdicts(status, message, highest), terms, seconds)


def encodable(fitted: Fitted, table: "pd.DataFrame") -> tuple[Any, Any]:
    """Messages and statuses of rows that the schema finds good, but the pipeline may not."""
    messages = np.full(len(table), "", dtype=object)
    try:
        finite = np.isfinite(fitted.answers(table)).all(axis=1) if len(table) else np.ones(0, dtype=bool)
        messages[~finite] = "the pipeline encodes this row with a missing or infinite number; fill it in, or impute it"
    except (ValueError, TypeError):
        for i in range(len(table)):  # one bad row must not fail the others: find it
            messages[i] = _refusal(fitted, table.iloc[[i]])
    return messages, np.where(messages != "", ERROR, "").astype(object)


def _refusal(fitted: Fitted, row: "pd.DataFrame") -> str:
    try:
        encoded = fitted.answers(row)
    except (ValueError, TypeError) as error:
        return f"row {row.index[0]!r}: the pipeline refuses it: {error}"
    return "" if np.isfinite(encoded).all() else f"row {row.index[0]!r}: a missing or infinite number remains"


def assemble(
    fitted: Fitted,
    table: "pd.DataFrame",
    whose: Any,
    made: Construction,
    verdicts: Verdicts,
    terms: PlanTerms,
    seconds: Array,
) -> PlanBatch:
    """Put the delivered rows of some applicants (positions `whose`) and the verdicts on all of them together."""
    delivered, bounds, n = made.delivered, made.bounds, len(table)
    certificates: list[Any] = [None] * n
    for position, certificate in zip(whose, bounds.certificates, strict=True):
        certificates[position] = certificate
    return PlanBatch(
        applicants=table,
        options=delivered.options,
        owner=np.asarray(whose, dtype=np.int64)[delivered.owner],
        status=verdicts.status.astype(str),
        message=verdicts.message.astype(str),
        effort=delivered.effort,
        relaxed_effort=delivered.relaxed_effort,
        accepted=delivered.accepted,
        option_lower=bounds.option_lower,
        option_weights=bounds.weights,
        lower=_spread(bounds.lower, whose, n, 0.0),
        upper=_spread(bounds.upper, whose, n, 1.0),
        any_lower=_spread(bounds.any_lower, whose, n, 0.0),
        gap=_spread(bounds.gap, whose, n, 1.0),
        relaxed_lower=_spread(made.relaxed_lower, whose, n, 0.0),
        highest_level=verdicts.highest,
        points=delivered.points,
        ball=fitted.ball,
        certificates=certificates,
        seconds=seconds,
        terms=terms,
        trials=None if made.trials is None else made.trials.spread(whose, n),
    )


def _spread(values: Array, whose: Any, n: int, otherwise: float) -> Array:
    """Values of some applicants among all N."""
    result = np.full(n, otherwise)
    result[whose] = values
    return result
