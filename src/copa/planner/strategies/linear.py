"""Menus at a level: the search, repeated where the model or the joint guarantee asks for more."""

from dataclasses import replace

import numpy as np

from copa._core.arrays import Array, Indices
from copa.planner.deliver import (
    Applicants,
    Bounds,
    Construction,
    Delivered,
    bound_options,
    deliver,
    judge_and_bound,
    obeying,
)
from copa.planner.fitted import FittedPlanner
from copa.planner.request import Request
from copa.search.run import MET, Goals, Menus, search_menus

# The rows delivered are bounded again; asking for this much more keeps rounding from taking the level away.
ROUNDING = 1e-9
ATTEMPTS = 6  # to find options that the model accepts, asking for more score each time
RULE_SPARE = 1e-9  # of the size of a rule's terms is asked of it in addition, where rounding breaks it
HALVINGS = 5  # of the interval of levels, for a joint guarantee


def construct(fitted: FittedPlanner, applicants: Applicants, request: Request) -> Construction:
    """Build the menus of applicants, deliver them and bound what is delivered."""
    levels = np.full(len(applicants), request.guarantee)
    best = _accepted_menus(fitted, applicants, levels, request)
    if request.guarantee_for != "each":
        best = _joint_menus(fitted, applicants, best, replace(request, progress=None))
    return finish(fitted, applicants, best, request)


def _accepted_menus(fitted: FittedPlanner, applicants: Applicants, levels: Array, request: Request) -> Menus:
    """Menus at the given levels whose options the model accepts and the rules allow.

    The search asks the model's own linear score; where the model is not quite that (calibration over folds) it is
    asked for more until the model agrees. So it is where a row falls short of its level once it is written out, because
    its columns hold fewer digits (single precision), or where its decimals break a rule by as little as rounding.
    """
    floors, sought = np.full(len(applicants), fitted.floor), levels.copy()
    spare = np.zeros(len(applicants))
    menus = _search(fitted, applicants, sought, floors, request)
    for _ in range(ATTEMPTS):
        delivered = deliver(fitted, applicants, menus)
        refused = ~delivered.accepted
        scores = (delivered.points[:, None] @ fitted.model.theta)[:, 0]  # one product per row: the same in any batch
        np.maximum.at(floors, delivered.owner[refused], 1.5 * scores[refused] + fitted.floor)
        missing = np.where(menus.outcomes == MET, levels, 0.0)[delivered.owner] - fitted.ball.option_guarantees(
            delivered.points
        )
        short = missing > 0.0
        np.maximum.at(sought, delivered.owner[short], (levels[delivered.owner] + 2.0 * missing)[short])
        broken = np.zeros_like(refused)
        if fitted.schema.rules:
            broken = ~obeying(fitted, applicants, delivered.owner, delivered.options)
            spare[delivered.owner[broken]] = np.maximum(4.0 * spare[delivered.owner[broken]], RULE_SPARE)
        rows = np.unique(delivered.owner[refused | short | broken])
        if len(rows) == 0:
            break
        some = applicants.take(rows)
        some = replace(some, slack=some.slack - spare[rows, None])
        again = _search(fitted, some, sought[rows], floors[rows], replace(request, progress=None))
        menus = menus.replaced(rows, again)
    return menus


def _search(fitted: FittedPlanner, applicants: Applicants, levels: Array, floors: Array, request: Request) -> Menus:
    goals = Goals(
        levels=np.minimum(levels + ROUNDING, 1.0 - ROUNDING), radius=fitted.ball.radius, margin=-np.inf, floors=floors
    )
    return search_menus(
        fitted.space,
        applicants.places,
        applicants.encoded,
        applicants.slack,
        goals,
        n_options=request.n_options,
        diversity_weight=request.diversity_weight,
        multipliers=request.multipliers,
        n_jobs=request.n_jobs,
        deadline=request.deadline,
        progress=request.progress,
    )


def _joint_menus(fitted: FittedPlanner, applicants: Applicants, menus: Menus, request: Request) -> Menus:
    """Menus whose joint guarantee ("all" or "any") reaches what is asked, each option at as low a level as possible.

    If each of J options holds with 1 - (1 - P) / J, all of them hold with P; if one holds with P, then at least one
    does. So the level of the options lies between P and the first for "all", and up to P for "any"; between the two it
    is found by halving.
    """
    asked, n = request.guarantee, len(applicants)
    wants_all = request.guarantee_for == "all"
    low = np.full(n, asked if wants_all else 0.0)
    high = np.full(n, 1.0 - (1.0 - asked) / request.n_options if wants_all else asked)
    kept, joint = menus, _joint(fitted, applicants, menus, request)
    rows = np.flatnonzero((menus.counts > 0) & ((joint < asked) if wants_all else np.ones(n, dtype=bool)))
    some = applicants.take(rows)
    for turn in range(HALVINGS + 1):
        if len(rows) == 0:
            break
        levels = high[rows] if wants_all and turn == 0 else 0.5 * (low + high)[rows]
        trial = _accepted_menus(fitted, some, levels, request)
        value = _joint(fitted, some, trial, request)
        enough = value >= asked
        better = enough | ((joint[rows] < asked) & (value > joint[rows]))
        kept = kept.replaced(rows[better], trial.take(better))
        joint[rows[better]] = value[better]
        lower_it = enough | (trial.outcomes != MET)  # a level that is out of reach is too high as well
        high[rows] = np.where(lower_it, levels, high[rows])
        low[rows] = np.where(lower_it, low[rows], levels)
    return kept


def _joint(fitted: FittedPlanner, applicants: Applicants, menus: Menus, request: Request) -> Array:
    """The joint guarantee of menus, (N,)."""
    bounds = _bounds(fitted, applicants, deliver(fitted, applicants, menus), request)
    return bounds.lower if request.guarantee_for == "all" else bounds.any_lower


def _bounds(fitted: FittedPlanner, applicants: Applicants, delivered: Delivered, request: Request) -> Bounds:
    return bound_options(delivered.points, delivered.owner, len(applicants), fitted.ball, request.n_jobs)


def finish(
    fitted: FittedPlanner,
    applicants: Applicants,
    menus: Menus,
    request: Request,
    relaxed: tuple[Array, Indices] | None = None,
) -> Construction:
    """Deliver the menus, have them judged, and see which guarantees hold.

    Parameters
    ----------
    relaxed : the plans before they became rows, (M', D), and whose they are; None for those of the menus
    """
    delivered = deliver(fitted, applicants, menus)
    if relaxed is None:
        relaxed = delivered.relaxed, delivered.owner
    else:
        delivered = replace(delivered, relaxed_effort=np.full(len(delivered.owner), np.nan))
    loose = bound_options(*relaxed, len(applicants), fitted.ball, request.n_jobs)
    return judge_and_bound(fitted, applicants, menus, delivered, request, loose.lower)
