"""Searching for menus: some applicants at a time, and the compiled search for one on a space of his or her own."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from copa.arrays import Array, Indices
from copa.planner.delivery import Applicants
from copa.planner.request import Request
from copa.planning.actions import ActionSpace
from copa.planning.menus import MET, TIMED_OUT, Goals, Menus, search_menus

FEWER = 16  # applicants at a time where there is a time limit


def build_in_turns(
    space: ActionSpace, n_applicants: int, together: int, build: Callable[[Indices], Menus], request: Request
) -> Menus:
    """Menus of N applicants, some of them at a time, for as long as there is time.

    Parameters
    ----------
    together : applicants at a time
    build : from the positions of some to their menus; what it has not found when time is up may have been cut off
    """
    menus = Menus.empty(n_applicants, request.n_options, len(space.lines), len(space.choices))
    together = together if np.isinf(request.deadline) else FEWER
    for first in range(0, n_applicants, together):
        if perf_counter() > request.deadline:
            break
        some = np.arange(first, min(first + together, n_applicants))
        found = build(some)
        if perf_counter() > request.deadline:
            cut = found.outcomes != MET
            found.outcomes[cut], found.counts[cut] = TIMED_OUT, 0
        menus = menus.replaced(some, found)
        if request.progress is not None:
            request.progress(len(some))
    return menus


def search_one(
    space: ActionSpace,
    applicant: Applicants,
    encoded: Array,
    goal: tuple[float, float, float],
    request: Request,
    n_options: int,
) -> Menus:
    """Search the menu of one applicant.

    Parameters
    ----------
    applicant : one;  encoded : (1, D) his or her row in the coordinates of `space`
    goal : level, radius of the ball, and least score today
    """
    level, radius, floor = goal
    return search_menus(
        space,
        applicant.places,
        encoded,
        applicant.slack,
        Goals(np.array([level]), radius, -np.inf, np.array([floor])),
        n_options=n_options,
        diversity_weight=request.diversity_weight,
        multipliers=request.multipliers,
        n_jobs=1,
        deadline=request.deadline,
    )
