"""What an option changes in an applicant's row."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Indices
from copa._core.words import visible
from copa.schema import Feature
from copa.schema.region import change_ends
from copa.tables.cells import alone, as_text, is_missing, plain, snap

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray

Flags = npt.NDArray[np.bool_]
Interval = tuple[float, float]


class _Cells(NamedTuple):
    column: str
    before: Any
    after: Any


class Change(_Cells):
    """A column that an option changes, its value today and its new value: a tuple of these three, in raw values.

    Parameters
    ----------
    column : str
        Name of the column.
    before, after : object
        Value today and new value, as in the table.
    feature : Feature, optional
        Feature of the column, which knows what people call it and its values.
    interval : tuple of float, optional
        Lower and upper end of the values with which the option stays as sure (`Intervals`), where they are known.

    Attributes
    ----------
    title, before_text, after_text : str
        Column, value today and new value in people's words.
    range_text : str
        The interval in words, "" where it is not known.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.plans import Change
    >>> change = Change("months", 48, 18, Feature("months", "integer", title="duration (months)"))
    >>> change
    Change(column='months', before=48, after=18)
    >>> change.title, change.after_text
    ('duration (months)', '18')
    >>> shorter = Change("months", 48, 18, Feature("months", "integer", lower=4, upper=72), interval=(4.0, 21.0))
    >>> shorter.at_least, shorter.at_most, shorter.range_text
    (None, 21, 'at most 21')
    """

    feature: Feature | None = None
    interval: Interval | None = None

    def __new__(
        cls,
        column: str,
        before: Any,
        after: Any,
        feature: Feature | None = None,
        interval: Interval | None = None,
    ) -> Self:
        """Make the tuple of three, and keep the feature and the interval beside it."""
        change = super().__new__(cls, column, before, after)
        change.feature, change.interval = feature, interval
        return change

    @property
    def at_least(self) -> float | None:
        """Least value with which the option stays as sure; None where none below is allowed, or it is not known."""
        return named_ends(self.feature, self.before, self.interval)[0]

    @property
    def at_most(self) -> float | None:
        """Greatest value with which the option stays as sure; None where none above is allowed, or it is not known."""
        return named_ends(self.feature, self.before, self.interval)[1]

    @property
    def range_text(self) -> str:
        """The interval in words, "" where it is not known."""
        return range_words(self.feature, self.before, self.interval)

    @property
    def title(self) -> str:
        """What people call the column."""
        return visible(self.column if self.feature is None else self.feature.heading, lines=False)

    @property
    def before_text(self) -> str:
        """Value today, in people's words."""
        return alone(self.worded(self.before))

    @property
    def after_text(self) -> str:
        """New value, in people's words."""
        return alone(self.worded(self.after))

    def worded(self, value: Any) -> Any:
        """Return what people call a value of the column; the value itself where there are no words for it."""
        label = None if self.feature is None else self.feature.label_of(value)
        return value if label is None else label


def as_number(feature: Feature | None, value: float) -> float:
    """An end of an interval as its column writes it: whole in a column of whole numbers."""
    return int(value) if feature is not None and feature.kind == "integer" and value.is_integer() else value


def named_ends(feature: Feature | None, before: Any, interval: Interval | None) -> tuple[float | None, float | None]:
    """Ends of an interval that say something: not that on the far side, where it is the last allowed value."""
    if interval is None:
        return None, None
    low, high = interval
    ends = as_number(feature, low), as_number(feature, high)
    if feature is None or low == high:
        return ends
    own = plain(before)
    regular = isinstance(own, (int, float)) and not is_missing(own) and not feature.is_special(own)
    first, last = _allowed_ends(feature, own if regular else None)
    if high >= last and not (regular and own > high):
        return ends[0], None
    if low <= first and not (regular and own < low):
        return None, ends[1]
    return ends


def _allowed_ends(feature: Feature, own: float | None) -> tuple[float, float]:
    """First and last value on the steps of a column that an applicant may take, infinite where nothing says so."""
    first = -math.inf if feature.lower is None else feature.lower
    last = math.inf if feature.upper is None else feature.upper
    if own is not None and feature.max_change is not None:
        nearest, farthest = change_ends(feature.max_change, own)
        first, last = max(first, nearest), min(last, farthest)
    if feature.step is not None:
        first, last = _on_steps(first, feature.step, "up"), _on_steps(last, feature.step, "down")
    return first, last


@lru_cache(maxsize=2**14)
def _on_steps(end: float, step: float, rounding: Literal["up", "down"]) -> float:
    """An end of a range on the steps of a column; tables of plans ask for the same ones again and again."""
    return float(snap(end, step, rounding)) if math.isfinite(end) else end


def range_words(feature: Feature | None, before: Any, interval: Interval | None) -> str:
    """Say an interval: "at least 2400", "at most 31", "between 5 and 8", "exactly 3"; "" for none."""
    if interval is None:
        return ""
    least, most = named_ends(feature, before, interval)
    if least is None:
        return f"at most {as_text(most)}"
    if most is None:
        return f"at least {as_text(least)}"
    return f"exactly {as_text(least)}" if least == most else f"between {as_text(least)} and {as_text(most)}"


def changed_cells(own: "pd.DataFrame", new: "pd.DataFrame", owner: Indices | None = None) -> Flags:
    """Say where two tables of the same columns differ, row by row whatever their labels are.

    Parameters
    ----------
    own, new : DataFrame
    owner : ndarray of shape (M,), optional
        Which row of `own` each row of `new` is compared with; None for the same one.

    Returns
    -------
    (M, C) flags; a missing cell is the same as another missing one
    """
    flags = np.zeros(new.shape, dtype=np.bool_)
    for k in range(new.shape[1]):
        flags[:, k] = differs(own.iloc[:, k], new.iloc[:, k], owner)
    return flags


def _texts_differ(own: "ExtensionArray", new: "ExtensionArray") -> Flags:
    lacks, lacking = own.isna(), new.isna()
    flags: Flags = lacks != lacking
    there = ~(lacks | lacking)
    flags[there] = own.to_numpy(dtype=object)[there] != new.to_numpy(dtype=object)[there]
    return flags


def differs(own: "pd.Series[Any]", new: "pd.Series[Any]", owner: Indices | None = None) -> Flags:
    """Say where a column differs from another, (M,): from its rows `owner` (M,), or from the same ones."""
    if own.dtype == new.dtype and isinstance(own.dtype, np.dtype) and own.dtype.kind in "biufmM":
        before, after = own.to_numpy(), new.to_numpy()
        before = before if owner is None else before[owner]
        both_missing = (before != before) & (after != after)  # noqa: PLR0124 - so are NaN and NaT
        plain: Flags = (before != after) & ~both_missing
        return plain
    if own.dtype == new.dtype and own.dtype == "str":
        return _texts_differ(own.array if owner is None else own.array.take(owner), new.array)
    own, new = (own if owner is None else own.iloc[owner]).reset_index(drop=True), new.reset_index(drop=True)
    if own.dtype != new.dtype:  # categoricals of different categories, and the like, compare as plain objects only
        own, new = own.astype(object), new.astype(object)
    lacks, lacking = own.isna().to_numpy(dtype=np.bool_), new.isna().to_numpy(dtype=np.bool_)
    flags: Flags = lacks != lacking
    there = np.flatnonzero(~(lacks | lacking))
    flags[there] = (own.iloc[there] != new.iloc[there]).to_numpy(dtype=np.bool_)
    return flags
