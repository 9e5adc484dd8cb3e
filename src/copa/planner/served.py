"""What a planner can certify: the guarantees that options reach for a sample of declined training rows."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.arrays import Array
from copa._core.words import counted
from copa.exceptions import OutOfReachWarning
from copa.planner.plan import plan_block
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import declined_rows
from copa.planner.strategies.base import Strategy
from copa.plans import PlanRequest

if TYPE_CHECKING:
    import pandas as pd

N_ROWS = 24
LEVELS = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)  # that are told beside the one asked for


@dataclass(frozen=True, eq=False)
class Served:
    """Guarantees that options reached for declined training rows.

    The search goes as far as the level asked for, so of higher levels nothing is known.

    Attributes
    ----------
    guarantee : float
        Level asked for.
    reached : ndarray of shape (n,)
        Guarantee of each row's plan; 0 without options.

    Examples
    --------
    >>> import numpy as np
    >>> from copa.planner import Served
    >>> print(Served(0.9, np.array([0.85, 0.72, 0.75, 0.0])))
    0 of 4 declined training rows tried reached the guarantee asked for, 0.9; 0.7 would serve 3
    """

    guarantee: float
    reached: Array

    def count(self, level: float) -> int:
        """Count the rows whose plans reach a level, at most the one asked for."""
        return int(np.count_nonzero(self.reached >= level))

    def to_frame(self) -> Any:
        """Return one line for each level: the number of rows, and their share."""
        import pandas as pd

        levels = [self.guarantee, *(level for level in LEVELS if level < self.guarantee)]
        counts = np.array([self.count(level) for level in levels])
        shares = counts / max(len(self.reached), 1)
        return pd.DataFrame({"guarantee": levels, "rows": counts, "share": shares})

    @property
    def alternative(self) -> float | None:
        """The highest lower level that serves half of the rows, else the one that serves most; None where none does."""
        lower = [level for level in LEVELS if level < self.guarantee and self.count(level) > 0]
        enough = [level for level in lower if 2 * self.count(level) >= len(self.reached)]
        return max(enough) if enough else max(lower, key=self.count, default=None)

    def __str__(self) -> str:
        rows = counted(len(self.reached), "declined training row")
        words = f"{self.count(self.guarantee)} of {rows} tried reached the guarantee asked for, {self.guarantee:g}"
        lower = self.alternative
        if self.count(self.guarantee) == len(self.reached):
            return words
        return words + (f"; {lower:g} would serve {self.count(lower)}" if lower else "; nor did any reach 0.5")


def try_rows(strategy: Strategy, X: "pd.DataFrame", request: PlanRequest, run: Execution) -> Served | None:
    """Plan for declined training rows, and say what was reached; None where no row is declined."""
    declined = X.iloc[declined_rows(strategy.schema, strategy.model, X, N_ROWS)].reset_index(drop=True)
    if len(declined) == 0:
        return None
    batch = plan_block(strategy, declined, request, run)
    if request.guarantee_for == "each":
        reached = np.zeros(len(batch))
        np.maximum.at(reached, batch.owner, batch.option_lower)
    else:
        reached = batch.lower if request.guarantee_for == "all" else batch.any_lower
    return Served(request.guarantee, reached)


def warn_if_out_of_reach(served: Served) -> None:
    """Warn where nothing that was tried reached the level asked for."""
    if served.count(served.guarantee) == 0:
        warnings.warn(f"plans will be fragile: {served}", OutOfReachWarning, stacklevel=3)
