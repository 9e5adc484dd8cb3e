"""Bins that a fitted pipeline puts numbers into: the values at which an encoded row jumps.

A scorecard cuts a column of numbers into bins (KBinsDiscretizer, weights of evidence, a function with cut-offs), and
inside a bin the encoded row stays the same. Where it jumps is found by querying the pipeline: at many values of each
column first, then half way between neighbours that differ, for all columns in one call, until the neighbours are as
close as rounding. What fitted transformers say of their edges (`bin_edges_`, `splits`) is looked at as well, so that
no bin is overlooked because no training row is in it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array

if TYPE_CHECKING:
    import pandas as pd

SAME = 1e-9  # relative to the largest encoded entry: rows that differ by less are in one bin
MOST_BINS = 100  # of a column; what changes more often than that has no bins
AT_TRAINING_VALUES, EVENLY = 200, 129  # values of a column that are looked at first
HALVINGS = 80
NARROW = 1e-12  # of the largest value: an interval that holds one edge
DECIMALS = 13  # an edge is taken for the number with the fewest decimals in its interval
EDGE_NAMES = ("bin_edges_", "bin_edges", "splits_", "splits", "cut_points_", "cutoffs_", "thresholds_")


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of one column.

    Attributes
    ----------
    edges : ndarray of shape (B - 1,)
        First value of each bin but the lowest, ascending.
    inside : ndarray of shape (B,)
        A value in each bin.
    """

    edges: Array
    inside: Array


def bin_of(edges: Array, values: Array) -> npt.NDArray[np.int64]:
    """Number of the bin of each value."""
    return np.searchsorted(edges, values, side="right").astype(np.int64)


def bins_within(edges: Array, distance: float) -> int:
    """The largest number of bins apart at which some two of them begin no further from each other than a distance."""
    apart = 0
    while apart + 1 < len(edges) and (edges[apart + 1 :] - edges[: -apart - 1]).min() <= distance:
        apart += 1
    return apart


def find_bins(
    encode: Callable[["pd.DataFrame"], Array],
    bases: "pd.DataFrame",
    columns: Sequence[tuple[str, Array]],
    transformers: Sequence[Any],
) -> dict[str, Bins]:
    """Find the bins of those columns that have any.

    Parameters
    ----------
    encode : callable
        From rows (N) to what the classifier sees of them, (N, D).
    bases : DataFrame
        A few rows.
    columns : sequence of tuple
        Names of columns of numbers, and regular values of each.
    transformers : sequence
        The fitted ones, which may know their edges.

    Returns
    -------
    dict of str to Bins
        Columns along which the encoded row stays the same but for jumps.
    """
    stated = np.unique([number for part in transformers for number in _stated_edges(part)])
    followed = [_Column(name, _first_values(values, stated)) for name, values in columns]
    try:
        _query(encode, bases, followed, [column.values for column in followed])
        for _ in range(HALVINGS):
            followed = [column for column in followed if len(column.jumps) <= MOST_BINS]
            middles = [column.middles() for column in followed]
            if not any(len(part) for part in middles):
                break
            _query(encode, bases, followed, middles)
        _query(encode, bases, followed, [column.decimals() for column in followed])
    except (ValueError, TypeError):  # a value that the pipeline refuses: it is named where all values are looked at
        return {}
    return {column.name: column.bins() for column in followed if len(column.jumps)}


