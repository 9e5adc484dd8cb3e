"""Boxes around options of linear models: an interval for each changed number, on the grid that its values lie on.

The rows x with mean'x - b std(x) - c reach(x) >= 0 are a convex set, because std and reach are norms; so are the rows
that today's model accepts, and those that obey a linear rule. A box is inside of a convex set if its corners are.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema import Feature
from copa.data.tables.cells import multiples, snap
from copa.planner.search._kernels.arguments import GoalArrays, Regions
from copa.planner.search.problem import ActionSpace, Linearisation
from copa.plans.cost import unit_of_effort

Flags = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

FINE = 0.01  # units of effort: ends in a column without a step are multiples of a power of ten of about this size
ON_GRID = 1e-7  # a value within this share of a unit counts as on the grid
MOST_COLUMNS = 6  # of an option that get an interval: 2 ** 6 corners
LARGEST_COUNT = 2**40  # of units
HALVINGS = 24  # of the share of its room that a box takes


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
        How many units the boxes reach below and above the options.
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
        first, last = regions.lower.copy(), regions.upper.copy()
        inner_first, inner_last = np.where(rises, own, -np.inf), np.where(rises, np.inf, own)  # not to be reached
        for f, feature in enumerate(space.numeric):
            for code in feature.special:
                lower, higher = code < values[:, f], code > values[:, f]
                inner_first[lower, f] = np.maximum(inner_first[lower, f], code)
                inner_last[higher, f] = np.minimum(inner_last[higher, f], code)
        wide = changed & _among_first(changed, np.abs(values - own) * space.prices.per_unit)
        below = np.minimum(_units(values - first, units, stepped), _units_before(values - inner_first, units))
        above = np.minimum(_units(last - values, units, stepped), _units_before(inner_last - values, units))
        nothing = np.zeros(values.shape, dtype=np.int64)
        room = [np.where(wide, counts, 0) for counts in (below, above)]
        return cls(values, units, stepped, first, last, room[0], room[1], rises, nothing, nothing.copy())

    def __len__(self) -> int:
        return len(self.values)

    def reaching(self, down: Counts, up: Counts) -> "Boxes":
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

    def _at(self, counts: Counts, inwards: str) -> Array:
        """Values so many units from the options, those between the steps as short decimals; no end is passed."""
        found = self.values.copy()
        for f in range(found.shape[1]):
            moved = np.flatnonzero(counts[:, f])
            here, unit, steps = self.values[moved, f], float(self.units[f]), counts[moved, f]
            if self.stepped[f]:
                found[moved, f] = multiples(np.rint(here / unit) + steps, unit)
                continue
            lower, upper = self.first[moved, f], self.last[moved, f]
            there = np.clip(here + steps * unit, lower, upper)
            short = snap(there, unit, "up" if inwards == "up" else "down")
            short = np.maximum(here, short) if inwards == "down" else np.minimum(here, short)
            found[moved, f] = np.where((there == lower) | (there == upper), there, short)
        return found

    def shrunk(self, which: Indices, share: float) -> "Boxes":
        """Some boxes smaller by a share of each side, and by one unit at least."""
        down, up = self.down.copy(), self.up.copy()
        for counts in (down, up):
            less = np.floor((1.0 - share) * counts[which]).astype(np.int64)
            counts[which] = np.maximum(np.minimum(less, counts[which] - 1), 0)
        return self.reaching(down, up)

    def corners(self, which: Indices) -> tuple[Indices, Array]:
        """All corners of some boxes: the option of each, (P,), and its numbers, (P, L)."""
        lower, upper = self.lower[which], self.upper[which]
        if lower.shape[1] == 0:
            return which, lower
        wide = (self.down + self.up)[which] > 0
        options, corners = [which[:0]], [lower[:0]]
        for pattern in np.unique(wide, axis=0):
            columns = np.flatnonzero(pattern)
            rows = np.flatnonzero((wide == pattern).all(axis=1))
            sides = np.array(list(product((False, True), repeat=len(columns))), dtype=np.bool_)
            block = np.repeat(lower[rows][:, None], len(sides), axis=1)
            block[:, :, columns] = np.where(sides, upper[rows][:, None, columns], lower[rows][:, None, columns])
            options.append(np.repeat(which[rows], len(sides)))
            corners.append(block.reshape(-1, lower.shape[1]))
        return np.concatenate(options), np.concatenate(corners)


class _Norm(NamedTuple):
    """A squared norm of rows around K options: at the option, its slope in m columns, and its curvature."""

    start: Array  # (K,)
    slope: Array  # (K, m)
    gram: Array  # (K, m, m)

    def at(self, moves: Array) -> Array:
        """The norm after moves (K, C, m), (K, C)."""
        total = np.repeat(self.start[:, None], moves.shape[1], axis=1)
        for i in range(moves.shape[2]):
            total += moves[:, :, i] * (2.0 * self.slope[:, i, None] + moves[:, :, i] * self.gram[:, i, i, None])
            for j in range(i):
                total += 2.0 * moves[:, :, i] * moves[:, :, j] * self.gram[:, i, j, None]
        return np.sqrt(np.maximum(total, 0.0))


class _Lines(NamedTuple):
    """Linear functions of rows around K options, not negative where a row will do."""

    start: Array  # (K, Q)
    slope: Array  # (K, Q, m)

    def at(self, moves: Array) -> Array:
        """The functions after moves (K, C, m), (K, Q, C)."""
        total = np.repeat(self.start[:, :, None], moves.shape[1], axis=2)
        for i in range(moves.shape[2]):
            total += moves[:, None, :, i] * self.slope[:, :, i, None]
        return total


class _Conditions(NamedTuple):
    """Conditions on rows near K options, as functions of m of their columns."""

    mean: _Lines  # a * mean score, one function
    std: _Norm
    reach: _Norm
    b: Array  # (K,)
    c: Array  # (K,) times the radius
    lines: _Lines  # today's score above its floor, and slack of the rules

    def hold(self, moves: Array) -> Flags:
        """Return whether the rows after all moves (K, C, m) fulfil them, (K,)."""
        level = self.mean.at(moves)[:, 0]
        level -= self.b[:, None] * self.std.at(moves)
        if self.c.any():
            level -= self.c[:, None] * self.reach.at(moves)
        return np.asarray((level >= 0.0).all(axis=1) & (self.lines.at(moves) >= 0.0).all(axis=(1, 2)))


def grow_to_level(linear: Linearisation, boxes: Boxes, points: Array, slack: Array, goals: GoalArrays) -> Boxes:
    """Boxes as large as the goals of their options let them be, and as the feasible regions do.

    One share of their room is found for all columns of an option, first away from the applicant, then towards it. As a
    smaller box lies in a larger one, the share can be found by halving.

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
    down, up = boxes.down.copy(), boxes.up.copy()
    wide = (boxes.below + boxes.above) > 0
    n_columns = wide.sum(axis=1)
    for m in np.unique(n_columns[n_columns > 0]).tolist():
        rows = np.flatnonzero(n_columns == m)
        columns = np.nonzero(wide[rows])[1].reshape(-1, m)
        conditions = _conditions(linear, points[rows], columns, slack[rows], goals, rows)
        here = rows[:, None], columns
        found = _grow(conditions, boxes.units[columns], boxes.below[here], boxes.above[here], boxes.rises[here])
        down[here], up[here] = found
    return boxes.reaching(down, up)


