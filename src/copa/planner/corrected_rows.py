"""The row that each option of an external plan is corrected to.

For models that are linear in the columns, a correction of the encoded point, delivered as the nearest real row; for any
other model, a search from the option to the nearest row that is good enough.
"""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.progress import stage
from copa._core.reading import read_count, read_number, read_word
from copa._core.words import METHODS
from copa.data.schema.columns import ReadTable
from copa.planner.plan import deliver
from copa.planner.search._kernels.arguments import FoundRows, Outcome, Regions
from copa.planner.search.neighbourhood import rows_within
from copa.planner.search.problem import ActionSpace
from copa.planner.search.regions import keeping, read_regions, standing_at
from copa.planner.search.rows import relaxed_rows, write_rows
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.exploration import enough_for_each, level_of_each
from copa.planner.strategies.options import Flags
from copa.planner.strategies.weighted import relaxed_box
from copa.plans import PlanRequest
from copa.plans.cost import unit_of_effort
from copa.theory.corrections import mahalanobis_correction, requirement_correction

if TYPE_CHECKING:
    import pandas as pd

POINT_ROUNDING = 1e-9  # of a score
BATCH_SIZE = 128  # plans that are corrected at once; then the clock is looked at
# Shares of a correction that are tried, one after the other, where the nearest real row is beyond the budget.
SHARES = (0.75, 0.5, 0.25)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Correction:
    """How external plans are corrected.

    Attributes
    ----------
    method : str
        One of METHODS.
    budget : float
        How far "mahalanobis" may move an option of a plan that is allowed and accepted as given, its way to a real row
        included; options of another plan go on to the nearest row that is, however far.
    margin : float
        Mean score that "requirement" aims at.
    n_corrections : int or None
        How many options of a plan may move, those that break first; None for all.
    """

    method: str
    budget: float
    margin: float
    n_corrections: int | None

    @classmethod
    def read(cls, method: Any, budget: Any, margin: Any, n_corrections: Any) -> "Correction":
        """Check what a caller asks for."""
        return cls(
            read_word(method, METHODS, "method"),
            read_number(budget, "budget"),
            read_number(margin, "margin"),
            None if n_corrections is None else read_count(n_corrections, "n_corrections"),
        )


