"""Intervals of the delivered options: boxes grown until a corner fails, and checked on real rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array, Flags, Indices
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import column_numbers
from copa.planner.search.boxes import Boxes, grow_to_level
from copa.planner.search.regions import ends_of_bins
from copa.planner.search.rows import with_numbers
from copa.planner.search.run import Goals
from copa.planner.strategies.base import ROUNDING
from copa.plans.changes import differs
from copa.plans.records import Intervals

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.settings import Execution
    from copa.planner.strategies.applicants import Applicants
    from copa.planner.strategies.base import Strategy
    from copa.planner.strategies.options import Options
    from copa.plans.request import PlanRequest
    from copa.theory.sets.ambiguity import AmbiguitySet

# Corners must have this much more than the level, so that rounding takes it from no row between them.
SPARE = 1e-12
SMALLER = (0.0, 0.0, 0.5, 0.5)  # shares that a box gives up, and at least one step, where rows of it do not hold


def levels_to_keep(ambiguity: "AmbiguitySet", options: "Options", request: "PlanRequest") -> Array:
    """Probabilities that options are to keep within their intervals, (M,).

    What was asked of each option where it has that. An option that has less, or of whose plan something was asked as a
    whole, is to stay as sure as it is; nothing is said of the plan as a whole.
    """
    own = ambiguity.option_guarantees(options.points)
    kept = np.maximum(own - ROUNDING, 0.0)
    if request.objective != "level" or request.guarantee_for != "each":
        return kept
    return np.where(own >= request.guarantee, request.guarantee, kept)


def find_intervals(
    strategy: "Strategy",
    applicants: "Applicants",
    options: "Options",
    request: "PlanRequest",
    run: "Execution",
    floor: float,
) -> Intervals | None:
    """Intervals for a model that is linear in the columns, as wide as the level allows; see `Strategy.intervals`.

    Parameters
    ----------
    strategy : Strategy
    applicants : Applicants
    options : Options
    request : PlanRequest
    run : Execution
    floor : float
        Least score of today's model.
    """
    space, ambiguity = strategy.space, strategy.ambiguity(request.n_options)
    if not space.numeric and not space.edges:
        return None
    levels = levels_to_keep(ambiguity, options, request)
    judge = _Judge(strategy, applicants, options, request, run, levels)
    boxes = judge.boxes()
    asked = np.where(levels > 0.0, np.minimum(levels + 0.1 * ROUNDING, 1.0 - ROUNDING), -1.0)
    goals = Goals(ambiguity, asked, np.full(len(levels), floor)).arrays()
    boxes = grow_to_level(strategy.linearisation, boxes, options.points, space.slack(options.table), goals)
    return _intervals(judge, _checked(judge, boxes), levels, options.table)


class _Judge:
    """Tells whether options with other numbers hold: certified at their levels, accepted and allowed, as real rows."""

    def __init__(
        self,
        strategy: "Strategy",
        applicants: "Applicants",
        options: "Options",
        request: "PlanRequest",
        run: "Execution",
        levels: Array,
    ) -> None:
        self.strategy, self._applicants, self._options = strategy, applicants, options
        self._n_options, self._n_jobs, self._levels = request.n_options, run.n_jobs, levels
        self._own = _numbers(strategy.space.numeric, options.table)
        self._schema = _schema_of_numbers(strategy)
        self._changed: dict[str, Flags] = {}

    def boxes(self) -> Boxes:
        """The options, with the room that their applicants have."""
        space = self.strategy.space
        regions = self._applicants.regions.take(self._options.owner)
        return Boxes.around(space, regions, self._own, self.changed(space.numeric))

    def changed(self, features: Sequence[Feature]) -> Flags:
        """Flags of the columns that each option changes, (M, L)."""
        flags = np.zeros((len(self._options.table), len(features)), dtype=np.bool_)
        for k, feature in enumerate(features):
            if feature.name not in self._changed:
                own, new = self._applicants.origins[feature.name].series, self._options.table[feature.name]
                self._changed[feature.name] = differs(own, new, self._options.owner)
            flags[:, k] = self._changed[feature.name]
        return flags

    def bins(self, boxes: Boxes) -> tuple[Array, Array]:
        """Ends of the intervals of binned columns, (M, B) both: the bin, all over which the model is the same.

        Rules are never about such a column. Where an end does not hold as a real row, it is the value of the option.
        """
        features, table = _binned(self.strategy), self._options.table
        origins = self._applicants.origins.frame.iloc[self._options.owner]
        values, changed = _numbers(features, table), self.changed(features)
        found = ends_of_bins(self.strategy.space, origins, table)
        lower, upper = (
            np.where(changed, np.stack([found[feature.name][side] for feature in features], axis=1), values)
            for side in (0, 1)
        )
        good = self.bins_hold(boxes.lower, lower) & self.bins_hold(boxes.upper, upper)
        return np.where(good[:, None], lower, values), np.where(good[:, None], upper, values)

    def bins_hold(self, numbers: Array, bins: Array) -> Flags:
        """Return whether the options hold with other numbers (M, L), and others in the binned columns (M, B), (M,)."""
        everyone = np.arange(len(numbers))
        rows = with_numbers(self.strategy.space.numeric, self._options.table, everyone, numbers)
        rows = with_numbers(_binned(self.strategy), rows, everyone, bins)
        points = self.strategy.points(rows, everyone, self._n_options, self._n_jobs)
        good = self.strategy.ambiguity(self._n_options).option_guarantees(points) >= self._levels
        return np.asarray(good & self.strategy.model.accepts(rows) & self._allowed(everyone, rows))

    def corners_hold(self, which: Indices, numbers: Array) -> Flags:
        """Return whether corners hold, (P,): numbers (P, L) of the options `which` (P,), side by side for each.

        The one with the least score says whether today's model accepts them, and the lowest and the highest of them
        whether single columns are allowed; only rules need them all.
        """
        strategy = self.strategy
        rows = with_numbers(strategy.space.numeric, self._options.table, which, numbers)
        points = strategy.points(rows, np.arange(len(which)), self._n_options, self._n_jobs)
        moved = (numbers != self._own[which]).any(axis=1)
        needed = self._levels[which] + np.where(moved, SPARE, 0.0)
        good = np.asarray(strategy.ambiguity(self._n_options).option_guarantees(points) >= needed)
        begins = np.append(True, which[1:] != which[:-1])
        starts = np.flatnonzero(begins)
        scores = (points[:, None] @ strategy.linearisation.theta)[:, 0]
        least = np.repeat(np.minimum.reduceat(scores, starts), np.diff(np.append(starts, len(which)))) == scores
        good[least] &= strategy.model.accepts_directly(rows[least])
        judged = begins | np.append(begins[1:], True) | bool(self._schema.rules)
        good[judged] &= self._allowed(which[judged], rows[judged])
        return good

    def _allowed(self, which: Indices, rows: "pd.DataFrame") -> Flags:
        return self._schema.obeys(self._applicants.origins, rows, self._options.owner[which])


def _schema_of_numbers(strategy: "Strategy") -> FeatureSchema:
    """The schema of the numbers and of the rules' columns: the other cells are those of an option that obeys."""
    schema = strategy.schema
    names = {feature.name for feature in strategy.space.numeric} | set(strategy.space.edges)
    names |= {name for rule in schema.rules for name in rule.coefficients}
    return FeatureSchema(tuple(f for f in schema.features if f.name in names), schema.rules)


