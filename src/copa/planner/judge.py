"""The judge that every delivered option passes last, whatever the model and however the option was found.

Constraints are judged by the schema in exact arithmetic, for the applicant as he or she is; then the model's own answer
counts. What is refused does not leave: it is dropped before anything is bounded, and the applicant is told.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa.arrays import Array, Indices
from copa.planner.delivery import Applicants, Bounds, Delivered, bound_options, guarantee_holds
from copa.planner.fitted import Fitted
from copa.planner.request import Request
from copa.planning.menus import Menus
from copa.plans.trials import Trials

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]
REFUSED_BY_MODEL = "today's model does not accept it"


@dataclass(frozen=True, eq=False)
class Construction:
    """Menus of N applicants, judged and bounded. Made by `judge_and_bound` alone (audits, of given plans, aside)."""

    menus: Menus
    delivered: Delivered
    bounds: Bounds
    relaxed_lower: Array  # (N,) L* of the plans before they became rows
    reached: Flags  # (N,) whether the guarantee asked for holds
    refused: dict[int, list[str]]  # of applicants with options that were found and refused, why
    trials: Trials | None = None  # what held-out models say of the rows delivered


def obeying(fitted: Fitted, applicants: Applicants, owner: Indices, rows: "pd.DataFrame") -> Flags:
    """Whether rows (M) obey every constraint for the applicants they belong to, (M,)."""
    return fitted.schema.obeys(applicants.origins.iloc[owner], rows)


def passing(fitted: Fitted, applicants: Applicants, owner: Indices, rows: "pd.DataFrame") -> Flags:
    """Whether rows (M) obey every constraint, and the model accepts them, (M,)."""
    return np.asarray(obeying(fitted, applicants, owner, rows) & fitted.model.accepts(rows))


def judge_and_bound(
    fitted: Fitted,
    applicants: Applicants,
    menus: Menus,
    delivered: Delivered,
    request: Request,
    relaxed_lower: Array | None = None,
) -> Construction:
    """Drop what the schema or the model refuses, bound the rest, and see which guarantees hold.

    Parameters
    ----------
    relaxed_lower : (N,) bounds of the plans before they became rows; None where there are none but those of the rows
    """
    allowed = obeying(fitted, applicants, delivered.owner, delivered.options)
    good = allowed & delivered.accepted
    refused: dict[int, list[str]] = {}
    if not good.all():
        refused = _reasons(fitted, applicants, delivered.keep(~good))
        delivered = delivered.keep(good)
    bounds = bound_options(delivered.points, delivered.owner, len(applicants), fitted.ball, request.n_jobs)
    reached = guarantee_holds(bounds, delivered.owner, request.guarantee_for, request.guarantee)
    lower = bounds.lower if relaxed_lower is None else relaxed_lower
    return Construction(menus, delivered, bounds, lower, reached, refused)


def _reasons(fitted: Fitted, applicants: Applicants, rows: Delivered) -> dict[int, list[str]]:
    """Why rows are refused, by applicant, each reason once."""
    reasons: dict[int, list[str]] = {}
    found = reasons_against(fitted, applicants.origins.iloc[rows.owner], rows.options)
    for owner, reason in zip(rows.owner.tolist(), found, strict=True):
        if reason not in reasons.setdefault(owner, []):
            reasons[owner].append(reason)
    return reasons


def reasons_against(fitted: Fitted, origins: "pd.DataFrame", refused: "pd.DataFrame") -> list[str]:
    """Say of each refused row what the schema has against it for the applicant in `origins`, else the model."""
    return ["; ".join(found) or REFUSED_BY_MODEL for found in fitted.schema.violations(origins, refused)]
