"""Everything a page is made from, computed before any of it is written."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from copa.analysis.attribution import Leaning
from copa.analysis.curves import RadiusCurves, ShelfLife
from copa.analysis.totals import Corrections, Totals
from copa.plans import PlanBatch, PlanTerms
from copa.report.figures import Figure
from copa.uncertainty.ambiguity import MomentBall

if TYPE_CHECKING:
    from copa.analysis.frontier import Frontier


class Section(NamedTuple):
    """A part of the page and the figures that its script draws there."""

    html: str
    figures: dict[str, Figure]


@dataclass(frozen=True, eq=False)
class Content:
    """What a report is about.

    Attributes
    ----------
    title : str
    ball, terms : of all plans
    totals : counts over all applicants
    kept : PlanBatch of the applicants who are shown one by one, K of them
    curves, lives, leanings : K each; None where there is nothing to show
    frontier : of the first applicants with options, whose positions are `frontier_rows`; None without a planner
    corrections : None where none were added
    """

    title: str
    ball: MomentBall
    terms: PlanTerms
    totals: Totals
    kept: PlanBatch
    curves: list[RadiusCurves | None]
    lives: list[dict[str, ShelfLife] | None]
    leanings: list[Leaning | None]
    frontier: "Frontier | None"
    frontier_rows: list[int]
    corrections: Corrections | None

    @property
    def level(self) -> float | None:
        """The level asked for, None where none was."""
        return self.terms.guarantee if self.terms.objective == "level" else None
