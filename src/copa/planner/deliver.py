"""From plans to rows: written out, evaluated by the model, judged, and bounded as delivered."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.bounds import Bounds, bound_plans
from copa.planner.request import Request
from copa.planner.strategies.base import Applicants, Options, Strategy
from copa.search._kernels.arguments import FoundPlans
from copa.search.region import read_regions
from copa.search.rows import write_rows
from copa.uncertainty.ambiguity import AmbiguitySet

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]
REFUSED_BY_MODEL = "today's model does not accept it"


@dataclass(frozen=True, eq=False)
class Delivered:
    """Plans of N applicants, judged and bounded. Made by `deliver` alone.

    Attributes
    ----------
    options : Options
        The rows that leave.
    bounds : Bounds
    ambiguity : AmbiguitySet
        The distributions that the bounds hold for.
    relaxed_lower : ndarray of shape (N,)
        L* of the plans before they became rows.
    reached : ndarray of shape (N,)
        Whether the guarantee that was requested holds.
    refused : dict of int to list of str
        Of applicants with options that were refused, why.
    """

    options: Options
    bounds: Bounds
    ambiguity: AmbiguitySet
    relaxed_lower: Array
    reached: Flags
    refused: dict[int, list[str]]


def write_options(
    strategy: Strategy,
    applicants: Applicants,
    plans: FoundPlans,
    request: Request,
    points_of: Callable[["pd.DataFrame", Indices], Array] | None = None,
) -> Options:
    """Write the options of plans out as rows, and evaluate each.

    Parameters
    ----------
    strategy : Strategy
    applicants : Applicants
    plans : FoundPlans
    request : Request
    points_of : callable, optional
        From rows and the applicant of each to points, in the place of `strategy.points`.
    """
    owner, option = plans.positions
    space, own, rows = strategy.space, applicants.regions.own, plans.options[owner, option]
    table = write_rows(space, applicants.table, own, owner, rows)
    effort = space.effort(own[owner], rows)
    if points_of is None:
        points = strategy.points(table, owner, request.n_options, request.n_jobs)
    else:
        points = points_of(table, owner)
    relaxed_effort = space.effort(own[owner], plans.relaxed[owner, option])
    return Options(table, owner, points, strategy.model.accepts(table), effort, relaxed_effort)


def read_options(
    strategy: Strategy,
    origins: "pd.DataFrame",
    table: "pd.DataFrame",
    owner: Indices,
    request: Request,
    encoded: Array | None = None,
) -> Options:
    """Evaluate rows that someone else made for the applicants in `origins`; `encoded` as in `Strategy.points`."""
    own, rows = read_regions(strategy.space, origins).own[owner], read_regions(strategy.space, table).own
    effort = strategy.space.effort(own, rows)
    points = strategy.points(table, owner, request.n_options, request.n_jobs, encoded)
    return Options(table, owner, points, strategy.model.accepts(table), effort, effort)


def deliver(
    strategy: Strategy,
    origins: "pd.DataFrame",
    options: Options,
    request: Request,
    *,
    relaxed: tuple[Array, Indices] | None = None,
    keep_refused: bool = False,
) -> Delivered:
    """Drop what the schema or the model refuses, bound the rest, and see which guarantees hold.

    Parameters
    ----------
    strategy : Strategy
    origins : DataFrame of N rows
        The applicants, whom the constraints are about.
    options : Options
    request : Request
    relaxed : tuple of ndarray, optional
        The plans before they became rows: points (M', D) and the applicant of each; None for those delivered.
    keep_refused : bool
        Whether refused options stay, as they do in an audit.
    """
    refused: dict[int, list[str]] = {}
    if not keep_refused:
        allowed = strategy.schema.obeys(origins.iloc[options.owner], options.table)
        good = allowed & options.accepted
        if not good.all():
            refused = _reasons(strategy, origins, _select(options, ~good))
            options = _select(options, good)
    ambiguity = strategy.ambiguity(request.n_options)
    bounds = bound_plans(ambiguity, options.points, options.owner, len(origins), request.n_jobs)
    reached = guarantee_holds(bounds, options.owner, request.guarantee_for, request.guarantee)
    lower = bounds.lower
    if relaxed is not None:
        lower = bound_plans(ambiguity, *relaxed, len(origins), request.n_jobs).lower
    return Delivered(options, bounds, ambiguity, lower, reached, refused)


def _select(options: Options, flags: Flags) -> Options:
    """Some of the rows."""
    arrays = {f.name: getattr(options, f.name)[flags] for f in fields(options) if f.name != "table"}
    return Options(table=options.table[flags].reset_index(drop=True), **arrays)


def _reasons(strategy: Strategy, origins: "pd.DataFrame", refused: Options) -> dict[int, list[str]]:
    """Why rows are refused, by applicant, each reason once."""
    reasons: dict[int, list[str]] = {}
    found = reasons_against(strategy, origins.iloc[refused.owner], refused.table)
    for i, reason in zip(refused.owner.tolist(), found, strict=True):
        if reason not in reasons.setdefault(i, []):
            reasons[i].append(reason)
    return reasons


def reasons_against(strategy: Strategy, origins: "pd.DataFrame", refused: "pd.DataFrame") -> list[str]:
    """Say of each refused row what the schema has against it for the applicant in `origins`, else the model."""
    return ["; ".join(found) or REFUSED_BY_MODEL for found in strategy.schema.violations(origins, refused)]


def guarantee_holds(bounds: Bounds, owner: Indices, guarantee_for: str, guarantee: float) -> Flags:
    """Whether each plan has options, and they hold with the probability requested: each, all or any of them, (N,)."""
    n = len(bounds.lower)
    lowest = np.ones(n)
    np.minimum.at(lowest, owner, bounds.option_lower)
    value = {"each": lowest, "all": bounds.lower, "any": bounds.any_lower}[guarantee_for]
    return np.asarray((np.bincount(owner, minlength=n) > 0) & (value >= guarantee))
