"""What frozen dataclasses are made of: arrays with one leading axis, read-only mappings, segments of a long array."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array

Key = TypeVar("Key")
Value_co = TypeVar("Value_co", covariant=True)
Positions = npt.NDArray[np.intp]


class FrozenMap(Mapping[Key, Value_co], Generic[Key, Value_co]):
    """Read-only copy of a mapping; equal to every mapping with the same entries, hashable, and it can be pickled."""

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[Key, Value_co]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: Key) -> Value_co:
        return self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash(frozenset(self._entries.items()))

    def __repr__(self) -> str:
        return repr(self._entries)


@dataclass(frozen=True, eq=False)
class ArrayRecord:
    """Base of frozen dataclasses whose fields have one leading axis: arrays, lists, tables or records of the same kind.

    A field that is None stays None, and one that is named in the class variable `shared` is handed on as it is.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Scores(ArrayRecord):
    ...     mean: Array
    ...     names: list[str]
    >>> scores = Scores(np.array([0.1, 0.2, 0.3]), ["a", "b", "c"])
    >>> len(scores), scores.take([2, 0]).names
    (3, ['c', 'a'])
    >>> Scores.concat([scores, scores.take([1])]).mean.tolist()
    [0.1, 0.2, 0.3, 0.2]
    >>> scores.replaced([1], scores.take([2])).mean.tolist()
    [0.1, 0.3, 0.3]
    """

    shared: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        return len(next(part for part in self._by_row().values() if part is not None))

    def take(self, rows: Any) -> Self:
        """Return some of the rows.

        Parameters
        ----------
        rows : array_like of int or of bool, or slice
            Positions, or a flag for each row.

        Returns
        -------
        ArrayRecord
            Of the same class.
        """
        rows = rows if isinstance(rows, slice) else np.asarray(rows)
        return replace(self, **{name: _taken(part, rows) for name, part in self._by_row().items()})

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """Put records one after another; shared fields are those of the first.

        Parameters
        ----------
        parts : sequence of ArrayRecord
            At least one, all of this class.

        Returns
        -------
        ArrayRecord
        """
        first, *_ = parts
        columns = [part._by_row() for part in parts]  # noqa: SLF001 - of the same class
        return replace(first, **{name: _joined([column[name] for column in columns]) for name in columns[0]})

    def replaced(self, rows: Any, others: Self) -> Self:
        """Return a copy in which some rows are those of another record.

        Parameters
        ----------
        rows : array_like of int or of bool
        others : ArrayRecord
            Of the same class, one row for each of `rows`.

        Returns
        -------
        ArrayRecord
        """
        order = np.arange(len(self))
        order[np.asarray(rows)] = len(self) + np.arange(len(others))
        return type(self).concat([self, others]).take(order)

    def _by_row(self) -> dict[str, Any]:
        """Fields that have a row for each row of the record."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.shared}


def _taken(part: Any, rows: Any) -> Any:
    if part is None:
        return None
    if isinstance(part, ArrayRecord):
        return part.take(rows)
    if isinstance(part, list):
        return [part[i] for i in np.arange(len(part))[rows]]
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


def _joined(parts: list[Any]) -> Any:
    first = parts[0]
    if first is None:
        return None
    if isinstance(first, ArrayRecord):
        return type(first).concat(parts)
    if isinstance(first, list):
        return [entry for part in parts for entry in part]
    if hasattr(first, "iloc"):
        import pandas as pd

        return pd.concat(parts)
    return np.concatenate(parts)


def reduce_segments(operation: np.ufunc, values: Array, counts: Positions) -> Array:
    """Reduce the options of every applicant to one number.

    Parameters
    ----------
    operation : numpy.ufunc
        Such as `numpy.minimum` or `numpy.add`.
    values : ndarray of shape (M,)
        One for each option, the applicants' options one after another.
    counts : ndarray of shape (N,)
        Number of options of each applicant.

    Returns
    -------
    ndarray of shape (N,)
        NaN where an applicant has no option.
    """
    reduced = np.full(len(counts), np.nan)
    some = np.flatnonzero(counts)
    if len(some):
        starts = np.cumsum(counts) - counts
        reduced[some] = operation.reduceat(values, starts[some])
    return reduced


def segment_rows(rows: Positions, counts: Positions) -> Positions:
    """Return the positions of the options of the given applicants, one applicant after another."""
    starts = np.cumsum(counts) - counts
    chosen = counts[rows]
    first = np.repeat(starts[rows] - (np.cumsum(chosen) - chosen), chosen)
    positions: Positions = first + np.arange(len(first))
    return positions


def segments_by_size(counts: Positions) -> list[tuple[Positions, Positions]]:
    """Applicants with the same number of options, put together.

    Parameters
    ----------
    counts : ndarray of int, shape (N,)
        Number of options of each applicant.

    Returns
    -------
    list of tuple of ndarray
        For every number J of options but 0: applicants who have as many, (n,), and positions of their options, (n, J).
    """
    sizes = np.unique(counts[counts > 0]).tolist()
    groups = [(np.flatnonzero(counts == size), size) for size in sizes]
    return [(rows, segment_rows(rows, counts).reshape(-1, size)) for rows, size in groups]
