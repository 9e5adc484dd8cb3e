"""`gate`: which outstanding promises a candidate model would break, before it goes live."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.progress import showing, stage
from copa._core.words import shown
from copa.exceptions import InvalidInputError
from copa.models.base import best_of
from copa.promises.breakdown import Breakdown
from copa.promises.column_effects import find_causes, typical_row
from copa.promises.days import read_day
from copa.promises.deciding_model import CANDIDATE, IN_FORCE, DecidingModel
from copa.promises.gate_report import BROKEN_COLUMNS, GateReport
from copa.promises.limit import Limit
from copa.promises.outstanding import Outstanding
from copa.promises.promised_rows import PromisedRows
from copa.promises.share_interval import share_interval
from copa.promises.swap_set import SwapCounts, swap_set
from copa.tables.frames import as_pandas

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

WORST = 10  # broken promises that are explained


def gate(  # noqa: PLR0913 - what a candidate is judged by, all but the first two by keyword
    candidate: Any,
    ledger: Any,
    *,
    max_broken: float | str = 0,
    reference: "pd.DataFrame | None" = None,
    current: Any = None,
    groups: Sequence[str] = (),
    favourable: Any = None,
    threshold: float | None = None,
    as_of: Any = None,
    model_version: str | None = None,
    progress: bool | None = False,
) -> GateReport:
    """Try every outstanding promise on a candidate model, and say whether it may go live.

    Parameters
    ----------
    candidate : object
        Fitted classifier or pipeline; its own `predict` decides, at its own threshold. A fitted planner stands for its
        model, and decides at the planner's threshold.
    ledger : Ledger, PlanBatch or DataFrame
        The promises. A ledger is read in blocks, so that it may be larger than memory; each option of a batch counts as
        a promise; a table holds promised rows, or facts and rows as `Ledger.promises` returns them.
    max_broken : int, float or str
        Most promises that the candidate may break: a whole number of them, or a share such as 0.02 or "2%". By default
        none, however many the guarantees would let later models break on average.
    reference : DataFrame, optional
        Other rows, such as last month's applicants: who among them gains and who loses. What is typical of them is
        also what the columns of a broken promise are compared with; without them, what is typical of the promises.
    current : object, optional
        The model in force, or the fitted planner that plans with it, which decides at the planner's threshold: the
        candidate is compared with it.
    groups : sequence of str
        Columns of the promised rows by which promises are counted too; those with many numbers in quarters.
    favourable : object, optional
        The label that was promised; None where the ledger, the batch or the planner in force say it, or labels are
        true and false. They must not contradict each other.
    threshold : float, optional
        Probability of the favourable label from which on all models accept; None for what their `predict` says, or
        the threshold of a planner. Where promises were made at another one, the report says so.
    as_of : date or str, optional
        Day on which the promises are outstanding, in UTC; None is today. A promise counts unless it was made later, its
        last day has passed, or its status says that it has ended: one of an unknown status counts.
    model_version : str, optional
        Try only promises made with this version of the model, such as those of one table of a ledger with several.
    progress : bool, optional
        Whether to show how far it is; None shows it on a terminal.

    Returns
    -------
    GateReport

    Raises
    ------
    InvalidInputError
        If there is no outstanding promise, if labels contradict each other, or if the candidate cannot be asked about
        the promised rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from copa.promises import gate
    >>> past = pd.DataFrame({"income": range(20, 60)})
    >>> current = LogisticRegression().fit(past, past["income"] >= 35)
    >>> candidate = LogisticRegression().fit(past, past["income"] >= 40)
    >>> promises = pd.DataFrame({"income": [36, 38, 41, 45]}, index=["ann", "bob", "cy", "di"])
    >>> report = gate(candidate, promises, max_broken=0.25, current=current)
    >>> report.passed, report.n_broken, report.broken.index.tolist()
    (False, 2, ['ann', 'bob'])
    >>> gate(current, promises).passed
    True
    """
    limit = Limit.read(max_broken)
    names = _read_groups(groups)
    day = read_day(as_of)
    outstanding = Outstanding(ledger, day, model_version)
    models = _Models(candidate, current, outstanding, favourable, threshold)
    trial = _Trial(day, names)
    with showing(progress), stage("trying the promises", None, "promises") as advance:
        for block in outstanding:
            trial.add(block, models)
            advance(len(block))
    if trial.n == 0:
        raise outstanding.none()
    table = None if reference is None else as_pandas(reference, "reference")
    report = trial.report(limit, *models.found, table)
    return replace(
        report,
        n_purged=outstanding.n_purged,
        unknown_statuses=dict(outstanding.unknown_statuses),
        note=_about_thresholds(outstanding, models.threshold),
    )


class _Models:
    """The two models, read once the columns of the promises are known."""

    def __init__(
        self, candidate: Any, current: Any, outstanding: Outstanding, favourable: Any, threshold: float | None
    ) -> None:
        self._candidate, self.threshold = _with_threshold(candidate, threshold)
        self._current, self._current_threshold = _with_threshold(current, threshold)
        self._outstanding = outstanding
        self._favourable = outstanding.favourable(favourable, current)
        self.found: tuple[DecidingModel, DecidingModel | None]
        self._columns: list[Any] | None = None

    def read(self, columns: Any) -> tuple[DecidingModel, DecidingModel | None]:
        """The candidate and the model in force."""
        if self._columns != list(columns):
            self._columns = list(columns)
            self.found = (
                self._one(self._candidate, self.threshold, CANDIDATE),
                None if self._current is None else self._one(self._current, self._current_threshold, IN_FORCE),
            )
        return self.found

    def _one(self, model: Any, threshold: float | None, role: str) -> DecidingModel:
        needed = getattr(best_of(model), "feature_names_in_", ())
        self._outstanding.require_columns(needed, self._columns or (), role)
        return DecidingModel.read(model, self._columns, threshold=threshold, favourable=self._favourable, role=role)


def _with_threshold(model: Any, threshold: float | None) -> tuple[Any, float | None]:
    """A model and the threshold at which it decides: a fitted planner knows its own."""
    if model is None or not hasattr(model, "fitted_"):
        return model, threshold
    return model.model, model.threshold if threshold is None else threshold


def _about_thresholds(outstanding: Outstanding, asked: float | None) -> str:
    """A sentence where promises were made at another threshold than the candidate decides at; "" else."""
    others = [
        cut for cut in outstanding.stated.thresholds if cut is not None and cut != (0.5 if asked is None else asked)
    ]
    if not others:
        return ""
    how = "its own predict" if asked is None else f"a threshold of {asked:g}"
    cuts = " and ".join(f"{cut:g}" for cut in others)
    return (
        f"Promises were made at a threshold of {cuts}, and the candidate was tried by {how}: give threshold= to try it "
        "at another one."
    )


@dataclass
class _Trial:
    """What is counted while the promises are tried block by block.

    Attributes
    ----------
    as_of : date
    groups : tuple of str
    """

    as_of: date
    groups: tuple[str, ...]
    n: int = 0
    expected: float = 0.0  # sum of one minus the guarantees
    has_guarantees: bool = True
    flags: list["npt.NDArray[np.bool_]"] = field(default_factory=list)
    owners: list["npt.NDArray[np.int64]"] = field(default_factory=list)
    broken: list["pd.DataFrame"] = field(default_factory=list)
    worst: "pd.DataFrame | None" = None
    typical: "pd.DataFrame | None" = None

    def __post_init__(self) -> None:
        self.breakdown = Breakdown(self.groups, self.as_of)
        self.swap = SwapCounts(self.groups)

    def add(self, block: PromisedRows, models: _Models) -> None:
        """Try a block."""
        if len(block) == 0:
            return
        candidate, in_force = models.read(block.rows.columns)
        accepted = candidate.accepts(block.rows)
        broken = ~accepted
        self.breakdown.add(block, broken)
        self.swap.add(block.rows, accepted, None if in_force is None else in_force.accepts(block.rows))
        guarantees = block.facts["option_guarantee"].to_numpy(dtype=np.float64, na_value=np.nan)
        self.has_guarantees &= bool(np.isfinite(guarantees).all())
        self.expected += float((1.0 - guarantees).sum())
        self.flags.append(broken)
        self.owners.append(self._owners(block))
        self.n += len(block)
        if self.typical is None:
            self.typical = typical_row(block.rows)
        if broken.any():
            self._note_broken(block.select(broken), candidate)

    def _owners(self, block: PromisedRows) -> "npt.NDArray[np.int64]":
        """Numbers that tell applicants apart; of unknown ones, one each."""
        import pandas as pd

        people = block.facts["applicant"]
        unknown = people.isna().to_numpy()
        codes = pd.util.hash_array(people.to_numpy(dtype=object), categorize=False).view(np.int64)
        return np.where(unknown, self.n + np.arange(len(block), dtype=np.int64), codes)

    def _note_broken(self, block: PromisedRows, candidate: DecidingModel) -> None:
        import pandas as pd

        scores = candidate.scores(block.rows)
        self.broken.append(block.facts[list(BROKEN_COLUMNS)].assign(score=scores))
        order = np.argsort(np.where(np.isnan(scores), 0.0, scores), kind="stable")[:WORST]
        some = block.rows.iloc[order].assign(**{_SCORE: scores[order], _WHO: block.facts["applicant"].iloc[order]})
        table = some if self.worst is None else pd.concat([self.worst, some])
        self.worst = table.sort_values(_SCORE, kind="stable").head(WORST)

    def report(
        self,
        limit: Limit,
        candidate: DecidingModel,
        in_force: DecidingModel | None,
        reference: "pd.DataFrame | None",
    ) -> GateReport:
        """What was found."""
        import pandas as pd

        flags, owners = np.concatenate(self.flags), np.concatenate(self.owners)
        n_broken = int(flags.sum())
        broken = pd.concat(self.broken) if self.broken else pd.DataFrame(columns=[*BROKEN_COLUMNS, "score"])
        causes, why_not = self._causes(candidate, in_force, reference)
        return GateReport(
            passed=n_broken <= limit.of(self.n),
            n_promises=self.n,
            n_broken=n_broken,
            broken_share=n_broken / self.n,
            broken=broken.sort_values("score", kind="stable").rename_axis("promise"),
            limit=limit,
            interval=share_interval(flags, owners),
            n_applicants=int(np.unique(owners).size),
            expected_share=self.expected / self.n if self.has_guarantees else None,
            parts=self.breakdown.parts(),
            swap=None if in_force is None else self.swap.result(),
            reference=None if reference is None else _of_reference(reference, candidate, in_force, self.groups),
            causes=causes,
            why_not=why_not,
            unit=candidate.unit,
            as_of=self.as_of,
        )

    def _causes(
        self, candidate: DecidingModel, in_force: DecidingModel | None, reference: "pd.DataFrame | None"
    ) -> tuple[Any, str]:
        """Causes, against what is typical of the reference rows, or of the promised ones where there are none."""
        if self.worst is None or self.typical is None:
            return (), ""
        rows, typical = self.worst.drop(columns=[_SCORE, _WHO]), self.typical
        if reference is not None and len(reference) and set(rows.columns) <= set(reference.columns):
            typical = typical_row(reference[list(rows.columns)])
        return find_causes(candidate, in_force, rows, self.worst[_WHO].tolist(), typical)


_SCORE, _WHO = "\0score", "\0applicant"  # columns that no table of a person has


def _of_reference(
    table: "pd.DataFrame", candidate: DecidingModel, in_force: DecidingModel | None, groups: Sequence[str]
) -> Any:
    for model in [candidate] if in_force is None else [candidate, in_force]:
        for name in model.columns if model.named else ():
            if name not in table.columns:
                raise InvalidInputError(f"reference lacks the column {shown(name)}, which {model.role} needs")
    if len(table) == 0:
        raise InvalidInputError("reference has no rows")
    return swap_set(table, candidate, in_force, [name for name in groups if name in table.columns])


def _read_groups(groups: Any) -> tuple[str, ...]:
    names = (groups,) if isinstance(groups, str) else tuple(groups)
    if len(set(names)) < len(names):
        raise InvalidInputError(f"groups must name each column once, got {shown(list(names))}")
    return names
