"""Menus for many applicants: the compiled search, spread over threads and stopped in time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.threads import for_each_chunk, stopping_at
from copa.search._kernels.arguments import FoundPlans, GoalArrays, Outcome, PoolSettings, Starts
from copa.search.problem import ActionSpace, Places

Flags = npt.NDArray[np.bool_]


def keeping(places: Places, columns: Flags) -> Places:
    """The same places, in which the flagged lines (N, L) stay at the applicants' own values."""
    return replace(
        places,
        lower=np.where(columns, places.values, places.lower),
        upper=np.where(columns, places.values, places.upper),
    )


def ways_in(places: Places) -> Iterator[tuple[Indices, Places]]:
    """Yield ways to search other than keeping every value that is outside: whom they concern, and their places."""
    outside = places.outside
    concerned = np.flatnonzero(outside.any(axis=1))
    if len(concerned) == 0:
        return
    yield concerned, places.take(concerned)
    several = np.flatnonzero(outside.sum(axis=1) > 1)
    for line in range(outside.shape[1]):
        rows = several[outside[several, line]]
        if len(rows):
            others = outside[rows].copy()
            others[:, line] = False
            yield rows, keeping(places.take(rows), others)


def is_better(outcomes: tuple[Indices, Indices], values: tuple[Array, Array], costs: tuple[Array, Array]) -> Flags:
    """Whether the first of two results is better, (N,): by outcome, then a higher value, then less cost."""
    same = outcomes[0] == outcomes[1]
    equal = same & ~(values[0] != values[1])
    better: Flags = (outcomes[0] < outcomes[1]) | (same & (values[0] > values[1])) | (equal & (costs[0] < costs[1]))
    return better


CHUNK = 16  # applicants per task, so that threads are fed evenly; one by one where there is a time limit
# Spread of the logarithm of the price multipliers: prices between about half and double.
PRICE_SPREAD = 0.7

MET, BELOW, UNREACHABLE, TIMED_OUT = Outcome


@dataclass(frozen=True, eq=False)
class Goals:
    """What the options of N applicants must reach.

    Attributes
    ----------
    levels : (N,) probability that each option must hold with, for every distribution in the ball; -1 for none
    radius : of the ball
    margin : least mean score
    floors : (N,) least score today
    """

    levels: Array
    radius: float
    margin: float
    floors: Array


@dataclass(frozen=True, eq=False)
class Menus:
    """Menus of N applicants with up to J options each.

    Attributes
    ----------
    outcomes : (N,) MET, BELOW (only a lower level can be reached), UNREACHABLE or TIMED_OUT
    counts : (N,) number of options
    values, atoms : (N, J, L), (N, J, C) the options, cheapest first
    relaxed_values, relaxed_atoms : the same without the grid of the steps
    highest : (N,) the highest level found, where the level asked for is not met
    surest_values, surest_atoms : (N, L), (N, C) a row that reaches it; where nothing is accepted, the nearest attempt
    """

    outcomes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    values: Array
    atoms: npt.NDArray[np.int64]
    relaxed_values: Array
    relaxed_atoms: npt.NDArray[np.int64]
    highest: Array
    surest_values: Array
    surest_atoms: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, n: int, n_options: int, n_lines: int, n_choices: int) -> "Menus":
        """Room for N menus, none of them reached yet."""
        return cls(
            np.full(n, TIMED_OUT, dtype=np.int64),
            np.zeros(n, dtype=np.int64),
            np.zeros((n, n_options, n_lines)),
            np.zeros((n, n_options, n_choices), dtype=np.int64),
            np.zeros((n, n_options, n_lines)),
            np.zeros((n, n_options, n_choices), dtype=np.int64),
            np.zeros(n),
            np.zeros((n, n_lines)),
            np.zeros((n, n_choices), dtype=np.int64),
        )

    def take(self, rows: Any) -> "Menus":
        """The menus of some applicants."""
        return Menus(*(part[rows] for part in self.parts(slice(None))))

    def replaced(self, rows: Any, others: "Menus") -> "Menus":
        """A copy in which some applicants have other menus."""
        copies = [part.copy() for part in self.parts(slice(None))]
        for copy, other in zip(copies, others.parts(slice(None)), strict=True):
            copy[rows] = other
        return Menus(*copies)

    def put(self, k: int, found: "Menus") -> None:
        """Write the menu of one applicant, searched alone, to position k."""
        for part, own in zip(self.parts(slice(k, k + 1)), found.parts(slice(None)), strict=True):
            part[:] = own

    def parts(self, rows: slice) -> tuple[Any, ...]:
        """The arrays of some applicants, in the order of the kernel's results."""
        return (
            self.outcomes[rows],
            self.counts[rows],
            self.values[rows],
            self.atoms[rows],
            self.relaxed_values[rows],
            self.relaxed_atoms[rows],
            self.highest[rows],
            self.surest_values[rows],
            self.surest_atoms[rows],
        )


def price_multipliers(n_starts: int, n_columns: int, random_state: Any) -> Array:
    """Multipliers of the columns' prices, one line per start, the first of them all ones, (S, L + C).

    They are drawn once and serve all applicants, so that an applicant's menu does not depend on the others.
    """
    rng = np.random.default_rng(random_state)
    multipliers: Array = np.exp(PRICE_SPREAD * rng.standard_normal((n_starts, n_columns)))
    multipliers[0] = 1.0
    return multipliers


def goal_arrays(goals: Goals) -> GoalArrays:
    """What the compiled search must reach, from the levels that are asked for."""
    some = goals.levels >= 0.0
    levels = np.where(some, goals.levels, 0.0)
    b = np.sqrt(levels / (1.0 - levels))
    a = np.where(some, 1.0 / np.hypot(1.0, b), 0.0)
    c = np.hypot(1.0, b)
    return GoalArrays(a, a * b, a * c, goals.floors, float(goals.margin), float(goals.radius), moves_spread=True)


