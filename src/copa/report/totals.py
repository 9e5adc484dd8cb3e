"""What is counted while batches pass by: memory does not grow with the number of applicants."""

from collections import Counter

import numpy as np
import numpy.typing as npt

from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch
from copa.plans.cells import cells_of
from copa.plans.changes import changed_cells
from copa.plans.segments import reduce_segments
from copa.report.sample import RowSample
from copa.schema.names import hint, shown


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
