"""`ReportBuilder`: plans in, one HTML file out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from copa._core.files import write_atomically
from copa._core.records import Positions
from copa._core.words import (
    ALREADY_VALID,
    ERROR,
    FRAGILE,
    INFEASIBLE,
    OK,
    TIME_LIMIT,
    counted,
    shown,
    visible,
)
from copa.analysis.frontier import Frontier, frontier
from copa.analysis.totals import Corrections, Totals, accepted_today
from copa.data.tables.cells import cells_of
from copa.exceptions import InvalidInputError
from copa.plans import PlanBatch
from copa.plans.card import plan_views
from copa.plans.units import heading, value_text
from copa.report import views
from copa.report.page import page
from copa.report.portfolio import plans_together
from copa.report.validators import validators

if TYPE_CHECKING:
    from copa.planner import CorrectedPlans, RecoursePlanner


MOST_SHOWN = 20_000  # applicants in one file
ORDER = (OK, FRAGILE, INFEASIBLE, TIME_LIMIT, ERROR, ALREADY_VALID)  # of the list: those with plans first
FRONTIERS = 20  # applicants who are planned for again at other levels
MOST_CORRECTIONS = 50  # corrected plans that are listed one by one


class KeptPlans:
    """Plans that a report shows one by one, picked from batches as they pass by.

    Where there is no room for all, those stay that come first in the list: by status, then as given.

    Parameters
    ----------
    most : int
        Room for so many applicants.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._parts: list[PlanBatch] = []

    def add(self, batch: PlanBatch) -> None:
        """Take in the applicants that there may be room for."""
        first = np.sort(list_order(batch.status)[: self.most])
        if len(first) or not self._parts:
            self._parts.append(batch.select(first))
        if sum(map(len, self._parts)) > 2 * self.most:
            self._parts = [self.in_order()]

    def first(self) -> PlanBatch | None:
        """Return some plans that were added, None before; all are made alike."""
        return self._parts[0] if self._parts else None

    def in_order(self) -> PlanBatch:
        """Return the plans in the order of the list."""
        together = PlanBatch.concat(self._parts)
        order = list_order(together.status)[: self.most]
        return together.select(order)


class _Texts:
    """Texts that are written once, and referred to by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def all(self) -> list[str]:
        return [visible(text) for text in self._numbers]


def card_data(batch: PlanBatch) -> dict[str, Any]:
    """Return the views of the plans of a batch and each applicant's row as compact JSON, which `cards.js` reads.

    Entries of the same keys are columns, with a list of numbers of "texts" for each text, and lists are one after
    another beside their lengths.

    Returns
    -------
    dict of str to object
        "views"; "today", titles of columns and each applicant's cells; "texts".
    """
    texts = _Texts()
    views, today = list(plan_views(batch)), _today(batch, texts)
    return {"views": _packed(views, texts), "today": today, "texts": texts.all()}


def _packed(values: list[Any], texts: _Texts) -> dict[str, Any] | None:
    """Pack values that are alike; None for no values."""
    if not values:
        return None
    if isinstance(values[0], dict):
        return {"entry": {name: _packed([entry[name] for entry in values], texts) for name in values[0]}}
    if isinstance(values[0], list):
        return {
            "counts": [len(some) for some in values],
            "items": _packed([it for some in values for it in some], texts),
        }
    if isinstance(values[0], str):
        return {"texts": [texts(text) for text in values]}
    plain = [int(value) if isinstance(value, bool) else value for value in values]
    return {"same": plain[0]} if len(set(plain)) == 1 else {"values": plain}


def _today(batch: PlanBatch, texts: _Texts) -> dict[str, Any]:
    """Return the titles of all columns, and the cells of each, in people's words."""
    schema, columns = batch.basis.schema, []
    for name in batch.applicants:
        known: dict[str, int] = {}
        column = []
        for value in cells_of(batch.applicants[name]):
            key = f"{type(value)}{value!r}"
            if key not in known:
                known[key] = texts(value_text(schema, name, value))
            column.append(known[key])
        columns.append(column)
    return {"titles": [texts(heading(schema, name)) for name in batch.applicants], "cells": columns}


