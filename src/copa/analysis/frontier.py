"""What a higher guarantee costs: the same applicants planned for again at other levels."""

import copy
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from copa._core.arrays import Array
from copa._core.records import reduce_segments

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99)
SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Frontier:
    """Least effort found at each level, for N applicants and L levels.

    Attributes
    ----------
    levels : (L,) guarantees asked for, ascending
    effort : (N, L) of the cheapest option that belongs to a menu at this level or a higher one; NaN where no menu was
        found
    complete : whether the time was enough for all levels
    """

    levels: Array
    effort: Array
    complete: bool


def frontier(
    planner: "RecoursePlanner", applicants: "pd.DataFrame", seconds: float = SECONDS, levels: tuple[float, ...] = LEVELS
) -> Frontier:
    """Plan again at each level.

    Parameters
    ----------
    planner : fitted; its own level is looked at too, and it stays as it is
    applicants : DataFrame of N rows
    seconds : time for all levels together; levels whose turn has not come by then stay NaN
    """
    started = perf_counter()
    own = float(planner.guarantee)
    wanted = np.unique([*levels, own])
    effort = np.full((len(applicants), len(wanted)), np.nan)
    complete = True
    # The level asked for first: where time runs out, it is the one that must be there.
    for k in sorted(range(len(wanted)), key=lambda k: abs(wanted[k] - own)):
        left = seconds - (perf_counter() - started)
        if left <= 0.0:
            complete = False
            break
        asking = copy.copy(planner).set_params(guarantee=float(wanted[k]), time_limit=left, progress=False)
        batch = asking.plan(applicants)
        complete = complete and not (batch.status == "time_limit").any()
        cheapest = reduce_segments(np.minimum, batch.effort, batch.counts)
        effort[:, k] = np.where(batch.status == "ok", cheapest, np.nan)
    # A row that holds at a level holds at every lower one.
    best = np.fmin.accumulate(effort[:, ::-1], axis=1)[:, ::-1]
    return Frontier(levels=wanted, effort=best, complete=complete)