@dataclass(frozen=True, eq=False)
class PointCorrection:
    """A correction of M encoded options, for a model that is linear in the columns.

    Attributes
    ----------
    strategy : Strategy
    applicants : Applicants
    owner : ndarray of shape (M,)
        The applicant of each option, ascending.
    points : ndarray of shape (M, D)
        The options.
    correction : Correction
    request : PlanRequest
    run : Execution
    """

    strategy: Strategy
    applicants: Applicants
    owner: Indices
    points: Array
    correction: Correction
    request: PlanRequest
    run: Execution

    def rows(self, sound: Flags) -> FoundRows:
        """The rows that the correction leads to, one for each option.

        Parameters
        ----------
        sound : ndarray of shape (M,)
            Whether the plan of each option is allowed and accepted as it is: then the budget holds.
        """
        targets, late = self._targets()
        method, everyone = self.correction.method, np.arange(len(self.owner))
        levels = np.full(len(self.owner), -1.0)
        if method == "level":
            levels = enough_for_each(self.request, np.bincount(self.owner)[self.owner])
        margin = self.correction.margin if method == "requirement" else -np.inf
        found = self._nearest(everyone, targets, levels=levels, margin=margin)
        short = np.flatnonzero(found.outcomes == Outcome.UNREACHABLE)
        if method == "requirement" and len(short):  # as near to the margin as they can come
            found.put(short, self._nearest(short, targets[short]))
        elif self.request.guarantee_for == "all" and method == "level" and len(short):  # at least each by itself
            levels = np.full(len(short), self.request.guarantee)
            found.put(short, self._nearest(short, targets[short], levels=levels))
        if method == "mahalanobis":
            self._keep_to_budget(targets, found, np.where(sound, self.correction.budget, np.inf))
        found.outcomes[late] = Outcome.TIMED_OUT
        return found

    def _nearest(self, which: Indices, targets: Array, **goal: Any) -> FoundRows:
        """The allowed and accepted rows nearest to the targets of some options."""
        return self.strategy.nearest_rows(self.applicants, self.owner[which], targets, self.run, **goal)

    def _targets(self) -> tuple[Array, Flags]:
        """The options after a correction in the encoded space, inside what each applicant may do.

        Returns
        -------
        targets : ndarray of shape (M, D)
        late : ndarray of shape (M,)
            Options whose turn did not come within the time limit; they stay as they are.
        """
        targets, late = self.points.copy(), np.zeros(len(self.points), dtype=bool)
        if self.correction.method == "level":  # what is asked for is asked of the rows
            return targets, late
        lower, upper = relaxed_box(self.strategy.linearisation, self.applicants)
        counts = np.bincount(self.owner, minlength=len(self.applicants))
        alike = [np.flatnonzero(counts == size) for size in np.unique(counts[counts > 0]).tolist()]
        batches = [some[first : first + BATCH_SIZE] for some in alike for first in range(0, len(some), BATCH_SIZE)]
        with stage("moving options", sum(map(len, alike)), "plans") as advance:
            for whose in batches:
                size = int(counts[whose[0]])
                rows = np.searchsorted(self.owner, whose)[:, None] + np.arange(size)
                if perf_counter() > self.run.deadline:
                    late[rows] = True
                    continue
                box = {"lower": lower[whose], "upper": upper[whose]}
                plans = np.clip(self.points[rows], lower[whose][:, None], upper[whose][:, None])
                targets[rows] = self._corrected(plans, box)
                advance(len(whose))
        return targets, late

    def _corrected(self, plans: Array, box: dict[str, Any]) -> Array:
        """Plans (N, J, D) after a correction."""
        ambiguity, n_corrections = self.strategy.ambiguity(plans.shape[1]), self.correction.n_corrections
        if self.correction.method == "requirement":
            return _required_scores(plans, ambiguity.mean, self.correction.margin, box)
        return mahalanobis_correction(
            plans,
            ambiguity=ambiguity,
            budget=self.correction.budget,
            n_corrections=None if n_corrections is None else min(n_corrections, plans.shape[1]),
            n_jobs=self.run.n_jobs,
            **box,
        )

    def _keep_to_budget(self, targets: Array, found: FoundRows, budgets: Array) -> None:
        """Where the real row nearest to a target is beyond the budget, go less far; as a last resort, stay.

        Parameters
        ----------
        targets : ndarray of shape (M, D)
        found : FoundRows
            Changed in place.
        budgets : ndarray of shape (M,)
            Infinite for options that have to move anyway.
        """
        for share in SHARES:
            far = self._beyond(found, budgets)
            if len(far) == 0:
                return
            found.put(far, self._nearest(far, self.points[far] + share * (targets[far] - self.points[far])))
        found.outcomes[self._beyond(found, budgets)] = Outcome.UNREACHABLE

    def _beyond(self, found: FoundRows, budgets: Array) -> Indices:
        """Positions of the options whose rows are beyond their budgets."""
        regions, encoded = self.applicants.regions.take(self.owner), self.applicants.encoded[self.owner]
        rows = relaxed_rows(self.strategy.linearisation, regions, encoded, found.rows)
        length = np.linalg.norm(rows - self.points, axis=1)
        return np.flatnonzero((found.outcomes < Outcome.UNREACHABLE) & (length > budgets + ROUNDING * (1.0 + budgets)))


def _required_scores(plans: Array, mean: Array, margin: float, box: dict[str, Array]) -> Array:
    """The requirement correction, at the highest margin up to the given one that every option of a plan can reach.

    Options that cannot reach a mean score of zero stay.
    """
    high = np.where(mean > 0.0, box["upper"], box["lower"])
    reachable = np.minimum(margin, (high * mean).sum(axis=1))
    result = plans.copy()
    for i in np.flatnonzero(reachable >= POINT_ROUNDING).tolist():
        limits = {name: bound[i] for name, bound in box.items()}
        result[i] = requirement_correction(plans[i], mean, margin=float(reachable[i] - POINT_ROUNDING), **limits)
    return result


