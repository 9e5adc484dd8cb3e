"""Promises counted by model version, guarantee, age and group, a block at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.representation import short_repr
from copa._core.words import hint, shown
from copa.exceptions import InvalidInputError
from copa.promises.days import days_of
from copa.tables.cells import alone

if TYPE_CHECKING:
    import pandas as pd

    from copa.promises.promised_rows import PromisedRows

NOT_KNOWN = "not known"
VERSION, GUARANTEE, AGE = "model version", "guarantee", "age of the promise"
GUARANTEES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # ends of the bands that guarantees are counted by
MONTHS = (0, 1, 3, 6, 12, 24)  # ages from which on each band begins
QUARTILES = (0.25, 0.5, 0.75)
MOST_VALUES = 20  # of a group's column of numbers that are told one by one
MOST_PARTS = 200  # of a group; the others are counted together
OTHERS = "all others"

Labels = tuple[npt.NDArray[np.intp], list[str]]  # which of a list of names each promise has


@dataclass(frozen=True)
class Part:
    """Promises that have something in common.

    Attributes
    ----------
    name : str
        What they have in common, such as "0.90 to 0.95".
    n_promises, n_broken : int
        How many there are, and how many of them the candidate would break.
    guaranteed : float or None
        Mean of their guarantees; None where they have none.

    Examples
    --------
    >>> from copa.promises.breakdown import Part
    >>> Part("2026-Q1", 200, 10, 0.93).broken_share
    0.05
    """

    __repr__ = short_repr

    name: str
    n_promises: int
    n_broken: int
    guaranteed: float | None = None

    @property
    def broken_share(self) -> float:
        """Share that the candidate would break."""
        return self.n_broken / self.n_promises

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "broken_share": self.broken_share}


class Tally:
    """Counts by name, added up over blocks.

    Parameters
    ----------
    order : sequence of str
        Names in the order to show them, as far as it is known; others follow by their spelling.
    """

    def __init__(self, order: Sequence[str] = ()) -> None:
        self._order: dict[str, int] = {}
        self.keep_order(order)
        self._sums: dict[str, Array] = {}

    def keep_order(self, names: Sequence[str]) -> None:
        """Show these names in their order, before others."""
        self._order = {name: place for place, name in enumerate(names)}

    def add(self, labels: Labels, *weights: Any) -> None:
        """Count a block: 1 for each promise, and its weights.

        Parameters
        ----------
        labels : tuple of ndarray of shape (n,) and list of str
        *weights : array_like of shape (n,)
        """
        codes, names = labels
        columns = [
            np.bincount(codes, weights=weight, minlength=len(names)) for weight in (np.ones(len(codes)), *weights)
        ]
        for name, sums in zip(names, np.stack(columns, axis=1), strict=True):
            known = name if name in self._sums or len(self._sums) < MOST_PARTS else OTHERS
            self._sums[known] = self._sums.get(known, 0.0) + sums

    def sums(self) -> list[tuple[str, list[float]]]:
        """Names that occurred, each with its count and the sums of its weights."""
        last = len(self._order)
        there = sorted(self._sums, key=lambda name: (self._order.get(name, last), name == OTHERS, name))
        return [(name, self._sums[name].tolist()) for name in there if self._sums[name][0] > 0.0]


class Breakdown:
    """Counts of promises by everything that a report tells apart.

    Parameters
    ----------
    groups : sequence of str
        Columns of the promised rows.
    as_of : date
        At which ages are counted.
    """

    def __init__(self, groups: Sequence[str], as_of: date) -> None:
        self._as_of = as_of
        bands: dict[str, Sequence[str]] = {VERSION: (), GUARANTEE: _names(GUARANTEES), AGE: AGES}
        self._groups = {f"column {name}" if name in bands else name: GroupNames(name) for name in groups}
        self._tallies = {name: Tally(order) for name, order in (bands | dict.fromkeys(self._groups, ())).items()}

    def add(self, promised: "PromisedRows", broken: npt.NDArray[np.bool_]) -> None:
        """Count a block."""
        facts = promised.facts
        guarantees = facts["option_guarantee"].to_numpy(dtype=np.float64, na_value=np.nan)
        known = np.isfinite(guarantees)
        weights = (broken, np.where(known, guarantees, 0.0), known)
        labels = {
            VERSION: text_labels(facts["model_version"]),
            GUARANTEE: _bands(guarantees, GUARANTEES),
            AGE: _ages(facts["made"], self._as_of),
        }
        labels |= {name: group.labels(promised.rows) for name, group in self._groups.items()}
        for name, own in labels.items():
            if name in self._groups and self._groups[name].is_ordered:
                self._tallies[name].keep_order(own[1])
            self._tallies[name].add(own, *weights)

    def parts(self) -> dict[str, tuple[Part, ...]]:
        """The promises in parts, by what they are divided by; without what is known of none."""
        found = {}
        for name, tally in self._tallies.items():
            parts = tuple(
                Part(label, int(n), int(broken), total / known if known else None)
                for label, (n, broken, total, known) in tally.sums()
            )
            if name in self._groups or [part.name for part in parts] != [NOT_KNOWN]:
                found[name] = parts
        return found


class GroupNames:
    """Names of the groups of a column: its values, or the quarters of a column with many numbers.

    Parameters
    ----------
    column : str
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self._cuts: list[float] | None = None  # settled by the first block

    @property
    def is_ordered(self) -> bool:
        """Whether the names have an order of their own."""
        return bool(self._cuts)

    def labels(self, rows: "pd.DataFrame") -> Labels:
        """Which group each row is in."""
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        if self.column not in rows.columns:
            known = [str(name) for name in rows.columns]
            raise InvalidInputError(f"group {shown(self.column)} is no column of the rows; {hint(self.column, known)}")
        cells = rows[self.column]
        if self._cuts is None:
            many = is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype) and cells.nunique() > MOST_VALUES
            self._cuts = np.unique(cells.quantile(QUARTILES)).tolist() if many else []
        if not self._cuts:
            return text_labels(cells)
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
        ends = [f"{cut:g}" for cut in self._cuts]
        names = [f"up to {ends[0]}", *(f"above {a} to {b}" for a, b in pairwise(ends))]
        names += [f"above {ends[-1]}", NOT_KNOWN]
        codes = np.searchsorted(self._cuts, numbers, side="left")
        return np.where(np.isnan(numbers), len(names) - 1, codes).astype(np.intp), names


