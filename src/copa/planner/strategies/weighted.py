"""The paper's objective through the front door: relaxed plans by `build_plans`, delivered as the nearest real rows."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from copa._core.arrays import Array, Indices
from copa.objective.build import build_plans
from copa.planner.deliver import Applicants, Construction
from copa.planner.fitted import FittedPlanner
from copa.planner.request import Request
from copa.planner.strategies.linear import finish
from copa.search.nearest import NearestRows, find_nearest_rows
from copa.search.problem import ActionSpace
from copa.search.run import TIMED_OUT, UNREACHABLE, Goals, Menus

TOGETHER = 64  # applicants between two looks at the clock


@dataclass(frozen=True)
class PaperWeights:
    """Weights of the paper's objective."""

    validity: float
    diversity: float
    margin: float
    cost: str
    random_state: int


def construct_by_objective(
    fitted: FittedPlanner, applicants: Applicants, request: Request, weights: PaperWeights
) -> Construction:
    """Minimise the paper's objective over the relaxed space, and deliver the real rows nearest to the minimiser."""
    n, n_options, space = len(applicants), request.n_options, fitted.space
    menus = Menus.empty(n, n_options, len(space.lines), len(space.choices))
    targets = np.zeros((n, n_options, fitted.ball.dimension))
    for first in range(0, n, TOGETHER):
        if perf_counter() > request.deadline:
            break
        some = np.arange(first, min(first + TOGETHER, n))
        here = applicants.take(some)
        targets[some] = _minimisers(fitted, here, request, weights)
        owner = np.repeat(np.arange(len(some), dtype=np.int64), n_options)
        flat = targets[some].reshape(-1, fitted.ball.dimension)
        found = nearest_to(fitted, here, owner, flat, request, margin=weights.margin)
        menus = menus.replaced(some, as_menus(found, owner, len(some), n_options))
        if request.progress is not None:
            request.progress(len(some))
    begun = np.flatnonzero(menus.outcomes != TIMED_OUT)
    relaxed = targets[begun].reshape(-1, fitted.ball.dimension), np.repeat(begun, n_options)
    return finish(fitted, applicants, menus, request, relaxed=relaxed)


def _minimisers(fitted: FittedPlanner, applicants: Applicants, request: Request, weights: PaperWeights) -> Array:
    """Plans (N, J, D) that minimise the objective, rows or not."""
    lower, upper = relaxed_box(fitted.space, applicants)
    return build_plans(
        applicants.encoded,
        fitted.ball.mean,
        fitted.ball.cov,
        n_options=request.n_options,
        validity_weight=weights.validity,
        diversity_weight=weights.diversity,
        margin=weights.margin,
        lower=lower,
        upper=upper,
        cost=weights.cost,
        random_state=weights.random_state,
        n_jobs=request.n_jobs,
    ).points


def relaxed_box(space: ActionSpace, applicants: Applicants) -> tuple[Array, Array]:
    """The smallest box of encoded vectors that holds every allowed row of each applicant, (N, D) both."""
    places = applicants.places
    lower, upper = applicants.encoded.copy(), applicants.encoded.copy()
    for k in range(len(space.lines)):
        ends = np.stack([places.lower[:, k], places.upper[:, k]]) - places.values[:, k]
        moves = ends[:, :, None] * space.directions[k]
        lower += np.minimum(moves.min(axis=0), 0.0)
        upper += np.maximum(moves.max(axis=0), 0.0)
    for k in range(len(space.choices)):
        start, end = space.ends[k], space.ends[k + 1]
        moves = space.directions[start:end] - space.directions[places.atoms[:, k]][:, None]
        allowed = places.allowed[:, start:end, None]
        lower += np.where(allowed, moves, 0.0).min(axis=1)
        upper += np.where(allowed, moves, 0.0).max(axis=1)
    return lower, upper


def nearest_to(
    fitted: FittedPlanner,
    applicants: Applicants,
    owner: Indices,
    targets: Array,
    request: Request,
    *,
    margin: float = -np.inf,
    levels: Array | None = None,
) -> NearestRows:
    """The allowed and accepted rows nearest to encoded points (M, D) of the given applicants, at levels (M,) if any."""
    m = len(targets)
    goals = Goals(np.full(m, -1.0) if levels is None else levels, fitted.ball.radius, margin, np.full(m, fitted.floor))
    some = applicants.take(owner)
    return find_nearest_rows(
        fitted.space,
        some.places,
        some.encoded,
        some.slack,
        targets,
        goals,
        n_jobs=request.n_jobs,
        deadline=request.deadline,
    )


def as_menus(found: NearestRows, owner: Indices, n_applicants: int, n_options: int) -> Menus:
    """Rows of applicants as their menus: options that could be reached, each once."""
    menus = Menus.empty(n_applicants, n_options, found.values.shape[1], found.atoms.shape[1])
    for n in range(n_applicants):
        rows = np.flatnonzero(owner == n)
        outcomes = found.outcomes[rows]
        menus.outcomes[n] = outcomes.min(initial=TIMED_OUT) if len(rows) else UNREACHABLE
        good = rows[outcomes < UNREACHABLE]
        both = np.column_stack([found.values[good], found.atoms[good]])
        _, first = np.unique(both, axis=0, return_index=True)
        kept = good[np.sort(first)]
        menus.counts[n] = len(kept)
        menus.highest[n] = np.nan  # no level was asked for
        for target, source in ((menus.values, found.values), (menus.atoms, found.atoms)):
            target[n, : len(kept)] = source[kept]
        menus.relaxed_values[n], menus.relaxed_atoms[n] = menus.values[n], menus.atoms[n]
        nearest = rows[:1]
        menus.surest_values[n] = found.values[nearest].sum(axis=0)
        menus.surest_atoms[n] = found.atoms[nearest].sum(axis=0)
    return menus