def list_order(status: npt.NDArray[np.str_]) -> Positions:
    """Return positions of applicants in the order of the list."""
    ranks = np.array([ORDER.index(name) for name in status.tolist()], dtype=np.intp)
    order: Positions = np.argsort(ranks, kind="stable")
    return order


class ReportBuilder:
    """Collects plans and writes them as one HTML file that needs no network.

    Batches may come one after another: what is kept are counts, a sample of numbers and the plans of up to 20,000
    applicants, those with plans first, so that memory does not grow beyond that.

    Parameters
    ----------
    planner : RecoursePlanner, optional
        The fitted one that made the plans. Needed to show what other levels would cost, and what breaks the plans, and
        to know which applicants of an audit are accepted today.
    group : str, optional
        Column of the applicants to compare groups by; numbers are cut into quartiles.
    title : str, optional
        Of the page.
    totals_only : bool
        Whether to show all applicants together only, without anyone's row, name or plan. Otherwise the page shows up to
        20,000 of them one by one, those with plans first; totals are about everybody.

    Examples
    --------
    >>> from copa.report import ReportBuilder
    >>> import copa, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0] * 9}), [False, False, True, True] * 9
    >>> later = copa.LaterModels(n_refits=20)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), later_models=later, random_state=0).fit(X, y)
    >>> batch = planner.audit([X.iloc[[3]], X.iloc[[2]]], X.iloc[:2])
    >>> builder = ReportBuilder(title="Two applicants")
    >>> builder.add(batch)
    >>> "<h1>Two applicants</h1>" in builder.html()
    True
    """

    def __init__(
        self,
        planner: "RecoursePlanner | None" = None,
        group: str | None = None,
        title: str | None = None,
        *,
        totals_only: bool = False,
    ) -> None:
        if planner is not None and not hasattr(planner, "strategy_"):
            raise InvalidInputError(f"planner must be a fitted RecoursePlanner or None, got {shown(planner)}")
        self.planner = planner
        self.title = title
        self._totals = Totals(group)
        self._kept = KeptPlans(0 if totals_only else MOST_SHOWN)
        self._corrections: Corrections | None = None

    def add(self, batch: PlanBatch) -> None:
        """Take some more plans in.

        Parameters
        ----------
        batch : PlanBatch
            Made as those before were: the same ambiguity set, the same terms.
        """
        if not isinstance(batch, PlanBatch):
            raise InvalidInputError(f"batch must be a PlanBatch, got {shown(batch)}; planner.plan and audit return one")
        self._require_alike(batch)
        self._totals.add(batch, self._accepted_today(batch))
        self._kept.add(batch)

    def add_corrected(self, corrected: "CorrectedPlans") -> None:
        """Take the plans before and after a correction in, for a section about what it did.

        Parameters
        ----------
        corrected : CorrectedPlans
            As `RecoursePlanner.correct` returns them.
        """
        self._corrections = self._corrections or Corrections(MOST_CORRECTIONS)
        self._corrections.add(corrected)

    def html(self) -> str:
        """Return the report as a complete HTML document; with a planner, this plans again at other levels."""
        if self._kept.first() is None:
            raise InvalidInputError("nothing to report yet: call add(batch) first; of a correction, add its `after`")
        kept, totals = self._kept.in_order(), self._totals
        tried = _spread_out(np.flatnonzero(kept.counts > 0), FRONTIERS)
        cost = self._frontier(kept, tried)
        sections: dict[str, Any] = {
            "overview": views.overview(totals, kept, cost),
            "groups": views.groups(totals, kept.basis.schema),
            "corrections": views.corrections(self._corrections),
        }
        sections["portfolio"] = None if self.planner is None else plans_together(self.planner, kept)
        sections["validators"] = proven = validators(kept, self.planner, cost, tried)
        drawn = {key: figure for view in sections.values() if view for key, figure in view["figures"].items()}
        return page(
            "report.html.j2",
            "cards.js",
            "report.js",
            title=self.title or f"Plans for {counted(totals.n_applicants, 'applicant')}",
            promise=views.promise(kept),
            asked=views.asked(kept, totals),
            effort=views.effort_example(kept, totals, self.planner),
            person=views.first_person(kept[0]) if len(kept) else None,
            n_listed=len(kept),
            n_left_out=totals.n_applicants - len(kept),
            statuses=views.listed_statuses(kept),
            **sections,
            data={"cards": card_data(kept), "figures": drawn, "slider": proven["slider"]},
        )

    def write(self, path: str | Path) -> None:
        """Write the report; a file that is there already is replaced once the new one is complete.

        Parameters
        ----------
        path : str or Path
        """
        write_atomically(Path(path), self.html().encode("utf-8"))

    def _accepted_today(self, batch: PlanBatch) -> npt.NDArray[np.bool_] | None:
        """Return whether today's model accepts each applicant as is; None where only the statuses tell."""
        if self.planner is None:
            return None
        return accepted_today(batch, self.planner.strategy_.model)

    def _require_alike(self, batch: PlanBatch) -> None:
        kept = self._kept.first()
        if kept is not None and not (
            batch.ambiguity.same_as(kept.ambiguity) and batch.request == kept.request and batch.basis == kept.basis
        ):
            raise InvalidInputError(
                "this batch has another ambiguity set or other terms than those added before; write one report for each"
            )
        if self.planner is not None and not _made_by(self.planner, batch):
            raise InvalidInputError(
                "planner is not the one that made these plans: its mean, covariance, radius or drift differ; pass "
                "the one that did, or planner=None"
            )

    def _frontier(self, kept: PlanBatch, tried: npt.NDArray[np.intp]) -> Frontier | None:
        """Plan for some applicants with options again; None where there is no planner or no level."""
        if self.planner is None or kept.request.level is None or not len(tried):
            return None
        return frontier(self.planner, kept.applicants.iloc[tried])


