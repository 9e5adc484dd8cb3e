"""Reading and checking columns of a table, as positions in a list of values or as numbers, whatever their coding."""

import numbers
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import DATES, DURATIONS, Array
from copa._core.words import hint, listed, shown
from copa.exceptions import InvalidInputError
from copa.schema.feature import Feature
from copa.tables.cells import cells_of, largest_exact
from copa.tables.frames import as_pandas, with_columns

if TYPE_CHECKING:
    import pandas as pd
    from pandas.api.extensions import ExtensionArray


FEW = 24  # cells of text that are told apart one by one, which takes less time than a call of Arrow
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def read_table(X: Any, names: tuple[str, ...] | None = None, what: str = "X") -> "pd.DataFrame":
    """Return the named columns of a table of any kind, in this order, or say which one is missing; None for all."""
    if names is None:
        return _with_plain_columns(as_pandas(X, what), what)
    table = with_named_columns(X, names, what)
    return table if tuple(table.columns) == names else table[list(names)]


def with_named_columns(X: Any, names: tuple[str, ...], what: str = "X") -> "pd.DataFrame":
    """Return a table of any kind that has the named columns, among others, or say which one is missing."""
    table = as_pandas(X, what)
    present = set(table.columns)
    for name in names:
        if name not in present:
            there = [column for column in table.columns if isinstance(column, str) and column not in names]
            rest = f"; {hint(name, there)}" if there else ""
            raise InvalidInputError(f"{what} must have a column {name!r}, and has none of this name{rest}")
    return _with_plain_columns(table, what, names)


def _with_plain_columns(table: "pd.DataFrame", what: str, names: tuple[str, ...] | None = None) -> "pd.DataFrame":
    """Refuse sparse columns among those named, and read Arrow's single precision as NumPy's.

    Python shows 0.1 of Arrow's single precision as 0.10000000149011612, and NumPy's as 0.1: what is judged must be what
    is written.
    """
    import pandas as pd

    singles = {}
    kinds = zip(table.columns, table.dtypes.array, strict=True)
    for name, dtype in kinds if names is None else _of_names(kinds, names):
        if isinstance(dtype, np.dtype):
            continue
        if isinstance(dtype, pd.SparseDtype):
            raise InvalidInputError(
                f"{what} has a sparse column {shown(name)}; make it dense first, with X[{name!r}].sparse.to_dense()"
            )
        if isinstance(dtype, pd.ArrowDtype) and dtype.numpy_dtype in (np.float32, np.float16):
            singles[name] = table[name].to_numpy(dtype=dtype.numpy_dtype, na_value=np.nan)
    return with_columns(table, singles) if singles else table


