"""Changes of an option: cells of its row that differ from the applicant's."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Indices
from copa._core.words import visible
from copa.data.schema import Feature
from copa.data.tables.cells import alone, as_text

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
        Lower and upper end of the values with which the option keeps its level (`Intervals`), where they are known.

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
    (4, 21, 'between 4 and 21')
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
        """Least value with which the option keeps its level, None where it is not known."""
        return None if self.interval is None else self._as_written(self.interval[0])

    @property
    def at_most(self) -> float | None:
        """Greatest value with which the option keeps its level, None where it is not known."""
        return None if self.interval is None else self._as_written(self.interval[1])

    @cached_property
    def range_text(self) -> str:
        """Interval in words, with both ends: "between 5 and 8", "exactly 3"; "" where it is not known."""
        if self.interval is None:
            return ""
        least, most = map(as_text, self.interval)
        return f"exactly {least}" if least == most else f"between {least} and {most}"

    @cached_property
    def title(self) -> str:
        """Title of the column."""
        return visible(self.column if self.feature is None else self.feature.heading, lines=False)

    @cached_property
    def before_text(self) -> str:
        """Value today, in people's words."""
        return alone(self.worded(self.before))

    @cached_property
    def after_text(self) -> str:
        """New value, in people's words."""
        return alone(self.worded(self.after))

    def _as_written(self, end: float) -> float:
        """Return an end of the interval as the column writes it: whole in a column of whole numbers."""
        is_whole = self.feature is not None and self.feature.kind == "integer" and end.is_integer()
        return int(end) if is_whole else end

    def worded(self, value: Any) -> Any:
        """Return what people call a value of the column; the value itself where there are no words for it."""
        label = None if self.feature is None else self.feature.label_of(value)
        return value if label is None else label


def changed_cells(own: "pd.DataFrame", new: "pd.DataFrame", owner: Indices | None = None) -> Flags:
    """Flag the cells (M, C) in which two tables of the same columns differ, row by row, whatever their labels are.

    Each row of `new` (M rows) is compared with the row `owner` (M,) of `own`, or with the same row. A missing cell is
    the same as another missing one.
    """
    flags = np.zeros(new.shape, dtype=np.bool_)
    for k, ((_, before), (_, after)) in enumerate(zip(own.items(), new.items(), strict=True)):
        flags[:, k] = differs(before, after, owner)
    return flags


def _texts_differ(own: "ExtensionArray", new: "ExtensionArray") -> Flags:
    lacks, lacking = own.isna(), new.isna()
    flags: Flags = lacks != lacking
    there = ~(lacks | lacking)
    flags[there] = own.to_numpy(dtype=object)[there] != new.to_numpy(dtype=object)[there]
    return flags


def differs(own: "pd.Series[Any]", new: "pd.Series[Any]", owner: Indices | None = None) -> Flags:
    """Flag the rows in which a column differs from another, (M,): from its rows `owner` (M,), or from the same ones."""
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
