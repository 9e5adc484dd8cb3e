"""A first schema from a table: kinds, ranges, steps and spreads as the data show them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import read_word
from copa._core.words import require_known, shown
from copa.exceptions import InvalidInputError
from copa.schema.columns import column_codes, column_numbers, distinct_entries, holds_dates
from copa.schema.feature import FIELDS, KINDS, NUMERIC_KINDS, Feature
from copa.schema.field_readers import is_absent
from copa.tables.cells import Scalar, as_scalar

if TYPE_CHECKING:
    import pandas as pd

MOST_DECIMALS = 6  # more, and the decimals are those of a measurement, not of how the value was written down
STEPS_PER_SPREAD = 1000.0  # of a measurement: finer advice than this is of no use to anybody
SPREAD_DIGITS = 6


def infer_feature(column: "pd.Series[Any]", changes: Mapping[str, Any]) -> Feature:
    """Describe a column as its data show it, with some fields as the caller says."""
    name = column.name
    where = f"column {shown(name)}:"
    require_known(changes, FIELDS, f"{where} field")
    column = _plain_column(column, where)
    kind = changes.get("kind")
    kind = _infer_kind(column) if is_absent(kind) else read_word(kind, KINDS, f"{where} kind")
    describe = _describe_numbers if kind in NUMERIC_KINDS else _describe_values
    constant = {"immutable": _count_distinct(column) <= 1}
    return Feature(**({"name": name} | describe(column, kind, where) | constant | dict(changes) | {"kind": kind}))


def spread_of(feature: Feature, column: "pd.Series[Any]") -> float:
    """Standard deviation of a column's numbers or an ordinal's ranks in the data; 1 where there is none."""
    if feature.kind in ("categorical", "binary"):
        return 1.0
    if feature.is_numeric:
        numbers = column_numbers(column)[0]
        seen = numbers[np.isfinite(numbers)]
    else:
        codes = column_codes(feature, column)
        seen = codes[codes >= 0].astype(np.float64)
    spread = float(f"{np.std(seen):.{SPREAD_DIGITS}g}") if seen.size else 0.0  # a file is read by people
    return spread if np.isfinite(spread) and spread > 0.0 else 1.0


def _plain_column(column: "pd.Series[Any]", where: str) -> "pd.Series[Any]":
    """Return a column of numbers kept as objects as numbers; raise if it holds what no feature can."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype, is_object_dtype, is_string_dtype

    is_object, is_category = is_object_dtype(column.dtype), str(column.dtype) == "category"
    known = is_numeric_dtype(column.dtype) or is_string_dtype(column.dtype) or is_category
    dates = (is_object or is_category) and holds_dates(column)
    if dates or not known or is_complex_dtype(column.dtype):
        what = "dates or durations" if dates else f"values of type {column.dtype}"
        raise InvalidInputError(
            f"{where} {what} are neither numbers nor choices; turn them into numbers (days, for instance), or leave "
            "the column out"
        )
    if is_object:
        kept = column.dropna()
        truths = kept.map(lambda value: isinstance(value, (bool, np.bool_)))
        if len(kept) and not truths.any() and not column_numbers(kept)[1].any():
            return column.map(float, na_action="ignore").astype(np.float64)
    return column


def _infer_kind(column: "pd.Series[Any]") -> str:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if str(column.dtype) == "category":
        if column.cat.ordered and len(column.cat.categories) != 2:
            return "ordinal"
        return "binary" if _count_distinct(column) == 2 else "categorical"
    if is_bool_dtype(column.dtype):
        return "binary"
    if not is_numeric_dtype(column.dtype) and column.notna().any():
        return "binary" if _count_distinct(column) == 2 else "categorical"
    numbers = column_numbers(column)[0]
    seen = numbers[~np.isnan(numbers)]
    if not seen.size or not (np.isfinite(seen) & (seen == np.rint(seen))).all():
        return "numeric"
    return "binary" if _count_distinct(column) == 2 else "integer"


def _describe_numbers(column: "pd.Series[Any]", kind: str, where: str) -> dict[str, Any]:
    numbers, wrong = column_numbers(column)
    bad = wrong | np.isinf(numbers)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InvalidInputError(
            f"{where} {kind} needs finite numbers, got {shown(column.iloc[row])} in row {shown(column.index[row])}"
        )
    seen = numbers[~np.isnan(numbers)]
    if not seen.size:
        return {}
    step = _decimal_step(seen, column.dtype) if kind == "numeric" else None
    return {"lower": float(seen.min()), "upper": float(seen.max()), "step": step}


def _decimal_step(numbers: Array, dtype: Any) -> float | None:
    """Step that the data were written down with, 0.01 for cents; of measurements, a small part of their spread."""
    own_type = np.float32 if str(dtype).lower() == "float32" else np.float64  # 0.1 has other digits in float32
    for decimals in range(MOST_DECIMALS + 1):
        if (np.round(numbers, decimals).astype(own_type) == numbers.astype(own_type)).all():
            return float(f"1e-{decimals}")
    spread = float(np.std(numbers))
    if not np.isfinite(spread) or spread <= 0.0:
        return None
    return float(f"1e{int(np.floor(np.log10(spread / STEPS_PER_SPREAD)))}")


def _describe_values(column: "pd.Series[Any]", kind: str, where: str) -> dict[str, Any]:
    seen = _seen_values(column, where)
    if str(column.dtype) == "category" and column.cat.ordered:
        declared = [_as_value(value, where) for value in column.cat.categories]
        allowed = [value for value in declared if value in seen]
        return {"values": declared, "allowed": allowed if len(allowed) < len(declared) else None}
    if kind == "binary" and seen and all(isinstance(value, bool) for value in seen):
        return {"values": (False, True)}  # also where only one of them was seen
    return {"values": seen}


def _count_distinct(column: "pd.Series[Any]") -> int:
    try:
        return int(column.nunique())
    except TypeError:  # lists and the like, refused when they are looked at
        return len(column)


def _seen_values(column: "pd.Series[Any]", where: str) -> list[Scalar]:
    """Return the distinct values of a column, sorted; those of a categorical in the order of its categories."""
    positions, distinct = distinct_entries(column)
    values = [_as_value(distinct[i], where) for i in np.unique(positions[positions >= 0])]
    if str(column.dtype) == "category":
        return values
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _as_value(value: Any, where: str) -> Scalar:
    """Return a table's value as a scalar: whole numbers as int, because a column with gaps holds them as float."""
    scalar = as_scalar(value, f"{where} its values")
    return int(scalar) if isinstance(scalar, float) and scalar.is_integer() else scalar
