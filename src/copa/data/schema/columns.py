"""Reading and checking columns of a table, as positions in a list of values or as numbers, whatever their coding."""

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import DATES, DURATIONS, Array
from copa._core.words import hint, listed, shown
from copa.data.schema.feature import Feature
from copa.data.tables.cells import ValueIndex, cells_of, largest_exact
from copa.data.tables.frames import as_pandas, with_columns
from copa.exceptions import InvalidInputError

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


class ReadColumn:
    """A column whose cells are read once, whoever asks about them.

    Parameters
    ----------
    series : Series
    """

    def __init__(self, series: "pd.Series[Any]") -> None:
        self.series = series
        self.dtype: Any = series.dtype
        self._codes: tuple[ValueIndex, Codes] | None = None

    def __len__(self) -> int:
        return len(self.series)

    def take(self, rows: Any, series: "pd.Series[Any]") -> "ReadColumn":
        """Return some of the rows, which are those of `series`, with what was read of them."""
        some, read = ReadColumn(series), vars(self)
        if "entries" in read:
            some.entries = self.entries[0][rows], self.entries[1]
        if "numbers" in read:
            some.numbers, some.wrong = self.numbers[rows], self.wrong[rows]
        if self._codes is not None:
            some._codes = self._codes[0], self._codes[1][rows]
        return some

    @cached_property
    def entries(self) -> tuple[Codes, list[Any]]:
        """Position of each row in a list of entries, as `distinct_entries` says; not all of them need be there."""
        return distinct_entries(self.series)

    def codes(self, feature: Feature) -> Codes:
        """Return positions (N,) in the feature's values; -1 where missing or unknown."""
        if self._codes is None or self._codes[0] is not feature.index:
            positions, distinct = self.entries
            codes = np.array([*map(feature.index.position, distinct), -1], dtype=np.int64)
            self._codes = feature.index, codes[positions]  # a missing entry has position -1, the last
        return self._codes[1]

    @cached_property
    def numbers(self) -> Array:
        """The cells as numbers, (N,); NaN where there is none."""
        numbers, self.wrong = _numbers_of(self)
        return numbers

    @cached_property
    def wrong(self) -> Flags:
        """Flags of the entries that are no numbers, (N,); text is none, even if it looks like one."""
        return _numbers_of(self)[1]

    @cached_property
    def missing(self) -> Flags:
        """Flags of the missing cells, (N,)."""
        return missing_cells(self.series)

    def special(self, feature: Feature) -> Flags:
        """Return whether each cell is one of the feature's special codes, (N,)."""
        if not feature.special:
            return np.zeros(len(self.series), dtype=np.bool_)
        positions, distinct = self.entries
        return np.array([*map(feature.is_special, distinct), False])[positions]

    def irregular(self, feature: Feature) -> Flags:
        """Return whether each cell is missing or a special code, (N,)."""
        return self.missing | self.special(feature)