def _spread_out(places: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
    """Return some of many places, from the first to the last."""
    chosen = np.linspace(0, len(places) - 1, min(len(places), most)).round().astype(np.intp)
    return places[chosen]


def _made_by(planner: "RecoursePlanner", batch: PlanBatch) -> bool:
    """Return whether plans have a planner's ambiguity set; one of scores has a dimension more than options."""
    return batch.ambiguity.same_as(planner.strategy_.ambiguity(batch.ambiguity.dimension - 1))


def write_report(
    batch: PlanBatch,
    path: str | Path,
    *,
    planner: "RecoursePlanner | None" = None,
    corrected: "CorrectedPlans | None" = None,
    group: str | None = None,
    title: str | None = None,
    totals_only: bool = False,
) -> None:
    """Write plans as one HTML file that needs no network.

    Parameters
    ----------
    batch : PlanBatch
        The plans.
    path : str or Path
        Of the file.
    planner : RecoursePlanner, optional
        The fitted planner that made them; see `ReportBuilder`.
    corrected : CorrectedPlans, optional
        Of `planner.correct`, for a section about what it did.
    group : str, optional
        Column of the applicants to compare groups by.
    title : str, optional
        Of the page.
    totals_only : bool
        Whether the page shows no applicant one by one; see `ReportBuilder`.

    Examples
    --------
    >>> from copa.report import write_report
    >>> import tempfile
    >>> from pathlib import Path
    >>> import copa, pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = pd.DataFrame({"income": [1.0, 2.0, 3.0, 4.0] * 9}), [False, False, True, True] * 9
    >>> later = copa.LaterModels(n_refits=20)
    >>> planner = copa.RecoursePlanner(LogisticRegression().fit(X, y), later_models=later, random_state=0).fit(X, y)
    >>> batch = planner.audit([X.iloc[[3]], X.iloc[[2]]], X.iloc[:2])
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(batch, path, planner=planner, title="Two applicants")
    >>> path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    builder = ReportBuilder(planner=planner, group=group, title=title, totals_only=totals_only)
    builder.add(batch)
    if corrected is not None:
        builder.add_corrected(corrected)
    builder.write(path)
