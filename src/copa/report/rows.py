"""Which applicants a report shows one by one: all of them up to a limit, and a choice beyond it."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from copa._core.records import Positions
from copa._core.words import ALREADY_VALID, ERROR, FRAGILE, INFEASIBLE, OK, STATUSES, TIME_LIMIT, listed, nearest, shown
from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch

Flags = npt.NDArray[np.bool_]

MOST_SHOWN = 20_000  # applicants in one file
ORDER = (OK, FRAGILE, INFEASIBLE, TIME_LIMIT, ERROR, ALREADY_VALID)  # of the list: those with plans first
ALL, NONE = "all", "none"
_RANGE = re.compile(r"(?P<first>[0-9]+)(?P<dash>-(?P<last>[0-9]*))?")


@dataclass(frozen=True)
class ReportRows:
    """A choice of applicants by status and by place in the input.

    Written as text: "all", "none", or statuses and ranges of rows (counted from 1) with commas between them. With
    statuses, only applicants with one of them are in; with ranges, only applicants in one of them.

    Parameters
    ----------
    statuses : tuple of str
        Empty for all of them.
    ranges : tuple of tuple of int
        First and last row of each, from 1; empty for all rows.
    nobody : bool
        Whether no applicant is shown.

    Examples
    --------
    >>> from copa.report.rows import ReportRows
    >>> ReportRows.read("ok, fragile, 1-3000")
    ReportRows(statuses=('ok', 'fragile'), ranges=((1, 3000),), nobody=False)
    """

    statuses: tuple[str, ...] = ()
    ranges: tuple[tuple[int, float], ...] = ()
    nobody: bool = False

    @classmethod
    def read(cls, text: Any) -> "ReportRows":
        """Read a choice as it is written, or say what is allowed."""
        if not isinstance(text, str):
            raise InvalidInputError(f"rows must be text, got {shown(text)}; {_allowed()}")
        parts = [part.strip() for part in text.split(",")]
        if parts in ([ALL], [NONE]):
            return cls(nobody=parts == [NONE])
        statuses = tuple(part for part in parts if part in STATUSES)
        ranges = tuple(_read_range(part, text) for part in parts if part not in STATUSES)
        return cls(statuses, ranges)

    def flags(self, status: npt.NDArray[np.str_], first: int) -> Flags:
        """Whether each of some applicants is in.

        Parameters
        ----------
        status : ndarray of shape (N,)
        first : int
            Row of the first of them, from 1.
        """
        rows = first + np.arange(len(status))
        within = np.logical_or.reduce([(rows >= a) & (rows <= b) for a, b in self.ranges or ((1, np.inf),)])
        wanted = np.isin(status, self.statuses or STATUSES)
        return np.asarray(within & wanted & (not self.nobody))


def _read_range(part: str, text: str) -> tuple[int, float]:
    found = _RANGE.fullmatch(part)
    if found is None:
        near = nearest(part, [*STATUSES, ALL, NONE])
        what = f"did you mean {near!r}? " if near else ""
        raise InvalidInputError(f"rows {shown(text)}: {shown(part)} cannot be read; {what}{_allowed()}")
    first = int(found["first"])
    last = first if found["dash"] is None else np.inf if not found["last"] else int(found["last"])
    if not 1 <= first <= last:
        raise InvalidInputError(f"rows {shown(text)}: {shown(part)} holds no row; rows are counted from 1")
    return first, last


def _allowed() -> str:
    return (
        f"write 'all', 'none', or statuses ({listed(ORDER)}) and rows ('1000-3000', '5000-', '17') with commas between "
        "them, such as 'ok,fragile,1-5000'"
    )


class KeptPlans:
    """The plans that a report shows one by one, picked from batches as they pass by.

    Where more are wanted than there is room for, those stay that come first in the list: by status, then as given.

    Parameters
    ----------
    rows : ReportRows
    most : int
        Room for so many applicants.

    Attributes
    ----------
    n_wanted : int
        Number of applicants so far whom `rows` names.
    """

    def __init__(self, rows: ReportRows, most: int) -> None:
        self.rows = rows
        self.most = most
        self.n_wanted = 0
        self._n_seen = 0
        self._parts: list[PlanBatch] = []

    def add(self, batch: PlanBatch) -> None:
        """Take the applicants in whom `rows` names; their certificates are not kept."""
        wanted = np.flatnonzero(self.rows.flags(batch.status, self._n_seen + 1))
        self._n_seen += len(batch)
        self.n_wanted += len(wanted)
        wanted = np.sort(wanted[list_order(batch.status[wanted])][: self.most])
        if len(wanted) or not self._parts:
            self._parts.append(_without_proofs(batch.select(wanted)))
        if sum(map(len, self._parts)) > 2 * self.most:
            self._parts = [self.in_order()]

    def first(self) -> PlanBatch | None:
        """Some plans that were added, None before; all are made alike."""
        return self._parts[0] if self._parts else None

    def in_order(self) -> PlanBatch:
        """The plans in the order of the list."""
        together = PlanBatch.concat(self._parts)
        return _without_proofs(together.select(list_order(together.status)[: self.most]))


def _without_proofs(batch: PlanBatch) -> PlanBatch:
    """The same plans without their certificates, which hold matrices."""
    return replace(batch, certificates=[None] * len(batch))


def list_order(status: npt.NDArray[np.str_]) -> Positions:
    """Positions of applicants in the order of the list."""
    ranks = np.array([ORDER.index(name) for name in status.tolist()], dtype=np.intp)
    order: Positions = np.argsort(ranks, kind="stable")
    return order