@dataclass(eq=False)
class _Column:
    """Values of a column, ascending, and what rows with them are encoded as, (P, K) for all bases together."""

    name: str
    values: Array
    encoded: Array | None = None

    def learn(self, values: Array, encoded: Array) -> None:
        """Add values and their encoded rows."""
        if self.encoded is not None:
            values = np.concatenate([self.values, values])
            encoded = np.concatenate([self.encoded, encoded])
        self.values, first = np.unique(values, return_index=True)
        self.encoded = encoded[first]

    @property
    def jumps(self) -> npt.NDArray[np.int64]:
        """Positions of the values whose next one is encoded differently."""
        encoded = self._encoded
        apart = np.abs(np.diff(encoded, axis=0)).max(axis=1, initial=0.0)
        return np.flatnonzero(apart > SAME * max(1.0, float(np.abs(encoded).max(initial=0.0))))

    def middles(self) -> Array:
        """Values half way between neighbours that differ, where there is one to speak of."""
        low, high = self._ends()
        middle = 0.5 * (low + high)
        wide = high - low > NARROW * max(float(np.abs(self.values).max()), 1e-300)
        return np.asarray(middle[wide & (low < middle) & (middle < high)])

    def decimals(self) -> Array:
        """The number with the fewest decimals between each two neighbours that differ, and the one right above it."""
        low, high = self._ends()
        found = high.copy()
        for digits in reversed(range(DECIMALS)):
            rounded = np.round(0.5 * (low + high), digits)
            found = np.where((low < rounded) & (rounded < high), rounded, found)
        return np.unique(np.concatenate([found, np.minimum(np.nextafter(found, np.inf), high)]))

    def bins(self) -> Bins:
        """The bins: each begins after a jump."""
        jumps = self.jumps
        first, last = np.append(0, jumps + 1), np.append(jumps, len(self.values) - 1)
        return Bins(self.values[jumps + 1], self.values[(first + last) // 2])

    def _ends(self) -> tuple[Array, Array]:
        jumps = self.jumps
        return self.values[jumps], self.values[jumps + 1]

    @property
    def _encoded(self) -> Array:
        return np.zeros((len(self.values), 0)) if self.encoded is None else self.encoded


def _query(
    encode: Callable[["pd.DataFrame"], Array], bases: "pd.DataFrame", columns: list[_Column], values: list[Array]
) -> None:
    """Have every base with every new value of every column encoded, in one call."""
    sizes = [len(part) for part in values]
    if sum(sizes) == 0:
        return
    n = len(bases)
    rows = bases.iloc[np.tile(np.arange(n), sum(sizes))].reset_index(drop=True)
    start = 0
    for column, part in zip(columns, values, strict=True):
        numbers = rows[column.name].astype(np.float64).to_numpy(copy=True)
        numbers[start : start + n * len(part)] = np.repeat(part, n)
        rows[column.name] = numbers
        start += n * len(part)
    encoded = encode(rows).reshape(sum(sizes), -1)
    for column, part, of_column in zip(columns, values, np.split(encoded, np.cumsum(sizes)[:-1]), strict=True):
        column.learn(part, of_column)


def _first_values(values: Array, known: Array) -> Array:
    """Numbers at which a column is encoded first: training values, an even grid, both sides of known edges."""
    seen = np.unique(values)
    some = seen[np.unique(np.linspace(0, len(seen) - 1, AT_TRAINING_VALUES).astype(int))]
    evenly = np.linspace(seen[0], seen[-1], EVENLY)
    edges = known[(known >= seen[0]) & (known <= seen[-1])]
    around = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)]
    return np.unique(np.concatenate([some, 0.5 * (some[1:] + some[:-1]), evenly, *around]))


def holds_edges(transformer: Any) -> bool:
    """Return whether a fitted transformer says itself where its bins begin."""
    return any(True for name in EDGE_NAMES for _ in _numbers_in(getattr(transformer, name, None)))


def inner_transformers(transformer: Any) -> Iterator[tuple[str, Any]]:
    """The fitted transformers inside a pipeline, a union or a transformer of columns, with their names."""
    parts = getattr(transformer, "transformers_", None) or getattr(transformer, "steps", None)
    for name, part, *_ in parts or getattr(transformer, "transformer_list", None) or ():
        if hasattr(part, "transform"):
            yield name, part


def _stated_edges(transformer: Any) -> Iterator[float]:
    """Numbers that a fitted transformer, or one inside of it, holds as the edges of its bins."""
    for name in EDGE_NAMES:
        yield from _numbers_in(getattr(transformer, name, None))
    for _, part in inner_transformers(transformer):
        yield from _stated_edges(part)


def _numbers_in(content: Any) -> Iterator[float]:
    """Finite numbers in arrays, lists and mappings of them."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, (list, tuple)) or (isinstance(content, np.ndarray) and content.dtype == object):
        for part in content:
            yield from _numbers_in(part)
    elif isinstance(content, (np.ndarray, float, int, np.number)):
        numbers = np.ravel(np.asarray(content))
        if numbers.dtype.kind in "fiu":
            yield from numbers[np.isfinite(numbers)].astype(np.float64).tolist()
