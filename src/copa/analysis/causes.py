"""What a model that refuses an option rates differently from today's, in the units of the table."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.models.bins import bin_of
from copa.plans.units import amount_text, name_and_unit, value_text
from copa.schema import Feature, FeatureSchema
from copa.search.problem import ActionSpace
from copa.tables.cells import is_missing, plain

GENERAL = "the model's general level"
SHARED = "several columns together"
OTHERS = "other columns"
WHOLE = "the row as a whole"
NOISE = 1e-9  # an answer of the pipeline that is smaller than this, relative to its largest, is rounding
FAR = 4.0  # spreads from a value beyond which another one says nothing, in a column without limits
TIMES = 10.0  # more often than this is "much more"

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a model's score: a column, or what belongs to no single one.

    Attributes
    ----------
    name : str
        Of the column, or words for what is none.
    own : ndarray of bool, shape (D,)
        Which coordinates of an encoded row belong to it.
    feature : Feature, optional
        The column; None where it is none.
    directions : ndarray of shape (V, D), optional
        What a raw unit of a number, or each level, adds to these coordinates.
    edges : ndarray of shape (B,), optional
        First values of the bins of a number whose bins are the levels.
    """

    name: str
    own: Flags
    feature: Feature | None = None
    directions: Array | None = None
    edges: Array | None = None

    @property
    def column(self) -> str | None:
        """Name of the column, None where it is none."""
        return None if self.feature is None else self.feature.name

    def words(self, schema: FeatureSchema, value: Any) -> str:
        """The part with the value that a row has there."""
        return self.name if self.feature is None else f"{self.feature.heading}: {value_text(schema, self.name, value)}"


def parts_of(space: ActionSpace) -> list[Part]:
    """Parts of the score of a model that is a sum over columns."""
    sizes = np.array([np.abs(space.directions[space.levels(k)]).max(axis=0) for k in range(len(space.columns))])
    answers = sizes > NOISE * sizes.max(axis=1, keepdims=True)
    n_columns, general = answers.sum(axis=0), np.arange(space.mean.size) == 0
    parts = []
    for k, feature in enumerate(space.columns):
        own = answers[k] & (n_columns == 1)
        directions = np.where(own, space.directions[space.levels(k)], 0.0)
        parts.append(Part(feature.name, own, feature, directions, space.edges.get(feature.name)))
    others = {GENERAL: general, SHARED: n_columns > 1, OTHERS: (n_columns == 0) & ~general}
    parts += [Part(name, own) for name, own in others.items()]
    return [part for part in parts if part.own.any()]


def cause(part: Part, value: Any, theta: Array, today: float, broken: float) -> str:
    """Say how the share of a part falls: a clause that follows "the model that refuses it".

    Parameters
    ----------
    part : Part
    value : object
        What the option has in the column.
    theta : ndarray of shape (D,)
        Parameters of today's model.
    today, broken : float
        Share of the part in the score that today's model gives, and in that of the model that refuses the option, which
        is less; both beyond what an average applicant has.
    """
    if part.feature is None:
        lower = {GENERAL: "is stricter in general", SHARED: f"rates {SHARED} lower"}
        return lower.get(part.name, f"rates {part.name} lower")
    alike = _same_number(part, value, theta, today, broken) or _level_above(part, value, theta, today, broken)
    return alike or _credit(_named(part, value), today, broken)


def _same_number(part: Part, value: Any, theta: Array, today: float, broken: float) -> str:
    """Name the number that today's model rates as the other one rates this; "" where there is none that says much."""
    feature, number = part.feature, plain(value)
    if feature is None or part.directions is None or not feature.is_numeric or part.edges is not None:
        return ""
    if isinstance(number, (str, bool)) or is_missing(number) or feature.is_special(number):
        return ""
    slope = float(part.directions[0] @ theta)
    if slope == 0.0:
        return ""
    alike = as_if(float(number), (broken - today) / slope, feature)
    if alike is None:
        return ""
    return f"rates {_named(part, value)} as today's model rates about {amount_text(feature, alike)}"


