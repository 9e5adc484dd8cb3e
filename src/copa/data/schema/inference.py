"""A first schema from a table: kinds, ranges, steps and spreads, by scales that a few odd values do not spoil."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.arrays import Array
from copa._core.reading import read_word
from copa._core.words import require_known, shown
from copa.data.schema.columns import column_codes, column_numbers, distinct_entries, holds_dates, special_cells
from copa.data.schema.feature import FIELDS, KINDS, NUMERIC_KINDS, Feature
from copa.data.schema.field_readers import is_absent, optional_number
from copa.data.schema.recognition import special_codes, why_immutable
from copa.data.tables.cells import Scalar, as_scalar, largest_exact, multiples, snap, text_of
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


class Inferred(NamedTuple):
    """A column as its data show it, and what a person should know about that."""

    feature: Feature
    note: str


def infer_feature(
    column: "pd.Series[Any]", changes: Mapping[str, Any], categories: Sequence[Any] | None = None
) -> Inferred:
    """Describe a column as its data show it, with some fields as the caller says.

    Parameters
    ----------
    column : Series
    changes : mapping
        Fields that are as the caller says.
    categories : sequence, optional
        Categories that an encoder of the model knows: the column is categorical, even if it holds whole numbers.
    """
    name = column.name
    where = f"column {shown(name)}:"
    require_known(changes, FIELDS, f"{where} field")
    column = _plain_column(column, where)
    kind = changes.get("kind")
    kind = _infer_kind(column, categories) if is_absent(kind) else read_word(kind, KINDS, f"{where} kind")
    if kind in NUMERIC_KINDS:
        seen = _describe_numbers(column, kind, changes, where)
    else:
        seen = _describe_values(column, kind, categories, where)
    notes = []
    if seen.get("special"):
        codes = ", ".join(f"{code:g}" for code in seen["special"])
        notes.append(f"looks like it has special codes: {codes}")
    constant = _count_distinct(column) <= 1
    reason = "" if constant or "immutable" in changes else why_immutable(column, kind)
    notes += [f"immutable: {reason}"] if reason else []
    fields = seen | {"immutable": constant or bool(reason)} | dict(changes) | {"kind": kind}
    return Inferred(Feature(name, **fields), "; ".join(notes))


def spread_of(feature: Feature, column: "pd.Series[Any]") -> float:
    """A unit of effort in the data, see `spread_of_numbers`; an ordinal's ranks have a standard deviation."""
    if feature.kind in ("categorical", "binary"):
        return 1.0
    if feature.is_numeric:
        return spread_of_numbers(regular_numbers(feature, column))
    codes = column_codes(feature, column)
    spread = rounded_spread(float(np.std(codes[codes >= 0]))) if (codes >= 0).any() else 0.0
    return spread if spread > 0.0 else 1.0


def regular_numbers(feature: Feature, column: "pd.Series[Any]") -> Array:
    """The amounts in a column: its finite numbers without special codes."""
    numbers = column_numbers(column)[0]
    return numbers[np.isfinite(numbers) & ~special_cells(feature, column)]


