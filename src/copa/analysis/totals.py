"""Totals over batches that pass by, in memory that does not grow with them; totals of an audit."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.arrays import Array
from copa._core.records import reduce_segments
from copa._core.words import ALREADY_VALID, ERROR, FRAGILE, INFEASIBLE, OK, counted, require_known
from copa.data.tables.cells import as_text, cells_of
from copa.models.base import Model
from copa.plans import PlanBatch
from copa.plans.card import SUMMARY_COLUMNS
from copa.plans.changes import changed_cells
from copa.plans.frames import summary_table
from copa.plans.wording import NOT_ASKED, WHOM

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import CorrectedPlans
    from copa.planner.strategies.base import Strategy

SIZE = 20_000  # applicants; beyond that, quartiles of a sample cannot be told from those of everybody
SUMMARY = {**SUMMARY_COLUMNS, "effort": "cheapest_effort"}  # columns of a sample, and of `PlanBatch.summary`
STEPS = 101  # guarantees at which the share of plans is drawn


class RowSample:
    """Keeps up to `size` rows of what passes by.

    Each row draws a random number when it arrives, and those with the smallest stay: every row has the same chance, and
    how the rows were cut into blocks makes no difference.

    Attributes
    ----------
    size : int
    seen : int
        Number of rows that passed by.
    rows : DataFrame
        Those that were kept, in their order.
    """

    def __init__(self, size: int = SIZE) -> None:
        import pandas as pd

        self.size = size
        self.seen = 0
        self.rows = pd.DataFrame()
        self._rng = np.random.default_rng(0)
        self._draws = np.zeros(0)

    def add(self, rows: "pd.DataFrame") -> None:
        """Take some rows in, all with the same columns."""
        import pandas as pd

        draws = np.concatenate([self._draws, self._rng.random(len(rows))])
        kept = np.sort(np.argsort(draws, kind="stable")[: self.size])
        together = pd.concat([self.rows, rows], ignore_index=True) if self.seen else rows
        self.seen += len(rows)
        self.rows, self._draws = together.iloc[kept], draws[kept]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_complete(self) -> bool:
        """True where every row that passed by is still here."""
        return self.seen == len(self)


class Corrections:
    """Plans before and after their correction: totals, and the first of them one by one.

    Attributes
    ----------
    n_plans : int
        Plans with options.
    n_raised, n_lowered : int
        Plans whose L* rose, fell.
    n_reached_before, n_reached_after : int
        Plans with the status "ok".
    n_left_out : int
        Options that were refused, and are not in the corrected plans.
    names : list of str
        Labels of the first `most` plans.
    before, after, moved : ndarray of shape (len(names),)
        Of the same plans, L* before and after, and the farthest that one of its options was moved.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.n_plans = self.n_raised = self.n_lowered = 0
        self.n_reached_before = self.n_reached_after = self.n_left_out = 0
        self.names: list[str] = []
        self.before = self.after = self.moved = np.zeros(0)
        self._sums = np.zeros(3)

    @property
    def n_kept(self) -> int:
        """Number of plans whose L* stayed as it was."""
        return self.n_plans - self.n_raised - self.n_lowered

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
    """Counts over the applicants who are declined today, and a sample of their numbers.

    Attributes
    ----------
    group : str or None
        Column that groups are compared by.
    n_applicants : int
        All of them.
    n_accepted : int
        Those whom today's model accepts as they are; nothing else counts them.
    n_options : int
    n_with_options : int
        Applicants who have options.
    statuses : Counter
        From a status to the number of its applicants.
    options_changing, applicants_changing : Counter
        From a column to the number of options that change it, and of applicants with such an option.
    sample : RowSample
        Columns "each", "any", "all", "effort" (NaN without options), "ok", and "group" where groups are compared.
    """

    def __init__(self, group: str | None = None) -> None:
        self.group = group
        self.n_applicants = self.n_accepted = self.n_options = self.n_with_options = 0
        self.statuses: Counter[str] = Counter()
        self.options_changing: Counter[str] = Counter()
        self.applicants_changing: Counter[str] = Counter()
        self.sample = RowSample()

    @property
    def with_options(self) -> "pd.DataFrame":
        """Numbers of the applicants in the sample who have options: "each", "any", "all", "effort"."""
        rows = self.sample.rows.reindex(columns=[*SUMMARY])
        return rows[rows["each"].notna()].astype(np.float64)

    @property
    def n_declined(self) -> int:
        """Number of applicants whom today's model does not accept as they are."""
        return self.n_applicants - self.n_accepted

    def add(self, batch: PlanBatch, accepted: npt.NDArray[np.bool_] | None = None) -> None:
        """Count a batch.

        Parameters
        ----------
        batch : PlanBatch
        accepted : ndarray of bool of shape (N,), optional
            Whether today's model accepts each applicant as is; None reads it off the statuses, as plans have them.
        """
        accepted = batch.status == ALREADY_VALID if accepted is None else accepted
        self.n_applicants += len(batch)
        self.n_accepted += int(accepted.sum())
        batch = batch.select(~accepted) if accepted.any() else batch
        self.n_options += len(batch.options)
        self.n_with_options += int((batch.counts > 0).sum())
        self.statuses.update(batch.status.tolist())
        self._count_changes(batch)
        summary = summary_table(batch)
        rows = summary[[*SUMMARY.values()]].set_axis([*SUMMARY], axis="columns").assign(ok=summary["status"] == "ok")
        self.sample.add(rows if self.group is None else rows.assign(group=self._group_values(batch)))

    def _count_changes(self, batch: PlanBatch) -> None:
        flags = changed_cells(batch.applicants, batch.options, batch.owner)
        for k, column in enumerate(batch.options.columns):
            if flags[:, k].any():
                self.options_changing[column] += int(flags[:, k].sum())
                self.applicants_changing[column] += len(np.unique(batch.owner[flags[:, k]]))

    def _group_values(self, batch: PlanBatch) -> npt.NDArray[np.object_]:
        require_known([self.group], list(batch.applicants.columns), "group, a column of the applicants,")
        values = np.empty(len(batch), dtype=object)
        values[:] = cells_of(batch.applicants[self.group])
        return values


