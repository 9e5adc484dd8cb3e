"""Totals of an audit: how many options are allowed, accepted today and reach the level, and whose plans do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK, counted
from copa.analysis.totals import accepted_today
from copa.plans import PlanBatch
from copa.plans.wording import NOT_ASKED, WHOM

if TYPE_CHECKING:
    from copa.planner.strategies.base import Strategy


@dataclass(frozen=True)
class AuditTotals:
    """What became of external plans.

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
    def of(cls, batch: PlanBatch, fitted: "Strategy") -> "AuditTotals":
        """Count them.

        Parameters
        ----------
        batch : PlanBatch
            What `RecoursePlanner.audit` returned.
        fitted : Strategy
            Of the planner that audited it.
        """
        own = batch.applicants.iloc[batch.owner]
        declined = ~accepted_today(batch, fitted.model)
        level = batch.request.level
        ends = {status: int((declined & (batch.status == status)).sum()) for status in (OK, FRAGILE, INFEASIBLE, ERROR)}
        return cls(
            n_applicants=len(batch),
            n_declined=int(declined.sum()),
            n_options=len(batch.options),
            allowed=int(fitted.schema.obeys(own, batch.options).sum()) if len(own) else 0,
            accepted=int(batch.accepted.sum()),
            at_level=None if level is None else int((batch.option_lower >= level).sum()),
            reached=ends[OK],
            below=ends[FRAGILE],
            refused=ends[INFEASIBLE],
            unread=ends[ERROR],
        )

    def in_words(self, batch: PlanBatch) -> list[str]:
        """Say it in two sentences, for the batch that was counted."""
        request, whom = batch.request, WHOM[batch.request.guarantee_for]
        options = (
            f"{counted(self.n_options, 'option')} for {counted(self.n_applicants, 'applicant')}: {self.allowed:,} "
            f"allowed by the schema, {self.accepted:,} accepted by today's model"
        )
        if self.at_level is not None:
            options += f", {self.at_level:,} with a guarantee of at least {request.guarantee:g} each"
        what = "a guarantee" if request.aim == "guarantee" else "an expected rate"
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
        """Return it as JSON holds it."""
        return dict(vars(self))
