"""Corrections where no straight line leads to a better option: a search that begins at the option itself."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa.adapters import GivenPlans
from copa.arrays import Array, Indices
from copa.planner.black_boxes.state import local_space
from copa.planner.delivery import Applicants
from copa.planner.fitted import Fitted
from copa.planner.judge import Construction
from copa.planner.request import Request
from copa.planner.tries.selection import enough_for_each, level_of_each
from copa.planning.actions import ActionSpace, Places, unit_of_effort
from copa.planning.menus import TIMED_OUT, UNREACHABLE
from copa.planning.nearest import NearestRows
from copa.planning.rows import write_rows
from copa.plans import PlanBatch
from copa.schema import FeatureSchema
from copa.schema.steps import snap

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]
Build = Callable[[Any, Applicants, Request], Construction]  # each for the planners it is made for


def search_from_options(
    fitted: Fitted,
    given: GivenPlans,
    applicants: Applicants,
    owner: Indices,
    before: PlanBatch,
    moving: Flags,
    build: Build,
    request: Request,
) -> NearestRows:
    """For every option that may move and is not good enough, the row with the least effort from there that is.

    Where the guarantee is out of reach, the cheapest of the surest rows found is taken if it is surer than the option
    was, or the option was not allowed or is refused today.

    Parameters
    ----------
    given : options of each applicant together;  owner : (M,) positions of theirs among `applicants`
    build : builds menus for the fitted planner
    """
    own = applicants.places.take(owner)
    result = NearestRows(np.full(len(owner), UNREACHABLE), own.values.copy(), own.atoms.copy(), np.zeros(len(owner)))
    sound = before.accepted & fitted.schema.obeys(given.factuals.iloc[given.owner], given.options)
    least = np.where(sound, before.option_lower, -1.0)
    sizes = np.bincount(owner)[owner]
    wanting = np.flatnonzero(moving & (least < enough_for_each(request, sizes)))
    request = replace(request, n_options=int(sizes.max(initial=1)))
    # A cap on changes counts from the applicant, the search from the option: it may ask for too many. Then it has to do
    # with the columns that the option changes already.
    for no_more in (False,) if fitted.schema.max_changes is None else (False, True):
        if len(wanting):
            starts = _at_options(fitted, given, applicants, owner, no_more=no_more).take(wanting)
            _search(fitted, starts, wanting, least, build, request, result)
        wanting = wanting[result.outcomes[wanting] == UNREACHABLE]
    return result


def _at_options(
    fitted: Fitted, given: GivenPlans, applicants: Applicants, owner: Indices, *, no_more: bool
) -> Applicants:
    """People who stand at the options, or at the allowed rows nearest to them, and may go where the applicants may.

    Parameters
    ----------
    no_more : whether no column may change that the option does not change already: then a cap on changes holds
    """
    space, own = fitted.space, applicants.places.take(owner)
    rows = Places.read(space, given.options)
    values, atoms = _allowed(space, own, rows.values, rows.atoms)
    if no_more:
        own = _without_new_columns(space, own, values, atoms)
        values, atoms = _allowed(space, own, values, atoms)
    table = write_rows(space, applicants.table, applicants.places, owner, values, atoms)
    places = replace(own, values=values, atoms=atoms)
    return Applicants(table, applicants.origins.iloc[owner], places, fitted.start(table), space.slack(table))


def _search(
    fitted: Fitted,
    starts: Applicants,
    whose: Indices,
    least: Array,
    build: Build,
    request: Request,
    result: NearestRows,
) -> None:
    """Search from some options, and put what is allowed and surer than `least` (M,) into the result."""
    level = level_of_each(request)
    alone = replace(request, guarantee=level, n_options=1, guarantee_for="each", progress=None)
    made = build(fitted.resized(1), starts, alone)
    result.outcomes[whose[made.menus.outcomes == TIMED_OUT]] = TIMED_OUT
    found = made.delivered.owner
    rows = whose[found]
    taken = made.bounds.option_lower > least[rows]
    for name in ("values", "atoms"):
        getattr(result, name)[rows[taken]] = getattr(made.menus, name)[found[taken], 0]
    result.outcomes[rows[taken]] = made.menus.outcomes[found[taken]]


def changes_between(schema: FeatureSchema, before: "pd.DataFrame", after: "pd.DataFrame") -> Array:
    """Distance of M rows from M others in units of effort, columns that may not change included, (M,)."""
    space = local_space(replace(schema, features=tuple(f.replace(immutable=False) for f in schema.features)), power=1)
    old, new = Places.read(space, before), Places.read(space, after)
    return space.effort(old, new.values[:, None], new.atoms[:, None])[:, 0]


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
