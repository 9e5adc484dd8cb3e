"""What common fitted transformers do with single columns, read from their public attributes.

A part is a block of columns side by side: numbers that go through functions of single entries, or values that are
looked up. `direct` encodes tables by them, and `trees` follows thresholds back to the raw columns.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import ReadTable

NOWHERE, UNKNOWN = -1, -2  # columns of a value that is encoded by zeros, and of one that an encoder has not met


class Step(Protocol):
    """A function of single entries."""

    def __call__(self, rows: Array) -> Array:
        """Apply it to rows (N, k)."""

    def at(self, values: Array, columns: Indices) -> Array:
        """Apply it to values (M,) of columns (M,)."""


class LevelCodes(NamedTuple):
    """What an encoder makes of the values of a column, in one of its columns."""

    numbers: dict[Hashable, float]
    unknown: float | None  # of a value that it has not met; None where that is an error
    missing: float | None


def plain_numbers(table: ReadTable, names: tuple[str, ...]) -> Array | None:
    """Return columns of whole numbers or of double precision as floats, (N, C); None where one is any other."""
    kinds = [table[name].dtype for name in names]
    if not all(isinstance(kind, np.dtype) and (kind.kind in "iu" or kind == np.float64) for kind in kinds):
        return None
    return np.stack([table[name].numbers for name in names], axis=1)


def plain_entries(table: ReadTable, names: tuple[str, ...]) -> tuple[Indices, list[tuple[int, Any]]] | None:
    """Return which of a list of entries, each with the place of its column, the rows hold, (N, C).

    None where a cell is missing, or is no text or whole number.
    """
    columns = [table[name].entries for name in names]
    cells = [(k, entry) for k, (_, distinct) in enumerate(columns) for entry in distinct]
    if not all(issubclass(kind, (str, int, np.integer)) for kind in {type(entry) for _, entry in cells}):
        return None
    first = np.cumsum([0, *[len(distinct) for _, distinct in columns]])
    positions = np.stack([own for own, _ in columns], axis=1)
    return None if (positions < 0).any() else (positions + first[:-1], cells)


@dataclass(frozen=True)
class Numbers:
    """Columns of numbers, through functions of single entries."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.names)

    def encode(self, table: ReadTable) -> Array | None:
        """Encode a table, (N, k); None where that is left to the transformer."""
        rows: Array | None = table.block(plain_numbers, self.names)
        if rows is None:
            return None
        for step in self.steps:
            rows = step(rows)
        return rows if np.isfinite(rows).all() else None


@dataclass(frozen=True)
class OneHot:
    """Columns of values, each a block of zeros and at most a one."""

    names: tuple[str, ...]
    places: tuple[dict[Hashable, int], ...]  # column of each value among all
    width: int
    ignores_unknown: bool
    missing: tuple[int, ...]  # column of a missing value, or UNKNOWN

    def encode(self, table: ReadTable) -> Array | None:
        """Encode a table, (N, k); None where that is left to the transformer."""
        entries = table.block(plain_entries, self.names)
        if entries is None:
            return None
        positions, cells = entries
        columns = np.array([self.places[k].get(entry, UNKNOWN) for k, entry in cells], dtype=np.int64)[positions]
        if not self.ignores_unknown and (columns == UNKNOWN).any():
            return None
        rows, (here, which) = np.zeros((len(columns), self.width)), np.nonzero(columns >= 0)
        rows[here, columns[here, which]] = 1.0
        return rows

    def codes(self, column: int) -> tuple[str, LevelCodes]:
        """The raw column behind an encoded one, and what becomes of its values there."""
        k = next(k for k, places in enumerate(self.places) if column in (*places.values(), self.missing[k]))
        numbers = {value: float(place == column) for value, place in self.places[k].items()}
        unknown = 0.0 if self.ignores_unknown else None
        return self.names[k], LevelCodes(numbers, unknown, _of_missing(self.missing[k], column, unknown))


def _of_missing(place: int, column: int, unknown: float | None) -> float | None:
    return unknown if place == UNKNOWN else float(place == column)


@dataclass(frozen=True)
class Ordinal:
    """Columns of values, each as the number that stands for it."""

    names: tuple[str, ...]
    numbers: tuple[dict[Hashable, float], ...]
    unknown: tuple[float | None, ...]
    missing: tuple[float | None, ...]

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.names)

    def encode(self, table: ReadTable) -> Array | None:
        """Encode a table, (N, k); None where that is left to the transformer."""
        entries = table.block(plain_entries, self.names)
        if entries is None:
            return None
        positions, cells = entries
        known = [self.numbers[k].get(entry, self.unknown[k]) for k, entry in cells]
        if any(number is None for number in known):
            return None
        rows: Array = np.array(known, dtype=np.float64)[positions]
        return rows if np.isfinite(rows).all() else None

    def codes(self, column: int) -> tuple[str, LevelCodes]:
        """The raw column behind an encoded one, and what becomes of its values there."""
        return self.names[column], LevelCodes(self.numbers[column], self.unknown[column], self.missing[column])


