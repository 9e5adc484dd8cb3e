"""Real rows nearest to encoded points: how relaxed plans and corrections become something to follow."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk, stopping_at
from copa.search._kernels.arguments import FoundRows, Starts, Targets
from copa.search.problem import ActionSpace, Places
from copa.search.rows import relaxed_rows
from copa.search.run import (
    MET,
    TIMED_OUT,
    UNREACHABLE,
    Goals,
    goal_arrays,
    is_better,
    keeping,
    starts_of,
    take_rows,
    ways_in,
)
from copa.tables.steps import snap

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

    def take(self, rows: Any) -> "NearestRows":
        """Some of the rows."""
        return NearestRows(self.outcomes[rows], self.values[rows], self.atoms[rows], self.highest[rows])

    def put(self, rows: Any, others: "NearestRows") -> None:
        """Put other rows in the place of some."""
        for name in ("outcomes", "values", "atoms", "highest"):
            getattr(self, name)[rows] = getattr(others, name)


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

    Of an applicant outside a range it is the nearest of several (see `planning.outside`).

    Parameters
    ----------
    places, encoded, slack : of the applicant of each target, with a leading M
    targets : (M, D) points that need not be rows
    """
    shift, starts = targets - encoded, starts_of(space, encoded, slack)

    def search(some: Indices, where: Places) -> NearestRows:
        asked = replace(goals, levels=goals.levels[some], floors=goals.floors[some])
        return _search(space, where, take_rows(starts, some), shift[some], asked, (n_jobs, deadline))

    found = search(np.arange(len(targets)), keeping(places, places.outside))
    for some, where in ways_in(places):
        other = search(some, where)
        distances = []
        for values, atoms in ((other.values, other.atoms), (found.values[some], found.atoms[some])):
            rows = relaxed_rows(space, where, encoded[some], np.arange(len(some)), values, atoms)
            distances.append(np.linalg.norm(rows - targets[some], axis=1))
        sure = other.outcomes != MET
        better = is_better(
            (other.outcomes, found.outcomes[some]),
            (np.where(sure, other.highest, 0.0), np.where(sure, found.highest[some], 0.0)),
            (distances[0], distances[1]),
        )
        found.put(some[better], other.take(better))
    return found


def _search(
    space: ActionSpace,
    places: Places,
    starts: Starts,
    shift: Array,
    goals: Goals,
    run: tuple[int | None, float],
) -> NearestRows:
    """Find the rows of applicants who may take any value between their limits, and no other.

    Parameters
    ----------
    shift : (M, D) from the applicants to the targets
    run : threads and deadline
    """
    from copa.search._kernels.nearest import nearest_rows

    kernel: Any = nearest_rows
    n_jobs, deadline = run
    lines, per_unit = _line_targets(space, places, shift)
    targets = Targets(lines, per_unit, _choice_prices(space, places, shift))
    m = len(shift)
    rows = np.hstack([lines, places.atoms])
    found = FoundRows(np.full(m, TIMED_OUT, dtype=np.int64), rows, np.zeros(m))
    regions, asked = places.regions, goal_arrays(goals)

    def work(some: slice) -> None:
        if perf_counter() > deadline:
            return
        at = targets._replace(numbers=lines[some], levels=targets.levels[some])
        applicants = (take_rows(part, some) for part in (regions, starts, asked))
        kernel(space.problem._replace(stop=stop), *applicants, at, take_rows(found, some))

    with stopping_at(deadline) as stop:
        for_each_chunk(work, m, CHUNK, n_jobs, in_kernels=True)
    found.outcomes[places.outside.sum(axis=1) > space.cap] = UNREACHABLE
    n_lines = len(space.lines)
    highest = np.where(found.outcomes == MET, goals.levels, found.highest)
    return NearestRows(found.outcomes, rows[:, :n_lines].copy(), rows[:, n_lines:].astype(np.int64), highest)


def _line_targets(space: ActionSpace, places: Places, shift: Array) -> tuple[Array, Array]:
    """Values of the lines nearest to the targets, on their grids, (M, L); encoded length of a raw unit, (L,)."""
    directions = space.directions[: len(space.lines)]
    lengths = np.linalg.norm(directions, axis=1)
    along = (shift[:, None] @ directions.T)[:, 0] / np.maximum(lengths**2, 1e-300)
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