def accepted_today(batch: PlanBatch, model: Model) -> npt.NDArray[np.bool_]:
    """Return whether a model accepts each applicant as is, (N,); one whose row cannot be used is not accepted."""
    accepted, good = np.zeros(len(batch), dtype=bool), np.flatnonzero(batch.status != ERROR)
    if len(good):
        accepted[good] = model.accepts(batch.applicants.iloc[good])
    return accepted


def reached_shares(values: Any) -> tuple[Array, Array]:
    """Return the share of plans that reach each guarantee.

    Parameters
    ----------
    values : ndarray of shape (N,)
        Their guarantees.

    Returns
    -------
    levels, shares : ndarray of shape (101,)
        Guarantees from 0 to 1, and the share of the plans that reach each of them.
    """
    levels = np.linspace(0.0, 1.0, STEPS)
    return levels, (np.asarray(values)[:, None] >= levels - 1e-12).mean(axis=0)


@dataclass(frozen=True)
class AuditTotals:
    """Totals of an audit of external plans.

    Attributes
    ----------
    n_applicants, n_declined : int
        All applicants, and those whom today's model declines.
    n_options : int
        Options that could be read.
    allowed, accepted : int
        Options that the schema allows, and that today's model accepts.
    at_level : int or None
        Options whose own guarantee is at least the one asked for; None where none was asked for.
    reached, below, refused, unread : int
        Of the declined: those whose plans are as asked for, those whose plans are allowed and accepted but below it,
        those with an option that is not allowed or not accepted, or with none, and those with a row of no use.
    """

    n_applicants: int
    n_declined: int
    n_options: int
    allowed: int
    accepted: int
    at_level: int | None
    reached: int
    below: int
    refused: int
    unread: int

    @classmethod
    def of(cls, batch: PlanBatch, strategy: "Strategy") -> "AuditTotals":
        """Count the plans of a batch that `RecoursePlanner.audit` returned, with the strategy of that planner."""
        todays = batch.applicants.iloc[batch.owner]
        declined = ~accepted_today(batch, strategy.model)
        level = batch.request.level
        ends = {status: int((declined & (batch.status == status)).sum()) for status in (OK, FRAGILE, INFEASIBLE, ERROR)}
        return cls(
            n_applicants=len(batch),
            n_declined=int(declined.sum()),
            n_options=len(batch.options),
            allowed=int(strategy.schema.obeys(todays, batch.options).sum()) if len(todays) else 0,
            accepted=int(batch.accepted.sum()),
            at_level=None if level is None else int((batch.option_lower >= level).sum()),
            reached=ends[OK],
            below=ends[FRAGILE],
            refused=ends[INFEASIBLE],
            unread=ends[ERROR],
        )

    def in_words(self, batch: PlanBatch) -> list[str]:
        """Return the totals in two sentences, for the batch that was counted."""
        request, whom = batch.request, WHOM[batch.request.guarantee_for]
        options = (
            f"{counted(self.n_options, 'option')} for {counted(self.n_applicants, 'applicant')}: {self.allowed:,} "
            f"allowed by the schema, {self.accepted:,} accepted by today's model"
        )
        if self.at_level is not None:
            options += f", {self.at_level:,} with a guarantee of at least {request.guarantee:g} each"
        what = "an expected rate" if request.expected else "a guarantee"
        level = f"{what} of {request.guarantee:g} for {whom}{f', {NOT_ASKED}' if request.objective == 'paper' else ''}"
        people = (
            f"Of the {counted(self.n_declined, 'applicant')} whom today's model declines, {self.reached:,} "
            f"{'has' if self.reached == 1 else 'have'} a plan with {level}; "
            f"{self.below:,} {'has' if self.below == 1 else 'have'} a plan below it, {self.refused:,} no plan that "
            f"today's model and the schema accept in full"
        )
        unread = f"; the rows of {self.unread:,} cannot be used" if self.unread else ""
        return [f"{options}.", f"{people}{unread}."]

    def to_dict(self) -> dict[str, Any]:
        """Return the totals as JSON holds them."""
        return dict(vars(self))
