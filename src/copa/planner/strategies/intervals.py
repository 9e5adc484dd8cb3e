"""Intervals of delivered options of linear models: boxes grown until a corner fails, and checked on real rows.

The rows x with mean'x - b std(x) - c drift(x) >= 0 are a convex set, because both standard deviation and drift are
norms; so are the rows that today's model accepts, and those that obey a linear rule. A box is inside of a convex set if
its corners are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Flags, Indices
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import ReadTable
from copa.data.tables.cells import multiples, snap
from copa.planner.search.arguments import GoalArrays, Regions
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.planner.search.regions import ends_of_bins
from copa.planner.search.rows import with_numbers
from copa.planner.search.run import Goals
from copa.planner.strategies.base import ROUNDING
from copa.plans.changes import differs
from copa.plans.cost import unit_of_effort
from copa.plans.records import Intervals

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.settings import Execution
    from copa.planner.strategies.applicants import Applicants
    from copa.planner.strategies.base import Strategy
    from copa.planner.strategies.options import Options
    from copa.plans.request import PlanRequest
    from copa.theory.sets.ambiguity import AmbiguitySet

Counts = npt.NDArray[np.int64]

FINE = 0.01  # units of effort: ends in a column without a step are multiples of a power of ten of about this size
ON_GRID = 1e-7  # a value within this share of a unit counts as on the grid
MOST_COLUMNS = 6  # of an option that get an interval: 2 ** 6 corners
LARGEST_COUNT = 2**40  # of units
HALVINGS = 24  # of the share of its room that a box takes
SPARE = 1e-12  # corners must have this much more than the level, so that rounding takes it from no row between them
SMALLER = (0.0, 0.0, 0.5, 0.5)  # shares that a box gives up, and at least one step, where rows of it do not hold


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
    options = replace(options, points=strategy.deducted(options.points, options.reliability))  # by this strategy's set
    if not space.numeric and not space.edges:
        return None
    levels = levels_to_keep(ambiguity, options, request)
    judge = _Judge(strategy, applicants, options, request, run, levels)
    required = np.where(levels > 0.0, np.minimum(levels + 0.1 * ROUNDING, 1.0 - ROUNDING), -1.0)
    shrinkage = strategy.shrinkage(options.reliability)
    goals = Goals(ambiguity, required, np.full(len(levels), floor), shrinkage=shrinkage).arrays()
    points = strategy.encoded(options.points)
    boxes = grow_to_level(strategy.linearisation, judge.boxes(), points, space.slack(options.rows), goals)
    return _in_table(judge, _checked(judge, boxes), levels, options.table)


def levels_to_keep(ambiguity: "AmbiguitySet", options: "Options", request: "PlanRequest") -> Array:
    """Probabilities that options are to keep within their intervals, (M,).

    What was asked of each option where it has that. An option that has less, or of whose plan something was asked as a
    whole, is to stay as sure as it is; nothing is said of the plan as a whole.
    """
    guarantees = ambiguity.option_guarantees(options.points)
    kept = np.maximum(guarantees - ROUNDING, 0.0)
    if request.objective != "level" or request.guarantee_for != "each":
        return kept
    return np.where(guarantees >= request.guarantee, request.guarantee, kept)


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of M options in L numeric columns, in units of each column's grid.

    Attributes
    ----------
    values : ndarray of shape (M, L)
        Numbers of the options, which every box contains.
    units : ndarray of shape (L,)
        The step of a column, or a fine unit where it has none.
    stepped : ndarray of bool of shape (L,)
        Whether it is a step.
    first, last : ndarray of shape (M, L)
        Ends of what is allowed.
    below, above : ndarray of shape (M, L)
        How many units there are between the option and these ends, at most; 0 in columns without an interval.
    rises : ndarray of bool of shape (M, L)
        Whether the option raises the number: a box is to be wide on this side.
    down, up : ndarray of shape (M, L)
        How many units the boxes extend below and above the options.
    """

    values: Array
    units: Array
    stepped: Flags
    first: Array
    last: Array
    below: Counts
    above: Counts
    rises: Flags
    down: Counts
    up: Counts

    @classmethod
    def around(cls, space: ActionSpace, regions: Regions, values: Array, changed: Flags) -> "Boxes":
        """The options themselves, with the room that the feasible regions leave around them.

        No box reaches the applicant's own value or goes beyond it, and none holds a special code.

        Parameters
        ----------
        space : ActionSpace
        regions : Regions
            Of the applicant of each option, with a leading M.
        values : ndarray of shape (M, L)
        changed : ndarray of bool of shape (M, L)
        """
        own, rises = regions.numbers, values > regions.numbers
        units = np.array([feature.step or fine_unit(feature) for feature in space.numeric])
        stepped = np.array([feature.step is not None for feature in space.numeric], dtype=np.bool_)
        inner_first, inner_last = np.where(rises, own, -np.inf), np.where(rises, np.inf, own)  # not to be reached
        for f, feature in enumerate(space.numeric):
            for code in feature.special:
                lower, higher = code < values[:, f], code > values[:, f]
                inner_first[lower, f] = np.maximum(inner_first[lower, f], code)
                inner_last[higher, f] = np.minimum(inner_last[higher, f], code)
        wide = changed & _among_first(changed, np.abs(values - own) * space.prices.per_unit)
        below, above = (
            np.where(wide, np.minimum(_units(outer, units, stepped), _units_before(inner, units)), 0)
            for outer, inner in (
                (values - regions.lower, values - inner_first),
                (regions.upper - values, inner_last - values),
            )
        )
        nothing = np.zeros(values.shape, dtype=np.int64)
        return cls(values, units, stepped, regions.lower, regions.upper, below, above, rises, nothing, nothing)

    def __len__(self) -> int:
        return len(self.values)

    def extending(self, down: Counts, up: Counts) -> "Boxes":
        """Other boxes of the same options."""
        return replace(self, down=down, up=up)

    @property
    def lower(self) -> Array:
        """Lower ends, (M, L): numbers that the columns can hold."""
        return self._at(-self.down, "up")

    @property
    def upper(self) -> Array:
        """Upper ends, (M, L)."""
        return self._at(self.up, "down")

    def _at(self, counts: Counts, inwards: Literal["up", "down"]) -> Array:
        """Values so many units from the options, those between the steps as short decimals; no end is passed."""
        ends = self.values.copy()
        for f in np.flatnonzero(counts.any(axis=0)).tolist():
            moved = np.flatnonzero(counts[:, f])
            here, unit, steps = self.values[moved, f], float(self.units[f]), counts[moved, f]
            if self.stepped[f]:
                ends[moved, f] = multiples(np.rint(here / unit) + steps, unit)
                continue
            lower, upper = self.first[moved, f], self.last[moved, f]
            there = np.clip(here + steps * unit, lower, upper)
            short = snap(there, unit, inwards)
            short = np.maximum(here, short) if inwards == "down" else np.minimum(here, short)
            ends[moved, f] = np.where((there == lower) | (there == upper), there, short)
        return ends

    def shrunk(self, which: Indices, share: float) -> "Boxes":
        """Some boxes smaller by a share of each side, and by one unit at least."""
        down, up = self.down.copy(), self.up.copy()
        for counts in (down, up):
            less = np.floor((1.0 - share) * counts[which]).astype(np.int64)
            counts[which] = np.maximum(np.minimum(less, counts[which] - 1), 0)
        return self.extending(down, up)

    def corners(self, which: Indices) -> tuple[Indices, Array]:
        """All corners of some boxes: the option of each, (P,), those of one side by side, and its numbers, (P, L)."""
        lower, upper = self.lower[which], self.upper[which]
        options, corners = [which[:0]], [lower[:0]]
        for rows, columns in _by_columns((self.down + self.up)[which] > 0):
            sides = _sides(columns.shape[1])
            block, here = np.repeat(lower[rows][:, None], len(sides), axis=1), (rows[:, None], columns)
            ends = np.where(sides, upper[here][:, None], lower[here][:, None])
            np.put_along_axis(block, columns[:, None], ends, axis=2)
            options.append(np.repeat(which[rows], len(sides)))
            corners.append(block.reshape(-1, lower.shape[1]))
        return np.concatenate(options), np.concatenate(corners)


