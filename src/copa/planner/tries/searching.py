"""The compiled search for one applicant, on an action space of his or her own."""

import numpy as np

from copa.arrays import Array
from copa.planner.construction import Request
from copa.planner.delivery import Applicants
from copa.planning.actions import ActionSpace
from copa.planning.menus import Goals, Menus, search_menus


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
