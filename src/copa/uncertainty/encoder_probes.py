"""Which subsets of the rows leave an encoder a scaling of today's columns, found out by a few refits of it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from copa._core.arrays import Array
from copa.uncertainty.column_scales import ColumnScales, Flags, offsets_of, reciprocal_slopes
from copa.uncertainty.retraining import Indices
from copa.uncertainty.subsets import Subsets

MAX_PROBES = 12  # refits of the encoder on subsets
SMALL_PROBES = 8  # and on a few rows
FEWEST, FEW = 8, 40  # rows of these
CHOICES = 40  # draws of a few rows, of which the one that can tell most is taken
FEW_VALUES = 100  # of a raw column: with more, it cannot be a category with a column for each
RARE = 60  # rows of a value: with more, a third of the rows lacks it once in 1e10 draws


def known_slopes(scales: ColumnScales, subsets: Subsets, *, offsets: bool) -> tuple[Indices, Array]:
    """Subsets on which the encoder is known to scale today's columns (K,), and what it divides them by (K, p).

    With `offsets` the probes also find out what it subtracts (`offsets_of`).

    An encoder may change its columns where a value is missing from its rows: a one-hot encoder that drops the first
    level drops another one then. So every value that a subset lacks must have been missing from a probe.
    """
    nothing = np.zeros(0, dtype=np.intp), np.zeros((0, 0))
    first = [subsets.rows(k) for k in range(min(2, len(subsets)))]
    if not first or not all(scales.probe(rows) for rows in first):
        return nothing
    values = RareValues.read(scales.pipeline.table)
    lacking = np.array([values.lacking(subsets.rows(k)) for k in range(len(subsets))])
    seen = np.logical_or(values.told(first[0]), values.told(first[-1]))
    for _ in range(SMALL_PROBES):
        rows = _telling_rows(scales, values, seen, offsets=offsets)
        if rows is None or not scales.probe(rows):
            break
        seen |= values.told(rows)
    usable = np.ones(len(subsets), dtype=bool)
    for _ in range(MAX_PROBES):
        new = (lacking & ~seen & usable[:, None]).sum(axis=1)
        k = int(np.argmax(new))
        if new[k] == 0:
            break
        usable[k] = scales.probe(subsets.rows(k))
        if usable[k]:
            seen |= lacking[k]
    some = np.flatnonzero(usable & ~(lacking & ~seen).any(axis=1))
    ratios = reciprocal_slopes(scales.columns, scales.explain_slopes(), (subsets.rows(int(k)) for k in some))
    known = ~np.isnan(ratios).any(axis=1)
    return some[known], ratios[known]


def _telling_rows(scales: ColumnScales, values: "RareValues", seen: Flags, *, offsets: bool) -> Indices | None:
    """A few rows of which a refit of the encoder tells most; None where it would tell nothing new.

    A few rows lack most values, and the statistics that explain the probes so far differ on them.
    """
    rng = np.random.default_rng(len(scales.probes))
    n = len(scales.columns)
    slopes, shifts = scales.explain_slopes(), scales.explain_offsets() if offsets else []
    best, most = None, 0
    for _ in range(CHOICES):
        rows = np.sort(rng.choice(n, min(n, int(rng.integers(FEWEST, FEW))), replace=False))
        ratio = reciprocal_slopes(scales.columns, slopes, [rows])[0]
        unclear = int(np.isnan(ratio).sum())
        if offsets:
            unclear += int(np.isnan(offsets_of(scales.columns, shifts, rows, np.ones(ratio.size)))[ratio != 0.0].sum())
        new = unclear + int((values.told(rows) & ~seen).sum())
        if new > most:
            best, most = rows, new
    return best


@dataclass(frozen=True, eq=False)
class RareValues:
    """The values of raw columns that a subset of the rows may lack.

    Attributes
    ----------
    rows : ndarray of int
        Rows of the first rare value, then those of the second, and so on.
    starts : ndarray of shape (V,)
        Where in `rows` each begins.
    column : ndarray of shape (V,)
        Whose value each is.
    codes : ndarray of shape (n, C)
        Numbers of the values in the columns that have few.
    """

    rows: Indices
    starts: Indices
    column: Indices
    codes: Indices

    @classmethod
    def read(cls, table: Any) -> "RareValues":
        """Find the rare values of a table."""
        import pandas as pd

        frame = pd.DataFrame(table)
        columns = [pd.factorize(frame.iloc[:, j], use_na_sentinel=False)[0] for j in range(frame.shape[1])]
        codes = np.array([column for column in columns if column.max() < FEW_VALUES], dtype=np.intp)
        codes = codes.reshape(-1, len(frame)).T
        rare, owner = [], []
        for j in range(codes.shape[1]):
            for code in np.flatnonzero(np.bincount(codes[:, j]) <= RARE):
                rare.append(np.flatnonzero(codes[:, j] == code))
                owner.append(j)
        rows = np.concatenate([np.zeros(0, dtype=np.intp), *rare])
        starts = np.cumsum([0, *(places.size for places in rare)])[:-1]
        return cls(rows, starts, np.array(owner, dtype=np.intp), codes)

    def lacking(self, rows: Indices) -> Flags:
        """Values that do not occur in some rows, (V,)."""
        if self.column.size == 0:
            return np.zeros(0, dtype=bool)
        inside = np.zeros(len(self.codes), dtype=bool)
        inside[rows] = True
        return np.asarray(~np.logical_or.reduceat(inside[self.rows], self.starts))

    def told(self, rows: Indices) -> Flags:
        """Values that a refit on some rows shows the absence of, (V,).

        Of a column with one value left an encoder may make nothing whatever it does to missing values.
        """
        there = np.array([np.unique(column[rows]).size > 1 or column.max() < 2 for column in self.codes.T], dtype=bool)
        told: Flags = self.lacking(rows) & there[self.column]
        return told
