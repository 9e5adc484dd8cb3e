"""Where the options of each applicant may go, column by column."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array
from copa._core.deprecation import renamed_property
from copa._core.records import FrozenMap
from copa.schema.columns import Flags, column_codes, column_numbers
from copa.schema.feature import Feature

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FeasibleRegion:
    """What the options of N applicants may be, by column; steps and rules come on top.

    An option may always keep the applicant's own value, also where that lies outside the range.

    Attributes
    ----------
    numeric : mapping of str to tuple
        Lower and upper ends, (N,) each, of a numeric or integer column, between which a changed value must lie.
        Infinite where open; both the applicant's own value where no other is possible; NaN where that is missing.
    categorical : mapping of str to ndarray of shape (N, V)
        Flags of the values of an ordinal, categorical or binary column. The applicant's own is always one of them. All
        false where it is missing or unknown.

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

    numeric: Mapping[str, tuple[Array, Array]]
    categorical: Mapping[str, Flags]

    line = renamed_property("line", "numeric")
    choice = renamed_property("choice", "categorical")

    @classmethod
    def of(cls, features: tuple[Feature, ...], table: "pd.DataFrame") -> "FeasibleRegion":
        """Return the region for every row of a table that has all columns."""
        numeric = {f.name: numeric_limits(f, column_numbers(table[f.name])[0]) for f in features if f.is_numeric}
        categorical = {f.name: categorical_limits(f, table[f.name]) for f in features if f.is_categorical}
        for array in [*categorical.values(), *(end for pair in numeric.values() for end in pair)]:
            array.setflags(write=False)
        return cls(FrozenMap(numeric), FrozenMap(categorical))


def numeric_limits(feature: Feature, own: Array) -> tuple[Array, Array]:
    """Lower and upper ends (N,) of a numeric column for applicants with the given own values (N,)."""
    if feature.immutable:
        return own.copy(), own.copy()
    lower = np.full_like(own, -np.inf if feature.lower is None else feature.lower)
    upper = np.full_like(own, np.inf if feature.upper is None else feature.upper)
    if feature.direction == "increase":
        lower = np.maximum(lower, own)
    if feature.direction == "decrease":
        upper = np.minimum(upper, own)
    stuck = ~(lower <= upper) | np.isnan(own)  # no value is possible but the applicant's own, or that is missing
    return np.where(stuck, own, lower), np.where(stuck, own, upper)


def categorical_limits(feature: Feature, column: "pd.Series[object]") -> Flags:
    """Flags (N, V) of the values that an option may take, for the applicants of a column."""
    moves = possible_moves(feature)
    from_unknown = np.zeros((1, len(moves)), dtype=np.bool_)
    flags: Flags = np.concatenate([moves, from_unknown])[column_codes(feature, column)]
    return flags


def possible_moves(feature: Feature) -> Flags:
    """Flags (V, V): whether an option may go from one value of a categorical column to another."""
    values = feature.values or ()
    stay = np.eye(len(values), dtype=np.bool_)
    if feature.immutable:
        return stay
    moves = np.ones((len(values), len(values)), dtype=np.bool_)
    if feature.allowed is not None:
        moves &= np.array([value in feature.allowed for value in values])
    if feature.withheld:
        moves &= np.array([value not in feature.withheld for value in values])
    for origin, targets in (feature.transitions or {}).items():
        moves[feature.index.position(origin)] &= np.array([value in targets for value in values])
    if feature.direction == "increase":
        moves = np.triu(moves)
    if feature.direction == "decrease":
        moves = np.tril(moves)
    if feature.lower is not None or feature.upper is not None:
        inside = feature.numbers >= (-np.inf if feature.lower is None else feature.lower)
        moves &= inside & (feature.numbers <= (np.inf if feature.upper is None else feature.upper))
    result: Flags = moves | stay
    return result
