"""Plans for many applicants: the compiled search, spread over threads and stopped in time."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa._core.reading import is_number
from copa._core.threads import for_each_chunk, stopping_at
from copa._core.words import shown
from copa._kernels import VARIANTS, find_plans, select_options
from copa.exceptions import InvalidInputError
from copa.planner.search.arguments import (
    Choice,
    FoundPlans,
    FoundRows,
    GoalArrays,
    Outcome,
    PoolSettings,
    Regions,
    Starts,
    take_rows,
)
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.regions import keeping, ways_in
from copa.planner.search.rows import left_entries
from copa.theory.sets.ambiguity import AmbiguitySet

CHUNK = 16  # applicants per task, so that threads are fed evenly; one by one where there is a time limit
# Spread of the logarithm of the price multipliers: prices between about half and double.
PRICE_SPREAD = 0.7


class Shrinkage(NamedTuple):
    """What counts of the nominal mean for each of N applicants, and the radius in place of the set's."""

    shares: Array  # (N,) of the mean, in [0, 1]
    radii: Array  # (N,)


@dataclass(frozen=True, eq=False)
class Goals:
    """Goals that the options of N applicants must reach.

    Attributes
    ----------
    ambiguity : AmbiguitySet
    levels : ndarray of shape (N,)
        Probability that each option must hold with, for every distribution of the set; -1 for none.
    floors : ndarray of shape (N,)
        Least score today.
    margin : float
        Least mean score.
    shrinkage : Shrinkage, optional
        None where the set is the same for all.
    """

    ambiguity: AmbiguitySet
    levels: Array
    floors: Array
    margin: float = -np.inf
    shrinkage: Shrinkage | None = None

    def take(self, rows: Any) -> "Goals":
        """The goals of some applicants."""
        shrinkage = None if self.shrinkage is None else take_rows(self.shrinkage, rows)
        return Goals(self.ambiguity, self.levels[rows], self.floors[rows], self.margin, shrinkage)

    def arrays(self) -> GoalArrays:
        """Arguments of the compiled search: coefficients of unit length, zero where no level is asked for.

        The search weighs them against rules and today's score, so their length matters.
        """
        levels, where = np.unique(self.levels, return_inverse=True)
        pairs = [read_coefficients(self.ambiguity, level) if level >= 0.0 else (0.0, 0.0) for level in levels.tolist()]
        b, c = np.array(pairs).reshape(-1, 2)[where].T
        a = np.where(self.levels >= 0.0, 1.0 / np.hypot(1.0, b), 0.0)
        shares, radii = self.shrinkage or (np.ones(len(a)), np.full(len(a), float(self.ambiguity.radius)))
        moves = moves_spread(self.ambiguity)
        return GoalArrays(a, a * b, a * c, self.floors, shares, radii, float(self.margin), moves)

    def levels_at(self, plans: FoundPlans | FoundRows) -> Array:
        """Levels that were found, (N,): those asked for where they are met, else what the heights of goals stand for.

        A height is b^2 of coefficients (a, b) of unit length: the level of a score with mean b, spread a and no reach.
        """
        reached = self.ambiguity.guarantee(np.sqrt(plans.highest), np.sqrt(1.0 - plans.highest), 0.0)
        return np.where(plans.outcomes == Outcome.MET, self.levels, reached)


def read_coefficients(ambiguity: AmbiguitySet, level: float) -> tuple[float, float]:
    """The coefficients of a level, which the compiled search takes as they are: two finite numbers of at least 0."""
    pair = np.asarray(ambiguity.level_coefficients(level), dtype=object)
    if pair.shape != (2,) or not all(is_number(x) and 0.0 <= x < np.inf for x in pair.tolist()):
        raise InvalidInputError(
            f"{type(ambiguity).__name__}.level_coefficients({level:g}) must return two finite numbers of at least 0, "
            f"got {shown(pair.tolist())}"
        )
    return float(pair[0]), float(pair[1])


def moves_spread(ambiguity: AmbiguitySet) -> bool:
    """Return whether a set moves the spread of a score with its mean: its c is then about sqrt(1 + b^2), not 1.

    It tells the climb to the highest level which of two rows is surer; the level itself comes from the set.
    """
    b, c = read_coefficients(ambiguity, 0.9)
    return bool(c > 0.5 * (1.0 + np.hypot(1.0, b)))


def price_multipliers(n_starts: int, n_columns: int, random_state: Any) -> Array:
    """Multipliers of the columns' prices, one line per start, the first of them all ones, (S, F).

    They are drawn once and serve all applicants, so that an applicant's plan does not depend on the others.
    """
    rng = np.random.default_rng(random_state)
    multipliers: Array = np.exp(PRICE_SPREAD * rng.standard_normal((n_starts, n_columns)))
    multipliers[0] = 1.0
    return multipliers


def starts_of(linear: Linearisation, encoded: Array, slack: Array) -> Starts:
    """The applicants' own rows (N, D), as the search follows them."""
    rows = encoded[:, None]  # one product per applicant: the same to the last bit in any batch
    cov_rows, drift_rows = rows @ linear.cov, rows @ linear.drift
    scores = np.concatenate(
        [
            rows @ linear.mean,
            rows @ linear.theta,
            (cov_rows @ encoded[:, :, None])[:, 0],
            (drift_rows @ encoded[:, :, None])[:, 0],
        ],
        axis=1,
    )
    cov_products, drift_products = (cov_rows @ linear.directions.T)[:, 0], (drift_rows @ linear.directions.T)[:, 0]
    return Starts(scores, cov_products, drift_products, slack)


