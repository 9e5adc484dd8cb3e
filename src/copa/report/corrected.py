"""What corrections did, counted while they pass by."""

from typing import TYPE_CHECKING

import numpy as np

from copa.arrays import Array
from copa.plans.cells import as_text
from copa.plans.segments import reduce_segments

if TYPE_CHECKING:
    from copa.planner import CorrectedPlans


class Corrections:
    """Plans before and after their correction: totals, and the first of them one by one.

    Attributes
    ----------
    n_plans : plans with options
    n_raised, n_lowered : plans whose L* rose, fell
    n_reached_before, n_reached_after : plans with the status "ok"
    n_left_out : options that were refused, and are not in the corrected plans
    names : labels of the first `most` plans
    before, after, moved : of the same plans, L* before and after, and the farthest that one of its options was moved
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_plans = self.n_raised = self.n_lowered = 0
        self.n_reached_before = self.n_reached_after = self.n_left_out = 0
        self.names: list[str] = []
        self.before = self.after = self.moved = np.zeros(0)
        self._sums = np.zeros(3)

    @property
    def means(self) -> Array:
        """Averages over all plans: L* before, L* after, mean distance that the options of a plan were moved, (3,)."""
        return self._sums / max(self.n_plans, 1)

    def add(self, corrected: "CorrectedPlans") -> None:
        """Count some more corrected plans."""
        before, after = corrected.before, corrected.after
        rows = np.flatnonzero(before.counts > 0)
        farthest = reduce_segments(np.maximum, corrected.moved, before.counts)[rows]
        average = reduce_segments(np.add, corrected.moved, before.counts)[rows] / np.maximum(after.counts[rows], 1)
        old, new = before.lower[rows], after.lower[rows]
        self.n_plans += len(rows)
        self.n_raised += int((new > old).sum())
        self.n_lowered += int((new < old).sum())
        self.n_reached_before += int((before.status[rows] == "ok").sum())
        self.n_reached_after += int((after.status[rows] == "ok").sum())
        self.n_left_out += int(corrected.left_out.sum())
        self._sums += [old.sum(), new.sum(), average.sum()]
        room = self.most - len(self.names)
        self.names += [as_text(label) for label in before.applicants.index[rows[:room]]]
        self.before, self.after, self.moved = (
            np.concatenate([kept, values[:room]])
            for kept, values in ((self.before, old), (self.after, new), (self.moved, farthest))
        )
