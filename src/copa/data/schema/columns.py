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


def _of_names(kinds: Iterable[tuple[Any, Any]], names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """The types of the named columns, in the order of the names."""
    by_name = dict(kinds)
    return [(name, by_name[name]) for name in names]


class ReadColumn:
    """A column whose cells are read once, whoever asks about them.

    Parameters
    ----------
    series : Series or callable
        The cells; or, together with their type, what returns them where somebody asks for them.
    dtype : dtype, optional
    """

    def __init__(self, series: Any, dtype: Any = None) -> None:
        if dtype is None:
            self.series = series
        self._make, self.dtype = series, series.dtype if dtype is None else dtype
        self._codes: tuple[ValueIndex, Codes] | None = None

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def series(self) -> "pd.Series[Any]":
        """The cells."""
        made: pd.Series[Any] = self._make()
        return made

    def take(self, rows: Any, series: "Callable[[], pd.Series[Any]]") -> "ReadColumn":
        """Return some of the rows, whose cells `series` returns, with what was read of them."""
        some, read = ReadColumn(series, self.dtype), vars(self)
        if "entries" in read:
            some.entries = self.entries[0][rows], self.entries[1]
        if "numbers" in read:
            some.numbers, some.wrong = self.numbers[rows], self.wrong[rows]
        if "missing" in read:
            some.missing = self.missing[rows]
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


class LazyFrame:
    """A frame that is made when it is first asked for; tables and their columns share it."""

    def __init__(self, make: "Callable[[], pd.DataFrame]") -> None:
        self._make = make

    @cached_property
    def made(self) -> "pd.DataFrame":
        """The frame."""
        return self._make()

    @property
    def is_made(self) -> bool:
        """Whether somebody has asked for it."""
        return "made" in vars(self)


class ReadTable:
    """A table whose columns are read once, whoever asks about them: checks, search, model or judge.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
    n_rows : int, optional
        Of a frame that is not made yet.
    """

    def __init__(self, frame: "pd.DataFrame | LazyFrame", n_rows: int | None = None) -> None:
        self._frame = frame if isinstance(frame, LazyFrame) else LazyFrame(lambda: frame)
        self._n_rows = len(self._frame.made) if n_rows is None else n_rows
        self._columns: dict[str, ReadColumn] = {}
        self._facts: dict[Any, Any] = {}
        self._blocks: dict[Any, Any] = {}

    @property
    def frame(self) -> "pd.DataFrame":
        """The rows."""
        return self._frame.made

    @classmethod
    def of(cls, X: Any, names: tuple[str, ...] | None = None, what: str = "X") -> "ReadTable":
        """Take a table of any kind that has the named columns, or a DataFrame as it is; a `ReadTable` stays."""
        if isinstance(X, ReadTable):
            return X
        return cls(X if names is None else with_named_columns(X, names, what))

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, name: str) -> ReadColumn:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._column(name)
        return column

    def once(self, key: Any, read: Callable[[], Any]) -> Any:
        """Return an array with an entry for each row, or None, read the first time that it is asked for by its key."""
        if key not in self._facts:
            fact = self.known_fact(key)
            self._facts[key] = read() if fact is None else fact
        return self._facts[key]

    def known_fact(self, key: Any) -> Any:
        """Return what `once` has read, of these rows or of a table that they are from; None where it has not."""
        fact = self._facts.get(key)
        return self._derived_fact(key) if fact is None else fact

    def _derived_fact(self, key: Any) -> Any:  # noqa: ARG002 - for tables made of others
        return None

    def block(self, read: "Read", names: tuple[str, ...]) -> Any:
        """Return what a function reads of several columns at once: the first time, for all who ask for the same."""
        if (read, names) not in self._blocks:
            block = self.known_block(read, names)
            self._blocks[read, names] = read(self, names) if block is None else block
        return self._blocks[read, names]

    def known_block(self, read: "Read", names: tuple[str, ...]) -> Any:
        """Return what is known of several columns without reading them; None where nothing is."""
        block = self._blocks.get((read, names))
        return self._derived_block(read, names) if block is None else block

    def _derived_block(self, read: "Read", names: tuple[str, ...]) -> Any:  # noqa: ARG002 - for tables made of others
        return None

    def _column(self, name: str) -> ReadColumn:
        return ReadColumn(self.frame[name])

    def take(self, rows: Any, *, renumbered: bool = False) -> "ReadTable":
        """Return some of the rows, by their positions, with what was read of them; `renumbered` from 0."""
        return _SomeRows(self, rows, renumbered=renumbered)

    def replaced(self, columns: "Mapping[str, pd.Series[Any]]") -> "ReadTable":
        """Return the same rows with other cells in some columns; what was read of the others is kept."""
        return _OtherColumns(self, columns)


Read = Callable[[ReadTable, tuple[str, ...]], Any]


class _SomeRows(ReadTable):
    """Some of the rows of a table, with what was read of them."""

    def __init__(self, whole: ReadTable, rows: Any, *, renumbered: bool) -> None:
        frame = LazyFrame(lambda: _cut(whole.frame, rows, renumbered=renumbered))
        super().__init__(frame, len(np.arange(len(whole))[rows]))
        self._whole, self._rows, self._renumbered = whole, rows, renumbered

    def _derived_fact(self, key: Any) -> Any:
        fact = self._whole.known_fact(key)
        return None if fact is None else fact[self._rows]

    def _column(self, name: str) -> ReadColumn:
        frame, column = self._frame, self._whole[name]  # a column that referred to its table would be a cycle
        rows, renumbered = self._rows, self._renumbered

        def cells() -> "pd.Series[Any]":
            return frame.made[name] if frame.is_made else _cut(column.series, rows, renumbered=renumbered)

        return column.take(rows, cells)

    def _derived_block(self, read: Read, names: tuple[str, ...]) -> Any:
        block = self._whole.known_block(read, names)
        if isinstance(block, tuple):
            return block[0][self._rows], *block[1:]
        return None if block is None else block[self._rows]


def _cut(cells: Any, rows: Any, *, renumbered: bool) -> Any:
    """Return some rows of a frame or a column, by their positions."""
    some = cells.iloc[rows]
    return some.reset_index(drop=True) if renumbered else some


class _OtherColumns(ReadTable):
    """A table with other cells in some columns, and what was read of the others."""

    def __init__(self, whole: ReadTable, columns: "Mapping[str, pd.Series[Any]]") -> None:
        super().__init__(LazyFrame(lambda: with_columns(whole.frame, columns)), len(whole))
        self._whole, self._new = whole, columns

    def _column(self, name: str) -> ReadColumn:
        return ReadColumn(self._new[name]) if name in self._new else self._whole[name]

    def _derived_block(self, read: Read, names: tuple[str, ...]) -> Any:
        return self._whole.known_block(read, names) if self._new.keys().isdisjoint(names) else None


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