def _by_columns(wide: Flags) -> Iterator[tuple[Indices, Indices]]:
    """Yield rows (K,) of flags (M, L) with equally many of them set, and the columns of these, (K, m)."""
    n_columns = wide.sum(axis=1)
    for m in np.unique(n_columns[n_columns > 0]).tolist():
        rows = np.flatnonzero(n_columns == m)
        yield rows, np.nonzero(wide[rows])[1].reshape(-1, m)


def _sides(n_columns: int) -> Flags:
    """Lower or upper end in each column, for all corners of a box, (2^m, m)."""
    return np.array(list(product((False, True), repeat=n_columns)), dtype=np.bool_)


class _Conditions(NamedTuple):
    """Conditions on rows around K options after moves in m columns: Q linear functions and P norms."""

    starts: Array  # (K, Q) the functions at the options: a * mean score, today's score over its floor, slack of rules
    slopes: Array  # (K, m, Q)
    weights: Array  # (K, P) of the norms, which are subtracted from the first function
    squares: Array  # (K, P) squared norms at the options
    half_slopes: Array  # (K, P, m) of the squares
    grams: Array  # (K, P, m, m)

    def hold(self, moves: Array) -> Flags:
        """Return whether the rows after all moves (K, C, m) fulfil them, (K,)."""
        lines = self.starts[:, None] + moves @ self.slopes
        moves = moves[:, None]
        squares = ((moves @ self.grams + 2.0 * self.half_slopes[:, :, None]) * moves).sum(axis=3)
        norms = np.sqrt(np.maximum(self.squares[:, :, None] + squares, 0.0))
        level = lines[:, :, 0] - (self.weights[:, :, None] * norms).sum(axis=1)
        return np.asarray((level >= 0.0).all(axis=1) & (lines[:, :, 1:] >= 0.0).all(axis=(1, 2)))


