"""What stands in the way of a level, in words."""

from dataclasses import replace

import numpy as np

from copa._core.words import rounded_down
from copa.planner.strategies.options import Options
from copa.plans.request import PlanRequest
from copa.plans.wording import OBSTACLE, WHOM
from copa.uncertainty.ambiguity import AmbiguitySet
from copa.uncertainty.refit_scores import RefitScores


def out_of_reach(request: PlanRequest, highest: float) -> str:
    """Say that no option was found at the level asked for, and the highest level that was."""
    what = "an expected rate" if request.expected else "a guarantee"
    if highest <= 0.0:
        return (
            f"{what} of {request.guarantee:g} for {WHOM[request.guarantee_for]} is out of reach: there are rows that "
            "today's model accepts, but none with any guarantee was found"
        )
    return (
        f"accepted today, but {what} of {request.guarantee:g} for {WHOM[request.guarantee_for]} is out of reach: "
        f"the highest that was found for an option is {rounded_down(highest)}"
    )


def obstacles(ambiguity: AmbiguitySet, options: Options, n_applicants: int, request: PlanRequest) -> list[str]:
    """Say for each applicant whether it is the radius or the family that keeps its surest option from the level.

    Parameters
    ----------
    ambiguity : AmbiguitySet
    options : Options
        What was found.
    n_applicants : int
    request : PlanRequest
    """
    others = {}
    if ambiguity.radius > 0.0:
        others[f"the radius of {ambiguity.radius:.3g}: at radius 0"] = replace(ambiguity, radius=0.0)
    if not isinstance(ambiguity, RefitScores) and ambiguity.family != "gaussian":
        others[f"the family {ambiguity.family!r}: with family='gaussian'"] = replace(ambiguity, family="gaussian")
    words: list[list[str]] = [[] for _ in range(n_applicants)]
    today = np.zeros(n_applicants)  # where one option reaches the level already, its radius is not what is in the way
    np.maximum.at(today, options.owner, ambiguity.option_guarantees(options.points))
    for what, other in others.items():
        best = np.zeros(n_applicants)
        np.maximum.at(best, options.owner, other.option_guarantees(options.points))
        for i in np.flatnonzero((best >= request.guarantee) & (today < request.guarantee)).tolist():
            words[i].append(f"{what} an option would have {rounded_down(best[i])}")
    return [f"{OBSTACLE} {'; and '.join(found)}" if found else "" for found in words]
