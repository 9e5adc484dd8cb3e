"""Plausibility of a row: whether it lies among the training rows, or where hardly anyone is."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.representation import short_repr
from copa._core.threads import one_openmp_thread
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import Flags, ReadColumn, ReadTable
from copa.exceptions import DataError

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.neighbors import NearestNeighbors

MOST_ROWS = 2000  # that a row is compared with
N_NEIGHBOURS = 10
# Numbers are held in parts of a spread, and beyond so many spreads count as equal: one amount that nobody else has must
# not decide. A spread has 17 parts and a level 12, because 12^2 + 12^2 is nearly 17^2: another level is as far away as
# a spread. All squared distances are whole numbers, so that no sum depends on its order, nor on the processor.
PARTS, LEVEL, CUT_OFF = 17, 12, 3
FARTHEST = PARTS * CUT_OFF
SPREAD_QUANTILES = (0.16, 0.84)  # half of what lies between is a standard deviation of a normal law
MISSING = 1000  # position of a missing value among the values of a column; the special codes follow it
ARRAYS = ("rows", "centres", "scales")


@dataclass(frozen=True, eq=False)
class Plausibility:
    """Training rows that others are compared with.

    The plausibility of a row is the share of the training rows that are at least as far from their nearest neighbours
    as the row is. The distance is Euclidean in the raw columns of the schema, whether they may change or not: numbers
    and ranks in robust spreads, one spread for another level; missing values and special codes are levels too.

    Attributes
    ----------
    schema : FeatureSchema
    rows : ndarray of int of shape (R, n)
        Numbers and ranks as parts of a spread from the centre, positions of values otherwise.
    centres, scales : ndarray of shape (n,)
        Median and spread of each column of numbers or ranks.

    Examples
    --------
    >>> import pandas as pd
    >>> from copa import Feature, FeatureSchema
    >>> from copa.planner.search.plausibility import Plausibility
    >>> table = pd.DataFrame({"rooms": [1, 2, 3, 4, 5] * 20, "size": [30, 50, 70, 90, 110] * 20})
    >>> schema = FeatureSchema((Feature("rooms", "integer"), Feature("size", "numeric")))
    >>> plausible = Plausibility.fit(schema, table)
    >>> plausible.scores(pd.DataFrame({"rooms": [2, 1], "size": [50, 110]})).tolist()  # one room of 110 square metres
    [1.0, 0.0]
    """

    __repr__ = short_repr

    schema: FeatureSchema
    rows: Indices
    centres: Array
    scales: Array

    @classmethod
    def fit(cls, schema: FeatureSchema, table: "pd.DataFrame") -> "Plausibility | None":
        """Take rows of a table, evenly spread over it; None of a table too short for neighbours."""
        if len(table) < 2:
            return None
        few = ReadTable(table.iloc[evenly_spread(len(table), MOST_ROWS)])
        centres, scales = np.zeros(len(schema.features)), np.ones(len(schema.features))
        for k, feature in enumerate(schema.features):
            if in_order(feature):
                centres[k], scales[k] = _centre_and_scale(_numbers(feature, few[feature.name]))
        unfilled = cls(schema, np.empty((0, len(schema.features)), dtype=np.int64), centres, scales)
        return replace(unfilled, rows=unfilled.positions(few))

    def scores(self, rows: "pd.DataFrame | ReadTable") -> Array:
        """Return the plausibility of rows, (M,)."""
        table = ReadTable.of(rows)
        shares: Array = table.once(self, lambda: self.shares(self.positions(table)))
        return shares

    def positions(self, rows: "pd.DataFrame | ReadTable") -> Indices:
        """Rows of a table as `Plausibility.rows` has them, (M, n)."""
        table = ReadTable.of(rows)
        features, columns = self.schema.features, [table[name] for name in self.schema.names]
        positions = np.empty((len(table), len(features)), dtype=np.int64)
        ordered = np.flatnonzero(self._ordered)
        numbers = np.empty((len(table), len(ordered)))
        for place, k in enumerate(ordered.tolist()):
            numbers[:, place] = _numbers(features[k], columns[k])
        positions[:, ordered] = self.positions_of(ordered, numbers)
        irregular = np.isnan(numbers)
        for place in np.flatnonzero(irregular.any(axis=0)).tolist():
            k, odd = ordered[place], irregular[:, place]
            positions[odd, k] = _irregular(features[k], columns[k])[odd]
        for k in np.flatnonzero(~self._ordered).tolist():
            codes = columns[k].codes(features[k])
            positions[:, k] = np.where(codes < 0, MISSING, codes)
        return positions

    def positions_of(self, places: Indices, numbers: Array) -> Indices:
        """Numbers or ranks (M, K) of the columns at some places (K,) as `rows` has them; NaN where irregular."""
        parts = np.clip(np.rint(PARTS * (numbers - self.centres[places]) / self.scales[places]), -FARTHEST, FARTHEST)
        return np.where(np.isnan(parts), MISSING, np.nan_to_num(parts)).astype(np.int64)

    def shares(self, positions: Indices) -> Array:
        """Plausibility of rows given as `rows` has them, (M,)."""
        if len(positions) == 0:
            return np.zeros(0)
        vectors, offsets = self._vectors(positions)
        neighbours = self._neighbours
        with one_openmp_thread():
            distances = neighbours.kneighbors(vectors)[0]
        remoteness = _remoteness(distances) + offsets * distances.shape[1]
        below = np.searchsorted(self._training_remoteness, remoteness)
        return np.asarray(1.0 - below / len(self._training_remoteness))

    def nearest(self, row: "pd.DataFrame", among: Indices) -> Indices:
        """Positions of training rows, the nearest to a row first.

        Parameters
        ----------
        row : DataFrame
            One row.
        among : ndarray of shape (K,)
            Positions of those that are wanted.
        """
        here = self._vectors(self.positions(row))[0]
        distances = ((self._training_vectors[among] - here) ** 2).sum(axis=1)
        return np.asarray(among[np.argsort(distances, kind="stable")])

    def table(self, n_rows: int = MOST_ROWS) -> "pd.DataFrame":
        """Up to so many of the training rows, as nearly as they are known."""
        import pandas as pd

        columns = {}
        few = self.rows[evenly_spread(len(self.rows), n_rows)]
        for k, feature in enumerate(self.schema.features):
            held, values = few[:, k], feature.values or ()
            numbers = self.centres[k] + held * (self.scales[k] / PARTS)
            if feature.is_numeric:
                codes = dict(enumerate((np.nan, *feature.special), start=MISSING))
                columns[feature.name] = [codes.get(i, x) for i, x in zip(held.tolist(), numbers.tolist(), strict=True)]
                continue
            places = np.where(held >= MISSING, -1, np.rint(numbers) if in_order(feature) else held).astype(np.int64)
            columns[feature.name] = [values[i] if 0 <= i < len(values) else None for i in places.tolist()]
        return pd.DataFrame(columns)

    @cached_property
    def _ordered(self) -> Flags:
        """Columns whose values have distances, (n,)."""
        return np.array([in_order(feature) for feature in self.schema.features], dtype=np.bool_)

    @cached_property
    def _levels(self) -> tuple[Indices, Indices]:
        """Every level that training rows have: its column, and its position there, (J,) both."""
        is_level = (self.rows >= MISSING) | ~self._ordered
        levels = [np.unique(self.rows[is_level[:, k], k]) for k in range(self.rows.shape[1])]
        return np.repeat(np.arange(len(levels)), [len(held) for held in levels]), np.concatenate(levels)

    @cached_property
    def _neighbours(self) -> "NearestNeighbors":
        from sklearn.neighbors import NearestNeighbors

        n_neighbours = min(N_NEIGHBOURS, len(self.rows) - 1)
        return NearestNeighbors(n_neighbors=n_neighbours, algorithm="brute").fit(self._training_vectors)

    @cached_property
    def _training_vectors(self) -> Array:
        return self._vectors(self.rows)[0]

    @cached_property
    def _training_remoteness(self) -> Array:
        """Distance of each training row from the others, ascending, (R,)."""
        return np.sort(_remoteness(self._neighbours.kneighbors()[0]))

    def _vectors(self, positions: Indices) -> tuple[Array, Array]:
        """Rows as whole numbers (M, d), and offsets (M,).

        The squared distance of a row from a training row is that of their vectors, plus the offset of the row: what
        its levels that no training row has add to its distance from all of them alike.
        """
        columns, levels = self._levels
        numbers = positions[:, self._ordered]
        regular = numbers < MISSING
        taken = positions[:, columns] == levels
        mixed = np.isin(np.flatnonzero(self._ordered), columns)  # with irregular training rows
        parts = np.where(regular, numbers, 0), LEVEL * taken, LEVEL * regular[:, mixed]
        n_nobodys = positions.shape[1] - taken.sum(axis=1) - regular.sum(axis=1)
        offsets = LEVEL**2 * (n_nobodys + (~regular[:, ~mixed]).sum(axis=1))
        return np.hstack(parts).astype(np.float64), offsets.astype(np.float64)

    def pack(self) -> dict[str, Array]:
        """Arrays of a file, by name."""
        return {"rows": self.rows.astype(np.int16), "centres": self.centres, "scales": self.scales}

    @classmethod
    def unpack(cls, schema: FeatureSchema, arrays: Mapping[str, Any]) -> Self:
        """Read what `pack` returned; a `DataError` where it does not fit the schema."""
        n = len(schema.features)
        rows, centres, scales = (np.asarray(arrays[name]) for name in ARRAYS)
        good = rows.ndim == 2 and rows.dtype == np.int16 and 2 <= len(rows) <= MOST_ROWS
        good = good and (rows.shape[1], centres.shape, scales.shape) == (n, (n,), (n,))
        good = good and all(part.dtype == np.float64 and np.isfinite(part).all() for part in (centres, scales))
        if not good or not (scales > 0.0).all():
            raise DataError("its rows for plausibility do not fit the schema")
        return cls(schema, rows.astype(np.int64), centres, scales)


def evenly_spread(n: int, most: int) -> Indices:
    """Up to `most` positions among n."""
    return np.unique(np.linspace(0, n - 1, min(most, n)).astype(np.int64))


def in_order(feature: Feature) -> bool:
    """Return whether the values of a column have distances: numbers, and ranks."""
    return feature.is_numeric or feature.kind == "ordinal"


def _numbers(feature: Feature, column: ReadColumn) -> Array:
    """Numbers or ranks of a column; NaN where irregular."""
    if feature.is_numeric:
        numbers = column.numbers  # NaN where missing
        return np.where(column.special(feature), np.nan, numbers) if feature.special else numbers
    codes = column.codes(feature).astype(np.float64)
    return np.where(codes < 0.0, np.nan, codes)


def _centre_and_scale(numbers: Array) -> tuple[float, float]:
    """Median, and half of the range of two thirds; where most are equal, the standard deviation."""
    seen = numbers[np.isfinite(numbers)]
    if len(seen) == 0:
        return 0.0, 1.0
    low, high = np.quantile(seen, SPREAD_QUANTILES)
    scale = 0.5 * float(high - low) or float(np.std(seen))
    return float(np.median(seen)), scale if np.isfinite(scale) and scale > 0.0 else 1.0


def _irregular(feature: Feature, column: ReadColumn) -> Indices:
    """Positions of irregular cells: that of a missing value, or of a special code, (M,)."""
    positions = np.full(len(column), MISSING, dtype=np.int64)
    if feature.is_numeric and feature.special and column.special(feature).any():
        numbers = column.numbers
        for place, code in enumerate(feature.special, start=1):
            positions[numbers == code] = MISSING + place
    return positions


def _remoteness(distances: Array) -> Array:
    """Mean squared distance from the nearest neighbours, but for a factor: whole numbers, (M,)."""
    total: Array = np.rint(distances**2).sum(axis=1)
    return total
