"""Intervals of columns that enter a model in bins: whole bins, as many as will do."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from copa._core.arrays import Array, Indices
from copa.search.boxes import Boxes, Flags
from copa.search.regions import OwnBins

# Whether options (P,) hold with other numbers (P, L), and others in the binned columns (P, B).
Holds = Callable[[Indices, Array, Array], Flags]

MOST_ROWS = 64  # of an option that are evaluated for a bin: every combination of corners and bins


@dataclass(frozen=True, eq=False)
class BinnedOptions:
    """M options with B binned columns.

    Attributes
    ----------
    boxes : Boxes
        In the columns without bins.
    bins : list of OwnBins
    values : ndarray of shape (M, B)
    rises, changed : ndarray of bool of shape (M, B)
        Whether the options raise the columns, and whether they change them at all.
    holds : callable
    """

    boxes: Boxes
    bins: list[OwnBins]
    values: Array
    rises: Flags
    changed: Flags
    holds: Holds

    def intervals(self, *, outwards: bool) -> tuple[Array, Array]:
        """Ends (M, B) of intervals: the bin of an option, all over which the model is the same, and further ones.

        These are the next ones away from the applicant, as long as the option holds there, at every corner of its box
        and in every bin of the other columns. Where an end does not hold as a real row, it is the value of the option.

        Parameters
        ----------
        outwards : bool
            Whether to try further bins: for a model of which corners decide.
        """
        everyone, columns = np.arange(len(self.values)), range(len(self.bins))
        first = np.stack([found.own for found in self.bins], axis=1)
        last = first.copy()
        for column in columns if outwards else ():
            self._add_bins(column, first, last)
        lower = np.stack([self.bins[b].low[everyone, first[:, b]] for b in columns], axis=1)
        upper = np.stack([self.bins[b].high[everyone, last[:, b]] for b in columns], axis=1)
        lower, upper = (np.where(self.changed, end, self.values) for end in (lower, upper))
        good = self.holds(everyone, self.boxes.lower, lower) & self.holds(everyone, self.boxes.upper, upper)
        return np.where(good[:, None], lower, self.values), np.where(good[:, None], upper, self.values)

    def _add_bins(self, column: int, first: Indices, last: Indices) -> None:
        """Add bins of one column to the intervals from `first` to `last` (M, B), which are changed."""
        bins, rises, everyone = self.bins[column], self.rises[:, column], np.arange(len(self.values))
        n_bins = bins.low.shape[1]
        which, numbers, others = self._combinations(column, first, last)
        active = np.unique(which)
        for _ in range(n_bins):
            new = np.where(rises, last[:, column] + 1, first[:, column] - 1)
            inside = (new >= 0) & (new < n_bins)
            new = np.clip(new, 0, n_bins - 1)
            inside &= bins.low[everyone, new] <= bins.high[everyone, new]
            active = active[inside[active]]
            rows = np.flatnonzero(np.isin(which, active))
            if len(rows) == 0:
                return
            tried, options = others[rows].copy(), which[rows]
            tried[:, column] = bins.low[options, new[options]]
            active = np.setdiff1d(active, options[~self.holds(options, numbers[rows], tried)])
            higher, lower = active[rises[active]], active[~rises[active]]
            last[higher, column], first[lower, column] = new[higher], new[lower]

    def _combinations(self, column: int, first: Indices, last: Indices) -> tuple[Indices, Array, Array]:
        """Rows of the options that change a column: all corners of their boxes, in all bins of the other columns.

        Options of which these are too many have none.

        Returns
        -------
        which : ndarray of shape (P,)
        numbers : ndarray of shape (P, L)
        others : ndarray of shape (P, B)
        """
        which, numbers = self.boxes.corners(np.flatnonzero(self.changed[:, column]))
        others = self.values[which]
        for b, bins in enumerate(self.bins):
            parts = [(which, numbers, others)]
            for step in range(bins.low.shape[1] if b != column else 0):
                there = first[which, b] + step
                more = np.flatnonzero((there <= last[which, b]) & (there != bins.own[which]))
                also = others[more].copy()
                also[:, b] = bins.low[which[more], there[more]]
                parts.append((which[more], numbers[more], also))
            which, numbers, others = (np.concatenate(part) for part in zip(*parts, strict=True))
            few = np.bincount(which, minlength=len(self.values))[which] <= MOST_ROWS
            which, numbers, others = which[few], numbers[few], others[few]
        return which, numbers, others
