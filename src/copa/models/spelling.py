"""Writing values into a table the way the table spells them: in its own types wherever these can hold the value.

How a value is spelled depends on the feature, the type of the column and the row's own entry, never on other rows: a
batch is spelled as its rows would be one by one. Only where the type of a column cannot hold a value is the column
widened: small whole numbers to 64 bits, whole numbers to decimals, and to plain objects as the last resort.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa.arrays import Array
from copa.models.categories import CategoryWords
from copa.models.entries import number_behind, spell_like
from copa.schema.values import text_of

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import Feature


def spell_numbers(feature: "Feature", numbers: Any, like: "pd.Series[Any]") -> "pd.Series[Any]":
    """Numbers of a line as a column of the type of `like`, or of the next wider type that holds them exactly.

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


def spell_choices(feature: "Feature", codes: Any, own: "pd.Series[Any]") -> "pd.Series[Any]":
    """The values with the given positions, as a column of the type of `own`, or of one that can hold them.

    Parameters
    ----------
    codes : (M,) positions in the feature's values
    own : (M,) entries that they replace
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
            column = pd.Series(numbers).astype(dtype)
    except (TypeError, ValueError):  # pandas' own types refuse to change a number
        return None
    return column if np.array_equal(column.to_numpy(dtype=np.float64), numbers) else None