def as_if(value: float, move: float, feature: Feature) -> float | None:
    """Return a value and a move together, with two digits of the move; None where that is no value of the column.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.analysis.causes import as_if
    >>> duration = Feature("duration", "integer", lower=6, upper=60)
    >>> as_if(24.0, 7.3, duration), as_if(24.0, 70.0, duration), as_if(24.0, 0.2, duration)
    (31.0, None, None)
    """
    if move == 0.0 or not math.isfinite(move):
        return None
    digits = 1 - math.floor(math.log10(abs(move)))
    moved = round(value + move, min(digits, 0) if feature.kind == "integer" else digits)
    lower = min(0.0, value) if feature.lower is None and value >= 0.0 else feature.lower
    inside = (lower is None or moved >= lower) and (feature.upper is None or moved <= feature.upper)
    near = feature.upper is not None or feature.spread is None or abs(move) <= FAR * feature.spread
    return float(moved) if inside and near and moved != value else None


def _level_above(part: Part, value: Any, theta: Array, today: float, broken: float) -> str:
    """Name the lowest level that today's model rates at least as high as the other one rates this; "" for none."""
    feature = part.feature
    if feature is None or part.directions is None or (feature.is_numeric and part.edges is None):
        return ""
    own = _level_of(part, value)
    if own < 0:
        return ""
    n_named = len(feature.values or ()) if part.edges is None else len(part.edges) + 1
    rated = today + (part.directions[:n_named] - part.directions[own]) @ theta
    between = np.flatnonzero((rated >= broken) & (rated < today))
    if len(between) == 0:
        return ""
    lowest = int(between[np.argmin(rated[between])])
    word = "lower than" if lowest == int(np.argmin(rated)) and rated[lowest] > broken else "no higher than"
    return f"rates {_named(part, value)} {word} today's model rates '{_level_words(part, lowest)}'"


def _level_of(part: Part, value: Any) -> int:
    """Position of a value among the levels of a column, -1 where it is none of them."""
    feature = part.feature
    if feature is None or is_missing(value) or feature.is_special(value):
        return -1
    if part.edges is not None:
        return int(bin_of(part.edges, np.array([float(plain(value))]))[0])
    return int(feature.index.position(value))


def _level_words(part: Part, level: int) -> str:
    """What people call a level: its label, or from where to where a bin goes."""
    feature, edges = part.feature, part.edges
    assert feature is not None  # noqa: S101 - of parts with levels
    if edges is None:
        value = (feature.values or ())[level]
        return value_text(FeatureSchema((feature,)), feature.name, value)
    if level == 0:
        return f"below {amount_text(feature, edges[0])}"
    if level == len(edges):
        return f"{amount_text(feature, edges[-1])} or more"
    return f"{amount_text(feature, edges[level - 1])} to below {amount_text(feature, edges[level])}"


def _named(part: Part, value: Any) -> str:
    """A column and a value of it, as a noun: "a duration of 24 months", "'housing: rented'"."""
    feature = part.feature
    assert feature is not None  # noqa: S101 - of columns
    name, unit = name_and_unit(feature.heading)
    amount = amount_text(feature, value)
    if unit and amount.endswith(f" {unit}"):
        return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name} of {amount}"
    return f"'{feature.heading}: {amount}'"


def _credit(what: str, today: float, broken: float) -> str:
    """Say how much of the credit that today's model gives is left, or how much more something counts against."""
    if today > 0.0 >= broken:
        return f"counts {what} against the applicant, and not in favour as today"
    if today > 0.0:
        return f"gives {what} about {100.0 * broken / today:.0f} % of the credit that it gets today"
    if today == 0.0 or broken / today > TIMES:
        return f"counts {what} much more against the applicant than today"
    return f"counts {what} about {broken / today:.1f} times as much against the applicant as today"
