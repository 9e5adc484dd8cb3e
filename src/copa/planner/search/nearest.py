"""Real rows nearest to encoded points: the delivery of the paper's plans and of corrections."""

from time import perf_counter

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk, stopping_at
from copa._kernels import nearest_rows
from copa.data.tables.cells import snap
from copa.planner.search.arguments import FoundRows, Outcome, Regions, Starts, Targets, take_rows
from copa.planner.search.problem import Linearisation, as_levels
from copa.planner.search.regions import keeping, ways_in
from copa.planner.search.rows import left_entries, relaxed_rows
from copa.planner.search.run import Goals, is_better, starts_of

CHUNK = 64


def find_nearest_rows(
    linear: Linearisation,
    regions: Regions,
    encoded: Array,
    slack: Array,
    targets: Array,
    goals: Goals,
    *,
    n_jobs: int | None = None,
    deadline: float = np.inf,
) -> FoundRows:
    """Find for each target the allowed row nearest to it, in the encoded space, that meets the goal.

    Of an applicant outside a range it is the nearest of several (`problem.ways_in`).

    Parameters
    ----------
    linear : Linearisation
    regions, encoded, slack : Regions, ndarray of shape (M, D), ndarray of shape (M, R)
        Of the applicant of each target.
    targets : ndarray of shape (M, D)
        Points that need not be rows.
    goals : Goals
    n_jobs : int, optional
    deadline : float
        Value of `perf_counter` after which no further search is begun.
    """

    def search(some: Indices, where: Regions) -> FoundRows:
        begin = encoded[some] + left_entries(linear, where, where.outside)
        inputs = (where, starts_of(linear, begin, slack[some]))
        return _search(linear, inputs, targets[some] - begin, goals.take(some), (n_jobs, deadline))

    def distance(some: Indices, rows: Array) -> Array:
        points = relaxed_rows(linear, regions.take(some), encoded[some], rows)
        return np.asarray(np.linalg.norm(points - targets[some], axis=1))

    nearest = search(np.arange(len(targets)), keeping(regions, regions.outside))
    for some, where in ways_in(regions):
        others, before = search(some, where), nearest.take(some)
        better = is_better(others, before, distance(some, others.rows), distance(some, before.rows))
        nearest.put(some[better], others.take(better))
    return nearest


def _search(
    linear: Linearisation,
    inputs: tuple[Regions, Starts],
    shift: Array,
    goals: Goals,
    run: tuple[int | None, float],
) -> FoundRows:
    """Find the rows of applicants who may take any number between their limits, and no other.

    Parameters
    ----------
    shift : ndarray of shape (M, D)
        From the applicants to the targets.
    run : tuple
        Threads and deadline.
    """
    space, (n_jobs, deadline) = linear.space, run
    regions, m, n_numeric = inputs[0], len(shift), len(space.numeric)
    numbers, per_unit = _nearest_numbers(linear, regions, shift)
    levels, goal_arrays = _level_distances(linear, regions, shift), goals.arrays()
    rows = np.hstack([numbers, regions.own[:, n_numeric:]])
    nearest = FoundRows(np.full(m, Outcome.TIMED_OUT, dtype=np.int64), rows, np.zeros(m))

    def work(some: slice) -> None:
        if perf_counter() > deadline:
            return
        problem, targets = linear.problem._replace(stop=stop), Targets(numbers[some], per_unit, levels[some])
        here, starts = (take_rows(part, some) for part in inputs)
        nearest_rows(problem, here, starts, take_rows(goal_arrays, some), targets, take_rows(nearest, some))

    with stopping_at(deadline) as stop:
        for_each_chunk(work, m, CHUNK, n_jobs, in_kernels=True, what="finding the nearest rows", unit="options")
    nearest.outcomes[regions.outside.sum(axis=1) > space.cap] = Outcome.UNREACHABLE
    nearest.highest[:] = goals.levels_at(nearest)
    return nearest


def _nearest_numbers(linear: Linearisation, regions: Regions, shift: Array) -> tuple[Array, Array]:
    """Numbers nearest to the targets, on their grids, (M, L); encoded length of a raw unit, (L,)."""
    space = linear.space
    directions = linear.directions[: len(space.numeric)]
    lengths = np.linalg.norm(directions, axis=1)
    along = (shift[:, None] @ directions.T)[:, 0] / np.maximum(lengths**2, 1e-300)
    wanted = regions.numbers + np.where(lengths > 0.0, along, 0.0)
    for f, feature in enumerate(space.numeric):
        own, lower, upper = regions.own[:, f], regions.lower[:, f], regions.upper[:, f]
        inside = np.clip(wanted[:, f], lower, upper)
        if feature.step is not None:
            near = np.abs(inside - own) < 0.5 * feature.step
            on_grid = np.clip(snap(inside, feature.step), lower, upper)
            inside = np.where(near, np.clip(own, lower, upper), on_grid)
        wanted[:, f] = inside
    return np.ascontiguousarray(wanted), lengths


def _level_distances(linear: Linearisation, regions: Regions, shift: Array) -> Array:
    """Squared distance of each level of each column from the targets, (M, A)."""
    space, distances = linear.space, np.zeros((len(shift), len(linear.directions)))
    for f, _ in space.level_columns:
        codes = linear.directions[space.levels(f)]
        used = np.flatnonzero(np.abs(codes).max(axis=0) > 0.0)
        wanted = shift[:, used] + linear.directions[as_levels(regions.own[:, f])][:, used]
        distances[:, space.levels(f)] = ((wanted[:, None] - codes[:, used]) ** 2).sum(axis=2)
    return distances