Part = Numbers | OneHot | Ordinal


def read_parts(
    transformers: Sequence[Any], columns: tuple[str, ...]
) -> tuple[tuple[Part, ...], tuple[Step, ...]] | None:
    """The parts of fitted transformers of a table, and the functions that follow; None where one is not known here."""
    from sklearn.compose import ColumnTransformer

    others = list(transformers)
    parts: tuple[Part, ...] | None = (Numbers(columns, ()),)
    if others and type(others[0]) is ColumnTransformer:
        parts = _parts_of(others.pop(0), columns)
    elif others and _looks_up(others[0]):
        part = _part_of(others.pop(0), columns)
        parts = None if part is None else (part,)
    steps = [_step_of(other) for other in others]
    known = tuple(step for step in steps if step is not None)
    return None if parts is None or len(known) < len(steps) else (parts, known)


def is_sparse(transformers: Sequence[Any]) -> bool:
    """Return whether transformers that `read_parts` knows return a sparse matrix."""
    first = transformers[0] if len(transformers) else None
    return bool(getattr(first, "sparse_output_", getattr(first, "sparse_output", False)))


def _looks_up(transformer: Any) -> bool:
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    return type(transformer) in (OneHotEncoder, OrdinalEncoder)


def _parts_of(transformer: Any, names: tuple[str, ...]) -> tuple[Part, ...] | None:
    """The blocks of a fitted ColumnTransformer; None where one of them is not known here."""
    if transformer.transformer_weights:
        return None
    parts = []
    for _, inner, columns in transformer.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        chosen = names_of(columns, names)
        if chosen == ():
            continue  # never fitted
        part = None if chosen is None else _part_of(inner, chosen)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts) or None


