"""Corrections by search: from each option to the nearest row that is good enough, for any model."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Indices
from copa.planner.audit import Audit
from copa.planner.deliver import deliver
from copa.planner.request import Request
from copa.planner.strategies.base import Applicants, Flags, Strategy
from copa.planner.strategies.exploration import enough_for_each, level_of_each
from copa.search._kernels.arguments import FoundRows, Outcome, Regions
from copa.search.cost import unit_of_effort
from copa.search.problem import ActionSpace, as_levels
from copa.search.region import keeping, read_regions
from copa.search.rows import write_rows
from copa.tables.cells import snap

if TYPE_CHECKING:
    import pandas as pd


def search_from_options(
    strategy: Strategy,
    options: "pd.DataFrame",
    applicants: Applicants,
    owner: Indices,
    audit: Audit,
    moving: Flags,
    request: Request,
) -> FoundRows:
    """For every option that may move and is not good enough, the row with the least effort from there that is.

    Where the guarantee is out of reach, the cheapest of the surest rows found is taken if it is surer than the option
    was, or the option was not allowed or is refused today.

    Parameters
    ----------
    strategy : Strategy
    options : DataFrame of M rows
    applicants : Applicants
    owner : ndarray of shape (M,)
        Positions of theirs among `applicants`.
    audit : Audit
        Of the options.
    moving : ndarray of shape (M,)
        Options that may move.
    request : Request
    """
    outcomes = np.full(len(owner), Outcome.UNREACHABLE, dtype=np.int64)
    result = FoundRows(outcomes, applicants.regions.own[owner], np.zeros(len(owner)))
    least = np.where(audit.sound, audit.batch.option_lower, -1.0)
    sizes = np.bincount(owner)[owner]
    wanting = np.flatnonzero(moving & (least < enough_for_each(request, sizes)))
    request = replace(request, n_options=int(sizes.max(initial=1)))
    # A cap on changes counts from the applicant, the search from the option: it may ask for too many. Then it has to do
    # with the columns that the option changes already.
    for no_more in (False,) if strategy.schema.max_changes is None else (False, True):
        if len(wanting):
            starts = _at_options(strategy, options, applicants, owner, no_more=no_more).take(wanting)
            _search(strategy, starts, wanting, least, request, result)
        wanting = wanting[result.outcomes[wanting] == Outcome.UNREACHABLE]
    return result


def _at_options(
    strategy: Strategy, options: "pd.DataFrame", applicants: Applicants, owner: Indices, *, no_more: bool
) -> Applicants:
    """People who stand at the options, or at the allowed rows nearest to them, and may go where the applicants may.

    Parameters
    ----------
    no_more : whether no column may change that the option does not change already: then a cap on changes holds
    """
    space, regions = strategy.space, applicants.regions.take(owner)
    rows = _allowed(space, regions, read_regions(space, options).own)
    if no_more:
        regions = _without_new_columns(space, regions, rows)
        rows = _allowed(space, regions, rows)
    table = write_rows(space, applicants.table, applicants.regions.own, owner, rows)
    origins = applicants.origins.iloc[owner]
    return Applicants(table, origins, regions._replace(own=rows), strategy.start(table), space.slack(table))


def _search(
    strategy: Strategy,
    starts: Applicants,
    whose: Indices,
    least: Array,
    request: Request,
    result: FoundRows,
) -> None:
    """Search from some options, and put what is allowed and surer than `least` (M,) into the result."""
    level = level_of_each(request)
    alone = replace(request, guarantee=level, n_options=1, guarantee_for="each", progress=None)
    found = strategy.build(starts, alone)
    made = deliver(strategy, starts.origins, found.options, alone)
    result.outcomes[whose[found.plans.outcomes == Outcome.TIMED_OUT]] = Outcome.TIMED_OUT
    owner = made.options.owner
    rows = whose[owner]
    taken = made.bounds.option_lower > least[rows]
    result.rows[rows[taken]] = found.plans.options[owner[taken], 0]
    result.outcomes[rows[taken]] = found.plans.outcomes[owner[taken]]


def _allowed(space: ActionSpace, regions: Regions, rows: Array) -> Array:
    """Rows brought into the limits of their applicants, column by column."""
    n, inside = len(space.numeric), rows.copy()
    for f, feature in enumerate(space.numeric):
        if feature.step is not None:
            inside[:, f] = snap(rows[:, f], feature.step)
    inside[:, :n] = np.clip(inside[:, :n], regions.lower, regions.upper)
    levels = as_levels(rows[:, n:])
    inside[:, n:] = np.where(np.take_along_axis(regions.allowed, levels, axis=1), levels, regions.own[:, n:])
    return np.where(rows == regions.own, rows, inside)


def _without_new_columns(space: ActionSpace, regions: Regions, rows: Array) -> Regions:
    """Limits that hold all columns but the largest changes of each row, as many as may change."""
    own, n = regions.own, len(space.numeric)
    units = np.array([unit_of_effort(feature) for feature in space.numeric])
    sizes = np.hstack([np.abs(rows - own)[:, :n] / units, (rows != own)[:, n:].astype(np.float64)])
    rank = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1, kind="stable")
    held = (rank >= space.cap) | (sizes == 0.0)
    allowed = regions.allowed.copy()
    for f, _ in space.categorical:
        levels = space.levels(f)
        allowed[:, levels] &= ~held[:, [f]] | (own[:, [f]] == levels)
    return keeping(regions, held[:, :n])._replace(allowed=allowed)
