"""A row of the compiled search: what a move makes of its score, its rules, and its distance from the goal.

The encoded vector of a row is the applicant's plus a sum of directions: a number moves along its direction, a level is
exchanged for another. Everything a bound needs of a row is linear or quadratic in the encoded vector, so a row carries
its inner products with all directions, and one move is judged in a handful of operations, whatever the number of
parameters.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import allocating, inner, leaf

# Positions in `Row.scores`.
MEAN, TODAY, VARIANCE, REACH = 0, 1, 2, 3


class Region(NamedTuple):
    """Where one applicant stands and may go."""

    own: np.ndarray  # (F,)
    lower: np.ndarray  # (L,)
    upper: np.ndarray  # (L,)
    allowed: np.ndarray  # (A,)
    reference: np.ndarray  # (L,) where changes of numbers are counted from
    leaving: np.ndarray  # (L,) what leaving an irregular entry costs in addition, in raw units
    level_prices: np.ndarray  # (A,) of taking each level, to the power of the prices
    open: np.ndarray  # columns that may change at all
    moved: np.ndarray  # (L,) scratch of `cheapest_row.mend_rules`
    cap: int


class Row(NamedTuple):
    """A row and all that moves need to know of it."""

    values: np.ndarray  # (F,)
    scores: np.ndarray  # (4,) mean score, today's score, variance of the score, squared reach per radius
    cov_products: np.ndarray  # (A,) x' S direction
    drift_products: np.ndarray  # (A,) x' Q direction
    slack: np.ndarray  # (R,) of the rules, not negative where they hold


class Goal(NamedTuple):
    """What a row must reach, see `arguments.GoalArrays`."""

    a: float
    b: float
    c: float
    floor: float
    margin: float
    radius: float
    moves_spread: bool
    surplus: float  # that `surplus` must reach; zero, or out of reach for a search without an end


# A broken rule counts this much more than a missing unit of the score: rules come first.
RULE_PRICE = 100.0
# And so does acceptance today, before any level.
FLOOR_PRICE = 10.0
# Rounding: a goal missed by less counts as met here; the rows delivered are checked again without any slack.
TOLERANCE = 1e-10


@njit(**allocating)
def empty_row(problem):
    """Room for a row."""
    n_directions = problem.means.size
    return Row(
        np.empty(problem.starts.size - 1),
        np.empty(4),
        np.empty(n_directions),
        np.empty(n_directions),
        np.empty(problem.rules.shape[0]),
    )


@njit(**inner)
def copy_row(source, target):
    """Make `target` equal to `source`."""
    for f in range(source.values.size):
        target.values[f] = source.values[f]
    for i in range(4):
        target.scores[i] = source.scores[i]
    for a in range(source.cov_products.size):
        target.cov_products[a] = source.cov_products[a]
        target.drift_products[a] = source.drift_products[a]
    for r in range(source.slack.size):
        target.slack[r] = source.slack[r]


@njit(**allocating)
def start_of(regions, starts, n):
    """The own row of applicant n."""
    return Row(regions.own[n], starts.scores[n], starts.cov_products[n], starts.drift_products[n], starts.slack[n])


@njit(**inner)
def goal_of(goals, n):
    """What the rows of applicant n must reach."""
    margin, radius = goals.margin, goals.radius
    return Goal(goals.a[n], goals.b[n], goals.c[n], goals.floors[n], margin, radius, goals.moves_spread, 0.0)


@njit(**inner)
def goal_at(goal, height, surplus):
    """The goal with b^2 = height in the place of its own; below zero, acceptance today alone."""
    if height < 0.0:
        return Goal(0.0, 0.0, 0.0, goal.floor, goal.margin, goal.radius, goal.moves_spread, surplus)
    a = math.sqrt(1.0 - height)
    c = 1.0 if goal.moves_spread else a
    return Goal(a, math.sqrt(height), c, goal.floor, goal.margin, goal.radius, goal.moves_spread, surplus)


@njit(**inner)
def height_of(goal, row):
    """The largest b^2 of a goal that a row reaches (docs/theory.md, "One option"): the squared sine of its angle."""
    mean, variance = row.scores[MEAN], max(row.scores[VARIANCE], 0.0)
    reach = goal.radius * math.sqrt(max(row.scores[REACH], 0.0))
    if not mean > reach:
        return 0.0
    if goal.moves_spread:
        length = math.sqrt(mean * mean + variance)
        angle = math.atan2(mean, math.sqrt(variance)) - math.asin(min(1.0, reach / length))
    else:
        angle = math.atan2(mean - reach, math.sqrt(variance))
    return math.sin(max(angle, 0.0)) ** 2


@njit(**leaf)
def attainment(goal, mean, score, variance, reach):
    """How far a row is from the goal, without its rules: zero where met, else the missing score, negative."""
    missing = FLOOR_PRICE * min(score - goal.floor, 0.0) + min(mean - goal.margin, 0.0)
    surplus = goal.a * mean - goal.b * math.sqrt(max(variance, 0.0))
    surplus -= goal.c * goal.radius * math.sqrt(max(reach, 0.0))
    return missing + min(surplus - goal.surplus, 0.0)


@njit(**leaf)
def merit(goal, row):
    """How far a row is from the goal, rules included; zero where it is met."""
    total = attainment(goal, row.scores[MEAN], row.scores[TODAY], row.scores[VARIANCE], row.scores[REACH])
    for r in range(row.slack.size):
        total += RULE_PRICE * min(row.slack[r], 0.0)
    return total


@njit(**leaf)
def merit_along(problem, goal, row, column, change):
    """`merit` after a numeric column has moved by `change` raw units; a concave function of it."""
    now, cov, drift = row.scores, problem.cov_gram[column, column], problem.drift_gram[column, column]
    mean = now[MEAN] + change * problem.means[column]
    score = now[TODAY] + change * problem.scores[column]
    variance = now[VARIANCE] + change * (2.0 * row.cov_products[column] + change * cov)
    reach = now[REACH] + change * (2.0 * row.drift_products[column] + change * drift)
    total = attainment(goal, mean, score, variance, reach)
    for r in range(row.slack.size):
        total += RULE_PRICE * min(row.slack[r] - change * problem.rules[r, column], 0.0)
    return total


@njit(**leaf)
def exchange_in(gram, products, new, old):
    """What the exchange of one direction for another adds to a row's quadratic form."""
    change = 2.0 * (products[new] - products[old])
    return change, gram[new, new] - 2.0 * gram[new, old] + gram[old, old]


