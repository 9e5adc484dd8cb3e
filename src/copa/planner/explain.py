"""Which constraints keep an applicant from the goal, and how little would be enough."""

import numpy as np

from copa._core.arrays import Array
from copa.planner.request import Request
from copa.planner.strategies.base import Applicants
from copa.planner.strategies.parametric import Parametric
from copa.schema import Violation
from copa.search._kernels.arguments import FoundPlans, Outcome, Regions
from copa.search.region import read_regions
from copa.search.rows import relaxed_rows, write_rows
from copa.search.run import Goals, search_plans

NO_RULE = 1e12  # slack that nothing uses up
NOT_FOUND = {
    Outcome.BELOW: "Even without the constraints no change of these columns is enough",
    Outcome.UNREACHABLE: "Even without the constraints no change of these columns is enough",
    Outcome.TIMED_OUT: "The time limit ended before the constraints could be examined",
}


def explain_shortfall(
    strategy: Parametric,
    applicants: Applicants,
    plans: FoundPlans,
    levels: Array,
    request: Request,
    *,
    margin: float = -np.inf,
) -> list[str]:
    """Say for each applicant what was not reached, and which constraints are in the way."""
    whom = {"each": "each option", "all": "all options together", "any": "at least one option"}[request.guarantee_for]
    highest = np.floor(plans.highest * 1000.0) / 1000.0
    found = find_blocking_constraints(strategy, applicants, plans, levels, request, margin=margin)
    enough = "" if np.isinf(margin) else f" with a mean score of at least {margin:g}"
    return [
        f"no allowed row was found that today's model accepts{enough}. {constraints}"
        if level < 0.0
        else f"accepted today, but {whom} cannot be promised at {request.guarantee:g}: the highest level of an option "
        f"that was found is {best:.3f}. {constraints}"
        for constraints, level, best in zip(found, levels, highest, strict=True)
    ]


def find_blocking_constraints(
    strategy: Parametric,
    applicants: Applicants,
    plans: FoundPlans,
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
    regions, start, slack = _at_the_surest_rows(strategy, applicants, plans)
    outcomes = np.full(len(applicants), Outcome.TIMED_OUT)
    sentences = np.full(len(applicants), "", dtype=object)
    for rules_hold in (True, False):  # first the limits of single columns give way, then the rules between them too
        some = np.flatnonzero(outcomes != Outcome.MET)
        if len(some) == 0 or not (rules_hold or slack.shape[1]):
            break
        found = search_plans(
            strategy.space,
            regions.take(some),
            start[some],
            slack[some] if rules_hold else np.full_like(slack[some], NO_RULE),
            Goals(strategy.parameters, levels[some], np.full(len(some), strategy.floor), margin),
            n_options=1,
            diversity_weight=0.0,
            multipliers=np.ones((1, len(strategy.space.columns))),
            cap=len(strategy.space.columns),
            n_jobs=request.n_jobs,
            deadline=request.deadline,
        )
        outcomes[some] = found.outcomes
        met = np.flatnonzero(found.outcomes == Outcome.MET)
        here = applicants.take(some[met])
        rows = write_rows(strategy.space, here.table, here.regions.own, np.arange(len(met)), found.options[met, 0])
        for i, violations in zip(some[met].tolist(), strategy.schema.find_violations(here.table, rows), strict=True):
            sentences[i] = _sentence(violations)
    return [NOT_FOUND.get(outcomes[i], "") or str(sentences[i]) for i in range(len(applicants))]


def _at_the_surest_rows(
    strategy: Parametric, applicants: Applicants, plans: FoundPlans
) -> tuple[Regions, Array, Array]:
    """Regions, encoded rows and slack of the applicants, had they taken up their surest rows and had no limits."""
    space, own = strategy.space, applicants.regions.own
    start = relaxed_rows(space, own, applicants.encoded, plans.surest)
    released = read_regions(space, applicants.table, released=True)
    slack = space.slack_after(applicants.slack, own, plans.surest)
    return released._replace(own=plans.surest), start, slack


def _sentence(violations: list[Violation]) -> str:
    # The schema's judge says what is wrong with a row; seen from here, that is what would have to be allowed.
    blocking = "; ".join(violation.sentence("would have to be") for violation in violations)
    return f"In the way: {blocking or 'the search found no way'}"
