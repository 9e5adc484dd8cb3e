"""How an encoder scales and shifts its columns when it is fitted to other rows, learned from a few refits of it.

Nothing is assumed of the transformers. An encoder fitted to some rows is compared with today's: where each of its
columns is offset + slope * a column of today's, the slopes are compared with the reciprocals of statistics of the
rows (standard deviation, range, ...), and the offsets with other statistics of them (mean, minimum, ...).
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
from copa.uncertainty.subsets import Subsets

Flags = npt.NDArray[np.bool_]
Statistic = Callable[[Array], Array]

# What transformers divide a column by, as statistics of the rows (m, p) that they are fitted to, and what they subtract
# from it before. The first of each is that of a transformer which learns nothing.
SCALES: tuple[Statistic, ...] = (
    lambda rows: np.ones(rows.shape[1]),
    lambda rows: np.asarray(rows.max(axis=0) - rows.min(axis=0)),
    lambda rows: np.asarray(np.abs(rows).max(axis=0)),
    lambda rows: np.asarray(rows.std(axis=0)),
    lambda rows: np.subtract(*np.percentile(rows, [75.0, 25.0], axis=0)),
)
SHIFTS: tuple[Statistic, ...] = (
    lambda rows: np.zeros(rows.shape[1]),
    lambda rows: np.asarray(rows.min(axis=0)),
    lambda rows: np.asarray(rows.mean(axis=0)),
    lambda rows: np.asarray(np.median(rows, axis=0)),
)
EXTREMES = (SCALES[1], SCALES[2], SHIFTS[1])  # the same in all rows in which a column with two values varies
AGREEING = 1e-9  # relative difference up to which a statistic explains a slope or an offset
ROUNDING = 1e-12
COMPARED = 256  # rows on which two encoders are compared, beside the extremes of every column


class Explanation(NamedTuple):
    """A statistic that may explain the slopes or the offsets of columns.

    Attributes
    ----------
    statistic : callable
    columns : ndarray of shape (p,)
        Whether it explains all probes.
    constant : ndarray of shape (p,)
        Of a scale: slope times statistic. Of a shift: offset plus slope times statistic.
    seen_zero : ndarray of shape (p,)
        Whether a scale was zero in a probe. Transformers then divide by something else: a column that other statistics
        explain as well is left to them.
    """

    statistic: Statistic
    columns: Flags
    constant: Array
    seen_zero: Flags

    def of(self, which: Indices) -> "Explanation":
        """The same for some of the columns."""
        return Explanation(self.statistic, self.columns[which], self.constant[which], self.seen_zero[which])


class Probe(NamedTuple):
    """A refit of the encoder: slope and offset of each column of today's (p,), nan where it says nothing."""

    rows: Indices
    slope: Array
    offset: Array


@dataclass(frozen=True, eq=False)
class ColumnScales:
    """What each column is divided by and shifted when the encoder is fitted to some of the rows.

    Attributes
    ----------
    pipeline : PipelineRefits
    probes : list of Probe
    """

    pipeline: PipelineRefits
    probes: list[Probe] = field(default_factory=list)

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

    @cached_property
    def _two_valued(self) -> Flags:
        low, high = self.columns.min(axis=0), self.columns.max(axis=0)
        return np.asarray(((self.columns == low) | (self.columns == high)).all(axis=0))

    def probe(self, rows: Indices) -> bool:
        """Refit the encoder on some rows and learn from it; False where it is no scaling of today's columns."""
        compared, coordinates = self._compared
        try:
            matches = coordinates.match(self.pipeline.refit_encoder(rows, compared))
        except ValueError:  # too few rows, or a value it has not seen
            return False
        inside = self.columns[rows]
        varies = inside.max(axis=0) > inside.min(axis=0)
        slope, offset = np.full(varies.size, np.nan), np.full(varies.size, np.nan)
        found = matches.place >= 0
        slope[matches.place[found]] = matches.slope[found]
        offset[matches.place[found]] = matches.offset[found]
        if not matches.complete or not (slope[varies] > 0.0).all():
            return False
        slope[~varies] = offset[~varies] = np.nan  # weight 0, whatever the slope
        self.probes.append(Probe(rows, slope, offset))
        return True

    def explain_slopes(self) -> list[Explanation]:
        """The statistics that columns may be divided by."""

        def constant(probe: Probe, size: Array) -> tuple[Array, Array]:
            value = np.where(size > 0.0, probe.slope * size, np.nan)
            return value, np.abs(value)

        return self._explain(SCALES, constant, usual=1.0)

    def explain_offsets(self) -> list[Explanation]:
        """The statistics that may be subtracted from columns."""

        def constant(probe: Probe, size: Array) -> tuple[Array, Array]:
            moved = probe.slope * size
            return probe.offset + moved, 1.0 + np.abs(moved)

        return self._explain(SHIFTS, constant, usual=0.0)

    def _explain(
        self, statistics: tuple[Statistic, ...], constant: Callable[[Probe, Array], tuple[Array, Array]], usual: float
    ) -> list[Explanation]:
        """Find the statistics with which a constant is the same in all probes.

        Any statistic explains a single probe with some constant; there it must be the usual one.
        """
        says = ~np.isnan([probe.slope for probe in self.probes])
        explanations: list[Explanation] = []
        for statistic in statistics:
            seen = [constant(probe, statistic(self.columns[probe.rows])) for probe in self.probes]
            values, magnitudes = (np.stack(part) for part in zip(*seen, strict=True))
            known = ~np.isnan(values)
            mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
            off = np.where(known, np.abs(values - mean), 0.0).max(axis=0)
            tolerance = AGREEING * np.where(known, magnitudes, 0.0).max(axis=0)
            enough = (known.sum(axis=0) > 1) | (known.any(axis=0) & (np.abs(mean - usual) <= tolerance))
            columns = enough & (off <= tolerance)
            if statistic in EXTREMES:
                columns &= ~(self._two_valued & explanations[0].columns)
            explanations.append(Explanation(statistic, columns, mean, np.asarray((says & ~known).any(axis=0))))
        return explanations

    @property
    def complete(self) -> bool:
        """Whether every column that varies has an explanation."""
        explained = np.any([found.columns for found in self.explain_slopes()], axis=0)
        varies = ~np.isnan([probe.slope for probe in self.probes]).all(axis=0)
        return bool((explained | ~varies).all())


