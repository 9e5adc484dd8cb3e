"""What is said of each applicant: a status, and in words why."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.planner.delivery import Applicants, lower_of_each
from copa.planner.fitted import Fitted
from copa.planner.judge import Construction
from copa.planner.request import Request
from copa.planning.menus import TIMED_OUT, UNREACHABLE, Menus

Texts = npt.NDArray[np.object_]
# What keeps applicants from their levels (-1: from being accepted at all), in words: of the planner, the applicants,
# their menus, the levels, and the request.
Explain = Callable[[Any, Applicants, Menus, Array, Request], list[str]]

OK, ALREADY_VALID, INFEASIBLE, FRAGILE, TIME_LIMIT, ERROR = (
    "ok",
    "already_valid",
    "infeasible",
    "fragile",
    "time_limit",
    "error",
)


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
    down = np.floor(lower_of_each(fitted.ball, points) * 1000.0) / 1000.0
    return [f"accepted today as it is; this holds with probability at least {level:.3f}" for level in down]
