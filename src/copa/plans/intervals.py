"""Intervals of options: how far each changed number may be off the value shown while the option stays as sure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.records import Positions
from copa._core.representation import short_repr
from copa._core.words import listed
from copa.exceptions import InvalidInputError
from copa.plans.columns import OPTION, Columns, per_option, read_numbers


def _read_ends(value: Any, name: str, length: int, per: str) -> Any:
    """Read one row of ends for each; the record knows how many columns there are."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim != 2 or len(array) != length:
        raise InvalidInputError(f"{name} must hold one row of ends per {per}, {length}, got shape {array.shape}")
    return array


@dataclass(frozen=True, eq=False)
class Intervals(Columns):
    """For each of M options an interval of every changed numeric column: together they are a box around the option.

    Any combination of values in the box, on the steps of the columns and with the option's other cells, obeys the
    schema, is accepted by today's model and has a guarantee of at least `levels`. This is proven, for models that are
    linear in the columns: the rows that will do are a convex set, and all corners of the box are in it.

    Parameters
    ----------
    columns : tuple of str
        Names of L numeric columns.
    lower, upper : ndarray of shape (M, L)
        Ends of the intervals, inclusive; both are the value of the option where no other value is known to do. NaN
        where an option does not change the column, or nothing is known.
    levels : ndarray of shape (M,)
        Guarantee that holds everywhere in the box; an expected rate where that was asked for.

    Examples
    --------
    >>> from copa.plans.intervals import Intervals
    >>> found = Intervals(("income", "debt"), [[2400.0, None]], [[9000.0, None]], [0.9])
    >>> found.of(0)
    {'income': (2400.0, 9000.0)}
    """

    __repr__ = short_repr

    columns: tuple[str, ...]
    lower: Array = field(metadata=per_option(_read_ends))
    upper: Array = field(metadata=per_option(_read_ends))
    levels: Array = field(metadata=per_option(read_numbers))

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(str(name) for name in self.columns))
        self.read_columns(0, len(self.levels))
        shape = (len(self.levels), len(self.columns))
        if self.lower.shape != shape or self.upper.shape != shape:
            raise InvalidInputError(
                f"intervals of the columns {listed(self.columns)} must have shape {shape}, got {self.lower.shape} and "
                f"{self.upper.shape}"
            )
        known = ~np.isnan(self.lower)
        if (known != ~np.isnan(self.upper)).any() or not (self.lower[known] <= self.upper[known]).all():
            raise InvalidInputError("the lower end of an interval must not be above its upper one, or missing alone")

    def of(self, option: int) -> dict[str, tuple[float, float]]:
        """The intervals of one option by column, where they are known."""
        ends = zip(self.columns, self.lower[option].tolist(), self.upper[option].tolist(), strict=True)
        return {name: (low, high) for name, low, high in ends if not np.isnan(low)}

    def select(self, options: Positions | Indices) -> "Intervals":
        """Those of some options."""
        return replace(self, **self.taken(np.zeros(0, dtype=np.intp), options))

    @classmethod
    def concat(cls, parts: Sequence["Intervals | None"], sizes: Sequence[int]) -> "Intervals | None":
        """Put the intervals of batches one after another; None where none has any.

        Parameters
        ----------
        parts : sequence of Intervals or None
        sizes : sequence of int
            Options of each batch; nothing is known of those of a batch without intervals.
        """
        known = [part for part in parts if part is not None]
        if not known:
            return None
        first = known[0]
        if any(part.columns != first.columns for part in known):
            raise InvalidInputError("only intervals of the same columns go into one batch")
        filled = [first.unknown(size) if part is None else part for part, size in zip(parts, sizes, strict=True)]
        return replace(first, **cls.joined(filled))

    def unknown(self, n_options: int) -> "Intervals":
        """Intervals of so many options of which nothing is known."""
        ends, none = np.full((n_options, len(self.columns)), np.nan), np.zeros(n_options)
        return replace(self, lower=ends, upper=ends.copy(), levels=none)

    def pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what JSON holds of them, and the arrays by name."""
        return {"columns": list(self.columns)}, {name: getattr(self, name) for name in self.names(OPTION)}

    @classmethod
    def unpack(cls, words: Mapping[str, Any] | None, arrays: Mapping[str, Any], n_options: int) -> "Intervals | None":
        """Read what `pack` returned, for M options; None where nothing was packed."""
        if words is None:
            return None
        found = cls(tuple(words["columns"]), **{name: arrays[name] for name in cls.names(OPTION)})
        found.require_options(n_options)
        return found

    def require_options(self, n_options: int) -> None:
        """Raise unless there is one row for each of so many options."""
        if len(self.levels) != n_options:
            raise InvalidInputError(f"intervals must have one row per option, {n_options}, got {len(self.levels)}")
