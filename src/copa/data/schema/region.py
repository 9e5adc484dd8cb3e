"""Values that the options of each applicant may take, column by column."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa._core.records import FrozenMap
from copa._core.representation import short_repr
from copa.data.schema.columns import Flags, ReadColumn, ReadTable
from copa.data.schema.feature import Feature, possible_targets
from copa.data.schema.field_readers import MaxChange

DIGITS = 60  # far more than a product of two floats has
DOWNWARDS, UPWARDS = Context(prec=DIGITS, rounding=ROUND_FLOOR), Context(prec=DIGITS, rounding=ROUND_CEILING)


@dataclass(frozen=True, eq=False)
class FeasibleRegion:
    """Values that the options of N applicants may take, by column; steps and rules come on top.

    An option may always keep the applicant's own value, also where that lies outside the range.

    Attributes
    ----------
    numeric : mapping of str to tuple
        Lower and upper ends, (N,) each, of a numeric or integer column, between which a changed value must lie.
        Infinite where open; both the applicant's own value where no other is possible; NaN where that is missing and
        stays so. Who may leave a special code or a missing value has the whole range.
    categorical : mapping of str to ndarray of shape (N, V)
        Flags of the values of an ordinal, categorical or binary column. The applicant's own is always one of them,
        unless it is missing. All false where it is unknown, or is missing and stays so.

    Examples
    --------
    >>> import pandas as pd
    >>> import copa
    >>> schema = copa.FeatureSchema(
    ...     [
    ...         copa.Feature("savings", "numeric", lower=0, upper=9000, direction="increase"),
    ...         copa.Feature("home", "categorical", values=("rent", "own"), immutable=True),
    ...     ]
    ... )
    >>> region = schema.limits(pd.DataFrame({"savings": [500.0, 2000.0], "home": ["rent", "own"]}))
    >>> [ends.tolist() for ends in region.numeric["savings"]]
    [[500.0, 2000.0], [9000.0, 9000.0]]
    >>> region.categorical["home"].tolist()
    [[True, False], [False, True]]
    """

    __repr__ = short_repr

    numeric: Mapping[str, tuple[Array, Array]]
    categorical: Mapping[str, Flags]

    @classmethod
    def of(cls, features: tuple[Feature, ...], table: ReadTable) -> "FeasibleRegion":
        """Return the region for every row of a table that has all columns."""
        numeric = {f.name: numeric_limits(f, table[f.name]) for f in features if f.is_numeric}
        categorical = {f.name: categorical_limits(f, table[f.name]) for f in features if f.is_categorical}
        for array in [*categorical.values(), *(end for pair in numeric.values() for end in pair)]:
            array.setflags(write=False)
        return cls(FrozenMap(numeric), FrozenMap(categorical))


def numeric_limits(feature: Feature, column: ReadColumn) -> tuple[Array, Array]:
    """Lower and upper ends (N,) of a numeric column for its applicants."""
    own = column.numbers
    if feature.immutable:
        return own.copy(), own.copy()
    lower = np.full_like(own, -np.inf if feature.lower is None else feature.lower)
    upper = np.full_like(own, np.inf if feature.upper is None else feature.upper)
    regular = ~column.irregular(feature)
    if feature.direction == "increase":
        lower = np.where(regular, np.maximum(lower, own), lower)
    if feature.direction == "decrease":
        upper = np.where(regular, np.minimum(upper, own), upper)
    if feature.max_change is not None:
        nearest, farthest = change_limits(feature.max_change, column)
        lower = np.where(regular, np.maximum(lower, nearest), lower)
        upper = np.where(regular, np.minimum(upper, farthest), upper)
    stuck = ~(lower <= upper)  # no value is possible but the applicant's own
    if feature.missing == "stay":
        stuck |= np.isnan(own)
    return np.where(stuck, own, lower), np.where(stuck, own, upper)


def change_limits(max_change: MaxChange, column: ReadColumn) -> tuple[Array, Array]:
    """Least and greatest numbers (N,) that are no further from those of a column than `max_change` says."""
    positions, distinct = column.entries
    ends = np.array([*(change_ends(max_change, entry) for entry in distinct), (-np.inf, np.inf)])
    return ends[positions, 0], ends[positions, 1]


def change_ends(max_change: MaxChange, entry: Any) -> tuple[float, float]:
    """The least and the greatest float whose printed decimals are within `max_change` of those of a number."""
    try:
        own = Decimal(str(int(entry)) if isinstance(entry, (bool, np.bool_)) else str(entry))
    except InvalidOperation:  # no number: the row is refused elsewhere
        return -math.inf, math.inf
    if not own.is_finite():
        return -math.inf, math.inf
    if isinstance(max_change, Mapping):
        down, up = (Decimal(repr(max_change[side])) if side in max_change else None for side in ("down", "up"))
    else:
        down = up = DOWNWARDS.multiply(Decimal(repr(max_change)), abs(own))
    lower = -math.inf if down is None else _inside(UPWARDS.subtract(own, down), math.inf)
    upper = math.inf if up is None else _inside(DOWNWARDS.add(own, up), -math.inf)
    return lower, upper


def _inside(end: Decimal, inwards: float) -> float:
    """The float nearest to an end whose printed decimals are not beyond it."""
    near = float(end)
    printed = Decimal(repr(near))
    return math.nextafter(near, inwards) if (printed < end if inwards > 0.0 else printed > end) else near


def categorical_limits(feature: Feature, column: ReadColumn) -> Flags:
    """Flags (N, V) of the values that an option may take, for the applicants of a column."""
    flags: Flags = feature.moves[column.codes(feature)]
    if feature.missing == "may_change" and not feature.immutable:
        flags[column.missing] = possible_targets(feature)
    return flags
