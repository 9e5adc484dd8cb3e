"""Rows on their way through a pipeline (DataFrames, arrays, sparse matrices): which of their columns are numbers."""

from typing import Any

import numpy as np

from copa.arrays import Array, as_floats, require_finite
from copa.exceptions import InvalidInputError


def as_table(rows: Any) -> Any:
    """Rows as a DataFrame, if they are one, or as a dense array (N, Q)."""
    if not hasattr(rows, "iloc"):
        rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    if rows.ndim != 2 or len(rows) == 0:
        raise InvalidInputError(f"rows must have shape (N, Q) with N >= 1, got {rows.shape}")
    return rows


def numbers_of(rows: Any, name: str) -> Array:
    """Rows as finite numbers (N, Q), for the transformer `name`, which takes nothing else."""
    numbers = as_floats(as_table(rows), f"the rows given to {name}")
    require_finite(numbers, f"the rows given to {name}")
    return numbers


def outputs_of(rows: Any, name: str) -> Array:
    """What the transformer `name` gave, as numbers (N, P); entries may be missing."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    outputs = as_floats(rows, f"the output of {name}")
    if outputs.ndim != 2:
        raise InvalidInputError(f"{name} must give rows of shape (N, P), got {outputs.shape}")
    return outputs


def columns_of(rows: Any, positions: Any) -> Any:
    """Some columns, by position, as the same kind of table."""
    return rows.iloc[:, positions] if hasattr(rows, "iloc") else rows[:, positions]


def numeric_columns(rows: Any) -> list[int]:
    """Positions of the columns that hold numbers; yes/no columns, texts and categories are none."""
    return [q for q in range(rows.shape[1]) if _holds_numbers(columns_of(rows, q))]


def _holds_numbers(column: Any) -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_object_dtype

    if is_object_dtype(column.dtype):  # a table with texts turned into an array: every entry has its own type
        return all(_is_number(entry) for entry in column)
    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


def _is_number(entry: Any) -> bool:
    numbers = (int, float, np.integer, np.floating)
    return entry is None or (isinstance(entry, numbers) and not isinstance(entry, bool))


def floats_in(rows: Any, position: int) -> Array:
    """One numeric column as floats (N,), NaN where a value is missing."""
    column = columns_of(rows, position)
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=np.float64)


def with_column(rows: Any, position: int, values: Array) -> Any:
    """A copy of the rows with other numbers in one column."""
    if hasattr(rows, "iloc"):
        copy = rows.copy()
        copy.isetitem(position, values)
        return copy
    copy = rows.astype(object if rows.dtype == object else np.float64)
    copy[:, position] = values
    return copy
