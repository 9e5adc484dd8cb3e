"""What the compiled search works on: the terrain all applicants share, one applicant's place in it, and a row.

A row is a real value for every *line* column (numbers) and one of a list of values for every *choice* column. The
encoded vector of a row is the applicant's plus a sum of *atoms*: a line moves along its atom, a choice exchanges one
atom for another. Everything a bound needs of a row is linear or quadratic in the encoded vector, so a row carries its
inner products with all atoms, and one move is judged in a handful of operations, whatever the number of parameters.
"""

import math
from collections import namedtuple

import numpy as np
from numba import njit

from copa._core._kernels.compiling import inner

# Atoms: one per line (its direction, per raw unit), then one per value of each choice.
Terrain = namedtuple(
    "Terrain",
    [
        "first",  # (C,) first atom of each choice
        "last",  # (C,) one past its last atom
        "cov_gram",  # (A, A) atoms' inner products under the covariance
        "drift_gram",  # (A, A) and under the drift
        "means",  # (A,) what an atom adds to the mean score
        "scores",  # (A,) what it adds to today's score
        "rules",  # (R, A) what it takes from the slack of each rule
        "steps",  # (L,) new values are multiples of it; 0 for any value
        "stop",  # (1,) not zero once the time is up: set from outside while the search runs
    ],
)

Place = namedtuple(
    "Place",
    [
        "values",  # (L,) the applicant's own values
        "atoms",  # (C,) and choices
        "lower",  # (L,) where the lines may go
        "upper",  # (L,)
        "allowed",  # (A,) which values may be taken
        "open",  # columns (lines, then choices) that may change at all
        "cap",  # most columns that may change
    ],
)

Row = namedtuple(
    "Row",
    [
        "values",  # (L,)
        "atoms",  # (C,)
        "numbers",  # (4,) mean score, today's score, variance of the score, squared reach per radius
        "cov_products",  # (A,) x' S atom
        "drift_products",  # (A,) x' Q atom
        "slack",  # (R,) of the rules, not negative where they hold
    ],
)

Goal = namedtuple(
    "Goal",
    [
        "level",  # the probability asked for; below zero: none
        "radius",
        "margin",  # the mean score must reach this
        "floor",  # and today's score this
        "surplus",  # and `level_surplus` this; zero, or out of reach for a search without an end
    ],
)

# A broken rule counts this much more than a missing unit of the score: rules come first.
RULE_PRICE = 100.0
# And so does acceptance today, before any level.
FLOOR_PRICE = 10.0
# Rounding: a goal missed by less counts as met here; the rows delivered are checked again without any slack.
TOLERANCE = 1e-10


@njit(**inner)
def copy_row(source, target):
    """Make `target` equal to `source`."""
    for i in range(source.values.size):
        target.values[i] = source.values[i]
    for i in range(source.atoms.size):
        target.atoms[i] = source.atoms[i]
    for i in range(4):
        target.numbers[i] = source.numbers[i]
    for i in range(source.cov_products.size):
        target.cov_products[i] = source.cov_products[i]
        target.drift_products[i] = source.drift_products[i]
    for i in range(source.slack.size):
        target.slack[i] = source.slack[i]


@njit(**inner)
def empty_row(n_lines, n_choices, n_atoms, n_rules):
    """Room for a row."""
    return Row(
        np.empty(n_lines),
        np.empty(n_choices, np.int64),
        np.empty(4),
        np.empty(n_atoms),
        np.empty(n_atoms),
        np.empty(n_rules),
    )


@njit(**inner)
def level_surplus(level, radius, mean, variance, reach):
    """By how much a row exceeds the level: sqrt(1-p) mu'x - sqrt(p) |S^{1/2} x| - rho |x|_Q."""
    return math.sqrt(1.0 - level) * mean - math.sqrt(level * max(variance, 0.0)) - radius * math.sqrt(max(reach, 0.0))


@njit(**inner)
def attainment(goal, mean, score, variance, reach):
    """How far a row is from the goal, without its rules: zero where met, else the missing score, negative."""
    missing = FLOOR_PRICE * min(score - goal.floor, 0.0) + min(mean - goal.margin, 0.0)
    if goal.level >= 0.0:
        missing += min(level_surplus(goal.level, goal.radius, mean, variance, reach) - goal.surplus, 0.0)
    return missing


@njit(**inner)
def level_of(row, radius):
    """The level a row holds with (docs/theory.md, "One option")."""
    mean, variance = row.numbers[0], max(row.numbers[2], 0.0)
    reach = radius * math.sqrt(max(row.numbers[3], 0.0))
    if not mean > reach:
        return 0.0
    length = math.sqrt(mean * mean + variance)
    angle = math.atan2(mean, math.sqrt(variance)) - math.asin(min(1.0, reach / length))
    return math.sin(max(angle, 0.0)) ** 2


@njit(**inner)
def worth(goal, row):
    """How far a row is from the goal, rules included; zero where it is met."""
    n = row.numbers
    total = attainment(goal, n[0], n[1], n[2], n[3])
    for r in range(row.slack.size):
        total += RULE_PRICE * min(row.slack[r], 0.0)
    return total


