"""Corrections of given options in the encoded space, before they become rows again."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.corrections import improve_bound, mahalanobis_correction, requirement_correction
from copa.planner.delivery import Applicants
from copa.planner.fitted import FittedPlanner
from copa.planner.relaxed import relaxed_box
from copa.planner.request import Request
from copa.planner.settings import read_amount, read_count, read_word

METHODS = ("level", "requirement", "mahalanobis", "ascent")
ROUNDING = 1e-9  # of a score
TOGETHER = 128  # plans that are corrected at once; then the clock is looked at

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Correction:
    """What to do with given options.

    Attributes
    ----------
    method : one of METHODS
    budget : how far "mahalanobis" and "ascent" may move an option of a plan that is allowed and accepted as given, its
        way to a real row included; options of another plan go on to the nearest row that is, however far
    margin : mean score that "requirement" asks for
    n_corrections : how many options of a plan may move, those that break first; None for all
    """

    method: str
    budget: float
    margin: float
    n_corrections: int | None

    @classmethod
    def read(cls, method: Any, budget: Any, margin: Any, n_corrections: Any) -> "Correction":
        """Check what a caller asks for."""
        return cls(
            read_word(method, METHODS, "method"),
            read_amount(budget, "budget"),
            read_amount(margin, "margin"),
            None if n_corrections is None else read_count(n_corrections, "n_corrections"),
        )

    @property
    def has_budget(self) -> bool:
        """Whether the budget means something for the method."""
        return self.method in ("mahalanobis", "ascent")


def may_move(owner: Indices, weights: Array, n_corrections: int | None) -> Flags:
    """Mark the options of every plan that break first: those with the largest weights, the first of equal ones, (M,).

    Parameters
    ----------
    owner : (M,) ascending
    weights : (M,) mass of the worst distribution against each option
    """
    if n_corrections is None:
        return np.ones(len(owner), dtype=bool)
    order = np.lexsort((-weights, owner))
    marked = np.zeros(len(owner), dtype=bool)
    marked[order] = np.arange(len(owner)) - np.searchsorted(owner, owner) < n_corrections
    return marked


def corrected_points(
    fitted: FittedPlanner,
    applicants: Applicants,
    owner: Indices,
    points: Array,
    correction: Correction,
    request: Request,
) -> tuple[Array, Flags]:
    """The options after a correction in the encoded space, inside what each applicant may do.

    Parameters
    ----------
    owner : (M,) position of the applicant of each option, ascending;  points : (M, D)

    Returns
    -------
    points : (M, D)
    late : (M,) options whose turn did not come within the time limit; their points are the given ones
    """
    result, late = points.copy(), np.zeros(len(points), dtype=bool)
    if correction.method == "level":  # what is asked for is asked of the rows
        return result, late
    lower, upper = relaxed_box(fitted.space, applicants)
    counts = np.bincount(owner, minlength=len(applicants))
    for size in np.unique(counts[counts > 0]).tolist():
        everyone = np.flatnonzero(counts == size)
        for first in range(0, len(everyone), TOGETHER):
            whose = everyone[first : first + TOGETHER]
            rows = np.searchsorted(owner, whose)[:, None] + np.arange(size)
            if perf_counter() > request.deadline:
                late[rows] = True
                continue
            box = {"lower": lower[whose], "upper": upper[whose]}
            plans = np.clip(points[rows], lower[whose][:, None], upper[whose][:, None])
            result[rows] = _corrected(fitted, plans, correction, box, request)
    return result, late


def _corrected(
    fitted: FittedPlanner, plans: Array, correction: Correction, box: dict[str, Array], request: Request
) -> Array:
    """Plans (N, J, D) after a correction."""
    ball = fitted.ball
    if correction.method == "requirement":
        return _required_scores(plans, ball.mean, correction.margin, box)
    correct = mahalanobis_correction if correction.method == "mahalanobis" else improve_bound
    limits: dict[str, Any] = box
    return correct(
        plans,
        ball.mean,
        ball.cov,
        radius=ball.radius,
        drift=ball.drift,
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
    for i in np.flatnonzero(reachable >= ROUNDING).tolist():
        limits = {name: bound[i] for name, bound in box.items()}
        result[i] = requirement_correction(plans[i], mean, margin=float(reachable[i] - ROUNDING), **limits)
    return result
