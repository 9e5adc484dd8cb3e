"""Options that a strategy found: rows, and what the model in force says of them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array, Indices
from copa.data.schema.columns import ReadTable
from copa.models.base import Model
from copa.planner.search.arguments import FoundPlans
from copa.planner.search.problem import ActionSpace

if TYPE_CHECKING:
    import pandas as pd

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Options:
    """The rows of N plans, M in all, and what the model in force says of them.

    Attributes
    ----------
    model : Model
        The one in force, which says whether it accepts the rows; nobody can say so in its place.
    rows : ReadTable
        M rows, written out.
    owner : ndarray of shape (M,)
    points : ndarray of shape (M, D)
        Points of the ambiguity set.
    effort : ndarray of shape (M,)
    change_effort : ndarray of shape (M, C)
        Effort of each column's change by itself, in the columns of the table.
    space : ActionSpace
        Knows how plausible the rows are.
    reliability : ndarray of shape (M,), optional
        Of the scores of options of the applicant of each, see `Applicants`.
    """

    model: Model
    rows: ReadTable
    owner: Indices
    points: Array
    effort: Array
    change_effort: Array
    space: ActionSpace
    reliability: Array | None = None

    @property
    def table(self) -> "pd.DataFrame":
        """The rows."""
        return self.rows.frame

    @property
    def plausibility(self) -> Array:
        """Plausibility of each row, (M,); NaN where it is not known."""
        return self.space.plausibility_of(self.rows)

    @property
    def accepted(self) -> Flags:
        """Flags of the rows that the model accepts, (M,): its own answer about the rows as they are written."""
        said: Flags = self.rows.once((self.model, "accepts"), lambda: self.model.accepts(self.table))
        return said

    def take(self, flags: Flags) -> "Options":
        """Return some of the rows."""
        if flags.all():
            return self
        names = ("owner", "points", "effort", "change_effort")
        arrays = {name: getattr(self, name)[flags] for name in names}
        rows = self.rows.take(np.flatnonzero(flags), renumbered=True)
        reliability = None if self.reliability is None else self.reliability[flags]
        return replace(self, rows=rows, reliability=reliability, **arrays)


@dataclass(frozen=True, eq=False)
class Found:
    """Plans that a strategy found for N applicants.

    Attributes
    ----------
    plans : FoundPlans
    options : Options
        The rows of these plans.
    fidelity : ndarray of shape (N,), optional
        Share of fresh rows near an applicant's options of which the surrogate says what the model says.
    """

    plans: FoundPlans
    options: Options
    fidelity: Array | None = None


def in_table(space: ActionSpace, table: "pd.DataFrame", efforts: Array) -> Array:
    """Efforts of the columns of a space (M, F) in the columns of a table, (M, C): 0 where a column is not in it."""
    placed = np.zeros((len(table), table.shape[1]))
    placed[:, [table.columns.get_loc(feature.name) for feature in space.columns]] = efforts
    return placed
