"""Who gains and who loses when one model takes the place of another."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.representation import short_repr
from copa._core.words import counted
from copa.promises.breakdown import GroupNames, Tally
from copa.promises.deciding_model import DecidingModel

if TYPE_CHECKING:
    import pandas as pd

    from copa.models.base import Flags


@dataclass(frozen=True)
class SwapSet:
    """Rows by what two models say of them.

    Attributes
    ----------
    n_rows : int
    n_accepted : int
        Rows that the candidate accepts.
    both, gained, lost, neither : int or None
        Rows that both accept, the candidate only, the model in force only, and neither; None without a model in force.
    groups : dict of str to list of dict
        By column, the rows of each group, how many of them gain and how many lose.

    Examples
    --------
    >>> from copa.promises.swap_set import SwapSet
    >>> SwapSet(100, 60, both=55, gained=5, lost=8, neither=32).in_words()
    'of 100 rows 5 gain and 8 lose; 60 are accepted, 63 were'
    """

    __repr__ = short_repr

    n_rows: int
    n_accepted: int
    both: int | None = None
    gained: int | None = None
    lost: int | None = None
    neither: int | None = None
    groups: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def in_words(self) -> str:
        """One line."""
        rows = counted(self.n_rows, "row")
        if self.both is None or self.lost is None:
            return f"of {rows} {self.n_accepted:,} are accepted"
        return (
            f"of {rows} {self.gained:,} gain and {self.lost:,} lose; {self.n_accepted:,} are accepted, "
            f"{self.both + self.lost:,} were"
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(vars(self))


class SwapCounts:
    """A swap set that is counted block by block.

    Parameters
    ----------
    groups : sequence of str
        Columns by which it is counted as well.
    """

    def __init__(self, groups: Sequence[str] = ()) -> None:
        self._counts = np.zeros((2, 2), dtype=np.int64)
        self._knows_before = False
        self._names = {name: GroupNames(name) for name in groups}
        self._tallies = {name: Tally() for name in groups}

    def add(self, rows: "pd.DataFrame", now: "Flags", before: "Flags | None") -> None:
        """Count a block: whether the candidate accepts each row, and whether the model in force does."""
        self._knows_before = before is not None
        was = np.zeros_like(now) if before is None else before
        self._counts += np.bincount(2 * now + was, minlength=4).reshape(2, 2)
        for name, tally in self._tallies.items():
            labels = self._names[name].labels(rows)
            if self._names[name].is_ordered:
                tally.keep_order(labels[1])
            tally.add(labels, now & ~was, was & ~now)

    def result(self) -> SwapSet:
        """What was counted."""
        (neither, lost), (gained, both) = self._counts.tolist()
        n, accepted = int(self._counts.sum()), int(gained + both)
        if not self._knows_before:
            return SwapSet(n, accepted)
        groups = {
            name: [
                {"name": label, "n_rows": int(size), "gained": int(more), "lost": int(less)}
                for label, (size, more, less) in tally.sums()
            ]
            for name, tally in self._tallies.items()
        }
        return SwapSet(n, accepted, both, gained, lost, neither, groups)


def swap_set(
    rows: "pd.DataFrame", candidate: DecidingModel, in_force: DecidingModel | None, groups: Sequence[str] = ()
) -> SwapSet:
    """Ask two models about the same rows.

    Parameters
    ----------
    rows : DataFrame
    candidate : DecidingModel
    in_force : DecidingModel or None
    groups : sequence of str
        Columns by which gains and losses are counted as well.
    """
    counts = SwapCounts(groups)
    counts.add(rows, candidate.accepts(rows), None if in_force is None else in_force.accepts(rows))
    return counts.result()
