"""Writing values into a table the way the table spells them: its own types, its own categories."""

from typing import TYPE_CHECKING, Any

import numpy as np

from copa.exceptions import InvalidInputError
from copa.schema.columns import distinct_entries
from copa.schema.values import text_of

if TYPE_CHECKING:
    import pandas as pd

    from copa.schema import Feature


def spell_numbers(numbers: Any, like: "pd.Series[Any]") -> "pd.Series[Any]":
    """Numbers as a column of the type of `like`; whole numbers stay whole where that type is."""
    import pandas as pd

    dtype = like.dtype
    if isinstance(dtype, pd.CategoricalDtype):  # numbers kept as categories: leave the list of categories open
        dtype = dtype.categories.dtype
    column = pd.Series(np.asarray(numbers, dtype=np.float64))
    if pd.api.types.is_object_dtype(dtype):
        whole = all(isinstance(entry, (int, np.integer)) for entry in like.dropna())
        return column.astype("int64" if whole else "float64").astype(object)
    return column.astype(dtype)


def spell_choices(feature: "Feature", codes: Any, like: "pd.Series[Any]") -> "pd.Series[Any]":
    """The values with the given positions, as a column of the type of `like`."""
    import pandas as pd

    words = spellings(feature, like)
    return pd.Series([words[code] for code in np.asarray(codes).tolist()], dtype=like.dtype)


def spellings(feature: "Feature", like: "pd.Series[Any]") -> list[Any]:
    """How a column spells each of a feature's values: as it has it already, else converted to its type."""
    import pandas as pd

    _, distinct = distinct_entries(like)
    known = {feature.index.position(entry): entry for entry in distinct}
    values = feature.values or ()
    missing = [value for code, value in enumerate(values) if code not in known]
    if missing and isinstance(like.dtype, pd.CategoricalDtype):
        raise InvalidInputError(
            f"column {feature.name!r} is a pandas category without the value {missing[0]!r} that the schema allows; "
            "add it to the categories, or take it from the schema's values"
        )
    return [known.get(code, _converted(value, like)) for code, value in enumerate(values)]


def _converted(value: Any, like: "pd.Series[Any]") -> Any:
    from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype, is_string_dtype

    if is_bool_dtype(like.dtype):
        return bool(value)
    if is_integer_dtype(like.dtype):
        return int(value)
    if is_float_dtype(like.dtype):
        return float(value)
    texts = is_string_dtype(like.dtype) and all(isinstance(entry, str) for entry in like.dropna().head(100))
    return text_of(value) if texts else value
