"""Values back in the dtype that the model knows, and never another value."""

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from copa._core.arrays import Array
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.tables.values import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}

# Up to here every whole number is a float.
EXACT_FLOATS = 2.0**53


def cast_like(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Series[Any]":  # noqa: PLR0911 - one per kind of dtype
    """Return `column` in the dtype of `like`, undoing what a file, JSON or another tool did to its values.

    Numbers may come as text, whole numbers as floats, truth values and numbers in a category as text or numbers. Where
    the dtype cannot hold every value - a fraction or a missing value among whole numbers, an unknown category - the
    column stays one that does (float or object), for whoever checks the options to see. Raises if a column of numbers
    or truth values holds something else.
    """
    import pandas as pd
    from pandas.api import types

    dtype = like.dtype
    if types.is_object_dtype(dtype):
        return _cast_as_seen(column, like)
    if column.dtype == dtype:
        return column
    if isinstance(dtype, pd.CategoricalDtype):
        return _cast_choices(column, dtype)
    if types.is_bool_dtype(dtype):
        return _cast_truths(column, dtype)
    if types.is_integer_dtype(dtype):
        return _cast_whole_numbers(column, dtype)
    if types.is_float_dtype(dtype):
        return pd.Series(_numbers(column), index=column.index).astype(dtype)
    if types.is_string_dtype(dtype):
        return _cast_text(column).astype(dtype)
    try:
        return column.astype(dtype)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"column {shown(column.name)} must hold values of dtype {dtype}: {error}") from error


def _cast_as_seen(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Series[Any]":
    """Cast to the one kind of values that the object column `like` holds; leave the values where it holds several."""
    seen = like.dropna()
    if all(isinstance(value, str) for value in seen):
        return _cast_text(column)
    kind = seen.infer_objects()
    return (column if kind.dtype == object else cast_like(column, kind)).astype(object)


def _cast_text(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return _mapped(column, lambda value: value if isinstance(value, str) else text_of(value) or str(value))


def _cast_choices(column: "pd.Series[Any]", dtype: Any) -> "pd.Series[Any]":
    known = {text_of(choice) or str(choice): choice for choice in dtype.categories}

    def choice(value: Any) -> Any:
        spellings = (text_of(value), text_of(_number_in(value)), str(value))
        return next((known[text] for text in spellings if text in known), value)

    values = _mapped(column, choice)
    held = values.isin(dtype.categories) | values.isna()
    return values.astype(dtype) if held.all() else values


def _cast_truths(column: "pd.Series[Any]", dtype: Any) -> "pd.Series[Any]":
    def truth(value: Any) -> bool:
        found = TRUTHS.get((text_of(value) or "").lower())
        if found is None:
            _refuse(column, value, "true or false")
        return found

    values = _mapped(column, truth)
    return values.astype(dtype) if _holds_missing(dtype) or not values.isna().any() else values


def _cast_whole_numbers(column: "pd.Series[Any]", dtype: Any) -> "pd.Series[Any]":
    import pandas as pd

    numbers = _numbers(column)
    floats = pd.Series(numbers, index=column.index)
    present = numbers[~np.isnan(numbers)]
    whole = bool((np.isfinite(present) & (np.floor(present) == present)).all())
    if not whole or (len(present) < len(numbers) and not _holds_missing(dtype)):
        return floats
    values = floats if np.abs(present).max(initial=0.0) < EXACT_FLOATS else _mapped(column, _whole)
    limits = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    return values.astype(dtype) if values.dropna().between(limits.min, limits.max).all() else floats


def _numbers(column: "pd.Series[Any]") -> Array:
    """Floats of a column, each the nearest to what was written; NaN where a value is missing."""
    cells = column.to_numpy(dtype=object)
    cells = np.where(column.isna().to_numpy(dtype=bool), np.nan, cells)
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        value = next(cell for cell in cells if _number_in(cell) is None)
        _refuse(column, value, "numbers")


def _number_in(value: Any) -> float | None:
    """Return the number that a value is or spells, None if there is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _whole(value: Any) -> int:
    """Return a whole number with all its digits, also those beyond a float."""
    try:
        return int(value)
    except ValueError:  # spelt as a float
        return int(float(value))


def _mapped(column: "pd.Series[Any]", change: "Callable[[Any], Any]") -> "pd.Series[Any]":
    """Change every value that is not missing, as a column of objects."""
    import pandas as pd

    missing = column.isna().to_numpy(dtype=bool)
    cells = [None if gone else change(cell) for cell, gone in zip(column, missing, strict=True)]
    return pd.Series(cells, index=column.index, name=column.name, dtype=object)


def _holds_missing(dtype: Any) -> bool:
    return not isinstance(dtype, np.dtype)  # numpy's whole numbers and truth values cannot, pandas' own dtypes can


def _refuse(column: "pd.Series[Any]", value: Any, allowed: str) -> NoReturn:
    row = next(i for i, cell in enumerate(column) if cell is value or cell == value)
    raise InvalidInputError(
        f"column {shown(column.name)} must hold {allowed}, as that of the applicants does; "
        f"got {shown(value)} in row {row}"
    )
