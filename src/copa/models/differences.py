"""Derivatives of a transformer that we know nothing about, by central differences through its own `transform`.

The slope at x is taken from the values at x - 2h, x - h, x + h and x + 2h (exact for polynomials of degree four). The
first step is h = eps^(1/5) max(1, |x|), 0.0007 for double precision, where rounding and curvature cost about the same.
The slopes to the left and to the right are estimated too, and all three must agree: where they do not (a kink, a jump
or the end of the domain is near) the step is divided by 64, at most three times. What never agrees is an error and not
a number.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, as_floats, require_finite
from copa._core.reading import is_number
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
        return all(entry is None or is_number(entry) for entry in column)
    return bool(is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype))


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


Flags = npt.NDArray[np.bool_]

LEVELS = 4
SHRINK = 64.0
AGREEMENT = 20.0  # between the slope and those to the left and to the right, relative to them, in squares of the step
FLOOR = 1e-9  # the same, relative to the outputs: a slope that is zero agrees with nothing relative to itself


def difference_tangents(transform: Callable[[Any], Any], rows: Any, tangents: Array, *, name: str) -> Array:
    """Output tangents of a row-wise function.

    Parameters
    ----------
    transform : function from rows to rows (N, P), each output row made of its own input row only
    rows : (N, Q) DataFrame or array; columns that are not numbers are held, as are missing values
    tangents : (N, Q, C) how the input columns move; a column that moves nowhere is not varied
    name : of the function, for messages

    Returns
    -------
    ndarray of shape (N, P, C)
    """
    rows = as_table(rows)
    varied = [q for q in numeric_columns(rows) if tangents[:, q].any()]
    for q in varied:  # whole numbers cannot take a small step, and single precision would round it away
        rows = with_column(rows, q, floats_in(rows, q))
    given = transform(rows)
    base = outputs_of(given, name)
    # An output that is missing because an input is: it stays missing, whatever the other columns do.
    held = np.isnan(base) & _any_missing(rows)[:, None]
    precision = _precision(given)
    jacobian = np.zeros((*base.shape, len(varied)))
    for k, q in enumerate(varied):
        slopes, found = _slopes(lambda table: outputs_of(transform(table), name), rows, q, base, precision)
        still = np.isnan(floats_in(rows, q)) | ~tangents[:, q].any(axis=1)
        _require_found(found | held | still[:, None], rows, q, name)
        jacobian[:, :, k] = slopes
    return jacobian @ tangents[:, varied]


def _slopes(transform: Callable[[Any], Array], rows: Any, q: int, base: Array, precision: float) -> tuple[Array, Flags]:
    """Slopes (N, P) in one column, and where they could be found."""
    start = floats_in(rows, q)
    size = np.maximum(1.0, np.abs(start))
    slopes, found = np.zeros_like(base), np.zeros(base.shape, dtype=bool)
    for level in range(LEVELS):
        step = precision**0.2 * size / SHRINK**level
        step = ((start + step) - start)[:, None]  # as the sum has it after rounding
        behind2, behind1, ahead1, ahead2 = (
            _values(transform, with_column(rows, q, start + k * step[:, 0]), base.shape) for k in (-2, -1, 1, 2)
        )
        with np.errstate(all="ignore"):
            slope = (8.0 * (ahead1 - behind1) - (ahead2 - behind2)) / (12.0 * step)
            right = (4.0 * (ahead1 - base) - (ahead2 - base)) / (2.0 * step)
            left = (4.0 * (base - behind1) - (base - behind2)) / (2.0 * step)
            spread = np.max([slope, right, left], axis=0) - np.min([slope, right, left], axis=0)
            height = np.max(np.abs([base, behind2, behind1, ahead1, ahead2]), axis=0)
            noise = height * (FLOOR / size[:, None] + 16.0 * precision / step)
            agree = spread <= AGREEMENT * precision**0.4 * np.maximum(np.abs(right), np.abs(left)) + noise
        news = agree & ~found & np.isfinite(slope)
        slopes[news] = slope[news]
        found |= news
        if found[~np.isnan(start)].all():
            break
    return slopes, found


def _values(transform: Callable[[Any], Array], rows: Any, shape: tuple[int, ...]) -> Array:
    """Outputs at shifted rows; NaN where the step left the domain."""
    try:
        with np.errstate(all="ignore"):
            return transform(rows)
    except ValueError:  # some say so instead of returning NaN
        return np.full(shape, np.nan)


def _any_missing(rows: Any) -> Any:
    import pandas as pd

    return np.asarray(pd.isna(rows)).any(axis=1)


def _precision(given: Any) -> float:
    """Rounding error of the outputs, relative to them: coarser where they are not in double precision."""
    kinds = given.dtypes if hasattr(given, "dtypes") else [getattr(given, "dtype", None)]
    coarse = [kind for kind in ("float16", "float32") if kind in {str(given_kind).lower() for given_kind in kinds}]
    return float(np.finfo(coarse[0] if coarse else "float64").eps)


def _require_found(found: Flags, rows: Any, q: int, name: str) -> None:
    if not found.all():
        n, p = (int(i) for i in np.argwhere(~found)[0])
        raise InvalidInputError(
            f"{name} has no derivative that could be found at row {n}: output {p} jumps, bends or is not finite as "
            f"input column {q} moves around {float(floats_in(rows, q)[n])!r}. Hold that column, choose other rows, or "
            "give the derivative yourself: FeatureMap(function, jacobian)"
        )