def _of_names(kinds: Iterable[tuple[Any, Any]], names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The types of the named columns, in the order of the names."""
    by_name = dict(kinds)
    return ((name, by_name[name]) for name in names)


def column_codes(feature: Feature, column: "pd.Series[Any]") -> Codes:
    """Positions (N,) of a column's entries in the feature's values; -1 where missing or unknown."""
    positions, distinct = distinct_entries(column)
    found = np.array([*map(feature.index.position, distinct), -1], dtype=np.int64)
    return found[positions]  # a missing entry has position -1, the last


def column_numbers(column: "pd.Series[Any]") -> tuple[Array, Flags]:
    """Read a column as numbers.

    Returns
    -------
    numbers : (N,) NaN where there is none
    wrong : (N,) true where there is an entry, and it is no number; text is none, even if it looks like one
    """
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy().astype(np.float64), np.zeros(len(column), dtype=np.bool_)
    if is_numeric_dtype(column.dtype) and not is_complex_dtype(column.dtype):  # true and false are numeric here
        read = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return read, np.zeros(len(read), dtype=np.bool_)
    positions, distinct = distinct_entries(column)
    read = np.array([*map(_as_number, distinct), np.nan])[positions]
    return read, np.isnan(read) & (positions >= 0)


def special_cells(feature: Feature, column: "pd.Series[Any]") -> Flags:
    """Whether each entry of a column is one of its feature's special codes, (N,)."""
    if not feature.special:
        return np.zeros(len(column), dtype=np.bool_)
    positions, distinct = distinct_entries(column)
    return np.array([*map(feature.is_special, distinct), False])[positions]


def irregular_cells(feature: Feature, column: "pd.Series[Any]") -> Flags:
    """Whether each entry of a column is missing or a special code, (N,)."""
    flags: Flags = missing_cells(column) | special_cells(feature, column)
    return flags


def missing_cells(column: "pd.Series[Any]") -> Flags:
    """Whether each entry of a column is missing, (N,)."""
    return np.asarray(column.array.isna(), dtype=np.bool_)


def holds_dates(column: "pd.Series[Any]") -> bool:
    """Whether a column of objects or categories holds dates or durations."""
    return any(isinstance(entry, DATES + DURATIONS) for entry in distinct_entries(column)[1])


def _as_number(entry: Any) -> float:
    """Return an entry as a float, NaN if it is no number."""
    if isinstance(entry, np.timedelta64) or not isinstance(entry, (numbers.Real, Decimal, np.bool_)):
        return np.nan  # a duration is an integer to numpy
    try:
        return float(entry)
    except OverflowError:
        return np.inf


def entries_of(column: "pd.Series[Any] | pd.Index[Any] | ExtensionArray") -> list[Any]:
    """Return all entries of a column, decimals in its own precision: a list of float32 would hold other ones."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        positions, distinct = distinct_entries(pd.Series(column))
        return [np.nan if position < 0 else distinct[position] for position in positions.tolist()]
    return cells_of(column)


def distinct_entries(column: "pd.Series[Any]") -> tuple[Codes, list[Any]]:
    """Return the distinct entries of a column, and for each row which of them it holds; -1 where it holds none."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(dtype=np.int64), entries_of(column.cat.categories)
    if isinstance(column.dtype, pd.StringDtype) and len(column) <= FEW:
        seen: dict[Any, int] = {}
        found = [seen.setdefault(cell, len(seen)) if isinstance(cell, str) else -1 for cell in column.array]
        return np.array(found, dtype=np.int64), list(seen)
    try:
        positions, distinct = column.array.factorize()  # an array, because its entries keep their precision
    except TypeError:  # lists and the like cannot be compared by hash: each row by itself
        return np.where(column.isna(), -1, np.arange(len(column))), list(column)
    return positions.astype(np.int64), entries_of(distinct)


def row_messages(features: tuple[Feature, ...], needed: frozenset[str], table: "pd.DataFrame") -> list[str]:
    """Say for every row what is wrong with it, "" where nothing is.

    Parameters
    ----------
    features : tuple of Feature
    needed : frozenset of str
        Columns of rules: a missing value has no place in their sums. A rule does not apply to a special code.
    table : DataFrame
        With all columns of the schema.

    Returns
    -------
    list of str
    """
    found: dict[int, list[str]] = {}
    for feature in features:
        column = table[feature.name]
        said = np.zeros(len(table), dtype=np.bool_)  # one sentence per column is enough
        for flags, wish in _requirements(feature, column, needed=feature.name in needed):
            if not flags.any():
                continue
            rows = np.flatnonzero(flags & ~said)
            for row, value in zip(rows.tolist(), column.iloc[rows], strict=True):
                found.setdefault(row, []).append(f"column {feature.name!r} {wish()}, got {shown(value)}")
            said |= flags
    messages = [""] * len(table)
    labels = table.index.tolist() if found else []
    for row, parts in found.items():
        messages[row] = f"row {shown(labels[row])}: {'; '.join(parts)}"
    return messages


def _requirements(
    feature: Feature, column: "pd.Series[Any]", *, needed: bool
) -> Iterator[tuple[Flags, Callable[[], str]]]:
    """Yield flags (N,) of the rows that break a requirement, and what says the requirement."""
    missing = missing_cells(column)
    if needed:
        yield missing, lambda: f"must not be missing, because a rule needs it ({_allowed(feature)})"
    if feature.is_categorical:
        codes = column_codes(feature, column)
        yield (codes < 0) & ~missing, lambda: f"must be one of {listed(feature.values or ())}"
        return
    numbers, wrong = column_numbers(column)
    yield wrong, lambda: "must be a number"
    yield np.isinf(numbers), lambda: "must be finite"
    if feature.kind == "integer":
        with np.errstate(invalid="ignore"):
            yield np.isfinite(numbers) & (numbers != np.rint(numbers)), lambda: "must be a whole number"
    if feature.step is not None and not feature.immutable:
        step, largest = feature.step, largest_exact(feature.step)
        yield (
            np.abs(numbers) >= largest,  # false where missing
            lambda: f"must be smaller than {largest:.16g}, where multiples of {step:g} are exact (rescale the column)",
        )


def _allowed(feature: Feature) -> str:
    if feature.is_categorical:
        return f"one of {listed(feature.values or ())}"
    return f"a number {_range(feature)}".rstrip()


def _range(feature: Feature) -> str:
    if feature.lower is not None and feature.upper is not None:
        return f"between {feature.lower:.15g} and {feature.upper:.15g}"
    if feature.lower is not None:
        return f"at least {feature.lower:.15g}"
    return "" if feature.upper is None else f"at most {feature.upper:.15g}"
