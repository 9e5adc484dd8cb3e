"""Corrections of encoded points, delivered as the nearest real rows: for models that are linear in the columns."""

from time import perf_counter
from typing import Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa.corrections import improve_bound, mahalanobis_correction, requirement_correction
from copa.planner.request import Request
from copa.planner.settings import Correction
from copa.planner.strategies.base import Applicants, Flags, Strategy
from copa.planner.strategies.exploration import enough_for_each
from copa.planner.strategies.weighted import relaxed_box
from copa.search._kernels.arguments import FoundRows, Outcome
from copa.search.rows import relaxed_rows
from copa.uncertainty.ambiguity import AmbiguitySet

POINT_ROUNDING = 1e-9  # of a score
BATCH_SIZE = 128  # plans that are corrected at once; then the clock is looked at
# Shares of a correction that are tried, one after the other, where the nearest real row is beyond the budget.
SHARES = (0.75, 0.5, 0.25)
ROUNDING = 1e-9


def rows_of_corrected_points(
    strategy: Strategy,
    applicants: Applicants,
    owner: Indices,
    points: Array,
    sound: Flags,
    correction: Correction,
    request: Request,
) -> FoundRows:
    """The rows that the correction leads to, one for each option.

    Parameters
    ----------
    strategy : Strategy
        For a model that is linear in the columns.
    applicants : Applicants
    owner : ndarray of shape (M,)
        The applicant of each option, ascending.
    points : ndarray of shape (M, D)
        The options.
    sound : ndarray of shape (M,)
        Whether the plan of each option is allowed and accepted as it is: then the budget holds.
    correction : Correction
    request : Request
    """
    targets, late = corrected_points(strategy, applicants, owner, points, correction, request)
    levels = np.full(len(owner), -1.0)
    if correction.method == "level":
        levels = enough_for_each(request, np.bincount(owner, minlength=len(applicants))[owner])
    margin = correction.margin if correction.method == "requirement" else -np.inf
    found = strategy.nearest_rows(applicants, owner, targets, request, levels=levels, margin=margin)
    short = np.flatnonzero(found.outcomes == Outcome.UNREACHABLE)
    if correction.method == "requirement" and len(short):  # as near to the margin as they can come
        found.put(short, strategy.nearest_rows(applicants, owner[short], targets[short], request))
    elif request.guarantee_for == "all" and correction.method == "level" and len(short):  # at least each by itself
        levels = np.full(len(short), request.guarantee)
        found.put(short, strategy.nearest_rows(applicants, owner[short], targets[short], request, levels=levels))
    if correction.has_budget:
        budgets = np.where(sound, correction.budget, np.inf)
        _keep_to_budget(strategy, applicants, owner, (points, targets), found, budgets, request)
    found.outcomes[late] = Outcome.TIMED_OUT
    return found


def corrected_points(
    strategy: Strategy,
    applicants: Applicants,
    owner: Indices,
    points: Array,
    correction: Correction,
    request: Request,
) -> tuple[Array, Flags]:
    """The options after a correction in the encoded space, inside what each applicant may do.

    Parameters
    ----------
    owner : (M,) position of the applicant of each option, ascending
    points : (M, D)

    Returns
    -------
    points : (M, D)
    late : (M,) options whose turn did not come within the time limit; their points are the given ones
    """
    result, late = points.copy(), np.zeros(len(points), dtype=bool)
    if correction.method == "level":  # what is asked for is asked of the rows
        return result, late
    ambiguity = strategy.ambiguity(request.n_options)
    lower, upper = relaxed_box(strategy.space, applicants)
    counts = np.bincount(owner, minlength=len(applicants))
    for size in np.unique(counts[counts > 0]).tolist():
        everyone = np.flatnonzero(counts == size)
        for first in range(0, len(everyone), BATCH_SIZE):
            whose = everyone[first : first + BATCH_SIZE]
            rows = np.searchsorted(owner, whose)[:, None] + np.arange(size)
            if perf_counter() > request.deadline:
                late[rows] = True
                continue
            box = {"lower": lower[whose], "upper": upper[whose]}
            plans = np.clip(points[rows], lower[whose][:, None], upper[whose][:, None])
            result[rows] = _corrected(ambiguity, plans, correction, box, request)
    return result, late


def _corrected(
    ambiguity: AmbiguitySet, plans: Array, correction: Correction, box: dict[str, Array], request: Request
) -> Array:
    """Plans (N, J, D) after a correction."""
    if correction.method == "requirement":
        return _required_scores(plans, ambiguity.mean, correction.margin, box)
    correct = mahalanobis_correction if correction.method == "mahalanobis" else improve_bound
    limits: dict[str, Any] = box
    return correct(
        plans,
        ambiguity.mean,
        ambiguity.cov,
        radius=ambiguity.radius,
        drift=ambiguity.drift,
        budget=correction.budget,
        n_corrections=None if correction.n_corrections is None else min(correction.n_corrections, plans.shape[1]),
        n_jobs=request.n_jobs,
        **limits,
    )


def _required_scores(plans: Array, mean: Array, margin: float, box: dict[str, Array]) -> Array:
    """The requirement correction, at the highest margin up to the given one that every option of a plan can reach.

    Options that cannot reach a mean score of zero stay.
    """
    high = np.where(mean > 0.0, box["upper"], box["lower"])
    reachable = np.minimum(margin, (high * mean).sum(axis=1))
    result = plans.copy()
    for i in np.flatnonzero(reachable >= POINT_ROUNDING).tolist():
        limits = {name: bound[i] for name, bound in box.items()}
        result[i] = requirement_correction(plans[i], mean, margin=float(reachable[i] - POINT_ROUNDING), **limits)
    return result


def _keep_to_budget(
    strategy: Strategy,
    applicants: Applicants,
    owner: Indices,
    ways: tuple[Array, Array],
    found: FoundRows,
    budgets: Array,
    request: Request,
) -> None:
    """Where the real row nearest to a corrected option is beyond its budget, go less far; as a last resort, stay.

    Parameters
    ----------
    ways : tuple of ndarray of shape (M, D)
        The options, and what they were corrected to.
    budgets : ndarray of shape (M,)
        Infinite for options that have to move anyway.
    """
    points, targets = ways

    def beyond() -> Indices:
        rows = relaxed_rows(strategy.space, applicants.regions.own[owner], applicants.encoded[owner], found.rows)
        length = np.linalg.norm(rows - points, axis=1)
        return np.flatnonzero((found.outcomes < Outcome.UNREACHABLE) & (length > budgets + ROUNDING * (1.0 + budgets)))

    for share in SHARES:
        far = beyond()
        if len(far) == 0:
            return
        nearer = points[far] + share * (targets[far] - points[far])
        found.put(far, strategy.nearest_rows(applicants, owner[far], nearer, request))
    found.outcomes[beyond()] = Outcome.UNREACHABLE
