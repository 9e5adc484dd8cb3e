"""`gate`: the outstanding promises that a candidate model would break, before it goes live."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copa._core.progress import showing, stage
from copa._core.words import hint, shown
from copa.data.tables.frames import as_pandas
from copa.exceptions import InvalidInputError
from copa.models.base import best_of
from copa.promises.broken_share import Limit, share_interval
from copa.promises.column_effects import Cause, find_causes, typical_row
from copa.promises.days import read_day
from copa.promises.deciding_model import CANDIDATE, IN_FORCE, DecidingModel, model_and_threshold
from copa.promises.gate_counts import SwapSet, parts_of, swap_set
from copa.promises.gate_report import BROKEN_COLUMNS, GateReport
from copa.promises.outstanding import Outstanding
from copa.promises.promised_rows import PromisedRows

if TYPE_CHECKING:
    import pandas as pd

WORST = 10  # broken promises that are explained
COUNTED_BY = ["model_version", "option_guarantee", "made"]
_SCORE, _APPLICANT = "\0score", "\0applicant"  # columns that no table of a person has


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
        Fitted classifier or pipeline, which decides by its own `predict`. A fitted planner stands for its model, which
        decides at the planner's threshold.
    ledger : Ledger, PlanBatch or DataFrame
        The promises. A ledger is read in blocks, so that its rows may be larger than memory; each option of a batch
        counts as a promise; a table holds promised rows, or facts and rows as `Ledger.promises` returns them.
    max_broken : int, float or str
        Promises that the candidate may break: a whole number of them, or a share such as 0.02 or "2%". By default
        none, however many the guarantees would let later models break on average.
    reference : DataFrame, optional
        Other rows, such as last month's applicants, to count who among them gains and who loses. Their typical values
        are also what the columns of a broken promise are compared with; without them, those of the promises.
    current : object, optional
        The model in force, with which the candidate is compared; or the fitted planner that plans with it, which
        decides at the planner's threshold.
    groups : sequence of str
        Columns of the promised rows by which promises are counted too; columns of many numbers are cut into quarters.
    favourable : object, optional
        The label that was promised; None where the ledger, the batch or the planner in force state it, or where labels
        are true and false. They must not contradict each other.
    threshold : float, optional
        Probability of the favourable label from which on all models accept; None for their own `predict`, or the
        threshold of a planner. Where promises were made at another one, the report says so.
    as_of : date or str, optional
        Day on which the promises are outstanding, in UTC; None is today. A promise counts unless it was made later, its
        last day has passed, or its status is one that has ended; a promise of unknown status counts.
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
    limit, names, day = Limit.read(max_broken), _read_groups(groups), read_day(as_of)
    outstanding = Outstanding(ledger, day, model_version)
    models = _Models(candidate, current, threshold, outstanding, outstanding.favourable(favourable, current))
    tried = _Tried(names)
    with showing(progress), stage("trying the promises", None, "promises") as advance:
        for block in outstanding:
            if len(block):
                tried.add(block, models.read(block.rows.columns))
            advance(len(block))
    outstanding.require_any()
    facts, cells = tried.facts_and_cells()
    broken, n = facts["broken"].to_numpy(), len(facts)
    table = None if reference is None else _read_reference(reference, models)
    causes, why_not = tried.causes(models, table)
    guarantee = facts["option_guarantee"].mean(skipna=False)
    return GateReport(
        passed=int(broken.sum()) <= limit.of(n),
        n_promises=n,
        n_broken=int(broken.sum()),
        broken_share=float(broken.mean()),
        broken=tried.broken_promises(),
        limit=limit,
        interval=share_interval(broken, facts["owner"].to_numpy()),
        n_applicants=facts["owner"].nunique(),
        expected_share=None if np.isnan(guarantee) else 1.0 - float(guarantee),
        parts=parts_of(facts, cells, broken, day),
        swap=None if current is None else swap_set(~broken, facts["before"].to_numpy(), cells),
        reference=None if table is None else _swap_of(table, models, names),
        causes=causes,
        why_not=why_not,
        unit=models.candidate.unit,
        as_of=day,
        n_purged=outstanding.n_purged,
        unknown_statuses=dict(outstanding.unknown_statuses),
        note=_about_thresholds(outstanding, models.threshold),
    )


class _Models:
    """The candidate and the model in force, read anew where the columns of the promises change."""

    candidate: DecidingModel
    in_force: DecidingModel | None

    def __init__(
        self, candidate: Any, current: Any, threshold: float | None, outstanding: Outstanding, favourable: Any
    ) -> None:
        self._given = [(*model_and_threshold(candidate, threshold), CANDIDATE)]
        self._given += [] if current is None else [(*model_and_threshold(current, threshold), IN_FORCE)]
        self.threshold = self._given[0][1]
        self._outstanding, self._favourable = outstanding, favourable
        self._columns: list[Any] | None = None

    def read(self, columns: Any) -> "_Models":
        """Read the models for rows with these columns."""
        if self._columns != list(columns):
            self._columns = list(columns)
            self.candidate, *others = [self._one(*given) for given in self._given]
            self.in_force = others[0] if others else None
        return self

    def _one(self, model: Any, threshold: float | None, role: str) -> DecidingModel:
        needed = getattr(best_of(model), "feature_names_in_", ())
        self._outstanding.require_columns(needed, self._columns or (), role)
        return DecidingModel.read(model, self._columns, threshold=threshold, favourable=self._favourable, role=role)


class _Tried:
    """Promises that were tried: facts and decisions of all of them, and the rows of those to explain."""

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = list(groups)
        self._n = 0
        self._facts: list[pd.DataFrame] = []
        self._cells: list[pd.DataFrame] = []
        self._broken: list[pd.DataFrame] = []
        self._worst: list[pd.DataFrame] = []
        self._typical: pd.DataFrame | None = None

    def add(self, block: PromisedRows, models: _Models) -> None:
        """Try a block of promises."""
        for name in self._groups:
            if name not in block.rows.columns:
                near = hint(name, [str(column) for column in block.rows.columns])
                raise InvalidInputError(f"group {shown(name)} is no column of the rows; {near}")
        accepted = models.candidate.accepts(block.rows)
        broken = ~accepted
        before = accepted if models.in_force is None else models.in_force.accepts(block.rows)
        self._facts.append(block.facts[COUNTED_BY].assign(owner=self._owners(block), broken=broken, before=before))
        self._cells.append(block.rows[self._groups])
        self._n += len(block)
        if self._typical is None:
            self._typical = typical_row(block.rows)
        if broken.any():
            self._note_broken(block.select(broken), models.candidate)

    def _owners(self, block: PromisedRows) -> Any:
        """Return numbers that tell applicants apart; each unknown one has its own."""
        import pandas as pd

        people = block.facts["applicant"]
        codes = pd.util.hash_array(people.to_numpy(dtype=object), categorize=False).view(np.int64)
        return np.where(people.isna(), self._n + np.arange(len(block), dtype=np.int64), codes)

    def _note_broken(self, block: PromisedRows, candidate: DecidingModel) -> None:
        scores = candidate.scores(block.rows)
        self._broken.append(block.facts[list(BROKEN_COLUMNS)].assign(score=scores))
        order = np.argsort(np.where(np.isnan(scores), 0.0, scores), kind="stable")[:WORST]
        applicants = block.facts["applicant"].iloc[order]
        self._worst.append(block.rows.iloc[order].assign(**{_SCORE: scores[order], _APPLICANT: applicants}))

    def facts_and_cells(self) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Return the facts of all promises, with `owner`, `broken` and `before`, and their cells in the groups."""
        import pandas as pd

        facts, cells = pd.concat(self._facts, ignore_index=True), pd.concat(self._cells, ignore_index=True)
        return facts.assign(option_guarantee=facts["option_guarantee"].astype(np.float64)), cells

    def broken_promises(self) -> "pd.DataFrame":
        """Return the broken promises, the clearest refusals first."""
        import pandas as pd

        table = pd.concat(self._broken) if self._broken else pd.DataFrame(columns=[*BROKEN_COLUMNS, "score"])
        return table.sort_values("score", kind="stable").rename_axis("promise")

    def causes(self, models: _Models, reference: "pd.DataFrame | None") -> tuple[tuple[Cause, ...], str]:
        """Explain the worst refusals, against the typical row of the reference or else of the promises."""
        import pandas as pd

        if not self._worst:
            return (), ""
        worst = pd.concat(self._worst).sort_values(_SCORE, kind="stable").head(WORST)
        rows, typical = worst.drop(columns=[_SCORE, _APPLICANT]), self._typical
        if reference is not None and set(rows.columns) <= set(reference.columns):
            typical = typical_row(reference[list(rows.columns)])
        assert typical is not None  # noqa: S101 - of the first block
        return find_causes(models.candidate, models.in_force, rows, worst[_APPLICANT].tolist(), typical)


