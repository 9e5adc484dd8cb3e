"""What an option changes in an applicant's row."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from copa._core.words import visible
from copa.schema import Feature
from copa.tables.cells import alone

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]


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

    Attributes
    ----------
    title, before_text, after_text : str
        Column, value today and new value in people's words.

    Examples
    --------
    >>> from copa import Feature
    >>> from copa.plans import Change
    >>> change = Change("months", 48, 18, Feature("months", "integer", title="duration (months)"))
    >>> change
    Change(column='months', before=48, after=18)
    >>> change.title, change.after_text
    ('duration (months)', '18')
    """

    feature: Feature | None = None

    def __new__(cls, column: str, before: Any, after: Any, feature: Feature | None = None) -> Self:
        """Make the tuple of three, and keep the feature beside it."""
        change = super().__new__(cls, column, before, after)
        change.feature = feature
        return change

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


def changed_cells(own: "pd.DataFrame", new: "pd.DataFrame") -> Flags:
    """Say where two tables of the same shape and columns differ, row by row whatever their labels are.

    Returns
    -------
    (M, C) flags; a missing cell is the same as another missing one
    """
    flags = np.zeros(new.shape, dtype=np.bool_)
    for k in range(new.shape[1]):
        flags[:, k] = _differs(own.iloc[:, k], new.iloc[:, k])
    return flags


def _differs(own: "pd.Series[Any]", new: "pd.Series[Any]") -> Flags:
    if own.dtype == new.dtype and isinstance(own.dtype, np.dtype) and own.dtype.kind in "biufmM":
        before, after = own.to_numpy(), new.to_numpy()
        both_missing = (before != before) & (after != after)  # noqa: PLR0124 - so are NaN and NaT
        plain: Flags = (before != after) & ~both_missing
        return plain
    own, new = own.reset_index(drop=True), new.reset_index(drop=True)
    if own.dtype != new.dtype:  # categoricals of different categories, and the like, compare as plain objects only
        own, new = own.astype(object), new.astype(object)
    lacks, lacking = own.isna().to_numpy(dtype=np.bool_), new.isna().to_numpy(dtype=np.bool_)
    flags: Flags = lacks != lacking
    there = np.flatnonzero(~(lacks | lacking))
    flags[there] = (own.iloc[there] != new.iloc[there]).to_numpy(dtype=np.bool_)
    return flags