def search_plans(  # noqa: PLR0913 - what is searched, then how, by keyword
    linear: Linearisation,
    regions: Regions,
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
    keep_pool: bool = False,
) -> FoundPlans:
    """Search the plans of N applicants; of those outside a range, the best plan of several (`problem.ways_in`).

    Parameters
    ----------
    linear : Linearisation
    regions : Regions
    encoded : ndarray of shape (N, D)
        The applicants' rows as the model sees them.
    slack : ndarray of shape (N, R)
        Of the rules there.
    goals : Goals
    n_options : int
    diversity_weight : float
    multipliers : ndarray of shape (S, F)
        Of the columns' prices, one row of an applicant's pool each.
    cap : int, optional
        Most columns that may change; None for what the schema says.
    n_jobs : int, optional
    deadline : float
        Value of `perf_counter` after which no further applicant is begun.
    progress : callable, optional
        Called with the number of applicants done, from any thread.
    keep_pool : bool
        Whether the rows that the plans were chosen from are returned too.
    """
    space = linear.space
    starts, cap = starts_of(linear, encoded, slack), space.cap if cap is None else cap
    settings = PoolSettings(multipliers, float(diversity_weight), space.alike)
    n_pool = len(multipliers) + 2 + VARIANTS * n_options if keep_pool else 0

    def search(some: Indices, where: Regions, advance: Callable[[int], None] | None) -> FoundPlans:
        plans = FoundPlans.empty(len(some), n_options, len(space.columns), n_pool)
        added = left_entries(linear, where, where.outside)
        begin = starts_of(linear, encoded[some] + added, slack[some]) if added.any() else take_rows(starts, some)
        inputs = (where, begin)
        _search(linear, cap, inputs, goals.take(some), settings, plans, (n_jobs, deadline, advance))
        return plans

    plans = search(np.arange(len(encoded)), keeping(regions, regions.outside), progress)
    for some, where in ways_in(regions):
        others, before = search(some, where, None), plans.take(some)
        efforts = _mean_effort(space, where, others), _mean_effort(space, where, before)
        better = is_better(others, before, *efforts)
        plans.put(some[better], others.take(better))
    return plans


def _search(
    linear: Linearisation,
    cap: int,
    inputs: tuple[Regions, Starts],
    goals: Goals,
    settings: PoolSettings,
    plans: FoundPlans,
    run: tuple[int | None, float, Callable[[int], None] | None],
) -> None:
    """Search the plans of applicants who may take any number between their limits, and no other.

    Parameters
    ----------
    run : tuple
        Threads, deadline and progress.
    """
    n_jobs, deadline, progress = run
    n, goal_arrays = len(plans.outcomes), goals.arrays()

    def work(some: slice) -> None:
        if perf_counter() > deadline:
            return
        problem = linear.problem._replace(cap=cap, stop=stop)
        regions, starts = (take_rows(part, some) for part in inputs)
        wanted, found = take_rows(goal_arrays, some), take_rows(plans, some)
        find_plans(problem, linear.space.prices, regions, starts, wanted, settings, found)
        if progress is not None:
            progress(len(range(*some.indices(n))))

    chunk = CHUNK if np.isinf(deadline) else 1
    with stopping_at(deadline) as stop:
        for_each_chunk(work, n, chunk, n_jobs, in_kernels=True)
    beyond_cap = inputs[0].outside.sum(axis=1) > cap
    plans.outcomes[beyond_cap] = Outcome.UNREACHABLE
    plans.counts[beyond_cap] = 0
    plans.highest[:] = goals.levels_at(plans)


def _mean_effort(space: ActionSpace, regions: Regions, plans: FoundPlans) -> Array:
    """Mean effort of the options of plans, (N,)."""
    owner, option = plans.positions
    efforts = space.effort(regions.take(owner), plans.options[owner, option])
    means: Array = np.bincount(owner, weights=efforts, minlength=len(plans.counts)) / np.maximum(plans.counts, 1)
    return means


def is_better(
    one: FoundPlans | FoundRows, other: FoundPlans | FoundRows, cost: Array, other_cost: Array
) -> npt.NDArray[np.bool_]:
    """Return whether each result is better than another, (N,): by outcome, then a higher level, then less cost."""
    same = one.outcomes == other.outcomes
    met = same & (one.outcomes == Outcome.MET)  # then it is no matter by how much
    equal = met | (same & ~(one.highest != other.highest))
    surer = same & ~met & (one.highest > other.highest)
    better: npt.NDArray[np.bool_] = (one.outcomes < other.outcomes) | surer | (equal & (cost < other_cost))
    return better


def choose_options(
    space: ActionSpace, region: Regions, rows: Array, n_options: int, diversity_weight: float
) -> Indices:
    """Choose a plan of one applicant from rows that are known already, by the criterion of `search_plans`.

    Parameters
    ----------
    space : ActionSpace
    region : Regions
        Of that applicant: arrays without a leading N.
    rows : ndarray of shape (P, F)
        Each once.
    n_options : int
    diversity_weight : float

    Returns
    -------
    ndarray of int
        Positions of up to `n_options` rows that differ in what a person does (see `selection`), cheapest first.
    """
    chosen, size = np.zeros(n_options, dtype=np.int64), np.zeros(1, dtype=np.int64)
    if len(rows):
        rows = np.ascontiguousarray(rows)
        here = (region.own, region.reference, region.leaving, region.level_prices)
        select_options(space.prices, Choice(*here, rows, float(diversity_weight), space.alike, chosen, size))
    return chosen[: size[0]]