def _read_reference(reference: Any, models: _Models) -> "pd.DataFrame":
    """Return the rows of a reference, which both models must be able to read."""
    table = as_pandas(reference, "reference")
    for model in [models.candidate] if models.in_force is None else [models.candidate, models.in_force]:
        for name in model.columns if model.named else ():
            if name not in table.columns:
                raise InvalidInputError(f"reference lacks the column {shown(name)}, which {model.role} needs")
    if len(table) == 0:
        raise InvalidInputError("reference has no rows")
    return table


def _swap_of(table: "pd.DataFrame", models: _Models, groups: Sequence[str]) -> SwapSet:
    before = None if models.in_force is None else models.in_force.accepts(table)
    return swap_set(models.candidate.accepts(table), before, {name: table[name] for name in groups if name in table})


def _about_thresholds(outstanding: Outstanding, threshold: float | None) -> str:
    """Return a sentence where promises were made at another threshold than the candidate decides at; "" else."""
    others = [
        cut
        for cut in outstanding.stated.thresholds
        if cut is not None and cut != (0.5 if threshold is None else threshold)
    ]
    if not others:
        return ""
    how = "its own predict" if threshold is None else f"a threshold of {threshold:g}"
    cuts = " and ".join(f"{cut:g}" for cut in others)
    return (
        f"Promises were made at a threshold of {cuts}, and the candidate was tried by {how}: give threshold= to try it "
        "at another one."
    )


def _read_groups(groups: Any) -> tuple[str, ...]:
    names = (groups,) if isinstance(groups, str) else tuple(groups)
    if len(set(names)) < len(names):
        raise InvalidInputError(f"groups must name each column once, got {shown(list(names))}")
    return names
