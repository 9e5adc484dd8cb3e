"""One block of applicants, from their rows to their plans."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.words import ALREADY_VALID, ERROR, FRAGILE, INFEASIBLE, OK, TIME_LIMIT
from copa.planner.deliver import Applicants, Construction
from copa.planner.fitted import Fitted
from copa.planner.request import Request
from copa.plans import PlanBatch, PlanTerms
from copa.search.run import TIMED_OUT, UNREACHABLE, Menus

if TYPE_CHECKING:
    import pandas as pd


Texts = npt.NDArray[np.object_]
# What keeps applicants from their levels (-1: from being accepted at all), in words: of the planner, the applicants,
# their menus, the levels, and the request.
Explain = Callable[[Any, Applicants, Menus, Array, Request], list[str]]


def status_of_each(
    fitted: Fitted, applicants: Applicants, made: Construction, request: Request, explain: Explain
) -> tuple[Texts, Texts]:
    """Statuses and messages of applicants for whom a menu was sought."""
    n = len(applicants)
    counts = np.bincount(made.delivered.owner, minlength=n)
    unreachable = (made.menus.outcomes == UNREACHABLE) | ((made.menus.outcomes != TIMED_OUT) & (counts == 0))
    late = made.menus.outcomes == TIMED_OUT
    status = np.select([late, unreachable, made.reached], [TIME_LIMIT, INFEASIBLE, OK], FRAGILE).astype(object)
    message = np.full(n, "", dtype=object)
    message[late] = "the time limit ended before this applicant's turn"
    short = (status == OK) & (counts < request.n_options)
    for i in np.flatnonzero(short).tolist():
        number = "1 option was" if counts[i] == 1 else f"{counts[i]} different options were"
        message[i] = f"only {number} found, {request.n_options} were asked for{_refusals(made.refused.get(i))}"
    aimless = (status == FRAGILE) & np.isnan(made.menus.highest)
    message[aimless] = f"the objective asks for no level, and this menu does not reach {request.guarantee:g}"
    blocked = np.flatnonzero(unreachable | ((status == FRAGILE) & ~aimless))
    if len(blocked):
        levels = np.where(unreachable, -1.0, request.guarantee)[blocked]
        message[blocked] = explain(fitted, applicants.take(blocked), made.menus.take(blocked), levels, request)
    for i in np.flatnonzero(unreachable).tolist():
        message[i] = _stuck(fitted, applicants, i) + message[i] + _refusals(made.refused.get(i))
    return status, message


def _refusals(reasons: list[str] | None) -> str:
    """What the judge had against options that were found."""
    return f". Found but refused: {' | '.join(reasons)}" if reasons else ""


def _stuck(fitted: Fitted, applicants: Applicants, i: int) -> str:
    """Name the columns in which an applicant stands outside the range and cannot come inside."""
    space, places = fitted.space, applicants.places
    held = [(feature, places.values[i, k]) for k, feature in enumerate(space.lines) if not places.open_lines[i, k]]
    for k, feature in enumerate(space.choices):
        start, end = space.ends[k], space.ends[k + 1]
        if places.allowed[i, start:end].sum() == 1 and (feature.lower is not None or feature.upper is not None):
            held.append((feature, feature.numbers[places.atoms[i, k] - start]))
    found = []
    for feature, own in held:
        way = f"may only {feature.direction}" if feature.direction != "both" else "nothing in its range can be reached"
        if feature.upper is not None and own > feature.upper:
            found.append(f"{feature.heading} is {own:.15g}, above its upper limit of {feature.upper:.15g}, and {way}")
        if feature.lower is not None and own < feature.lower:
            found.append(f"{feature.heading} is {own:.15g}, below its lower limit of {feature.lower:.15g}, and {way}")
    return f"{'; '.join(found)}: it can only stay as it is. Then " if found else ""


def already_valid_message(fitted: Fitted, points: Array) -> list[str]:
    """What is known of applicants whom the model accepts as they are."""
    down = np.floor(fitted.ball.option_guarantees(points) * 1000.0) / 1000.0
    return [f"accepted today as it is; this holds with probability at least {level:.3f}" for level in down]


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
    request, basis = terms.parts()
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
        request=request,
        basis=basis,
        trials=None if made.trials is None else made.trials.spread(whose, n),
    )


def _spread(values: Array, whose: Any, n: int, otherwise: float) -> Array:
    """Values of some applicants among all N."""
    result = np.full(n, otherwise)
    result[whose] = values
    return result