def take_rows(record: Any, rows: Any) -> Any:
    """A named tuple of arrays with some of their rows; numbers stay as they are."""
    return type(record)(*(part[rows] if isinstance(part, np.ndarray) else part for part in record))


def starts_of(space: ActionSpace, encoded: Array, slack: Array) -> Starts:
    """The applicants' own rows (N, D), as the search follows them."""
    rows = encoded[:, None]  # one product per applicant: the same to the last bit in any batch
    cov_rows, drift_rows = rows @ space.cov, rows @ space.drift
    scores = np.concatenate(
        [
            rows @ space.mean,
            rows @ space.theta,
            (cov_rows @ encoded[:, :, None])[:, 0],
            (drift_rows @ encoded[:, :, None])[:, 0],
        ],
        axis=1,
    )
    cov_products, drift_products = (cov_rows @ space.directions.T)[:, 0], (drift_rows @ space.directions.T)[:, 0]
    return Starts(scores, cov_products, drift_products, slack)


def search_menus(  # noqa: PLR0913 - what is searched, then how, by keyword
    space: ActionSpace,
    places: Places,
    encoded: Array,
    slack: Array,
    goals: Goals,
    *,
    n_options: int,
    diversity_weight: float,
    multipliers: Array,
    cap: int | None = None,
    n_jobs: int | None = None,
    deadline: float = np.inf,
    progress: Callable[[int], None] | None = None,
) -> Menus:
    """Search the menus of N applicants; of those outside a range, the best menu of several (see `planning.outside`).

    Parameters
    ----------
    encoded : (N, D) the applicants' rows as the model sees them
    slack : (N, R) of the rules there
    multipliers : (S, L + C) of the columns' prices, one row of an applicant's pool each
    cap : most columns that may change; None for what the schema says
    deadline : value of `perf_counter` after which no further applicant is begun
    progress : called with the number of applicants done, from any thread
    """
    starts, cap = starts_of(space, encoded, slack), space.cap if cap is None else cap

    def search(some: Indices, where: Places, advance: Callable[[int], None] | None) -> Menus:
        asked = replace(goals, levels=goals.levels[some], floors=goals.floors[some])
        settings = PoolSettings(multipliers, float(diversity_weight))
        return _search(
            space, where, take_rows(starts, some), asked, settings, (cap, n_options), (n_jobs, deadline, advance)
        )

    menus = search(np.arange(len(encoded)), keeping(places, places.outside), progress)
    for some, where in ways_in(places):
        menus = _better_of(space, menus, some, where, search(some, where, None))
    return menus


def _search(
    space: ActionSpace,
    places: Places,
    starts: Starts,
    goals: Goals,
    settings: PoolSettings,
    how: tuple[int, int],
    run: tuple[int | None, float, Callable[[int], None] | None],
) -> Menus:
    """Search the menus of applicants who may take any value between their limits, and no other.

    Parameters
    ----------
    how : most columns that may change, number of options
    run : threads, deadline and progress
    """
    from copa.search._kernels.plans import find_plans

    kernel: Any = find_plans
    cap, n_options = how
    n_jobs, deadline, progress = run
    n, n_columns = len(places.values), len(space.columns)
    found = FoundPlans(
        np.full(n, Outcome.TIMED_OUT, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros((n, n_options, n_columns)),
        np.zeros((n, n_options, n_columns)),
        np.zeros((n, n_columns)),
        np.zeros(n),
    )
    regions, asked = places.regions, goal_arrays(goals)

    def work(some: slice) -> None:
        if perf_counter() > deadline:
            return
        problem = space.problem._replace(cap=cap, stop=stop)
        applicants = (take_rows(part, some) for part in (regions, starts, asked))
        kernel(problem, space.prices, *applicants, settings, take_rows(found, some))
        if progress is not None:
            progress(len(range(*some.indices(n))))

    chunk = CHUNK if np.isinf(deadline) else 1
    with stopping_at(deadline) as stop:
        for_each_chunk(work, n, chunk, n_jobs, in_kernels=True)
    beyond_cap = places.outside.sum(axis=1) > cap
    found.outcomes[beyond_cap] = UNREACHABLE
    found.counts[beyond_cap] = 0
    parts: list[Any] = []
    n_lines = len(space.lines)
    for rows in (found.options, found.relaxed, found.surest):
        parts += [rows[..., :n_lines].copy(), rows[..., n_lines:].astype(np.int64)]
    highest = np.where(found.outcomes == MET, goals.levels, found.highest)
    a, b, c, d, e, f = parts
    return Menus(found.outcomes, found.counts, a, b, c, d, highest, e, f)


def _better_of(space: ActionSpace, menus: Menus, some: Indices, places: Places, others: Menus) -> Menus:
    """The menus, with those of some applicants replaced where others are better: surer, then with less mean effort."""
    efforts = []
    for found in (others, menus.take(some)):
        filled = np.arange(found.values.shape[1]) < found.counts[:, None]
        total = np.where(filled, space.effort(places, found.values, found.atoms), 0.0).sum(axis=1)
        efforts.append(total / np.maximum(found.counts, 1))
    known = menus.take(some)
    sure = others.outcomes != MET  # among menus that meet the level, it is no matter by how much
    better = is_better(
        (others.outcomes, known.outcomes),
        (np.where(sure, others.highest, 0.0), np.where(sure, known.highest, 0.0)),
        (efforts[0], efforts[1]),
    )
    return menus.replaced(some[better], others.take(better))
