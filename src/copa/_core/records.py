"""Read-only mappings, and segments of a long array: the options of each applicant, one applicant after another."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

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