def names_of(columns: Any, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Names of columns that are listed by name or by position; None for any other way to say which."""
    if isinstance(columns, (str, slice)) or callable(columns) or not hasattr(columns, "__iter__"):
        return None
    listed = list(columns)
    if all(isinstance(name, str) for name in listed):
        return tuple(str(name) for name in listed)
    if all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in listed):
        return tuple(names[k] for k in listed)
    return None


def _part_of(transformer: Any, names: tuple[str, ...]) -> Part | None:
    from sklearn.pipeline import Pipeline

    inner = [step for _, step in transformer.steps] if type(transformer) is Pipeline else [transformer]
    inner = [step for step in inner if step is not None and step != "passthrough"]
    if inner and _looks_up(inner[-1]):
        filled = _fills(inner[0], len(names)) if len(inner) == 2 else ()
        return None if len(inner) > 2 or filled is None else _read_levels(inner[-1], names, filled)
    looks_up = bool(inner) and _looks_up(inner[0])
    steps = [_step_of(step) for step in inner[looks_up:]]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps):
        return None
    if not looks_up:
        return Numbers(names, tuple(known))
    levels = _read_levels(inner[0], names, ())
    return _after_steps(levels, known) if isinstance(levels, Ordinal) else None


def _after_steps(levels: Ordinal, steps: list[Step]) -> Ordinal:
    """The numbers that stand for values, once some functions were applied to them."""

    def apply(number: float, column: int) -> float:
        values = np.array([number])
        for step in steps:
            values = step.at(values, np.array([column]))
        return float(values[0])

    def apply_to_known(numbers: tuple[float | None, ...]) -> tuple[float | None, ...]:
        return tuple(None if number is None else apply(number, k) for k, number in enumerate(numbers))

    numbers = tuple(
        {value: apply(number, k) for value, number in known.items()} for k, known in enumerate(levels.numbers)
    )
    return Ordinal(levels.names, numbers, apply_to_known(levels.unknown), apply_to_known(levels.missing))


def _fills(imputer: Any, n_columns: int) -> tuple[Hashable, ...] | None:
    """What a fitted SimpleImputer puts in the place of missing values, one of each column; None for anything else."""
    from sklearn.impute import SimpleImputer

    if type(imputer) is not SimpleImputer or imputer.add_indicator or not _is_nan(imputer.missing_values):
        return None
    values: tuple[Hashable, ...] = tuple(imputer.statistics_.tolist())
    return values if len(values) == n_columns and not any(_is_nan(value) for value in values) else None


def _read_levels(encoder: Any, names: tuple[str, ...], filled: tuple[Hashable, ...]) -> OneHot | Ordinal | None:
    """A fitted encoder of values, whose missing ones were replaced before; None where values are grouped."""
    from sklearn.preprocessing import OneHotEncoder

    columns = []
    for k, categories in enumerate(encoder.categories_):
        values = categories.tolist()
        missing = [position for position, value in enumerate(values) if value is None or _is_nan(value)]
        known = {value: position for position, value in enumerate(values) if position not in missing}
        if not all(isinstance(value, (str, int, float)) for value in known) or len(missing) > 1:
            return None
        place = known.get(filled[k]) if filled else (missing[0] if missing else None)
        columns.append((known, place))
    if encoder.min_frequency is not None or encoder.max_categories is not None or encoder.dtype is not np.float64:
        return None
    read = _one_hot if type(encoder) is OneHotEncoder else _ordinal
    return read(encoder, names, columns)


Columns = list[tuple[dict[Any, int], int | None]]  # position of each value, and of a missing one


def _one_hot(encoder: Any, names: tuple[str, ...], columns: Columns) -> OneHot | None:
    if encoder.handle_unknown == "warn":
        return None
    places, missing, width = [], [], 0
    dropped = [None] * len(columns) if encoder.drop_idx_ is None else encoder.drop_idx_.tolist()
    for (known, place), categories, without in zip(columns, encoder.categories_, dropped, strict=True):
        kept = [k for k in range(len(categories)) if k != without]
        column = dict.fromkeys(range(len(categories)), NOWHERE) | {k: width + n for n, k in enumerate(kept)}
        places.append({value: column[k] for value, k in known.items()})
        missing.append(UNKNOWN if place is None else column[place])
        width += len(kept)
    return OneHot(
        names, tuple(places), width, encoder.handle_unknown != "error" and encoder.drop is None, tuple(missing)
    )


def _ordinal(encoder: Any, names: tuple[str, ...], columns: Columns) -> Ordinal:
    unknown = None if encoder.handle_unknown == "error" else float(encoder.unknown_value)
    of_missing = float(encoder.encoded_missing_value)
    numbers, missing = [], []
    for (known, place), categories in zip(columns, encoder.categories_, strict=True):
        numbers.append({value: float(k) for value, k in known.items()})
        is_own = place is not None and place not in known.values()
        missing.append(of_missing if is_own else unknown if place is None else float(place))
        assert place is None or place < len(categories)  # noqa: S101 - a position among them
    return Ordinal(names, tuple(numbers), (unknown,) * len(columns), tuple(missing))


def _step_of(transformer: Any) -> Step | None:  # noqa: PLR0911 - a line per transformer
    """A transformer of single entries as the function that it is; None for any other."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    kind = type(transformer)
    if transformer == "passthrough" or (kind is FunctionTransformer and transformer.func is None):
        return _Same()
    if kind is StandardScaler:
        centre = transformer.mean_ if transformer.with_mean else None
        return _Standardised(centre, transformer.scale_ if transformer.with_std else None)
    if kind is RobustScaler:
        centre = transformer.center_ if transformer.with_centering else None
        return _Standardised(centre, transformer.scale_ if transformer.with_scaling else None)
    if kind is MaxAbsScaler and not getattr(transformer, "clip", False):
        return _Standardised(None, transformer.scale_)
    if kind is MinMaxScaler and not transformer.clip:
        return _Stretched(transformer.scale_, transformer.min_)
    if kind is SimpleImputer and _is_nan(transformer.missing_values) and not transformer.add_indicator:
        filled = transformer.statistics_
        if filled.dtype.kind == "f" and np.isfinite(filled).all():
            return _Filled(filled)
    return None


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


@dataclass(frozen=True)
class _Same:
    """Entries as they are."""

    def __call__(self, rows: Array) -> Array:
        return rows

    def at(self, values: Array, columns: Indices) -> Array:  # noqa: ARG002 - every column alike
        return values


@dataclass(frozen=True, eq=False)
class _Standardised:
    """Entries minus a centre, divided by a scale."""

    centre: Array | None
    scale: Array | None

    def __call__(self, rows: Array) -> Array:
        moved = rows if self.centre is None else rows - self.centre
        return moved if self.scale is None else moved / self.scale

    def at(self, values: Array, columns: Indices) -> Array:
        moved = values if self.centre is None else values - self.centre[columns]
        return moved if self.scale is None else moved / self.scale[columns]


@dataclass(frozen=True, eq=False)
class _Stretched:
    """Entries times a scale, plus the least."""

    scale: Array
    least: Array

    def __call__(self, rows: Array) -> Array:
        stretched: Array = rows * self.scale + self.least
        return stretched

    def at(self, values: Array, columns: Indices) -> Array:
        stretched: Array = values * self.scale[columns] + self.least[columns]
        return stretched


@dataclass(frozen=True, eq=False)
class _Filled:
    """Entries, where missing those that an imputer puts there."""

    values: Array

    def __call__(self, rows: Array) -> Array:
        return np.where(np.isnan(rows), self.values, rows)

    def at(self, values: Array, columns: Indices) -> Array:
        return np.where(np.isnan(values), self.values[columns], values)