def reciprocal_slopes(columns: Array, explanations: list[Explanation], subsets: Iterable[Indices]) -> Array:
    """What columns are divided by, for encoders fitted to each of some subsets of the rows.

    Parameters
    ----------
    columns : ndarray of shape (n, p)
        Today's encoded columns.
    explanations : list of Explanation
        Of the slopes.
    subsets : iterable over K ndarrays
        Rows of each.

    Returns
    -------
    ndarray of shape (K, p)
        0 for a column that is constant in the subset; nan where statistics that explain the column disagree, or none
        does.
    """
    which = _learned(explanations)
    own = [explanation.of(which) for explanation in explanations]
    ratios = []
    for rows in subsets:
        inside = columns[rows]
        ratio = np.ones(columns.shape[1])
        ratio[which] = _agreed([_ratio(found, inside[:, which]) for found in own], 0.0)
        ratio[inside.max(axis=0) == inside.min(axis=0)] = 0.0
        ratios.append(ratio)
    return np.array(ratios).reshape(-1, columns.shape[1])


def offsets_of(columns: Array, explanations: list[Explanation], rows: Indices, slopes: Array) -> Array:
    """Offsets (p,) of an encoder fitted to some rows, given its slopes (p,); nan where unknown."""
    which = _learned(explanations)
    offsets = explanations[0].constant.copy()
    inside, slope = columns[rows][:, which], slopes[which]
    own = [explanation.of(which) for explanation in explanations]
    said = [np.where(found.columns, found.constant - slope * found.statistic(inside), np.inf) for found in own]
    offsets[which] = _agreed(said, 1.0)
    offsets[np.abs(offsets) <= ROUNDING] = 0.0  # so that zeros of a sparse table stay zeros
    return offsets


def known_scalings(
    scales: ColumnScales, subsets: Subsets, some: Indices, divisors: Array
) -> dict[int, tuple[Array, Array]]:
    """Slopes and offsets (p,) of encoders fitted to some of the subsets, by the number of the subset.

    Parameters
    ----------
    scales : ColumnScales
    subsets : Subsets
    some : ndarray of shape (K,)
    divisors : ndarray of shape (K, p)
        As `reciprocal_slopes` returns them.

    Returns
    -------
    dict of int to tuple of ndarray
        Without those of which something is unknown.
    """
    explanations = scales.explain_offsets()
    learned = np.union1d(_learned(scales.explain_slopes()), _learned(explanations))
    scalings = {}
    for k, divisor in zip(some.tolist(), divisors, strict=True):
        # What a transformer that learns makes of a constant column is another matter.
        if (divisor[learned] == 0.0).any():
            continue
        slopes = 1.0 / np.where(divisor == 0.0, 1.0, divisor)
        offsets = offsets_of(scales.columns, explanations, subsets.rows(k), slopes)
        if not np.isnan(offsets).any():
            scalings[k] = slopes, offsets
    return scalings


def _learned(explanations: list[Explanation]) -> Indices:
    """Columns that other statistics than the first, which is none, may explain, or that nothing explains."""
    others = np.any([found.columns for found in explanations[1:]], axis=0)
    return np.flatnonzero(others | ~explanations[0].columns)


def _ratio(found: Explanation, inside: Array) -> Array:
    """Reciprocal slopes of columns (m, q) by one explanation; nan where it is open, infinite where it says nothing."""
    said = np.full(found.columns.size, np.inf)
    own = np.flatnonzero(found.columns)
    if own.size > 0:
        ratio = found.statistic(inside[:, own]) / found.constant[own]
        said[own] = np.where(ratio > 0.0, ratio, np.where(found.seen_zero[own], np.inf, np.nan))
    return said


def _agreed(said: list[Array], unit: float) -> Array:
    """What all explanations say alike (q,), nan where they differ or none says anything (infinite)."""
    values = np.stack(said)
    low = values.min(axis=0)  # nan if any is
    high = np.where(np.isinf(values), -np.inf, values).max(axis=0)
    with np.errstate(invalid="ignore"):
        agreed = np.isfinite(low) & (high - low <= AGREEING * (unit + np.abs(low)))
    return np.where(agreed, low, np.nan)
