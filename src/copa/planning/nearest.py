"""Real rows nearest to encoded points: how relaxed plans and corrections become something to follow."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from copa.arrays import Array
from copa.planning.actions import ActionSpace, Places
from copa.planning.menus import TIMED_OUT, UNREACHABLE, Goals, search_inputs
from copa.schema.steps import snap
from copa.workers import for_each_chunk, stopping_at

CHUNK = 64


@dataclass(frozen=True, eq=False)
class NearestRows:
    """Rows found for M targets.

    Attributes
    ----------
    outcomes : (M,) MET, BELOW, UNREACHABLE or TIMED_OUT, as in `Menus`
    values, atoms : (M, L), (M, C)
    highest : (M,) the highest level found where the one asked for is not met
    """

    outcomes: npt.NDArray[np.int64]
    values: Array
    atoms: npt.NDArray[np.int64]
    highest: Array


def find_nearest_rows(
    space: ActionSpace,
    places: Places,
    encoded: Array,
    slack: Array,
    targets: Array,
    goals: Goals,
    *,
    n_jobs: int | None = None,
    deadline: float = np.inf,
) -> NearestRows:
    """Find for each target the allowed row nearest to it, in the encoded space, that meets the goal.

    Parameters
    ----------
    places, encoded, slack : of the applicant of each target, with a leading M
    targets : (M, D) points that need not be rows
    """
    from copa.planning.kernels.nearest import nearest_rows

    kernel: Any = nearest_rows

    shift = targets - encoded
    lines, prices = _line_targets(space, places, shift)
    choice_prices = _choice_prices(space, places, shift)
    inputs = search_inputs(space, encoded)
    m = len(targets)
    found = NearestRows(np.full(m, TIMED_OUT, dtype=np.int64), lines.copy(), places.atoms.copy(), np.zeros(m))

    def work(rows: slice) -> None:
        if perf_counter() > deadline:
            return
        kernel(
            *space.terrain,
            stop,
            *(part[rows] for part in places.parts()),
            space.cap,
            *(part[rows] for part in inputs),
            slack[rows],
            goals.levels[rows],
            goals.radius,
            goals.margin,
            goals.floors[rows],
            lines[rows],
            prices,
            choice_prices[rows],
            found.outcomes[rows],
            found.values[rows],
            found.atoms[rows],
            found.highest[rows],
        )

    with stopping_at(deadline) as stop:
        for_each_chunk(work, m, CHUNK, n_jobs, in_kernels=True)
    found.outcomes[places.impossible(space, space.cap)] = UNREACHABLE
    return found


def _line_targets(space: ActionSpace, places: Places, shift: Array) -> tuple[Array, Array]:
    """Values of the lines nearest to the targets, on their grids, (M, L); encoded length of a raw unit, (L,)."""
    directions = space.directions[: len(space.lines)]
    lengths = np.linalg.norm(directions, axis=1)
    along = shift @ directions.T / np.maximum(lengths**2, 1e-300)
    wanted = places.values + np.where(lengths > 0.0, along, 0.0)
    for k, feature in enumerate(space.lines):
        inside = np.clip(wanted[:, k], places.lower[:, k], places.upper[:, k])
        if feature.step is not None:
            near = np.abs(inside - places.values[:, k]) < 0.5 * feature.step
            on_grid = np.clip(snap(inside, feature.step), places.lower[:, k], places.upper[:, k])
            inside = np.where(near, np.clip(places.values[:, k], places.lower[:, k], places.upper[:, k]), on_grid)
        wanted[:, k] = inside
    return np.ascontiguousarray(wanted), lengths


def _choice_prices(space: ActionSpace, places: Places, shift: Array) -> Array:
    """Squared distance of each value of each choice from the targets, (M, A)."""
    prices = np.zeros((len(shift), len(space.directions)))
    for k in range(len(space.choices)):
        start, end = space.ends[k], space.ends[k + 1]
        codes = space.directions[start:end]
        used = np.flatnonzero(np.abs(codes).max(axis=0) > 0.0)
        wanted = shift[:, used] + space.directions[places.atoms[:, k]][:, used]
        prices[:, start:end] = ((wanted[:, None] - codes[:, used]) ** 2).sum(axis=2)
    return prices
