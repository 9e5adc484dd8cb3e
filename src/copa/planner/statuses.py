"""What is said of each applicant: a status, and in words why."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.planner.construction import Construction, Request
from copa.planner.delivery import Applicants, lower_of_each
from copa.planner.fitted import Fitted
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


def judge(
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
        message[i] = f"only {number} found, {request.n_options} were asked for"
    aimless = (status == FRAGILE) & np.isnan(made.menus.highest)
    message[aimless] = f"the objective asks for no level, and this menu does not reach {request.guarantee:g}"
    blocked = np.flatnonzero(unreachable | ((status == FRAGILE) & ~aimless))
    if len(blocked):
        levels = np.where(unreachable, -1.0, request.guarantee)[blocked]
        message[blocked] = explain(fitted, applicants.take(blocked), made.menus.take(blocked), levels, request)
    return status, message


def already_valid_message(fitted: Fitted, points: Array) -> list[str]:
    """What is known of applicants whom the model accepts as they are."""
    down = np.floor(lower_of_each(fitted.ball, points) * 1000.0) / 1000.0
    return [f"accepted today as it is; this holds with probability at least {level:.3f}" for level in down]
