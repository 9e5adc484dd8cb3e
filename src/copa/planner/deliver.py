"""From menus to rows: written out, asked of the model, and bounded as delivered."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.bounds import Certificate, validity_bounds
from copa.planner.fitted import Fitted, FittedPlanner
from copa.planner.request import Request
from copa.plans.rates import Trials
from copa.search.problem import Places
from copa.search.rows import make_room, relaxed_rows, write_rows
from copa.search.run import Menus
from copa.uncertainty.ambiguity import MomentBall

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Applicants:
    """Applicants whose rows are good, as the table, the search and the model see them.

    Attributes
    ----------
    table : where the search begins, one row each
    origins : the applicants as they are, whom the constraints are about; other rows than those of `table` where a
        search begins at an option (`planner.corrected_rows`)
    """

    table: "pd.DataFrame"
    origins: "pd.DataFrame"
    places: Places
    encoded: Array  # (N, D)
    slack: Array  # (N, R)

    @classmethod
    def read(cls, fitted: Fitted, table: "pd.DataFrame") -> "Applicants":
        """Read a checked table; an error, before any search, where it has no room for what options may hold."""
        table = make_room(fitted.space, table)
        places = Places.read(fitted.space, table)
        return cls(table, table, places, fitted.start(table), fitted.space.slack(table))

    def take(self, rows: Any) -> "Applicants":
        """Some of the applicants."""
        table = self.table.iloc[rows]
        origins = table if self.origins is self.table else self.origins.iloc[rows]
        return Applicants(table, origins, self.places.take(rows), self.encoded[rows], self.slack[rows])

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds of N plans with different numbers of options, M in all."""

    lower: Array  # (N,)
    upper: Array
    any_lower: Array
    gap: Array
    option_lower: Array  # (M,)
    weights: Array
    certificates: list[Certificate | None]  # N


@dataclass(frozen=True, eq=False)
class Delivered:
    """The rows of N menus, M in all."""

    options: "pd.DataFrame"  # M rows
    owner: Indices  # (M,)
    points: Array  # (M, D) as the model sees them
    relaxed: Array  # (M, D) before they were rounded to steps
    accepted: npt.NDArray[np.bool_]  # (M,)
    effort: Array
    relaxed_effort: Array

    def keep(self, flags: npt.NDArray[np.bool_]) -> "Delivered":
        """Some of the rows."""
        return Delivered(
            self.options[flags].reset_index(drop=True),
            self.owner[flags],
            self.points[flags],
            self.relaxed[flags],
            self.accepted[flags],
            self.effort[flags],
            self.relaxed_effort[flags],
        )


def deliver(fitted: FittedPlanner, applicants: Applicants, menus: Menus) -> Delivered:
    """Write the options of menus out as rows, and ask the model about each."""
    owner, option = np.nonzero(np.arange(menus.values.shape[1]) < menus.counts[:, None])
    values, atoms = menus.values[owner, option], menus.atoms[owner, option]
    loose_values, loose_atoms = menus.relaxed_values[owner, option], menus.relaxed_atoms[owner, option]
    space, places = fitted.space, applicants.places
    rows = write_rows(space, applicants.table, places, owner, values, atoms)
    here = places.take(owner)
    return Delivered(
        options=rows,
        owner=owner,
        points=fitted.model.encode(rows) if len(rows) else np.zeros((0, fitted.ball.dimension)),
        relaxed=relaxed_rows(space, places, applicants.encoded, owner, loose_values, loose_atoms),
        accepted=fitted.model.accepts(rows),
        effort=space.effort(here, values[:, None], atoms[:, None])[:, 0],
        relaxed_effort=space.effort(here, loose_values[:, None], loose_atoms[:, None])[:, 0],
    )


def bound_options(
    points: Array,
    owner: Indices,
    n_applicants: int,
    ball: MomentBall,
    n_jobs: int | None,
    progress: Callable[[int], None] | None = None,
) -> Bounds:
    """Bound the plans that the options make up; vacuous where an applicant has none.

    Parameters
    ----------
    points : (M, D) options;  owner : (M,) whose they are, sorted
    """
    counts = np.bincount(owner, minlength=n_applicants)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    bounds = Bounds(
        lower=np.zeros(n_applicants),
        upper=np.ones(n_applicants),
        any_lower=np.zeros(n_applicants),
        gap=np.ones(n_applicants),
        option_lower=np.zeros(len(points)),
        weights=np.zeros(len(points)),
        certificates=[None] * n_applicants,
    )
    for size in np.unique(counts[counts > 0]):
        whose = np.flatnonzero(counts == size)
        rows = starts[whose][:, None] + np.arange(size)
        found = validity_bounds(points[rows], ball.mean, ball.cov, ball.radius, ball.drift, n_jobs=n_jobs)
        bounds.lower[whose], bounds.upper[whose] = found.lower, found.upper
        bounds.any_lower[whose], bounds.gap[whose] = found.any_lower, found.gap
        bounds.option_lower[rows], bounds.weights[rows] = found.option_lower, found.weights
        certificates: Any = found.certificate
        for k, applicant in enumerate(whose):
            bounds.certificates[applicant] = certificates[k]
        if progress is not None:
            progress(len(whose))
    return bounds


def guarantee_holds(bounds: Bounds, owner: Indices, guarantee_for: str, guarantee: float) -> npt.NDArray[np.bool_]:
    """Whether each plan has options, and they hold with the probability asked for: each, all or any of them, (N,)."""
    n = len(bounds.lower)
    lowest = np.ones(n)
    np.minimum.at(lowest, owner, bounds.option_lower)
    value = {"each": lowest, "all": bounds.lower, "any": bounds.any_lower}[guarantee_for]
    return np.asarray((np.bincount(owner, minlength=n) > 0) & (value >= guarantee))


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
