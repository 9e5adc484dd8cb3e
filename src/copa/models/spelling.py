"""Writing values into a table the way the table spells them: in its own types wherever these can hold the value.

How a value is spelled depends on the feature, the type of the column and the row's own entry, never on other rows: a
batch is spelled as its rows would be one by one. Only where the type of a column cannot hold a value is the column
widened: small whole numbers to 64 bits, whole numbers to decimals, and to plain objects as the last resort.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import shown
from copa.data.tables.cells import text_of
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from copa.data.schema import Feature


def spell_like(feature: "Feature", code: int, own: Any) -> Any:
    """One of the feature's values in the type of the entry that it replaces: 3 beside 1, "3" beside "1"."""
    values = feature.values or ()
    value, here = values[code], feature.index.position(own)
    if here < 0:  # a missing entry, or another sample of the type
        here = code
    if isinstance(own, str):
        return value if isinstance(values[here], str) else text_of(value)
    truth = isinstance(own, (bool, np.bool_))
    number = number_behind(feature, code, truth=truth)
    if number is None or not isinstance(own, (bool, int, float, np.generic)) or own != own:  # noqa: PLR0124 - NaN
        return value
    if truth and number in (0.0, 1.0):
        return bool(number)
    decimal = isinstance(own, (float, np.floating)) or not number.is_integer()
    return number if decimal else int(number)


def number_behind(feature: "Feature", code: int, *, truth: bool) -> float | None:
    """The number that a column of numbers holds where it means one of the feature's values; None if there is none.

    Parameters
    ----------
    truth : whether the column holds true and false: they may be spelled as text in the schema
    """
    if truth:
        for answer in (False, True):
            if feature.index.position(answer) == code:
                return float(answer)
    try:
        number = float((feature.values or ())[code])
    except ValueError:  # text that is no number
        return None
    return number if feature.index.position(number) == code else None  # "01" is not 1


class CategoryWords:
    """Values of a feature as a category type spells them: as it has them already, else like its first category.

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

    The categories of a categorical column are opened for the values of the schema that it lacks; numbers are not a
    list, and become plain ones.
    """
    import pandas as pd

    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype) or feature.immutable:
        return column
    if feature.is_numeric:
        return column.astype(np.float64 if column.hasnans else dtype.categories.dtype)
    values = feature.values or ()
    codes = [code for code, value in enumerate(values) if feature.allowed is None or value in feature.allowed]
    return column.astype(CategoryWords(feature, dtype).in_order(codes))


def spell_numbers(feature: "Feature", numbers: Any, like: "pd.Series[Any]") -> "pd.Series[Any]":
    """Numbers as a column of the type of `like`, or of the next wider type that holds them exactly.

    A column of single or half precision keeps it: each number becomes the nearest one that it can hold, so that a row
    whose score matters in the eighth digit has to be checked after it is written. Numbers kept as categories become
    plain ones. In a column of objects they are whole where the feature is (an integer, or a whole step).
    """
    import pandas as pd
    from pandas.api.types import is_object_dtype

    dtype = like.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    values = np.asarray(numbers, dtype=np.float64)
    if is_object_dtype(dtype):
        whole = feature.step is not None and feature.step.is_integer()
        return pd.Series([int(x) if whole and x.is_integer() else x for x in values.tolist()], dtype=object)
    return _held(values, dtype)


def spell_levels(feature: "Feature", codes: Any, own: "pd.Series[Any]") -> "pd.Series[Any]":
    """The values with the given positions, as a column of the type of `own`, or of one that can hold them.

    Parameters
    ----------
    codes : (M,) positions in the feature's values
    own : (M,) entries that they replace; only their type matters, unless that is object
    """
    import pandas as pd
    from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype

    dtype, positions = own.dtype, np.asarray(codes).tolist()
    if isinstance(dtype, pd.CategoricalDtype):
        words = CategoryWords(feature, dtype)
        return pd.Series(pd.Categorical([words[code] for code in positions], dtype=words.appended(positions)))
    if is_object_dtype(dtype):
        entries = [spell_like(feature, code, entry) for code, entry in zip(positions, own, strict=True)]
        return pd.Series(entries, dtype=object)
    if is_numeric_dtype(dtype):  # true and false are, too
        numbers = [number_behind(feature, code, truth=is_bool_dtype(dtype)) for code in positions]
        if all(number is not None for number in numbers):
            return _held(np.array(numbers, dtype=np.float64), dtype)
        sample = dtype.type(0)
        return pd.Series([spell_like(feature, code, sample) for code in positions], dtype=object)
    values = feature.values or ()
    return pd.Series([text_of(values[code]) for code in positions], dtype=dtype)


def _held(numbers: Array, dtype: Any) -> "pd.Series[Any]":
    """Numbers in a type, or in the next wider one that holds all of them exactly."""
    from pandas.api.types import is_float_dtype

    if is_float_dtype(dtype):  # each by itself to the precision of the column; beyond its largest, as it is
        with np.errstate(over="ignore"):
            rounded = numbers.astype(getattr(dtype, "numpy_dtype", dtype)).astype(np.float64)
        numbers = np.where(np.isfinite(rounded), rounded, numbers)
    whole, decimal = ("int64", "float64") if isinstance(dtype, np.dtype) else ("Int64", "Float64")
    for candidate in (dtype, decimal) if is_float_dtype(dtype) else (dtype, whole, decimal):
        column = _exactly(numbers, candidate)
        if column is not None:
            return column
    raise AssertionError("every float is a float64")


def _exactly(numbers: Array, dtype: Any) -> "pd.Series[Any] | None":
    """Numbers in a type, None if it changes one of them."""
    import pandas as pd

    try:
        with np.errstate(invalid="ignore", over="ignore"):
            plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf"  # NumPy casts in a tenth of the time
            column = pd.Series(numbers.astype(dtype)) if plain else pd.Series(numbers).astype(dtype)
    except (TypeError, ValueError):  # pandas' own types refuse to change a number
        return None
    return column if np.array_equal(column.to_numpy(dtype=np.float64), numbers) else None