def text_labels(cells: "pd.Series[Any]") -> Labels:
    """Cells by their text; missing ones are not known."""
    import pandas as pd

    codes, distinct = pd.factorize(cells)
    names = [*(alone(value) for value in distinct.tolist()), NOT_KNOWN]
    return np.where(codes < 0, len(names) - 1, codes).astype(np.intp), names


def _names(edges: Sequence[float]) -> list[str]:
    return [f"{low:.2f} to {high:.2f}" for low, high in pairwise(edges)]


def _bands(values: Array, edges: Sequence[float]) -> Labels:
    names = [*_names(edges), NOT_KNOWN]
    codes = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(names) - 2)
    return np.where(np.isfinite(values), codes, len(names) - 1).astype(np.intp), names


AGES = ["under 1 month", "1 to 2 months", "3 to 5 months", "6 to 11 months", "12 to 23 months", "24 months and more"]


def _ages(made: "pd.Series[Any]", as_of: date) -> Labels:
    """Whole months since promises were made, in bands."""
    ages = np.array([np.nan if day is None else _months(day, as_of) for day in days_of(made)])
    codes = np.clip(np.searchsorted(MONTHS, ages, side="right") - 1, 0, len(MONTHS) - 1)
    return np.where(np.isfinite(ages), codes, len(AGES)).astype(np.intp), [*AGES, NOT_KNOWN]


def _months(day: date, as_of: date) -> float:
    """Whole months from a day to another."""
    return 12.0 * (as_of.year - day.year) + (as_of.month - day.month) - (day.day > as_of.day)
