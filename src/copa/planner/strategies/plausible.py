"""Plans whose options are plausible: where one is not, the plan is chosen anew.

It is chosen among the rows of the applicant's pool that are plausible and, where these are too few, among rows made
from training rows: the applicant takes over what a training row has, and takes back whatever is not needed.
"""

from collections.abc import Callable

import numpy as np

from copa._core.arrays import Array, Indices
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.options import Flags
from copa.plans.request import PlanRequest
from copa.search._kernels.arguments import FoundPlans, Outcome, Regions
from copa.search.neighbourhood import rows_within
from copa.search.problem import ActionSpace
from copa.search.regions import read_regions
from copa.search.run import choose_options

Judge = Callable[[Indices, Array], Flags]  # whether rows (M, F) of the applicants `owner` (M,) are good enough

N_TRIED = 400  # training rows whose values are taken over
N_NEAR, N_FOLLOWED = 32, 8  # of the good ones the cheapest, and of these, where plausible, those that are followed


def plausible_plans(
    space: ActionSpace, applicants: Applicants, plans: FoundPlans, request: PlanRequest, judge: Judge
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
    """
    if request.plausibility == 0.0 or space.plausibility is None:
        return plans
    owner, option = plans.positions
    low = _plausibility(space, applicants, owner, plans.options[owner, option]) < request.plausibility
    whose = np.unique(owner[low])
    if len(whose) == 0:
        return plans
    some, place = np.nonzero(np.arange(plans.pool.shape[1]) < plans.pool_sizes[whose, None])
    rows = plans.pool[whose[some], place]
    plausibility = _plausibility(space, applicants, whose[some], rows)
    good = plausibility >= request.plausibility
    changed = _chosen(space, applicants.regions.take(whose), (some[good], rows[good]), plans.take(whose), request)
    changed.plausible[:] = 0.0
    np.maximum.at(changed.plausible, some, plausibility)
    changed.highest[changed.outcomes == Outcome.BELOW] = 0.0  # that of the options is; a surer row is not plausible
    short = np.flatnonzero(2 * changed.counts < plans.counts[whose])
    if len(short):
        here = applicants.take(whose[short])
        near, found = _made_from_training_rows(
            space, here, request, lambda owner, rows: judge(whose[short][owner], rows)
        )
        more = np.concatenate([some[good], short[near]]), np.concatenate([rows[good], found])
        changed = _chosen(space, applicants.regions.take(whose), more, changed, request)
    return plans.replaced(whose, changed)


def _chosen(
    space: ActionSpace, regions: Regions, known: tuple[Indices, Array], plans: FoundPlans, request: PlanRequest
) -> FoundPlans:
    """Plans of N applicants, chosen among rows that are known: the applicant of each, and the rows."""
    changed = plans.take(np.arange(len(regions.own)))
    weight = request.diversity_weight or 0.0
    for i in range(len(regions.own)):
        rows = np.unique(known[1][known[0] == i], axis=0)
        chosen = rows[choose_options(space, regions.take(i), rows, request.n_options, weight)]
        changed.counts[i] = len(chosen)
        changed.options[i, : len(chosen)] = chosen
    return changed


def _made_from_training_rows(
    space: ActionSpace, applicants: Applicants, request: PlanRequest, judge: Judge
) -> tuple[Indices, Array]:
    """Rows that are good enough and plausible: the applicant of each, (M,), and the rows, (M, F)."""
    if space.plausibility is None:
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(space.columns)))
    training = read_regions(space, space.plausibility.table(N_TRIED)).own
    owners, nearest = [], []
    for i in range(len(applicants)):
        regions = applicants.regions.take(np.full(len(training), i))
        rows = np.unique(rows_within(space, regions, training), axis=0)
        rows = rows[judge(np.full(len(rows), i), rows)]
        effort = space.effort(applicants.regions.take(np.full(len(rows), i)), rows)
        nearest.append(rows[np.argsort(effort, kind="stable")[:N_NEAR]])
        owners.append(np.full(len(nearest[-1]), i))
    owner, rows = np.concatenate(owners), np.concatenate(nearest)
    good = np.flatnonzero(_plausibility(space, applicants, owner, rows) >= request.plausibility)
    rank = np.arange(len(good)) - np.searchsorted(owner[good], owner[good])
    followed = good[rank < N_FOLLOWED]
    owner, rows = owner[followed], _taken_back(space, applicants, owner[followed], rows[followed], request, judge)
    few = (rows != applicants.regions.own[owner]).sum(axis=1) <= space.cap
    return owner[few], rows[few]


def _taken_back(
    space: ActionSpace, applicants: Applicants, owner: Indices, rows: Array, request: PlanRequest, judge: Judge
) -> Array:
    """The rows without the changes that are not needed, the dearest taken back first; of numbers half, if not all."""
    regions, rows = applicants.regions.take(owner), rows.copy()
    own, everyone = regions.own, np.arange(len(rows))
    order = np.argsort(-space.change_efforts(regions, rows), axis=1, kind="stable")
    for column in order.T:
        for share in (0.0, 0.5):
            trial = rows.copy()
            before, home = rows[everyone, column], own[everyone, column]
            is_number = column < len(space.numeric)
            trial[everyone, column] = home + np.where(is_number, share, 0.0) * (before - home)
            trial = np.where(trial == own, own, rows_within(space, regions, trial))
            tried = np.flatnonzero((trial != rows).any(axis=1) & (is_number | (share == 0.0)))
            good = tried[judge(owner[tried], trial[tried])] if len(tried) else tried
            good = good[_plausibility(space, applicants, owner[good], trial[good]) >= request.plausibility]
            rows[good] = trial[good]
    return rows


def _plausibility(space: ActionSpace, applicants: Applicants, owner: Indices, rows: Array) -> Array:
    """Plausibility of rows (M, F) of the applicants `owner` (M,)."""
    if len(rows) == 0:
        return np.zeros(0)
    return applicants.write(space, owner, rows).plausibility