def search_from_options(
    strategy: Strategy,
    options: "pd.DataFrame",
    applicants: Applicants,
    owner: Indices,
    least: Array,
    moving: Flags,
    request: PlanRequest,
    run: Execution,
) -> FoundRows:
    """For every option that may move and is not good enough, the row with the least effort from there that is.

    Where the guarantee is out of reach, the cheapest of the rows with the highest guarantee is taken, if that is higher
    than the option's, or the option is not allowed or refused today.

    Parameters
    ----------
    strategy : Strategy
    options : DataFrame of M rows
    applicants : Applicants
    owner : ndarray of shape (M,)
        Positions of theirs among `applicants`.
    least : ndarray of shape (M,)
        Guarantee of each option, -1 where the schema or the model refuses it.
    moving : ndarray of shape (M,)
        Options that may move.
    request : PlanRequest
    run : Execution
    """
    outcomes = np.full(len(owner), Outcome.UNREACHABLE, dtype=np.int64)
    result = FoundRows(outcomes, applicants.regions.own[owner], np.zeros(len(owner)))
    sizes = np.bincount(owner)[owner]
    wanting = np.flatnonzero(moving & (least < enough_for_each(request, sizes)))
    request = replace(request, n_options=int(sizes.max(initial=1)))
    # A cap on changes counts from the applicant, the search from the option: it may ask for too many. Then it has to do
    # with the columns that the option changes already.
    for no_more in (False,) if strategy.schema.max_changes is None else (False, True):
        if len(wanting):
            starts = _at_options(strategy, options, applicants, owner, no_more=no_more).take(wanting)
            _search(strategy, starts, wanting, least, request, run, result)
        wanting = wanting[result.outcomes[wanting] == Outcome.UNREACHABLE]
    return result


def _at_options(
    strategy: Strategy, options: "pd.DataFrame", applicants: Applicants, owner: Indices, *, no_more: bool
) -> Applicants:
    """Applicants whose search begins at the options, or at the allowed rows nearest to them, with their own limits.

    Parameters
    ----------
    no_more : bool
        Whether only columns may change that the option changes already: then a cap on changes holds.
    """
    space, regions = strategy.space, applicants.regions.take(owner)
    rows = rows_within(space, regions, read_regions(space, options).own)
    if no_more:
        regions = _without_new_columns(space, regions, rows)
        rows = rows_within(space, regions, rows)
    table = ReadTable(write_rows(space, applicants.table.frame, applicants.regions, owner, rows))
    origins = applicants.origins.take(owner)
    return Applicants(table, origins, standing_at(space, regions, rows), strategy.start(table), space.slack(table))


def _search(
    strategy: Strategy,
    starts: Applicants,
    whose: Indices,
    least: Array,
    request: PlanRequest,
    run: Execution,
    result: FoundRows,
) -> None:
    """Search from some options, and put what is allowed and surer than `least` (M,) into the result."""
    alone = replace(request, guarantee=level_of_each(request), n_options=1, guarantee_for="each")
    with stage("searching from options", len(starts), "options") as advance:
        found = strategy.build(starts, alone, replace(run, progress=advance))
    made = deliver(strategy, starts.origins, found.options, alone, run.n_jobs)
    result.outcomes[whose[found.plans.outcomes == Outcome.TIMED_OUT]] = Outcome.TIMED_OUT
    owner = made.options.owner
    rows = whose[owner]
    taken = made.bounds.option_lower > least[rows]
    result.rows[rows[taken]] = found.plans.options[owner[taken], 0]
    result.outcomes[rows[taken]] = found.plans.outcomes[owner[taken]]


def _without_new_columns(space: ActionSpace, regions: Regions, rows: Array) -> Regions:
    """Limits that hold all columns but the largest changes of each row, as many as may change."""
    own, n = regions.own, len(space.numeric)
    units = np.array([unit_of_effort(feature) for feature in space.numeric])
    sizes = np.hstack([np.abs(rows - own)[:, :n] / units, (rows != own)[:, n:].astype(np.float64)])
    rank = np.argsort(np.argsort(-sizes, axis=1, kind="stable"), axis=1, kind="stable")
    held = (rank >= space.cap) | (sizes == 0.0)
    allowed = regions.allowed.copy()
    for f, _ in space.level_columns:
        levels = space.levels(f)
        allowed[:, levels] &= ~held[:, [f]] | (own[:, [f]] == levels)
    return keeping(regions, held[:, :n])._replace(allowed=allowed)
