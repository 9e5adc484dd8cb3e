"""Proofs about plans: how far the cheapest option is from the cheapest row, or that there is no row."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from copa._core.arrays import Array
from copa._core.progress import stage
from copa._core.words import ALREADY_VALID, ERROR, FRAGILE, INFEASIBLE, OK
from copa.data.schema.columns import ReadTable
from copa.planner.search.cheapest import CLOSE
from copa.planner.search.regions import as_written
from copa.planner.search.rows import write_rows
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.plans import PlanBatch

EQUAL = 10.0 * CLOSE  # relative difference of two costs that are called the same

OPTIMAL = "optimal"
BOUNDED = "bounded"
NONE_EXISTS = "none exists"
MISSED = "missed"
IMPLAUSIBLE = "implausible"
OPEN = "open"
IN_WORDS = {
    OPTIMAL: "the cheapest option is the cheapest row there is",
    BOUNDED: "a cheaper row is not ruled out; none is below the bound",
    NONE_EXISTS: "no row does what was asked for",
    MISSED: "a row exists that the plan lacks",
    IMPLAUSIBLE: "the cheapest row is less plausible than asked for; others may exist",
    OPEN: "the time limit ended first",
}


@dataclass(frozen=True, eq=False)
class Proofs:
    """Proofs about the plans of N applicants.

    They are about single rows, whatever else a plan has: a row must obey the schema, be accepted today and, where each
    option or all of them were asked for a level, reach it. Plausibility is no part of a proof. Of tree ensembles the
    refits that certify decide what reaches a level, and the search does not go by them: it may well pay more, or find
    nothing, where a certified row exists.

    Attributes
    ----------
    verdict : ndarray of str of shape (N,)
        "optimal", "bounded", "none exists", "missed", "implausible" or "open"; "" where no plan was sought, or
        where one is fragile of which nothing was asked option by option.
    cost : ndarray of shape (N,)
        Of the cheapest option that does what was asked for: its effort, and half a unit for each changed column (what
        the search ranks rows by); infinite without one.
    bound : ndarray of shape (N,)
        No row costs less; infinite where there is none.
    rows : DataFrame
        Rows that cost no more than the bound, where they were met; the index is the position of the applicant.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from copa.planner import Proofs
    >>> Proofs(np.array(["optimal", "bounded"]), np.array([2.0, 3.0]), np.array([2.0, 2.5]), pd.DataFrame())
    1 optimal: the cheapest option is the cheapest row there is
    1 bounded: a cheaper row is not ruled out; none is below the bound
    bounded ones cost up to 20.0 % more than their bound
    """

    verdict: npt.NDArray[np.str_]
    cost: Array
    bound: Array
    rows: pd.DataFrame

    def to_frame(self) -> Any:
        """Return one line for each applicant."""
        return pd.DataFrame({"verdict": self.verdict, "cost": self.cost, "bound": self.bound, "gap": self.gap})

    @property
    def gap(self) -> Array:
        """Share by which the costs are above their bounds, (N,); infinite above a bound of zero, NaN without a cost."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(np.isfinite(self.cost), self.cost / self.bound - 1.0, np.nan))

    def __repr__(self) -> str:
        counts = Counter(self.verdict[self.verdict != ""].tolist())
        lines = [f"{counts[verdict]} {verdict}: {IN_WORDS[verdict]}" for verdict in IN_WORDS if counts[verdict]]
        gaps = self.gap[(self.verdict == BOUNDED) & (self.bound > 0.0)]
        if len(gaps):
            lines.append(f"bounded ones cost up to {100.0 * gaps.max():.1f} % more than their bound")
        return "\n".join(lines) or "nothing to prove: no plan was sought"


def prove_plans(strategy: Strategy, batch: PlanBatch, seconds: float) -> Proofs:
    """Prove what can be proven of the plans of a batch, for so many seconds each."""
    n, request = len(batch), batch.request
    asks_each = request.guarantee_for != "any" and request.objective == "level"
    # Where the options are asked for something together, that a plan falls short is no matter of single rows.
    left_out = (ALREADY_VALID, ERROR) if asks_each else (ALREADY_VALID, ERROR, FRAGILE)
    sought = np.flatnonzero(~np.isin(batch.status, left_out))
    strategy = strategy.expecting() if request.expected else strategy
    verdict, cost, bound = np.full(n, "", dtype="<U11"), np.full(n, np.inf), np.full(n, np.nan)
    table = ReadTable(batch.applicants.iloc[sought].reset_index(drop=True))
    applicants = strategy.read_applicants(table, strategy.encode(table))
    cheapest, positions = [], []
    with stage("proving", len(sought), "applicants") as advance:
        for k, i in enumerate(sought.tolist()):
            here, rows = applicants.take([k]), ReadTable(batch[i].options)
            # Where not even today's model accepts a row, it is this that is to be proven.
            level = request.guarantee if asks_each and (len(rows) or batch.status[i] != INFEASIBLE) else -1.0
            costs, points = _options(strategy, here, rows)
            if batch.status[i] == OK:
                cost[i] = costs.min()
            proven = strategy.cheapest_row(here, level, cost[i], points, seconds)
            row = None if proven.row is None else _written(strategy, here, proven.row, level)
            if row is not None:
                cheapest.append(row.frame)
                positions.append(i)
            implausible = row is not None and strategy.space.plausibility_of(row)[0] < request.plausibility
            verdict[i] = _judge(cost[i], proven.cost, exists=row is not None, implausible=bool(implausible))
            bound[i] = min(proven.cost, cost[i])
            advance(1)
    found = pd.concat(cheapest) if cheapest else batch.options.iloc[:0]
    return Proofs(verdict, cost, bound, found.set_axis(np.array(positions, dtype=np.int64)))


def _options(strategy: Strategy, applicant: Applicants, rows: ReadTable) -> tuple[Array, Array]:
    """Return what the search ranks options of one applicant by, (M,), and their points, (M, D)."""
    owner, space = np.zeros(len(rows), dtype=np.int64), strategy.space
    regions, values = as_written(space, applicant.regions.take(owner), rows)
    return space.search_cost(regions, values), strategy.points(rows.frame, owner, max(len(rows), 1), 1)


def _written(strategy: Strategy, applicant: Applicants, row: Array, level: float) -> ReadTable | None:
    """Write a row of the search out; None where it falls short as written, by less than the solver's tolerance."""
    first = np.zeros(1, dtype=np.int64)
    written = write_rows(strategy.space, applicant.table, applicant.regions, first, row[None])
    lower = strategy.ambiguity(1).option_guarantees(strategy.points(written.frame, first, 1, 1))[0]
    return written if strategy.model.accepts(written.frame)[0] and lower >= level - EQUAL else None


def _judge(cost: float, bound: float, *, exists: bool, implausible: bool) -> str:
    """Return the verdict on an applicant whose cheapest option, if there is one, has a cost."""
    if np.isfinite(cost):
        return OPTIMAL if cost <= bound * (1.0 + EQUAL) else BOUNDED
    if np.isinf(bound):
        return NONE_EXISTS
    if not exists:
        return OPEN
    return IMPLAUSIBLE if implausible else MISSED