def _plain_column(column: "pd.Series[Any]", where: str) -> "pd.Series[Any]":
    """Return a column of numbers kept as objects as numbers; raise if it holds what no feature can."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype, is_object_dtype, is_string_dtype

    is_object, is_category = is_object_dtype(column.dtype), str(column.dtype) == "category"
    is_plain = is_numeric_dtype(column.dtype) or is_string_dtype(column.dtype) or is_category
    dates = (is_object or is_category) and holds_dates(column)
    if dates or not is_plain or is_complex_dtype(column.dtype):
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


def _infer_kind(column: "pd.Series[Any]", categories: Sequence[Any] | None) -> str:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    is_category = str(column.dtype) == "category"
    if is_category and column.cat.ordered and len(column.cat.categories) != 2:
        return "ordinal"
    if is_bool_dtype(column.dtype):
        return "binary"
    is_text = not is_numeric_dtype(column.dtype) and column.notna().any()
    if is_category or is_text or categories is not None:
        return "binary" if _count_distinct(column) == 2 and len(categories or (0, 1)) == 2 else "categorical"
    numbers = column_numbers(column)[0]
    seen = numbers[~np.isnan(numbers)]
    if not seen.size or not (np.isfinite(seen) & (seen == np.rint(seen))).all():
        return "numeric"
    return "binary" if _count_distinct(column) == 2 else "integer"


def _describe_numbers(column: "pd.Series[Any]", kind: str, changes: Mapping[str, Any], where: str) -> dict[str, Any]:
    numbers, wrong = column_numbers(column)
    bad = wrong | np.isinf(numbers)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InvalidInputError(
            f"{where} {kind} needs finite numbers, got {shown(column.iloc[row])} in row {shown(column.index[row])}"
        )
    seen = numbers[~np.isnan(numbers)]
    guess = not {"special", "lower", "upper", "labels"} & set(changes)
    special = special_codes(seen) if guess else changes.get("special") or ()
    amounts = regular_numbers(Feature(str(column.name), "numeric", special=special), column)
    if not amounts.size:
        return {}
    single = str(column.dtype).lower() == "float32"
    step = step_of(amounts, spread_of_numbers(amounts), whole=kind == "integer", single=single)
    given = optional_number(changes.get("step"), f"{where} step", positive=True)
    lower, upper = usual_range(amounts, given or step)
    return {"lower": lower, "upper": upper, "step": step, "special": special}


def _describe_values(
    column: "pd.Series[Any]", kind: str, categories: Sequence[Any] | None, where: str
) -> dict[str, Any]:
    seen = _seen_values(column, where)
    if str(column.dtype) == "category" and column.cat.ordered:
        declared = [_as_value(value, where) for value in column.cat.categories]
        allowed = [value for value in declared if value in seen]
        return {"values": declared, "allowed": allowed if len(allowed) < len(declared) else None}
    if kind == "binary" and seen and all(isinstance(value, bool) for value in seen):
        return {"values": (False, True)}  # also where only one of them was seen
    texts = {text_of(value) for value in seen}
    more = [value for value in categories or () if text_of(value) is not None and text_of(value) not in texts]
    return {"values": _sorted([*seen, *(_as_value(value, where) for value in more)]) if more else seen}


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
    return _sorted(values)


def _sorted(values: list[Scalar]) -> list[Scalar]:
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _as_value(value: Any, where: str) -> Scalar:
    """Return a table's value as a scalar: whole numbers as int, because a column with gaps holds them as float."""
    scalar = as_scalar(value, f"{where} its values")
    return int(scalar) if isinstance(scalar, float) and scalar.is_integer() else scalar


TAIL = 0.01  # share of the rows that a range leaves out at each end
MIDDLE = (0.16, 0.84)  # quantiles that are two standard deviations apart where the numbers are normally distributed
# Where more rows than this share have the same number, the middle is that number and little else.
MOSTLY = 2.0 / 3.0
SPREAD_DIGITS = 6
LADDER = (5.0, 2.0, 1.0)  # steps are these, times powers of ten
MOST_DECIMALS = 6  # more, and the decimals are those of a measurement, not of how the value was written down
STEPS_PER_SPREAD = 1000.0  # of a measurement: finer advice than this is of no use to anybody
LEAST_SPREAD = 1e-12  # below, there are no steps
ON_THE_GRID = 0.95  # share of the distinct numbers that must be multiples of a step
MOST_NUMBERS = 5000  # of many distinct ones, so many are looked at
FEW_NUMBERS = 10  # so many distinct ones are multiples of 2 or 5 by chance


