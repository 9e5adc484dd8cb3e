"""Boxes of rows that reach a level, for models that are linear in the columns: the corners decide.

The rows x with mean'x - b std(x) - c reach(x) >= 0 are a convex set, because std and reach are norms; so are the rows
that today's model accepts, and those that obey a linear rule. A box is inside of a convex set if its corners are.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

from copa._core.arrays import Array, Indices
from copa.search._kernels.arguments import GoalArrays
from copa.search.boxes import Boxes, Counts, Flags
from copa.search.problem import Linearisation

HALVINGS = 24  # of the share of its room that a box takes


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
    """What rows near K options must fulfil, as functions of m columns of theirs."""

    mean: _Lines  # a * mean score, one function
    std: _Norm
    reach: _Norm
    b: Array  # (K,)
    c: Array  # (K,) times the radius
    lines: _Lines  # today's score above its floor, and slack of the rules

    def hold(self, moves: Array) -> Flags:
        """Whether the rows after all moves (K, C, m) fulfil them, (K,)."""
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
    """How many units the boxes of K options reach below and above them in m columns, (K, m) both."""
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