def grow_to_level(linear: Linearisation, boxes: Boxes, points: Array, slack: Array, goals: GoalArrays) -> Boxes:
    """Boxes as large as the goals of their options let them be, and as the feasible regions do.

    One share of their room is found for all columns of an option, first away from the applicant, then towards it.

    Parameters
    ----------
    linear : Linearisation
    boxes : Boxes
        Of M options, yet without extent.
    points : ndarray of shape (M, D)
        The options, encoded.
    slack : ndarray of shape (M, R)
        Of the rules, at the options.
    goals : GoalArrays
        Of M options.
    """
    down, up, wide = boxes.down.copy(), boxes.up.copy(), (boxes.below + boxes.above) > 0
    rows = points[:, None]  # one product per row: the same to the last bit in any batch
    today = (rows @ linear.theta)[:, 0]
    means = goals.a * goals.shares  # weights of the mean
    starts = np.column_stack([means * (rows @ linear.mean)[:, 0], today - np.minimum(goals.floors, today), slack])
    slopes = np.stack([linear.problem.means, linear.problem.scores, *-linear.problem.rules])
    weights, squares, half_slopes, grams = _norms(linear, points, goals)
    for some, columns in _by_columns(wide):
        here, across = (some[:, None], columns), slopes[:, columns].transpose(1, 2, 0)
        across[:, :, 0] *= means[some, None]
        conditions = _Conditions(
            starts[some],
            across,
            weights[some],
            squares[some],
            np.take_along_axis(half_slopes[some], columns[:, None], axis=2),
            grams[:, columns[:, :, None], columns[:, None]].swapaxes(0, 1),
        )
        rises, below, above = boxes.rises[here], boxes.below[here], boxes.above[here]
        away = np.where(rises, boxes.units[columns], -boxes.units[columns])
        rooms = np.where(rises, above, below), np.where(rises, below, above)
        far, near = _grow(conditions, away, rooms)
        down[here], up[here] = np.where(rises, near, far), np.where(rises, far, near)
    return boxes.extending(down, up)


def _norms(linear: Linearisation, points: Array, goals: GoalArrays) -> tuple[Array, Array, Array, Array]:
    """Weights and squares (M, P) of norms at options, half the slopes of these (M, P, L), and Gram matrices (P, A, A).

    The norms are the standard deviation and, where it counts, the length under the drift.
    """
    problem, n = linear.problem, len(linear.space.numeric)
    b, c = goals.b, goals.radii * goals.c
    if np.array_equal(linear.cov, linear.drift):  # both norms are the same
        b, c = b + c, np.zeros_like(c)
    norms = [(b, linear.cov, problem.cov_gram)]
    norms += [(c, linear.drift, problem.drift_gram)] if c.any() else []
    images = [(points[:, None] @ matrix)[:, 0] for _, matrix, _ in norms]
    return (
        np.stack([weights for weights, _, _ in norms], axis=1),
        np.stack([(image * points).sum(axis=1) for image in images], axis=1),
        np.stack([(image[:, None] @ linear.directions[:n].T)[:, 0] for image in images], axis=1),
        np.stack([gram for _, _, gram in norms]),
    )