@njit(**inner)
def worth_along_line(terrain, goal, row, line, change):
    """`worth` after moving a line by `change` raw units; a concave function of it."""
    n = row.numbers
    mean = n[0] + change * terrain.means[line]
    score = n[1] + change * terrain.scores[line]
    variance = n[2] + change * (2.0 * row.cov_products[line] + change * terrain.cov_gram[line, line])
    reach = n[3] + change * (2.0 * row.drift_products[line] + change * terrain.drift_gram[line, line])
    total = attainment(goal, mean, score, variance, reach)
    for r in range(row.slack.size):
        total += RULE_PRICE * min(row.slack[r] - change * terrain.rules[r, line], 0.0)
    return total


@njit(**inner)
def worth_of_choice(terrain, goal, row, choice, atom):
    """`worth` after exchanging the value of a choice."""
    old = row.atoms[choice]
    n = row.numbers
    mean = n[0] + terrain.means[atom] - terrain.means[old]
    score = n[1] + terrain.scores[atom] - terrain.scores[old]
    gram = terrain.cov_gram
    variance = n[2] + 2.0 * (row.cov_products[atom] - row.cov_products[old])
    variance += gram[atom, atom] - 2.0 * gram[atom, old] + gram[old, old]
    gram = terrain.drift_gram
    reach = n[3] + 2.0 * (row.drift_products[atom] - row.drift_products[old])
    reach += gram[atom, atom] - 2.0 * gram[atom, old] + gram[old, old]
    total = attainment(goal, mean, score, variance, reach)
    for r in range(row.slack.size):
        total += RULE_PRICE * min(row.slack[r] - terrain.rules[r, atom] + terrain.rules[r, old], 0.0)
    return total


@njit(**inner)
def move_line(terrain, row, line, value):
    """Give a line another value."""
    change = value - row.values[line]
    n = row.numbers
    n[0] += change * terrain.means[line]
    n[1] += change * terrain.scores[line]
    n[2] += change * (2.0 * row.cov_products[line] + change * terrain.cov_gram[line, line])
    n[3] += change * (2.0 * row.drift_products[line] + change * terrain.drift_gram[line, line])
    for a in range(row.cov_products.size):
        row.cov_products[a] += change * terrain.cov_gram[line, a]
        row.drift_products[a] += change * terrain.drift_gram[line, a]
    for r in range(row.slack.size):
        row.slack[r] -= change * terrain.rules[r, line]
    row.values[line] = value


@njit(**inner)
def move_choice(terrain, row, choice, atom):
    """Give a choice another value."""
    old = row.atoms[choice]
    n = row.numbers
    n[0] += terrain.means[atom] - terrain.means[old]
    n[1] += terrain.scores[atom] - terrain.scores[old]
    gram = terrain.cov_gram
    n[2] += 2.0 * (row.cov_products[atom] - row.cov_products[old])
    n[2] += gram[atom, atom] - 2.0 * gram[atom, old] + gram[old, old]
    other = terrain.drift_gram
    n[3] += 2.0 * (row.drift_products[atom] - row.drift_products[old])
    n[3] += other[atom, atom] - 2.0 * other[atom, old] + other[old, old]
    for a in range(row.cov_products.size):
        row.cov_products[a] += gram[atom, a] - gram[old, a]
        row.drift_products[a] += other[atom, a] - other[old, a]
    for r in range(row.slack.size):
        row.slack[r] -= terrain.rules[r, atom] - terrain.rules[r, old]
    row.atoms[choice] = atom


@njit(**inner)
def worth_after(terrain, goal, row, column, value, atom):
    """`worth` after giving a column another value."""
    n_lines = row.values.size
    if column < n_lines:
        return worth_along_line(terrain, goal, row, column, value - row.values[column])
    return worth_of_choice(terrain, goal, row, column - n_lines, atom)


@njit(**inner)
def move(terrain, row, column, value, atom):
    """Give a column another value."""
    if column < row.values.size:
        move_line(terrain, row, column, value)
    else:
        move_choice(terrain, row, column - row.values.size, atom)


@njit(**inner)
def is_changed(place, row, column):
    """Whether a column of a row differs from the applicant's."""
    n_lines = row.values.size
    if column < n_lines:
        return row.values[column] != place.values[column]
    return row.atoms[column - n_lines] != place.atoms[column - n_lines]


@njit(**inner)
def count_changes(place, row):
    """Number of columns in which a row differs from the applicant."""
    changes = 0
    for f in place.open:
        changes += is_changed(place, row, f)
    return changes


@njit(**inner)
def open_columns(terrain, values, atoms, lower, upper, allowed):
    """Columns with more than one possible value, or whose own value is not possible."""
    n_lines, n_choices = values.size, atoms.size
    is_open = np.zeros(n_lines + n_choices, np.bool_)
    for i in range(n_lines):
        is_open[i] = upper[i] > lower[i] or values[i] < lower[i] or values[i] > upper[i]
    for c in range(n_choices):
        for a in range(terrain.first[c], terrain.last[c]):
            is_open[n_lines + c] = is_open[n_lines + c] or (allowed[a] and a != atoms[c])
    return np.flatnonzero(is_open)
