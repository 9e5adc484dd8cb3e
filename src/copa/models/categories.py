"""Columns that pandas keeps as categories: room for the values that options may move to."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.models.entries import spell_like
from copa.schema.names import shown

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import Feature


class CategoryWords:
    """How a category type spells the values of a feature: as it has them already, else like its first category.

    Parameters
    ----------
    feature : of the column
    dtype : its pandas CategoricalDtype
    """

    def __init__(self, feature: "Feature", dtype: Any) -> None:
        self.feature, self.dtype = feature, dtype
        self.labels = list(dtype.categories)
        self.positions = [feature.index.position(label) for label in self.labels]
        self._known = dict(zip(self.positions, self.labels, strict=True))

    def __getitem__(self, code: int) -> Any:
        if code in self._known:
            return self._known[code]
        sample = self.labels[0] if self.labels else None
        return spell_like(self.feature, code, sample)

    def missing(self, codes: Sequence[int]) -> list[int]:
        """Those of the values that are not among the categories, in the order of the schema."""
        return sorted(set(codes) - set(self._known))

    def appended(self, codes: Sequence[int]) -> Any:
        """The type with the missing values at its end, wherever they may belong."""
        return self._with(self.labels + [self[code] for code in self.missing(codes)])

    def in_order(self, codes: Sequence[int]) -> Any:
        """The type with the missing values where they belong; an error where that is not known."""
        labels, positions = list(self.labels), list(self.positions)
        missing = self.missing(codes)
        if not missing or not self.dtype.ordered:
            return self.appended(codes)
        known = [position for position in positions if position >= 0]
        falling = len(known) > 1 and known == sorted(known, reverse=True)
        if self.feature.kind == "categorical" or not (falling or known == sorted(known)):
            raise InvalidInputError(
                f"column {self.feature.name!r} is an ordered pandas category without the value "
                f"{shown(self[missing[0]])} that the schema allows, and the schema does not say where in this order it "
                "belongs; add it to the categories, or give up the order with `.cat.as_unordered()`"
            )
        for code in missing:
            beyond = [
                k for k, position in enumerate(positions) if (0 <= position < code if falling else position > code)
            ]
            place = min(beyond, default=len(labels))
            labels.insert(place, self[code])
            positions.insert(place, code)
        return self._with(labels)

    def _with(self, labels: list[Any]) -> Any:
        import pandas as pd

        if len(labels) == len(self.labels):
            return self.dtype
        index = pd.Index(labels)
        narrow = self.dtype.categories.dtype
        try:
            kept = index.astype(narrow)
        except (TypeError, ValueError):  # the new values are of another kind
            kept = index
        return pd.CategoricalDtype(kept if kept.tolist() == labels else index, ordered=self.dtype.ordered)


def with_room(feature: "Feature", column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column with room for every value that an option may move to: its categories, if it has such, are opened.

    The list of categories is open for a choice by the values of the schema that it lacks; numbers of a line are not a
    list, and become plain ones.
    """
    import pandas as pd

    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype) or feature.immutable:
        return column
    if feature.is_line:
        return column.astype(np.float64 if column.hasnans else dtype.categories.dtype)
    values = feature.values or ()
    codes = [code for code, value in enumerate(values) if feature.allowed is None or value in feature.allowed]
    return column.astype(CategoryWords(feature, dtype).in_order(codes))
