"""What is counted while batches pass by: memory does not grow with the number of applicants."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.records import reduce_segments
from copa._core.words import hint, shown
from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch
from copa.plans.changes import changed_cells
from copa.tables.cells import as_text, cells_of

if TYPE_CHECKING:
    from copa.planner import CorrectedPlans


SIZE = 20_000  # applicants; beyond that, quartiles of a sample cannot be told from those of everybody


class RowSample:
    """Keeps up to `size` rows of what passes by.

    Each row draws a random number when it arrives, and those with the smallest stay: every row has the same chance, and
    how the rows were cut into blocks makes no difference.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self.seen = 0
        self._rng = np.random.default_rng(0)
        self._draws = np.zeros(0)
        self._columns: dict[str, Any] = {}

    def add(self, rows: Mapping[str, Any]) -> None:
        """Take some rows in, given by columns, arrays of one length n, (n,)."""
        n = len(next(iter(rows.values())))
        self.seen += n
        draws = np.concatenate([self._draws, self._rng.random(n)])
        kept = np.sort(np.argsort(draws, kind="stable")[: self.size])
        self._draws = draws[kept]
        self._columns = {
            name: np.concatenate([self._columns[name], column])[kept] if self._columns else np.asarray(column)[kept]
            for name, column in rows.items()
        }

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __len__(self) -> int:
        return len(self._draws)

    @property
    def is_complete(self) -> bool:
        """Whether every row that passed by is still here."""
        return self.seen == len(self)


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


class Totals:
    """Counts over all applicants, and a sample of their numbers.

    Attributes
    ----------
    n_applicants, n_options : int
    statuses : from a status to the number of its applicants
    options_changing, applicants_changing : from a column to the number of options that change it, and of applicants
        with such an option
    sample : columns "each", "any", "all", "effort" (NaN without options), "ok", and "group" where groups are compared
    """

    def __init__(self, group: str | None = None) -> None:
        self.group = group
        self.n_applicants = 0
        self.n_options = 0
        self.statuses: Counter[str] = Counter()
        self.options_changing: Counter[str] = Counter()
        self.applicants_changing: Counter[str] = Counter()
        self.sample = RowSample()

    @property
    def with_options(self) -> int:
        """Number of applicants in the sample who have options."""
        return int(np.isfinite(self.sample["each"]).sum()) if len(self.sample) else 0

    def add(self, batch: PlanBatch) -> None:
        """Count a batch."""
        self.n_applicants += len(batch)
        self.n_options += len(batch.options)
        self.statuses.update(batch.status.tolist())
        self._count_changes(batch)
        some = batch.counts > 0
        rows = {
            "each": reduce_segments(np.minimum, batch.option_lower, batch.counts),
            "any": np.where(some, batch.any_lower, np.nan),
            "all": np.where(some, batch.lower, np.nan),
            "effort": reduce_segments(np.minimum, batch.effort, batch.counts),
            "ok": batch.status == "ok",
        }
        if self.group is not None:
            rows["group"] = self._group_values(batch)
        self.sample.add(rows)

    def _count_changes(self, batch: PlanBatch) -> None:
        flags = changed_cells(batch.applicants.iloc[batch.owner], batch.options)
        for k, column in enumerate(batch.options.columns):
            if flags[:, k].any():
                self.options_changing[column] += int(flags[:, k].sum())
                self.applicants_changing[column] += len(np.unique(batch.owner[flags[:, k]]))

    def _group_values(self, batch: PlanBatch) -> npt.NDArray[np.object_]:
        columns = list(batch.applicants.columns)
        if self.group not in columns:
            raise InvalidInputError(
                f"group must be a column of the applicants, got {shown(self.group)}; {hint(self.group, columns)}"
            )
        values = np.empty(len(batch), dtype=object)
        values[:] = cells_of(batch.applicants[self.group])
        return values