def _conditions(
    linear: Linearisation, points: Array, columns: Indices, slack: Array, goals: GoalArrays, rows: Indices
) -> _Conditions:
    """Conditions on some columns (K, m) of the options at `rows`."""
    problem, n = linear.problem, len(linear.space.numeric)
    pairs = columns[:, :, None], columns[:, None, :]

    def norm(matrix: Array, gram: Array) -> _Norm:
        image = (points[:, None] @ matrix)[:, 0]  # one product per row: the same to the last bit in any batch
        slopes = (image[:, None] @ linear.directions[:n].T)[:, 0]
        return _Norm((image * points).sum(axis=1), np.take_along_axis(slopes, columns, axis=1), gram[pairs])

    def lines(starts: list[Array], slopes: list[Array]) -> _Lines:
        return _Lines(np.stack(starts, axis=1), np.stack([slope[columns] for slope in slopes], axis=1))

    today = (points[:, None] @ linear.theta)[:, 0]
    a, b, c = goals.a[rows], goals.b[rows], goals.radius * goals.c[rows]
    if np.array_equal(linear.cov, linear.drift):  # both norms are the same
        b, c = b + c, np.zeros_like(c)
    mean = lines([(points[:, None] @ linear.mean)[:, 0]], [problem.means])
    rules = [slack[:, r] for r in range(slack.shape[1])], [-problem.rules[r] for r in range(slack.shape[1])]
    return _Conditions(
        mean=_Lines(a[:, None] * mean.start, a[:, None, None] * mean.slope),
        std=norm(linear.cov, problem.cov_gram),
        reach=norm(linear.drift, problem.drift_gram),
        b=b,
        c=c,
        lines=lines([today - np.minimum(goals.floors[rows], today), *rules[0]], [problem.scores, *rules[1]]),
    )


def _grow(conditions: _Conditions, units: Array, below: Counts, above: Counts, rises: Flags) -> tuple[Counts, Counts]:
    """Units that the boxes of K options extend below and above them in m columns, (K, m) both."""
    down, up = np.zeros_like(below), np.zeros_like(above)
    for upwards in (rises, ~rises):  # away from the applicants, then towards them

        def taking(share: Array) -> tuple[Counts, Counts]:
            lower, upper = (np.floor(share[:, None] * room).astype(np.int64) for room in (below, above))
            return np.where(upwards, down, lower), np.where(upwards, upper, up)  # noqa: B023 - called in this turn only

        share, step = np.zeros(len(units)), 1.0
        for _ in range(HALVINGS):
            tried = np.minimum(share + step, 1.0)
            share = np.where(conditions.hold(_corners(units, *taking(tried))), tried, share)
            step *= 0.5
        down, up = taking(share)
    return down, up


def _corners(units: Array, down: Counts, up: Counts) -> Array:
    """Moves (K, C, m) from options to the corners of their boxes."""
    sides = np.array(list(product((False, True), repeat=units.shape[1])), dtype=np.bool_)
    return np.where(sides, (up * units)[:, None], (-down * units)[:, None])


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
