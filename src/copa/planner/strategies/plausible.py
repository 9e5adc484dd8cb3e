"""Plans whose options are plausible: where one is not, the plan is chosen anew.

It is chosen among the rows of the applicant's pool that are plausible and, where these are too few, among rows made
from training rows: the applicant takes over what a training row has, and takes back whatever is not needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa.planner.search.arguments import FoundPlans, Outcome, Regions
from copa.planner.search.neighbourhood import distinct, on_steps, rows_within
from copa.planner.search.plausibility import Plausibility
from copa.planner.search.problem import ActionSpace, as_levels
from copa.planner.search.ranges import precision_of
from copa.planner.search.regions import read_regions
from copa.planner.search.rows import written_numbers
from copa.planner.search.run import choose_options
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.options import Flags
from copa.plans.request import PlanRequest

Judge = Callable[[Indices, Array], Flags]  # whether rows (M, F) of the applicants `owner` (M,) are good enough

N_TRIED = 400  # training rows whose values are taken over
N_NEAR, N_FOLLOWED = 32, 8  # of the good ones the cheapest, and of these, where plausible, those that are followed


def plausible_plans(
    space: ActionSpace,
    applicants: Applicants,
    plans: FoundPlans,
    request: PlanRequest,
    judge: Judge,
    training: Callable[[], Array],
) -> FoundPlans:
    """Plans all of whose options have the plausibility asked for, with fewer options or none where that must be.

    Parameters
    ----------
    space : ActionSpace
    applicants : Applicants
    plans : FoundPlans
        With the pools that they were chosen from.
    request : PlanRequest
    judge : callable
        Whether rows may join a plan, but for their plausibility.
    training : callable
        Returns training rows (T, F), see `training_rows`; only called where they are needed.
    """
    if request.plausibility == 0.0 or space.plausibility is None:
        return plans
    rate = RowPlausibility.of(space, applicants)
    owner, option = plans.positions
    low = rate(owner, plans.options[owner, option]) < request.plausibility
    whose = np.unique(owner[low])
    if len(whose) == 0:
        return plans
    some, place = np.nonzero(np.arange(plans.pool.shape[1]) < plans.pool_sizes[whose, None])
    rows = plans.pool[whose[some], place]
    plausibility = rate(whose[some], rows)
    good = plausibility >= request.plausibility
    changed = _chosen(space, applicants.regions.take(whose), (some[good], rows[good]), plans.take(whose), request)
    changed.plausible[:] = 0.0
    np.maximum.at(changed.plausible, some, plausibility)
    changed.highest[changed.outcomes == Outcome.BELOW] = 0.0  # that of the options is; a surer row is not plausible
    short = np.flatnonzero(2 * changed.counts < plans.counts[whose])
    if len(short):
        here = applicants.take(whose[short])
        near, made = _made_from_training_rows(
            space,
            here,
            request,
            lambda owner, rows: judge(whose[short][owner], rows),
            rate.take(whose[short]),
            training(),
        )
        mine = good & np.isin(some, short)
        more = np.append(np.searchsorted(short, some[mine]), near), np.concatenate([rows[mine], made])
        changed.put(short, _chosen(space, here.regions, more, changed.take(short), request))
    return plans.replaced(whose, changed)


def training_rows(space: ActionSpace) -> Array:
    """Some of the training rows as the search has rows, (T, F); none where plausibility is not known."""
    if space.plausibility is None:
        return np.zeros((0, len(space.columns)))
    return read_regions(space, space.plausibility.table(N_TRIED)).own


def _chosen(
    space: ActionSpace, regions: Regions, owner_and_rows: tuple[Indices, Array], plans: FoundPlans, request: PlanRequest
) -> FoundPlans:
    """Plans of N applicants, chosen among rows that are known: the applicant of each, and the rows."""
    changed = plans.take(np.arange(len(regions.own)))
    weight = request.diversity_weight or 0.0
    for i in range(len(regions.own)):
        rows = distinct(owner_and_rows[1][owner_and_rows[0] == i])
        chosen = rows[choose_options(space, regions.take(i), rows, request.n_options, weight)]
        changed.counts[i] = len(chosen)
        changed.options[i, : len(chosen)] = chosen
    return changed


def _made_from_training_rows(
    space: ActionSpace,
    applicants: Applicants,
    request: PlanRequest,
    judge: Judge,
    rate: "RowPlausibility",
    training: Array,
) -> tuple[Indices, Array]:
    """Make rows that are good enough and plausible of training rows (T, F): the applicant of each, and the rows."""
    stepped, owners, nearest = on_steps(space, training), [], []
    for i in range(len(applicants)):
        regions = applicants.regions.take(np.full(len(training), i))
        rows = distinct(rows_within(space, regions, training, stepped))
        rows = rows[judge(np.full(len(rows), i), rows)]
        effort = space.effort(regions.take(slice(len(rows))), rows)
        nearest.append(rows[np.argsort(effort, kind="stable")[:N_NEAR]])
        owners.append(np.full(len(nearest[-1]), i))
    owner, rows = np.concatenate(owners), np.concatenate(nearest)
    good = np.flatnonzero(rate(owner, rows) >= request.plausibility)
    rank = np.arange(len(good)) - np.searchsorted(owner[good], owner[good])
    followed = good[rank < N_FOLLOWED]
    owner, rows = owner[followed], rows[followed]
    rows = _taken_back(
        space,
        applicants.regions.take(owner),
        rows,
        lambda some, tried: judge(owner[some], tried),
        lambda some, tried: rate(owner[some], tried) >= request.plausibility,
    )
    few = (rows != applicants.regions.own[owner]).sum(axis=1) <= space.cap
    return owner[few], rows[few]


def _taken_back(space: ActionSpace, regions: Regions, rows: Array, holds: Judge, is_plausible: Judge) -> Array:
    """The rows without the changes that are not needed, the dearest taken back first; of numbers half, if not all.

    Parameters
    ----------
    space : ActionSpace
    regions : Regions
        Of the applicant of each row.
    rows : ndarray of shape (M, F)
    holds, is_plausible : callable
        Whether rows, given with their positions among the M, may join a plan, and whether they are plausible enough.
    """
    rows, own = rows.copy(), regions.own
    order = np.argsort(-space.change_efforts(regions, rows), axis=1, kind="stable")
    for column in order.T:
        for share in (0.0, 0.5):
            is_number = column < len(space.numeric)
            changed = np.flatnonzero((rows != own)[np.arange(len(rows)), column] & (is_number | (share == 0.0)))
            before, home = rows[changed, column[changed]], own[changed, column[changed]]
            trial = rows[changed]
            trial[np.arange(len(changed)), column[changed]] = home + share * (before - home)
            if share:
                trial = rows_within(space, regions.take(changed), trial)
            moved = (trial != rows[changed]).any(axis=1)
            tried, trial = changed[moved], trial[moved]
            for judge in (holds, is_plausible):
                good = judge(tried, trial) if len(tried) else np.zeros(0, dtype=np.bool_)
                tried, trial = tried[good], trial[good]
            rows[tried] = trial
    return rows


@dataclass(frozen=True, eq=False)
class RowPlausibility:
    """Rates the plausibility of rows of the search without writing them out.

    Attributes
    ----------
    space : ActionSpace
    training : Plausibility
    regions : Regions
        Of N applicants.
    own : ndarray of int of shape (N, n)
        The applicants' rows as `Plausibility.rows` has them.
    precisions : tuple
        For each numeric column the type that it is written in, where that is of less than double precision.
    """

    space: ActionSpace
    training: Plausibility
    regions: Regions
    own: Indices
    precisions: tuple[Any, ...]

    @classmethod
    def of(cls, space: ActionSpace, applicants: Applicants) -> "RowPlausibility":
        """Read the rows of applicants; the plausibility of rows of the space must be known."""
        assert space.plausibility is not None  # noqa: S101 - the callers have seen that it is known
        table = applicants.table
        precisions = tuple(precision_of(table[feature.name]) for feature in space.numeric)
        return cls(space, space.plausibility, applicants.regions, space.plausibility.positions(table), precisions)

    def take(self, rows: Indices) -> "RowPlausibility":
        """The same for some of the applicants."""
        return replace(self, regions=self.regions.take(rows), own=self.own[rows])

    def __call__(self, owner: Indices, rows: Array) -> Array:
        """Plausibility of rows (M, F) of the applicants `owner` (M,)."""
        space, n, positions = self.space, len(self.space.numeric), self.own[owner]
        changed = rows != self.regions.own[owner]
        moved = self.training.positions_of(self._places[:n], self._written(rows[:, :n]))
        positions[:, self._places[:n]] = np.where(changed[:, :n], moved, positions[:, self._places[:n]])
        for f, feature in space.level_columns:
            flags, place = changed[:, f], self._places[[f]]
            levels = as_levels(rows[flags, f])
            held = levels - space.starts[f]
            if feature.is_numeric:
                numbers = written_numbers(feature.step, self.regions.values[owner[flags], levels])
                held = self.training.positions_of(place, numbers[:, None])[:, 0]
            elif feature.kind == "ordinal":
                held = self.training.positions_of(place, held[:, None].astype(np.float64))[:, 0]
            positions[flags, place] = held
        return self.training.shares(positions)

    @cached_property
    def _places(self) -> Indices:
        """Places of the columns of the space in the schema, (F,)."""
        names = self.training.schema.names
        return np.array([names.index(feature.name) for feature in self.space.columns], dtype=np.int64)

    def _written(self, numbers: Array) -> Array:
        """Numbers of the search as the columns hold them once they are written, (M, L)."""
        written = numbers.copy()
        steps = np.array([feature.step or 0.0 for feature in self.space.numeric])
        for step in np.unique(steps[steps > 0.0]).tolist():
            written[:, steps == step] = written_numbers(step, numbers[:, steps == step])
        for f, precision in enumerate(self.precisions):
            if precision is not None:
                written[:, f] = written[:, f].astype(precision)
        return written
