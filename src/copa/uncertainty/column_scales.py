"""How an encoder scales its columns when it is fitted to other rows, learned from a few refits of it.

Nothing is assumed of the transformers. An encoder fitted to some rows is compared with today's: where each of its
columns is offset + slope * a column of today's, the slope is compared with the reciprocals of statistics of the rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa.uncertainty.coordinates import Coordinates
from copa.uncertainty.pipeline_refits import PipelineRefits
from copa.uncertainty.retraining import Indices

Flags = npt.NDArray[np.bool_]

# What transformers divide a column by, as statistics of the rows (m, p) that they are fitted to.
STATISTICS: dict[str, Callable[[Array], Array]] = {
    "none": lambda rows: np.ones(rows.shape[1]),
    "deviation": lambda rows: rows.std(axis=0),
    "range": lambda rows: rows.max(axis=0) - rows.min(axis=0),
    "largest": lambda rows: np.abs(rows).max(axis=0),
    "quartiles": lambda rows: np.subtract(*np.percentile(rows, [75.0, 25.0], axis=0)),
}
AGREEING = 1e-9  # relative difference of slopes up to which a statistic explains them
COMPARED = 256  # rows on which two encoders are compared, beside the extremes of every column


class Explanation(NamedTuple):
    """A statistic that columns may be divided by.

    Attributes
    ----------
    statistic : callable
    columns : ndarray of shape (p,)
        Whether it explains all probes.
    factor : ndarray of shape (p,)
        Slope times statistic.
    seen_zero : ndarray of shape (p,)
        Whether it was zero in a probe. Transformers then divide by something else: a column that other statistics
        explain as well is left to them.
    """

    statistic: Callable[[Array], Array]
    columns: Flags
    factor: Array
    seen_zero: Flags


@dataclass(frozen=True, eq=False)
class ColumnScales:
    """What divides each column when the encoder is fitted to some of the rows.

    Attributes
    ----------
    pipeline : PipelineRefits
    factors : dict of str to list of ndarray of shape (p,)
        By statistic and probe: slope times statistic, which is the same in all probes if the column is divided by the
        statistic; nan where the probe says nothing.
    """

    pipeline: PipelineRefits
    factors: dict[str, list[Array]] = field(default_factory=lambda: {name: [] for name in STATISTICS})

    @property
    def columns(self) -> Array:
        """Today's encoded columns, (n, p)."""
        return self.pipeline.coordinates.encoded[:, 1:]

    @cached_property
    def _compared(self) -> tuple[Indices, Coordinates]:
        extremes = [self.columns.argmin(axis=0), self.columns.argmax(axis=0)]
        evenly = np.linspace(0, len(self.columns) - 1, min(COMPARED, len(self.columns))).astype(np.intp)
        rows = np.unique(np.concatenate([*extremes, evenly]))
        return rows, Coordinates(self.pipeline.coordinates.encoded[rows])

    def probe(self, rows: Indices) -> bool:
        """Refit the encoder on some rows and learn from it; False where it is no scaling of today's columns."""
        compared, coordinates = self._compared
        try:
            matches = coordinates.match(self.pipeline.refit_encoder(rows, compared))
        except ValueError:  # too few rows, or a value it has not seen
            return False
        inside = self.columns[rows]
        varies = inside.max(axis=0) > inside.min(axis=0)
        slope = np.full(varies.size, np.nan)
        found = matches.place >= 0
        slope[matches.place[found]] = matches.slope[found]
        if not matches.complete or not (slope[varies] > 0.0).all():
            return False
        slope[~varies] = np.nan  # weight 0, whatever the slope
        for name, statistic in STATISTICS.items():
            size = statistic(inside)
            self.factors[name].append(np.where(size > 0.0, slope * size, np.nan))
        return True

    def explanations(self) -> list[Explanation]:
        """The statistics, and which columns each may explain."""
        says_something = ~np.isnan(np.stack(self.factors["none"]))
        found: list[Explanation] = []
        for name, seen in self.factors.items():
            factors = np.stack(seen)
            known = ~np.isnan(factors)
            factor = np.where(known, factors, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
            off = np.where(known, np.abs(factors - factor), 0.0).max(axis=0)
            # Any statistic explains a single probe with some factor; one that is not 1 must be seen twice.
            enough = (known.sum(axis=0) > 1) | (known.any(axis=0) & (np.abs(factor - 1.0) <= AGREEING))
            columns = enough & (off <= AGREEING * factor)
            if name in ("range", "largest"):  # which are no statistics of a column with two values
                columns &= ~(self._two_valued & found[0].columns)
            seen_zero = np.asarray((says_something & ~known).any(axis=0))
            found.append(Explanation(STATISTICS[name], columns, factor, seen_zero))
        return found

    @cached_property
    def _two_valued(self) -> Flags:
        low, high = self.columns.min(axis=0), self.columns.max(axis=0)
        return np.asarray(((self.columns == low) | (self.columns == high)).all(axis=0))

    @property
    def complete(self) -> bool:
        """Whether every column that varies has an explanation."""
        explained = np.any([found.columns for found in self.explanations()], axis=0)
        varies = ~np.isnan(np.stack(self.factors["none"])).all(axis=0)
        return bool((explained | ~varies).all())


def reciprocal_slopes(columns: Array, explanations: list[Explanation], subsets: Iterable[Indices]) -> Array:
    """What columns are divided by, for encoders fitted to each of some subsets of the rows.

    Parameters
    ----------
    columns : ndarray of shape (n, p)
        Today's encoded columns.
    explanations : list of Explanation
    subsets : iterable over K ndarrays
        Rows of each.

    Returns
    -------
    ndarray of shape (K, p)
        0 for a column that is constant in the subset; nan where statistics that explain the column disagree, or none
        does.
    """
    n_explanations = np.sum([found.columns for found in explanations], axis=0)
    fixed = explanations[0].columns & (n_explanations == 1)
    which = np.flatnonzero(~fixed)
    own = [
        e._replace(columns=e.columns[which], factor=e.factor[which], seen_zero=e.seen_zero[which]) for e in explanations
    ]
    ratios = []
    for rows in subsets:
        inside = columns[rows]
        ratio = np.ones(fixed.size)
        ratio[which] = _agreed(inside[:, which], own)
        ratio[inside.max(axis=0) == inside.min(axis=0)] = 0.0
        ratios.append(ratio)
    return np.array(ratios).reshape(-1, fixed.size)


def _agreed(inside: Array, explanations: list[Explanation]) -> Array:
    """Reciprocal slopes of columns (m, q) on which all statistics that may explain them agree, else nan."""
    low, high = np.full(inside.shape[1], np.inf), np.full(inside.shape[1], -np.inf)
    for found in explanations:
        own = np.flatnonzero(found.columns)
        if own.size == 0:
            continue
        ratio = found.statistic(inside[:, own]) / found.factor[own]
        ratio[(ratio == 0.0) & ~found.seen_zero[own]] = np.nan
        low[own] = np.minimum(low[own], np.where(ratio == 0.0, np.inf, ratio))
        high[own] = np.maximum(high[own], np.where(ratio == 0.0, -np.inf, ratio))
    agreed = np.isfinite(low) & (high - low <= AGREEING * low)
    return np.where(agreed, high, np.nan)
