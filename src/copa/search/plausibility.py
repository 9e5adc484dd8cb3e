"""How plausible a row is: whether it lies among the training rows, or where hardly anyone is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.representation import short_repr
from copa._core.threads import one_openmp_thread
from copa.exceptions import DataError
from copa.schema import Feature, FeatureSchema
from copa.schema.columns import ReadColumn, ReadTable

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.neighbors import NearestNeighbors

MOST_ROWS = 2000  # that a row is compared with
N_NEIGHBOURS = 10
# Numbers are held in parts of a spread, and beyond so many spreads count as equal: one amount that nobody else has must
# not decide. A spread has 17 parts and a level 12, because 12^2 + 12^2 is nearly 17^2: another level is as far away as
# a spread. All squared distances are whole numbers, so that no sum depends on its order, nor on the processor.
PARTS, LEVEL, CUT_OFF = 17, 12, 3
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
    >>> from copa.search.plausibility import Plausibility
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
        return cls(schema, _positions(schema, few, centres, scales), centres, scales)

    def scores(self, rows: "pd.DataFrame | ReadTable") -> Array:
        """Return the plausibility of rows, (M,)."""
        table = ReadTable.of(rows)
        if len(table) == 0:
            return np.zeros(0)
        vectors, neighbours = self._vectors(_positions(self.schema, table, self.centres, self.scales)), self._neighbours
        with one_openmp_thread():
            found = neighbours.kneighbors(vectors)
        below = np.searchsorted(self._known, _remoteness(found[0]))
        return np.asarray(1.0 - below / len(self._known))

    def nearest(self, row: "pd.DataFrame", among: Indices) -> Indices:
        """Positions of training rows, the nearest to a row first.

        Parameters
        ----------
        row : DataFrame
            One row.
        among : ndarray of shape (K,)
            Positions of those that are wanted.
        """
        here = self._vectors(_positions(self.schema, ReadTable.of(row), self.centres, self.scales))
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
    def _levels(self) -> list[Indices]:
        """Of every column the positions that are levels and have training rows."""
        found = []
        for k, feature in enumerate(self.schema.features):
            held = np.unique(self.rows[:, k])
            found.append(held[held >= MISSING] if in_order(feature) else held)
        return found

    @cached_property
    def _neighbours(self) -> "NearestNeighbors":
        from sklearn.neighbors import NearestNeighbors

        n_neighbours = min(N_NEIGHBOURS, len(self.rows) - 1)
        return NearestNeighbors(n_neighbors=n_neighbours, algorithm="brute").fit(self._training_vectors)

    @cached_property
    def _training_vectors(self) -> Array:
        return self._vectors(self.rows)

    @cached_property
    def _known(self) -> Array:
        """How far each training row is from the others, ascending, (R,)."""
        return np.sort(_remoteness(self._neighbours.kneighbors()[0]))

    def _vectors(self, positions: Indices) -> Array:
        """Rows as whole numbers whose squared Euclidean distances are those of the rows, (M, d)."""
        parts = []
        for k, feature in enumerate(self.schema.features):
            held, levels = positions[:, [k]], self._levels[k]
            regular = (held < MISSING) & in_order(feature)
            taken = held == levels
            nobodys = ~taken.any(axis=1, keepdims=True) & ~regular
            parts += [np.where(regular, held, 0), LEVEL * np.hstack([taken, nobodys, regular])]
        return np.hstack(parts).astype(np.float64)

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
    """Whether the values of a column have distances: numbers, and ranks."""
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


def _positions(schema: FeatureSchema, table: ReadTable, centres: Array, scales: Array) -> Indices:
    """Rows of a table as `Plausibility.rows` has them, (M, n)."""
    found = np.full((len(table), len(schema.features)), MISSING, dtype=np.int64)
    ordered = [k for k, feature in enumerate(schema.features) if in_order(feature)]
    numbers = np.empty((len(table), len(ordered)))
    columns = [table[feature.name] for feature in schema.features]
    for place, k in enumerate(ordered):
        numbers[:, place] = _numbers(schema.features[k], columns[k])
    beyond = PARTS * CUT_OFF
    parts = np.clip(np.rint(PARTS * (numbers - centres[ordered]) / scales[ordered]), -beyond, beyond)
    irregular = np.isnan(parts)
    found[:, ordered] = np.where(irregular, MISSING, np.nan_to_num(parts))
    for place in np.flatnonzero(irregular.any(axis=0)).tolist():
        k, rows = ordered[place], irregular[:, place]
        found[rows, k] = _irregular(schema.features[k], columns[k])[rows]
    for k, feature in enumerate(schema.features):
        if not in_order(feature):
            codes = columns[k].codes(feature)
            found[:, k] = np.where(codes < 0, MISSING, codes)
    return found


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
