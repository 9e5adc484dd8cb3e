"""What stands in the way: the constraints that keep an applicant from the goal, and how little would be enough."""

import numpy as np

from copa.arrays import Array
from copa.planner.delivery import Applicants
from copa.planner.fitted import FittedPlanner
from copa.planning.actions import Places
from copa.planning.menus import BELOW, TIMED_OUT, UNREACHABLE, Goals, Menus, search_menus
from copa.planning.rows import relaxed_rows, write_rows

NOT_FOUND = {
    BELOW: "not only the constraints: even without them no change of these columns is enough",
    UNREACHABLE: "not only the constraints: even without them no change of these columns is enough",
    TIMED_OUT: "the time limit ended before the constraints could be examined",
}


def name_obstacles(
    fitted: FittedPlanner, applicants: Applicants, menus: Menus, levels: Array, n_jobs: int | None, deadline: float
) -> list[str]:
    """Say for each applicant which constraints would have to give way, and how far, to reach the level.

    The search starts from the surest row that is allowed, all limits are taken away, and the cheapest further changes
    are looked for: where these break a constraint is what stands in the way. It is a search, not a proof: what it names
    is enough, and no single part of it can be left out; another way may exist.

    Parameters
    ----------
    menus : of the applicants, with their surest rows
    levels : (N,) to be reached; -1 for acceptance by today's model alone
    """
    space = fitted.space
    everyone = np.arange(len(applicants))
    start = relaxed_rows(
        space, applicants.places, applicants.encoded, everyone, menus.surest_values, menus.surest_atoms
    )
    released = Places.read(space, applicants.table, released=True)
    surest = Places(menus.surest_values, menus.surest_atoms, released.lower, released.upper, released.allowed)
    slack = applicants.slack.copy()
    shares = space.terrain[6]
    slack -= (surest.values - applicants.places.values) @ shares[:, : len(space.lines)].T
    for k in range(len(space.choices)):
        slack -= shares[:, surest.atoms[:, k]].T - shares[:, applicants.places.atoms[:, k]].T
    found = search_menus(
        space,
        surest,
        start,
        slack,
        Goals(levels, fitted.ball.radius, -np.inf, np.full(len(applicants), fitted.floor)),
        n_options=1,
        diversity_weight=0.0,
        multipliers=np.ones((1, len(space.columns))),
        cap=len(space.columns),
        n_jobs=n_jobs,
        deadline=deadline,
    )
    rows = write_rows(space, applicants.table, applicants.places, everyone, found.values[:, 0], found.atoms[:, 0])
    faults = fitted.schema.violations(applicants.table, rows)
    return [NOT_FOUND.get(found.outcomes[i], "") or _sentence(faults[i]) for i in everyone.tolist()]


def _sentence(faults: list[str]) -> str:
    # The schema's judge says what is wrong with a row; seen from here, that is what would have to be allowed.
    return "; ".join(fault.replace(", got ", ", would have to be ") for fault in faults) or "the search found no way"