def _grow(conditions: _Conditions, away: Array, rooms: tuple[Counts, Counts]) -> list[Counts]:
    """Units that boxes of K options extend away from their applicants and towards them in m columns, (K, m) both."""
    sides, other, counts = _sides(away.shape[1]), np.zeros(away.shape), []
    for units, room in zip((away, -away), rooms, strict=True):
        share = _largest_share(conditions, units, room, other, sides)
        counts.append(np.floor(share[:, None] * room).astype(np.int64))
        other = counts[-1] * units
    return counts


def _largest_share(conditions: _Conditions, units: Array, room: Counts, other: Array, sides: Flags) -> Array:
    """Largest shares (K,) of their room (K, m) that boxes can take on one side, the other side being at `other`.

    As a smaller box lies in a larger one, it is found by bisection, which ends where no other number of units is left.
    """
    share, step, pending = np.zeros(len(room)), 1.0, np.arange(len(room))
    for _ in range(HALVINGS):
        tried = np.minimum(share[pending] + step, 1.0)
        ends = np.floor(tried[:, None] * room[pending]) * units[pending]
        good = conditions.hold(np.where(sides, ends[:, None], other[pending, None]))
        share[pending[good]] = tried[good]
        most = np.minimum(share[pending] + step, 1.0)[:, None] * room[pending]
        undecided = (np.floor(most) > np.floor(share[pending, None] * room[pending])).any(axis=1)
        if not undecided.any():
            break
        if not undecided.all():
            pending, conditions = pending[undecided], _Conditions(*[part[undecided] for part in conditions])
        step *= 0.5
    return share


def fine_unit(feature: Feature) -> float:
    """The grid of ends in a column without a step: a power of ten, about a hundredth of a unit of effort."""
    return float(10.0 ** np.floor(np.log10(FINE * max(unit_of_effort(feature), 1e-290)) + ON_GRID))


def _units(room: Array, units: Array, stepped: Flags) -> Counts:
    """Whole units in a distance; without a step one more, which ends where the distance does."""
    counts = np.where(stepped, np.floor(room / units + ON_GRID), np.ceil(room / units - ON_GRID))
    return np.clip(counts, 0, LARGEST_COUNT).astype(np.int64)


def _units_before(room: Array, units: Array) -> Counts:
    """Whole units that are less than a distance."""
    return np.clip(np.ceil(room / units - ON_GRID) - 1.0, 0, LARGEST_COUNT).astype(np.int64)