def _checked(judge: _Judge, boxes: Boxes) -> Boxes:
    """Boxes whose corners all hold: smaller ones where rounding has spoiled one, at last the options alone."""
    pending = np.flatnonzero((boxes.down + boxes.up).any(axis=1))
    for share in (*SMALLER, 1.0):
        if len(pending) == 0:
            break
        which, numbers = boxes.corners(pending)
        pending = np.unique(which[~judge.corners_hold(which, numbers)])
        boxes = boxes.shrunk(pending, share)
    return boxes


def _binned(strategy: "Strategy") -> tuple[Feature, ...]:
    """The columns of which only the bin matters to the model."""
    return tuple(strategy.schema[name] for name in strategy.space.edges)


def _numbers(features: Sequence[Feature], table: "pd.DataFrame") -> Array:
    """Some columns of rows as numbers, (M, L); 0 where a cell is missing."""
    columns = [column_numbers(table[feature.name])[0] for feature in features]
    return np.nan_to_num(np.stack(columns, axis=1)) if columns else np.zeros((len(table), 0))


def _intervals(judge: _Judge, boxes: Boxes, levels: Array, table: "pd.DataFrame") -> Intervals:
    """The boxes, and the bins, in the columns of the options."""
    features, ends = judge.strategy.space.numeric, (boxes.lower, boxes.upper)
    if judge.strategy.space.edges:
        features += _binned(judge.strategy)
        bins = judge.bins(boxes)
        ends = np.hstack([ends[0], bins[0]]), np.hstack([ends[1], bins[1]])
    changed = judge.changed(features)
    at_least, at_most = np.full(table.shape, np.nan), np.full(table.shape, np.nan)
    places = [table.columns.get_loc(feature.name) for feature in features]
    at_least[:, places], at_most[:, places] = (np.where(changed, end, np.nan) for end in ends)
    return Intervals(at_least, at_most, levels)
