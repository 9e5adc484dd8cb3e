"""What stands in the way: the constraints that keep an applicant from the goal, and how little would be enough."""

import numpy as np

from copa._core.arrays import Array
from copa.planner.request import Request
from copa.planner.strategies.base import Applicants
from copa.planner.strategies.parametric import Parametric
from copa.schema import Violation
from copa.search.problem import Places
from copa.search.rows import relaxed_rows, write_rows
from copa.search.run import BELOW, MET, TIMED_OUT, UNREACHABLE, Goals, Menus, search_menus

NO_RULE = 1e12  # slack that nothing uses up
NOT_FOUND = {
    BELOW: "not only the constraints: even without them no change of these columns is enough",
    UNREACHABLE: "not only the constraints: even without them no change of these columns is enough",
    TIMED_OUT: "the time limit ended before the constraints could be examined",
}


def explain_obstacles(
    strategy: Parametric,
    applicants: Applicants,
    plans: Menus,
    levels: Array,
    request: Request,
    *,
    margin: float = -np.inf,
) -> list[str]:
    """Say for each applicant what cannot be had, and which constraints stand in the way."""
    asked = {"each": "each option", "all": "all options together", "any": "at least one option"}[request.guarantee_for]
    highest = np.floor(plans.highest * 1000.0) / 1000.0
    found = name_obstacles(strategy, applicants, plans, levels, request, margin=margin)
    enough = "" if np.isinf(margin) else f" with a mean score of at least {margin:g}"
    return [
        f"nothing was found that is allowed and that today's model accepts{enough}. In the way: {obstacle}"
        if level < 0.0
        else f"accepted today, but {asked} cannot be promised at {request.guarantee:g}: the highest level of an option "
        f"that was found is {best:.3f}. In the way: {obstacle}"
        for obstacle, level, best in zip(found, levels, highest, strict=True)
    ]


def name_obstacles(
    strategy: Parametric,
    applicants: Applicants,
    plans: Menus,
    levels: Array,
    request: Request,
    *,
    margin: float = -np.inf,
) -> list[str]:
    """Say for each applicant which constraints would have to give way, and how far, to reach the level.

    The search starts from the surest row that is allowed, all limits are taken away, and the cheapest further changes
    are looked for: where these break a constraint is what stands in the way. It is a search, not a proof: what it names
    is enough, and no single part of it can be left out; another way may exist.

    Parameters
    ----------
    plans : of the applicants, with their surest rows
    levels : (N,) to be reached; -1 for acceptance by today's model alone
    margin : least mean score
    """
    places, start, slack = _at_the_surest_rows(strategy, applicants, plans)
    outcomes = np.full(len(applicants), TIMED_OUT)
    sentences = np.full(len(applicants), "", dtype=object)
    for rules_hold in (True, False):  # first the limits of single columns give way, then the rules between them too
        some = np.flatnonzero(outcomes != MET)
        if len(some) == 0 or not (rules_hold or slack.shape[1]):
            break
        found = search_menus(
            strategy.space,
            places.take(some),
            start[some],
            slack[some] if rules_hold else np.full_like(slack[some], NO_RULE),
            Goals(levels[some], strategy.parameters.radius, margin, np.full(len(some), strategy.floor)),
            n_options=1,
            diversity_weight=0.0,
            multipliers=np.ones((1, len(strategy.space.columns))),
            cap=len(strategy.space.columns),
            n_jobs=request.n_jobs,
            deadline=request.deadline,
        )
        outcomes[some] = found.outcomes
        met = np.flatnonzero(found.outcomes == MET)
        here = applicants.take(some[met])
        rows = write_rows(
            strategy.space,
            here.table,
            here.places,
            np.arange(len(met)),
            found.values[met, 0],
            found.atoms[met, 0],
        )
        for i, faults in zip(some[met].tolist(), strategy.schema.find_violations(here.table, rows), strict=True):
            sentences[i] = _sentence(faults)
    return [NOT_FOUND.get(outcomes[i], "") or str(sentences[i]) for i in range(len(applicants))]


def _at_the_surest_rows(strategy: Parametric, applicants: Applicants, plans: Menus) -> tuple[Places, Array, Array]:
    """Places, encoded rows and slack of the applicants, had they taken up their surest rows and had no limits."""
    space, own = strategy.space, applicants.places
    everyone = np.arange(len(applicants))
    start = relaxed_rows(space, own, applicants.encoded, everyone, plans.surest_values, plans.surest_atoms)
    released = Places.read(space, applicants.table, released=True)
    surest = Places(plans.surest_values, plans.surest_atoms, released.lower, released.upper, released.allowed)
    shares = space.terrain[6]
    slack = applicants.slack - (surest.values - own.values) @ shares[:, : len(space.lines)].T
    for k in range(len(space.choices)):
        slack -= shares[:, surest.atoms[:, k]].T - shares[:, own.atoms[:, k]].T
    return surest, start, slack


def _sentence(faults: list[Violation]) -> str:
    # The schema's judge says what is wrong with a row; seen from here, that is what would have to be allowed.
    return "; ".join(fault.sentence("would have to be") for fault in faults) or "the search found no way"
