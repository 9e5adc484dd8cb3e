"""`ReportBuilder`: plans in, one HTML file out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.files import write_atomically
from copa._core.reading import read_count
from copa._core.words import counted, shown
from copa.analysis.attribution import Leaning, leaning
from copa.analysis.curves import RadiusCurves, batch_curves, radius_grid, shelf_lives
from copa.analysis.frontier import Frontier, frontier
from copa.analysis.totals import Corrections, Totals
from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch
from copa.report.content import Content
from copa.report.page import report_page

if TYPE_CHECKING:
    from copa.planner import CorrectedPlans, RecoursePlanner

MAX_CARDS = 50
FRONTIERS = 20  # applicants who are planned for again at other levels


class ReportBuilder:
    """Collects plans and writes them as one HTML file that needs no network.

    Batches may come one after another: what is kept are counts, a sample of numbers and the plans of the first
    `max_cards` applicants, so that memory does not grow with their number.

    Parameters
    ----------
    planner : fitted RecoursePlanner, optional
        The one that made the plans. Needed to show what other levels would cost, and what the plans lean on.
    group : str, optional
        Column of the applicants to compare groups by; numbers are cut into quartiles.
    title : str, optional
    max_cards : int
        How many applicants are shown one by one.
    """

    def __init__(
        self,
        planner: "RecoursePlanner | None" = None,
        group: str | None = None,
        title: str | None = None,
        max_cards: int = MAX_CARDS,
    ) -> None:
        read_count(max_cards, "max_cards", least=0)
        if planner is not None and not hasattr(planner, "fitted_"):
            raise InvalidInputError(f"planner must be a fitted RecoursePlanner or None, got {shown(planner)}")
        self.planner = planner
        self.title = title
        self.max_cards = max_cards
        self._totals = Totals(group)
        self._kept: PlanBatch | None = None
        self._corrections: Corrections | None = None

    def add(self, batch: PlanBatch) -> None:
        """Take some more plans in; all must be made alike, with one ball and one set of terms."""
        if not isinstance(batch, PlanBatch):
            raise InvalidInputError(f"batch must be a PlanBatch, got {shown(batch)}; planner.plan and audit return one")
        self._require_alike(batch)
        self._totals.add(batch)
        room = self.max_cards - (0 if self._kept is None else len(self._kept))
        if self._kept is None:
            self._kept = batch.select(np.arange(min(len(batch), room)))
        elif room > 0:
            self._kept = PlanBatch.concat([self._kept, batch.select(np.arange(min(len(batch), room)))])

    def add_corrected(self, corrected: "CorrectedPlans") -> None:
        """Take the plans before and after a correction in, for a section about what it did."""
        if self._corrections is None:
            self._corrections = Corrections(self.max_cards)
        self._corrections.add(corrected)

    def html(self) -> str:
        """Return the report as a complete HTML document."""
        return report_page(self._content())

    def write(self, path: str | Path) -> None:
        """Write the report; a file that is there already is replaced once the new one is complete."""
        write_atomically(Path(path), self.html().encode("utf-8"))

    def _require_alike(self, batch: PlanBatch) -> None:
        kept = self._kept
        if kept is not None and not (batch.ball.same_as(kept.ball) and batch.terms.same_as(kept.terms)):
            raise InvalidInputError(
                "this batch has another ball or other terms than those added before; write one report for each"
            )
        if self.planner is not None and not _made_by(self.planner, batch):
            raise InvalidInputError(
                "planner is not the one that made these plans: its mean, covariance, radius or drift differ; pass "
                "the one that did, or planner=None"
            )

    def _content(self) -> Content:
        kept = self._kept
        if kept is None:
            raise InvalidInputError(
                "there is nothing to report yet: call add(batch) first; of a correction, its `after`"
            )
        curves = self._curves(kept)
        level = kept.terms.guarantee
        rows, found = self._frontier(kept)
        return Content(
            title=self.title or f"Plans for {counted(self._totals.n_applicants, 'applicant')}",
            ball=kept.ball,
            terms=kept.terms,
            totals=self._totals,
            kept=kept,
            curves=curves,
            lives=[None if c is None else shelf_lives(p, c, level) for p, c in zip(kept, curves, strict=True)],
            leanings=self._leanings(kept),
            frontier=found,
            frontier_rows=rows,
            corrections=self._corrections,
        )

    def _curves(self, kept: PlanBatch) -> list[RadiusCurves | None]:
        if not len(kept.options):
            return [None] * len(kept)
        return batch_curves(kept, radius_grid(kept.ball, kept.points), getattr(self.planner, "n_jobs", None))

    def _leanings(self, kept: PlanBatch) -> list[Leaning | None]:
        if self.planner is None:
            return [None] * len(kept)
        return [leaning(plan, self.planner.fitted_.space) for plan in kept]

    def _frontier(self, kept: PlanBatch) -> tuple[list[int], Frontier | None]:
        rows = np.flatnonzero(kept.counts > 0)[:FRONTIERS]
        if self.planner is None or kept.terms.objective != "level" or not len(rows):
            return [], None
        return rows.tolist(), frontier(self.planner, kept.applicants.iloc[rows])


def _made_by(planner: "RecoursePlanner", batch: PlanBatch) -> bool:
    """Whether plans have the ball of a planner; that of scores is the same for all models but for its radius."""
    own = planner.fitted_.ambiguity(int(planner.n_options))
    return batch.ball.radius == own.radius if batch.terms.basis != "parameters" else batch.ball.same_as(own)


def write_report(
    batch: PlanBatch,
    path: str | Path,
    *,
    planner: "RecoursePlanner | None" = None,
    corrected: Any = None,
    group: str | None = None,
    title: str | None = None,
) -> None:
    """Write plans as one HTML file that needs no network.

    Parameters
    ----------
    batch : the plans
    path : of the file
    planner : the fitted planner that made them, optional; see `ReportBuilder`
    corrected : CorrectedPlans of `planner.correct`, for a section about what it did
    group : column of the applicants to compare groups by
    title : of the page
    """
    builder = ReportBuilder(planner=planner, group=group, title=title)
    builder.add(batch)
    if corrected is not None:
        builder.add_corrected(corrected)
    builder.write(path)