def spread_of_numbers(numbers: Array) -> float:
    """Half of the distance between the 16 % and the 84 % quantile of finite numbers (N,).

    Where more than two thirds of them are the same, the standard deviation of those between the 1 % and the 99 %
    quantile, else of all; 1 where none varies.
    """
    if not numbers.size:
        return 1.0
    low, high = np.quantile(numbers, MIDDLE)
    first, last = usual_ends(numbers)
    _, counts = np.unique(numbers, return_counts=True)
    middle = 0.0 if counts.max() > MOSTLY * numbers.size else float(high - low) / 2.0
    for spread in (middle, np.std(numbers[(first <= numbers) & (numbers <= last)]), np.std(numbers)):
        rounded = rounded_spread(float(spread))
        if np.isfinite(rounded) and rounded > 0.0:
            return rounded
    return 1.0


def rounded_spread(spread: float) -> float:
    """Return a spread with few digits: a schema is a file that people read."""
    return float(f"{spread:.{SPREAD_DIGITS}g}")


def usual_ends(numbers: Array) -> tuple[float, float]:
    """The 1 % and the 99 % quantile of some numbers (N,): the least and greatest unless there are more than 100."""
    first = np.quantile(numbers, TAIL, method="inverted_cdf")
    last = -np.quantile(-numbers, TAIL, method="inverted_cdf")
    return float(first) + 0.0, float(last) + 0.0


def usual_range(numbers: Array, step: float | None) -> tuple[float, float]:
    """The 1 % and the 99 % quantile of some numbers (N,), inwards to multiples of a step if there is one."""
    first, last = usual_ends(numbers)
    if step is None:
        return first, last
    inner = float(snap(first, step, "up")), float(snap(last, step, "down"))
    return inner if inner[0] <= inner[1] else (first, last)


def step_of(numbers: Array, spread: float, *, whole: bool, single: bool = False) -> float | None:
    """Greatest of the steps 1, 2 and 5 times a power of ten that numbers (N,) were written down with.

    A step is one of which 95 % of the distinct numbers are multiples. Of measurements, which have more than six
    decimals, it is about a thousandth of the spread.

    Parameters
    ----------
    numbers : ndarray of shape (N,)
        Finite.
    spread : float
        No step is larger; that of whole numbers is at least 1.
    whole : bool
        Whether steps must be whole numbers.
    single : bool
        Whether the numbers were stored in single precision, in which 0.1 has other digits.

    Returns
    -------
    float or None
        None where there is no number but zero.
    """
    distinct = np.unique(numbers[numbers != 0.0])
    if not distinct.size:
        return None
    distinct = distinct[np.linspace(0, len(distinct) - 1, min(len(distinct), MOST_NUMBERS)).astype(np.int64)]
    least = 0 if whole else -MOST_DECIMALS
    highest = math.floor(math.log10(spread)) if len(distinct) >= FEW_NUMBERS else 0
    for exponent in range(max(highest, 0), least - 1, -1):
        for digit in LADDER if len(distinct) >= FEW_NUMBERS else (1.0,):
            step = float(f"{digit:g}e{exponent}")
            if step <= spread and _is_grid(distinct, step, single=single):
                return step
    return 1.0 if whole else _fine_step(distinct, spread)


def _fine_step(distinct: Array, spread: float) -> float | None:
    """About a thousandth of a spread; more, where multiples of that are not exact for the largest numbers."""
    if spread < LEAST_SPREAD:
        return None
    step = float(f"1e{math.floor(math.log10(spread / STEPS_PER_SPREAD))}")
    while np.abs(distinct).max() >= largest_exact(step):
        step = float(f"{10.0 * step:.1g}")
    return step


def _is_grid(distinct: Array, step: float, *, single: bool) -> bool:
    """Return whether nearly all of some distinct numbers are multiples of a step."""
    precision = np.float32 if single else np.float64
    on_grid = multiples(np.rint(distinct / step), step).astype(precision) == distinct.astype(precision)
    return bool(on_grid.mean() >= ON_THE_GRID)