@njit(**leaf)
def merit_after(problem, goal, row, column, value):
    """`merit` after a column has been given another value."""
    if column < problem.steps.size:
        return merit_along(problem, goal, row, column, value - row.values[column])
    new, old, now = int(value), int(row.values[column]), row.scores
    mean = now[MEAN] + problem.means[new] - problem.means[old]
    score = now[TODAY] + problem.scores[new] - problem.scores[old]
    linear, square = exchange_in(problem.cov_gram, row.cov_products, new, old)
    variance = now[VARIANCE] + linear + square
    linear, square = exchange_in(problem.drift_gram, row.drift_products, new, old)
    reach = now[REACH] + linear + square
    total = attainment(goal, mean, score, variance, reach)
    for r in range(row.slack.size):
        total += RULE_PRICE * min(row.slack[r] - problem.rules[r, new] + problem.rules[r, old], 0.0)
    return total


@njit(**inner)
def move(problem, row, column, value):
    """Give a column another value."""
    now, cov, drift = row.scores, problem.cov_gram, problem.drift_gram
    if column < problem.steps.size:
        change = value - row.values[column]
        now[MEAN] += change * problem.means[column]
        now[TODAY] += change * problem.scores[column]
        now[VARIANCE] += change * (2.0 * row.cov_products[column] + change * cov[column, column])
        now[REACH] += change * (2.0 * row.drift_products[column] + change * drift[column, column])
        for a in range(row.cov_products.size):
            row.cov_products[a] += change * cov[column, a]
            row.drift_products[a] += change * drift[column, a]
        for r in range(row.slack.size):
            row.slack[r] -= change * problem.rules[r, column]
    else:
        new, old = int(value), int(row.values[column])
        now[MEAN] += problem.means[new] - problem.means[old]
        now[TODAY] += problem.scores[new] - problem.scores[old]
        linear, square = exchange_in(cov, row.cov_products, new, old)
        now[VARIANCE] += linear
        now[VARIANCE] += square
        linear, square = exchange_in(drift, row.drift_products, new, old)
        now[REACH] += linear
        now[REACH] += square
        for a in range(row.cov_products.size):
            row.cov_products[a] += cov[new, a] - cov[old, a]
            row.drift_products[a] += drift[new, a] - drift[old, a]
        for r in range(row.slack.size):
            row.slack[r] -= problem.rules[r, new] - problem.rules[r, old]
    row.values[column] = value


@njit(**inner)
def make_row(problem, start, values, row):
    """Make `row` the row with the given values, starting from `start`."""
    copy_row(start, row)
    for f in range(values.size):
        if values[f] != row.values[f]:
            move(problem, row, f, values[f])


@njit(**leaf)
def count_changes(region, row):
    """Number of columns in which a row differs from the applicant."""
    changes = 0
    for f in region.open:
        changes += row.values[f] != region.own[f]
    return changes


@njit(**allocating)
def region_of(problem, regions, n):
    """The feasible region of applicant n. Open are columns with another possible value than the applicant's own."""
    own, lower, upper, allowed = regions.own[n], regions.lower[n], regions.upper[n], regions.allowed[n]
    columns, count = np.empty(own.size, np.int64), 0
    for f in range(own.size):
        is_open = False
        if f < lower.size:
            is_open = upper[f] > lower[f] or own[f] < lower[f] or own[f] > upper[f]
        else:
            for a in range(problem.starts[f], problem.starts[f + 1]):
                is_open = is_open or (allowed[a] and a != own[f])
        if is_open:
            columns[count] = f
            count += 1
    return Region(
        own,
        lower,
        upper,
        allowed,
        regions.reference[n],
        regions.leaving[n],
        regions.level_prices[n],
        columns[:count],
        np.empty(lower.size, np.bool_),
        problem.cap,
    )


@njit(**leaf)
def inside(region, column, value):
    """The nearest value to `value` in the range of a numeric column."""
    return min(max(value, region.lower[column]), region.upper[column])


@njit(**leaf)
def n_tries(problem, column, n_numbers):
    """How many values of a column are tried: so many numbers, or all levels."""
    if column < problem.steps.size:
        return n_numbers
    return problem.starts[column + 1] - problem.starts[column]


@njit(**leaf)
def level_or(problem, region, column, k, value):
    """The k-th level of a categorical column, or `value` where it is not allowed."""
    level = problem.starts[column] + k
    return float(level) if region.allowed[level] else value
