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
from copa.search.nearest import NearestRows
from copa.search.problem import ActionSpace, Places, unit_of_effort
from copa.search.rows import write_rows
from copa.search.run import TIMED_OUT, UNREACHABLE
from copa.tables.steps import snap

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
) -> NearestRows:
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
    own = applicants.places.take(owner)
    result = NearestRows(np.full(len(owner), UNREACHABLE), own.values.copy(), own.atoms.copy(), np.zeros(len(owner)))
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
        wanting = wanting[result.outcomes[wanting] == UNREACHABLE]
    return result


def _at_options(
    strategy: Strategy, options: "pd.DataFrame", applicants: Applicants, owner: Indices, *, no_more: bool
) -> Applicants:
    """People who stand at the options, or at the allowed rows nearest to them, and may go where the applicants may.

    Parameters
    ----------
    no_more : whether no column may change that the option does not change already: then a cap on changes holds
    """
    space, own = strategy.space, applicants.places.take(owner)
    rows = Places.read(space, options)
    values, atoms = _allowed(space, own, rows.values, rows.atoms)
    if no_more:
        own = _without_new_columns(space, own, values, atoms)
        values, atoms = _allowed(space, own, values, atoms)
    table = write_rows(space, applicants.table, applicants.places, owner, values, atoms)
    places = replace(own, values=values, atoms=atoms)
    return Applicants(table, applicants.origins.iloc[owner], places, strategy.start(table), space.slack(table))


def _search(
    strategy: Strategy,
    starts: Applicants,
    whose: Indices,
    least: Array,
    request: Request,
    result: NearestRows,
) -> None:
    """Search from some options, and put what is allowed and surer than `least` (M,) into the result."""
    level = level_of_each(request)
    alone = replace(request, guarantee=level, n_options=1, guarantee_for="each", progress=None)
    found = strategy.build(starts, alone)
    made = deliver(strategy, starts.origins, found.options, alone)
    result.outcomes[whose[found.plans.outcomes == TIMED_OUT]] = TIMED_OUT
    owner = made.options.owner
    rows = whose[owner]
    taken = made.bounds.option_lower > least[rows]
    for name in ("values", "atoms"):
        getattr(result, name)[rows[taken]] = getattr(found.plans, name)[owner[taken], 0]
    result.outcomes[rows[taken]] = found.plans.outcomes[owner[taken]]


def _allowed(space: ActionSpace, own: Places, values: Array, atoms: Indices) -> tuple[Array, Indices]:
    """Rows brought into the limits of their applicants, column by column."""
    inside = values.copy()
    for k, feature in enumerate(space.lines):
        if feature.step is not None:
            inside[:, k] = np.where(values[:, k] == own.values[:, k], values[:, k], snap(values[:, k], feature.step))
    inside = np.where(values == own.values, values, np.clip(inside, own.lower, own.upper))
    return inside, np.where(np.take_along_axis(own.allowed, atoms, axis=1), atoms, own.atoms)


def _without_new_columns(space: ActionSpace, own: Places, values: Array, atoms: Indices) -> Places:
    """Limits that hold all columns but the largest changes of each row, as many as may change."""
    units = np.array([unit_of_effort(feature) for feature in space.lines])
    sizes = np.hstack([np.abs(values - own.values) / units, (atoms != own.atoms).astype(np.float64)])
    rank = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1, kind="stable")
    held = (rank >= space.cap) | (sizes == 0.0)
    lines, choices = held[:, : len(space.lines)], held[:, len(space.lines) :]
    lower, upper = np.where(lines, own.values, own.lower), np.where(lines, own.values, own.upper)
    allowed = own.allowed.copy()
    for k in range(len(space.choices)):
        atoms_of = np.arange(space.ends[k], space.ends[k + 1])
        only_own = own.atoms[:, [k]] == atoms_of
        flags = allowed[:, atoms_of]
        allowed[:, atoms_of] = np.where(choices[:, [k]], flags & only_own, flags)
    return replace(own, lower=lower, upper=upper, allowed=allowed)