def _among_first(changed: Flags, effort: Array) -> Flags:
    """Return whether a column is one of the `MOST_COLUMNS` of an option with the largest effort, (M, L)."""
    order = np.argsort(np.where(changed, -effort, np.inf), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    return np.asarray(rank < MOST_COLUMNS)


class _Judge:
    """Judge of options with other numbers, as real rows: certified at their levels, accepted and allowed."""

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
        self._ambiguity = strategy.ambiguity(request.n_options)
        self.binned = tuple(strategy.schema[name] for name in strategy.space.edges)
        self.features = (*strategy.space.numeric, *self.binned)
        origins, rows = applicants.origins, options.rows
        changed = [differs(origins[f.name].series, rows[f.name].series, options.owner) for f in self.features]
        self.changed = np.stack(changed, axis=1)
        self._values = np.nan_to_num(np.stack([rows[f.name].numbers for f in self.features], axis=1))

    def boxes(self) -> Boxes:
        """The options, with the room that their applicants have."""
        space, n = self.strategy.space, len(self.strategy.space.numeric)
        regions = self._applicants.regions.take(self._options.owner)
        return Boxes.around(space, regions, self._values[:, :n], self.changed[:, :n])

    def bins(self, boxes: Boxes) -> tuple[Array, Array]:
        """Ends of the intervals of binned columns, (M, B) both: the bin, all over which the model is the same.

        Rules are never about such a column. Where an end does not hold as a real row, it is the value of the option.
        """
        n, origins = len(self.strategy.space.numeric), self._applicants.origins.take(self._options.owner)
        ends, values = ends_of_bins(self.strategy.space, origins, self._options.rows), self._values[:, n:]
        lower, upper = (
            np.where(self.changed[:, n:], np.stack([ends[f.name][side] for f in self.binned], axis=1), values)
            for side in (0, 1)
        )
        good = self._bins_hold(np.hstack([boxes.lower, lower])) & self._bins_hold(np.hstack([boxes.upper, upper]))
        return np.where(good[:, None], lower, values), np.where(good[:, None], upper, values)

    def _bins_hold(self, numbers: Array) -> Flags:
        """Return whether the options hold with other numbers (M, L + B), (M,)."""
        everyone = np.arange(len(numbers))
        rows = with_numbers(self._options.rows, self.features, numbers)
        good = self._ambiguity.option_guarantees(self._points(rows, everyone)) >= self._levels
        good &= self.strategy.model.accepts(rows.frame)
        return np.asarray(good & self._allowed(everyone, rows, self.features))

    def corners_hold(self, which: Indices, numbers: Array) -> Flags:
        """Return whether corners hold, (P,): numbers (P, L) of the options `which` (P,), side by side for each.

        The one with the least score says whether today's model accepts them, and the lowest and the highest of them
        whether single columns are allowed; only rules need them all.
        """
        strategy, moved = self.strategy, numbers != self._values[which, : numbers.shape[1]]
        columns = np.flatnonzero(moved.any(axis=0))
        rows = self._options.rows.take(which, renumbered=True)
        features = [self.features[f] for f in columns.tolist()]
        rows = with_numbers(rows, features, numbers[:, columns])
        points = self._points(rows, which)
        needed = self._levels[which] + np.where(moved.any(axis=1), SPARE, 0.0)
        good = np.asarray(self._ambiguity.option_guarantees(points) >= needed)
        begins = np.append(True, which[1:] != which[:-1])
        starts = np.flatnonzero(begins)
        scores = (strategy.encoded(points)[:, None] @ strategy.linearisation.theta)[:, 0]
        least = np.repeat(np.minimum.reduceat(scores, starts), np.diff(np.append(starts, len(which)))) == scores
        good[least] &= strategy.model.accepts_directly(rows.take(np.flatnonzero(least)))
        judged = np.flatnonzero(begins | np.append(begins[1:], True) | bool(strategy.schema.rules))
        good[judged] &= self._allowed(which[judged], rows.take(judged), features)
        return good

    def _points(self, rows: ReadTable, which: Indices) -> Array:
        points = self.strategy.points(rows, np.arange(len(rows)), self._n_options, self._n_jobs)
        b = self._options.reliability
        return self.strategy.deducted(points, None if b is None else b[which])

    def _allowed(self, which: Indices, rows: ReadTable, features: Sequence[Feature]) -> Flags:
        """Return whether rows are allowed whose other cells, but those of some features, are of options that obey."""
        schema = self.strategy.schema
        names = {feature.name for feature in features} | self.strategy.space.ruled
        some = FeatureSchema(tuple(feature for feature in schema.features if feature.name in names), schema.rules)
        return some.obeys(self._applicants.origins, rows, self._options.owner[which])


def _checked(judge: _Judge, boxes: Boxes) -> Boxes:
    """Boxes whose corners all hold: smaller ones where rounding has spoiled one, at last the options alone."""
    pending = np.arange(len(boxes))
    for share in (*SMALLER, 1.0):
        pending = pending[(boxes.down + boxes.up)[pending].any(axis=1)]
        if len(pending) == 0:
            break
        which, numbers = boxes.corners(pending)
        pending = np.unique(which[~judge.corners_hold(which, numbers)])
        boxes = boxes.shrunk(pending, share)
    return boxes


def _in_table(judge: _Judge, boxes: Boxes, levels: Array, table: "pd.DataFrame") -> Intervals:
    """The boxes, and the bins, in the columns of the options."""
    ends = boxes.lower, boxes.upper
    if judge.binned:
        lower, upper = judge.bins(boxes)
        ends = np.hstack([ends[0], lower]), np.hstack([ends[1], upper])
    at_least, at_most = np.full(table.shape, np.nan), np.full(table.shape, np.nan)
    places = [table.columns.get_loc(feature.name) for feature in judge.features]
    at_least[:, places], at_most[:, places] = (np.where(judge.changed, end, np.nan) for end in ends)
    return Intervals(at_least, at_most, levels)