def _numbers_of(column: ReadColumn) -> tuple[Array, Flags]:
    """A column as numbers, and which entries are none, (N,) both."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        read = column.series.to_numpy().astype(np.float64)
    elif is_numeric_dtype(dtype) and not is_complex_dtype(dtype):  # true and false are numeric here
        read = column.series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        positions, distinct = column.entries
        read = np.array([*map(_as_number, distinct), np.nan])[positions]
        return read, np.isnan(read) & (positions >= 0)
    return read, np.zeros(len(read), dtype=np.bool_)


class ReadTable:
    """A table whose columns are read once, whoever asks about them: checks, search, model or judge.

    Parameters
    ----------
    frame : DataFrame
    """

    def __init__(self, frame: "pd.DataFrame") -> None:
        self.frame = frame
        self._start()

    def _start(self) -> None:
        self._columns: dict[str, ReadColumn] = {}
        self._facts: dict[Any, Any] = {}
        self._blocks: dict[Any, Any] = {}
        self._source: Callable[[str], ReadColumn] | None = None

    @classmethod
    def of(cls, X: Any, names: tuple[str, ...] | None = None, what: str = "X") -> "ReadTable":
        """Take a table of any kind that has the named columns, or a DataFrame as it is; a `ReadTable` stays."""
        if isinstance(X, ReadTable):
            return X
        return cls(X if names is None else with_named_columns(X, names, what))

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: str) -> ReadColumn:
        column = self._columns.get(name)
        if column is None:
            column = ReadColumn(self.frame[name]) if self._source is None else self._source(name)
            self._columns[name] = column
        return column

    def once(self, key: Any, read: Callable[[], Any]) -> Any:
        """Return an array with an entry for each row, or None, read the first time that it is asked for by its key."""
        if key not in self._facts:
            self._facts[key] = read()
        return self._facts[key]

    def block(self, read: Callable[["ReadTable", tuple[str, ...]], Any], names: tuple[str, ...]) -> Any:
        """Return what a function reads of several columns at once: the first time, for all who ask for the same."""
        if (read, names) not in self._blocks:
            self._blocks[read, names] = read(self, names)
        return self._blocks[read, names]

    def take(self, rows: Any, *, renumbered: bool = False) -> "ReadTable":
        """Return some of the rows, by their positions, with what was read of them; `renumbered` from 0."""
        frame = self.frame.iloc[rows]
        frame = frame.reset_index(drop=True) if renumbered else frame
        some = ReadTable(frame)
        some._facts = {key: fact[rows] for key, fact in self._facts.items() if fact is not None}
        some._source = lambda name: self[name].take(rows, frame[name])
        return some

    def replaced(self, columns: "Mapping[str, pd.Series[Any]]") -> "ReadTable":
        """Return the same rows with other cells in some columns; what was read of the others is kept."""
        frame = with_columns(self.frame, columns)
        other = ReadTable(frame)
        other._source = lambda name: ReadColumn(frame[name]) if name in columns else self[name]
        return other


def column_codes(feature: Feature, column: "pd.Series[Any]") -> Codes:
    """Return positions (N,) of a column's entries in the feature's values; -1 where missing or unknown."""
    return ReadColumn(column).codes(feature)


def column_numbers(column: "pd.Series[Any]") -> tuple[Array, Flags]:
    """Return a column as numbers, NaN where there is none, and flags of the entries that are no numbers, (N,) both."""
    read = ReadColumn(column)
    return read.numbers, read.wrong


def special_cells(feature: Feature, column: "pd.Series[Any]") -> Flags:
    """Return whether each entry of a column is one of its feature's special codes, (N,)."""
    return ReadColumn(column).special(feature)


def irregular_cells(feature: Feature, column: "pd.Series[Any]") -> Flags:
    """Return whether each entry of a column is missing or a special code, (N,)."""
    return ReadColumn(column).irregular(feature)


def missing_cells(column: "pd.Series[Any]") -> Flags:
    """Return whether each entry of a column is missing, (N,)."""
    return np.asarray(column.array.isna(), dtype=np.bool_)


def holds_dates(column: "pd.Series[Any]") -> bool:
    """Return whether a column of objects or categories holds dates or durations."""
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
        positions = [seen.setdefault(cell, len(seen)) if isinstance(cell, str) else -1 for cell in column.array]
        return np.array(positions, dtype=np.int64), list(seen)
    try:
        positions, distinct = column.array.factorize()  # an array, because its entries keep their precision
    except TypeError:  # lists and the like cannot be compared by hash: each row by itself
        return np.where(column.isna(), -1, np.arange(len(column))), list(column)
    return positions.astype(np.int64), entries_of(distinct)


def row_messages(features: tuple[Feature, ...], needed: frozenset[str], table: ReadTable) -> list[str]:
    """Say for every row what is wrong with it, "" where nothing is.

    Parameters
    ----------
    features : tuple of Feature
    needed : frozenset of str
        Columns of rules: a missing value has no place in their sums. A rule does not apply to a special code.
    table : ReadTable
        With all columns of the schema.
    """
    sentences: dict[int, list[str]] = {}
    for feature in features:
        column = table[feature.name]
        said = np.zeros(len(table), dtype=np.bool_)  # one sentence per column is enough
        for flags, wish in _requirements(feature, column, needed=feature.name in needed):
            if not flags.any():
                continue
            rows = np.flatnonzero(flags & ~said)
            for row, value in zip(rows.tolist(), column.series.iloc[rows], strict=True):
                sentences.setdefault(row, []).append(f"column {feature.name!r} {wish()}, got {shown(value)}")
            said |= flags
    messages = [""] * len(table)
    labels = table.frame.index.tolist() if sentences else []
    for row, parts in sentences.items():
        messages[row] = f"row {shown(labels[row])}: {'; '.join(parts)}"
    return messages


def _requirements(feature: Feature, column: ReadColumn, *, needed: bool) -> Iterator[tuple[Flags, Callable[[], str]]]:
    """Yield flags (N,) of the rows that break a requirement, and what says the requirement."""
    missing = column.missing
    if needed:
        yield missing, lambda: f"must not be missing, because a rule needs it ({_allowed(feature)})"
    if feature.is_categorical:
        codes = column.codes(feature)
        yield (codes < 0) & ~missing, lambda: f"must be one of {listed(feature.values or ())}"
        return
    numbers = column.numbers
    yield column.wrong, lambda: "must be a number"
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
