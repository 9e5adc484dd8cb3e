"""External plans: audited exactly as they are, or corrected."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.progress import stage
from copa._core.representation import short_repr
from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK, TIME_LIMIT
from copa.data.schema.columns import ReadTable
from copa.data.tables.frames import as_backend, with_columns
from copa.planner.corrected_rows import Correction, PointCorrection, search_from_options
from copa.planner.plan import CheckedRows, Delivered, Texts, assemble, deliver, read_rows, reasons_against
from copa.planner.search._kernels.arguments import Outcome
from copa.planner.search.rows import make_room, overwritten, write_rows
from copa.planner.settings import Execution
from copa.planner.strategies.applicants import Applicants
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.options import Flags, Options, read_options
from copa.plans import PlanBatch, PlanRequest
from copa.plans.external import ExternalPlans
from copa.plans.wording import NOT_ASKED, WHOM
from copa.theory.bounds.worst_option import breaks_first

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ReadablePlans:
    """External plans whose rows the schema and the pipeline can read, the options of each applicant together.

    Attributes
    ----------
    plans : ExternalPlans
    errors : dict of int to str
        Of applicants with a row that cannot be read, why; such options are left out.
    n_options : int
        Most options of a plan, as given.
    applicants : CheckedRows
        Of the table of applicants.
    rows : ReadTable
        The options.
    encoded_options : ndarray of shape (M, k), optional
        What `Strategy.encode` says of them; None where it was not called.
    """

    plans: ExternalPlans
    errors: dict[int, str]
    n_options: int
    applicants: CheckedRows
    rows: ReadTable
    encoded_options: Array | None

    @classmethod
    def read(cls, strategy: Strategy, given: ExternalPlans) -> "ReadablePlans":
        """Check every row, and encode it."""
        order = np.argsort(given.owner, kind="stable")
        owner, options = given.owner[order], given.options.iloc[order].reset_index(drop=True)
        own = read_rows(strategy, given.factuals)
        # An option between the steps can be read and bounded; that the schema does not allow it is said of it alone.
        whole = [feature.name for feature in strategy.schema.features if feature.kind == "integer"]
        schema = strategy.schema.replace({name: {"kind": "numeric"} for name in whole})
        read = read_rows(strategy, options, schema)
        errors = {i: f"the applicant's own row: {message}" for i, message in enumerate(own.messages) if message}
        for i, message in zip(owner.tolist(), read.messages, strict=True):
            if message:
                errors.setdefault(i, f"an option cannot be read: {message}")
        rows, encoded, kept = read.rows, read.encoded, own.messages[owner[read.good]] == ""
        if not (kept.all() and len(kept) == len(options)):
            rows, encoded, owner = (
                rows.take(np.flatnonzero(kept), renumbered=True),
                encoded[kept],
                owner[read.good][kept],
            )
        n_options = int(np.bincount(given.owner, minlength=1).max())
        return cls(ExternalPlans(given.factuals, rows.frame, owner), errors, n_options, own, rows, encoded)

    def with_options(self, options: "pd.DataFrame", kept: Flags | None = None) -> "ReadablePlans":
        """The same applicants with other options, that were checked; `kept` says which positions these take."""
        owner = self.plans.owner if kept is None else self.plans.owner[kept]
        plans = ExternalPlans(self.plans.factuals, options, owner)
        return replace(self, plans=plans, rows=ReadTable(options), encoded_options=None)

    @property
    def origins(self) -> "pd.DataFrame":
        """The applicant of each option, (M rows)."""
        return self.plans.factuals.iloc[self.plans.owner]


class Audit(NamedTuple):
    """The plans as they are, and which of their options the schema allows and the model accepts, (M,)."""

    batch: PlanBatch
    sound: Flags


def audit_plans(strategy: Strategy, given: ReadablePlans, request: PlanRequest, n_jobs: int | None) -> Audit:
    """Bound and judge external plans, exactly as they are."""
    started = perf_counter()
    factuals, n = given.plans.factuals, len(given.plans.factuals)
    owner, origins = given.plans.owner.astype(np.int64), ReadTable(factuals)
    n_options = given.n_options
    with stage("reading what the model says of the options"):
        options = read_options(strategy, origins, given.rows, owner, n_options, n_jobs, given.encoded_options)
    sized = replace(request, n_options=n_options)
    made = deliver(strategy, origins, options, sized, n_jobs, keep_refused=True)  # what is wrong is said of them
    with stage("checking the options against the schema"):
        violations = _violations(strategy, origins, options)
    status, message = _verdicts(made, violations, n, request)
    if strategy.shortage and not request.expected:
        message[status == FRAGILE] = strategy.shortage
    for i, error in given.errors.items():
        status[i], message[i] = ERROR, error
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    verdicts = status, message, np.full(n, np.nan), seconds
    rates = strategy.expected_rates(made.options, n, n_jobs)
    batch = assemble(factuals, np.arange(n), made, verdicts, request, strategy.basis, rates)
    return Audit(batch, options.accepted & np.array([not found for found in violations], dtype=bool))


def _violations(strategy: Strategy, origins: ReadTable, options: Options) -> list[list[str]]:
    """What the schema has against each option, in words; which have any is known sooner than the words are made."""
    found: list[list[str]] = [[] for _ in range(len(options.owner))]
    wrong = np.flatnonzero(~strategy.schema.obeys(origins, options.rows, options.owner))
    words = strategy.schema.violations(origins.frame.iloc[options.owner[wrong]], options.table.iloc[wrong])
    for k, said in zip(wrong.tolist(), words, strict=True):
        found[k] = said
    return found


def _verdicts(made: Delivered, violations: list[list[str]], n: int, request: PlanRequest) -> tuple[Texts, Texts]:
    """Statuses and messages of N applicants."""
    status, message = np.full(n, OK, dtype=object), np.full(n, "", dtype=object)
    edges = np.searchsorted(made.options.owner, np.arange(n + 1)).tolist()  # the options of an applicant are together
    for i in range(n):
        own = slice(edges[i], edges[i + 1])
        if own.start == own.stop:
            status[i], message[i] = INFEASIBLE, "there is no option for this applicant"
            continue
        broken = [
            f"option {k} violates the schema: {'; '.join(found)}"
            for k, found in enumerate(violations[own], start=1)
            if found
        ]
        refused = [f"option {k}" for k, good in enumerate(made.options.accepted[own].tolist(), start=1) if not good]
        if refused:
            broken.append(f"today's model does not accept {', '.join(refused)}")
        if broken:
            status[i], message[i] = INFEASIBLE, "; ".join(broken)
        elif not made.reached[i]:
            weights = made.bounds.weights[own] * (made.bounds.lower[i] > 0.0)
            weakest = breaks_first(made.bounds.option_lower[own], weights)
            what = request.goal
            asked = f"the {what} asked for, {request.guarantee:g} for {WHOM[request.guarantee_for]},"
            if request.objective == "paper":
                asked = f"a guarantee of {request.guarantee:g} for {WHOM[request.guarantee_for]}, {NOT_ASKED},"
            status[i] = FRAGILE
            message[i] = f"{asked} is not reached{'' if weakest is None else f'; option {weakest + 1} breaks first'}"
    return status, message


@dataclass(frozen=True, eq=False)
class CorrectedPlans:
    """Plans before and after a correction; both are about real rows.

    Attributes
    ----------
    before, after : PlanBatch
        Of the same applicants.
    moved : ndarray of shape (M,)
        How far each given option was moved, in the model's encoded units (Euclidean), of a black box in units of
        effort; 0 where it was left out.
    left_out : ndarray of shape (M,)
        Given options that are not in `after`: the schema or today's model refuses them, and they were not or could not
        be moved.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> data = copa.datasets.load_german()
    >>> numbers = data.features[[feature.name for feature in data.schema.features if feature.is_numeric]]
    >>> model = LogisticRegression(max_iter=2000).fit(numbers, data.favourable)
    >>> later = copa.LaterModels(n_refits=50)
    >>> planner = copa.RecoursePlanner(model, n_options=2, guarantee=0.7, later_models=later)
    >>> _ = planner.fit(numbers, data.favourable)
    >>> declined = numbers[~model.predict(numbers)].head(2)
    >>> weak = planner.with_wishes(copa.Wishes(guarantee=0.2))
    >>> corrected = planner.correct(weak.plan(declined))
    >>> corrected.before.status.tolist(), corrected.after.status.tolist()
    (['fragile', 'fragile'], ['ok', 'ok'])
    """

    __repr__ = short_repr

    before: PlanBatch
    after: PlanBatch
    moved: Array
    left_out: Flags

    @property
    def lower_before(self) -> Array:
        """L* of every plan as given, (N,)."""
        return self.before.lower

    @property
    def lower_after(self) -> Array:
        """L* of every plan after the correction, (N,)."""
        return self.after.lower

    def summary(self) -> Any:
        """One row per applicant: guarantees before and after, how far the options that are left moved on average."""
        import pandas as pd

        n = len(self.before)
        moved = np.bincount(self.before.owner, weights=self.moved, minlength=n) / np.maximum(self.after.counts, 1)
        table = pd.DataFrame(
            {
                "applicant": self.before.applicants.index,
                "status_before": self.before.status,
                "status_after": self.after.status,
                "all_before": self.before.lower,
                "all_after": self.after.lower,
                "any_before": self.before.any_lower,
                "any_after": self.after.any_lower,
                "moved": moved,
                "left_out": self.before.counts - self.after.counts,
            }
        )
        return as_backend(table, self.before.backend)


def correct_plans(
    strategy: Strategy,
    given: ExternalPlans,
    correction: Correction,
    request: PlanRequest,
    run: Execution,
) -> CorrectedPlans:
    """Repair the options of a table: a correction in the encoded space, delivered as the nearest real rows.

    Where the model is not linear in the columns there is no such space, and a search begins at each option instead. An
    option stays as it was given where it may not move (`n_corrections`), where the time limit ends before its turn,
    and where nothing that is allowed is accepted today. If the schema or the model refuses it as it is, it is left out.
    """
    strategy.require_method(correction.method)
    with stage("checking the plans as they are"):
        readable = ReadablePlans.read(strategy, given)
    audit = audit_plans(strategy, readable, request, run.n_jobs)
    before, plans = audit.batch, readable.plans
    people, owner = np.unique(plans.owner, return_inverse=True)  # those with options, whose own rows are good
    owner = owner.astype(np.int64)
    read = readable.applicants
    places = np.searchsorted(read.good, people)
    applicants = Applicants.read(strategy, read.rows.take(places), read.encoded[places])
    moving = may_move(before.owner, before.option_weights, correction.n_corrections)
    if correction.method == "level":  # a plan at the guarantee stays, whatever some option has by itself
        moving &= (before.status != OK)[before.owner]
    searched, reached = strategy, before.option_lower
    if request.expected:
        searched = strategy.expecting()
        reached = searched.ambiguity(readable.n_options).option_guarantees(before.points)
    if strategy.additive:
        sound = (before.status != INFEASIBLE)[before.owner]
        task = PointCorrection(searched, applicants, owner, before.points, correction, request, run)
        found = task.rows(sound)
    else:
        least = np.where(audit.sound, reached, -1.0)
        found = search_from_options(searched, plans.options, applicants, owner, least, moving, request, run)
    flags = moving & (found.outcomes < Outcome.UNREACHABLE)
    with stage("writing the corrected rows"):
        rows = write_rows(strategy.space, applicants.table.frame, applicants.regions, owner[flags], found.rows[flags])
    good = strategy.schema.obeys(applicants.origins, rows, owner[flags]) & strategy.model.accepts(rows)
    flags[flags] = good
    corrected = _with_rows(strategy, readable, flags, rows[good])
    result = audit_plans(strategy, corrected, request, run.n_jobs)
    if correction.method != "level":  # the given plan stays where rounding to real rows has taken the gain away
        better = (before.status == INFEASIBLE) | (result.batch.lower >= before.lower)
        if not better.all():
            flags = better[before.owner]
            corrected = _with_rows(strategy, readable, flags, corrected.plans.options[flags])
            result = audit_plans(strategy, corrected, request, run.n_jobs)
    after, kept = _without_refused(strategy, corrected, result, request, run.n_jobs)
    after = _with_late_ones(after, before.owner, moving & (found.outcomes == Outcome.TIMED_OUT))
    moved = np.zeros(len(kept))
    moved[kept] = strategy.changes(before.options[kept], after.options, (before.points[kept], after.points))
    return CorrectedPlans(before, _with_reasons(strategy, after, corrected, kept), moved, ~kept)


def may_move(owner: Indices, weights: Array, n_corrections: int | None) -> Flags:
    """Mark the options of every plan that break first: those with the largest weights, the first of equal ones, (M,).

    Parameters
    ----------
    owner : ndarray of shape (M,)
        Ascending.
    weights : ndarray of shape (M,)
        Mass of the worst distribution against each option.
    n_corrections : int or None
        How many of each plan; None for all.
    """
    if n_corrections is None:
        return np.ones(len(owner), dtype=bool)
    order = np.lexsort((-weights, owner))
    marked = np.zeros(len(owner), dtype=bool)
    marked[order] = np.arange(len(owner)) - np.searchsorted(owner, owner) < n_corrections
    return marked


def _with_rows(strategy: Strategy, given: ReadablePlans, flags: Flags, rows: "pd.DataFrame") -> ReadablePlans:
    """The plans with other rows where the flags are."""
    if flags.all():
        return given.with_options(rows)
    options = make_room(strategy.space, given.plans.options)
    columns = {name: overwritten(options[name], flags, rows[name]) for name in options.columns}
    return given.with_options(with_columns(options, columns))


def _without_refused(
    strategy: Strategy, corrected: ReadablePlans, audit: Audit, request: PlanRequest, n_jobs: int | None
) -> tuple[PlanBatch, Flags]:
    """The corrected plans without the options that the schema or the model refuses, and which are left, (M,)."""
    kept = np.ones(len(audit.sound), dtype=bool)
    while not audit.sound.all():  # until the model accepts, among the rows that leave, all of them
        kept[kept] = audit.sound
        left = corrected.with_options(corrected.plans.options[kept].reset_index(drop=True), kept)
        audit = audit_plans(strategy, left, request, n_jobs)
    return audit.batch, kept


def _with_late_ones(after: PlanBatch, owner: Indices, late: Flags) -> PlanBatch:
    """The batch, with the status "time_limit" for applicants with options whose turn did not come.

    Parameters
    ----------
    after : PlanBatch
    owner, late : ndarray of shape (M,)
        Of the given options.
    """
    status, message = after.status.astype(object), after.message.copy()
    edges = np.searchsorted(owner, np.arange(len(after) + 1)).tolist()
    for i in np.unique(owner[late]).tolist():
        if status[i] in (OK, ERROR):
            continue
        names = [f"option {k + 1}" for k in np.flatnonzero(late[edges[i] : edges[i + 1]]).tolist()]
        which = f"{', '.join(names)} could be corrected; what is allowed stays as it was given"
        status[i], message[i] = TIME_LIMIT, f"the time limit ended before {which}: {message[i]}"
    return replace(after, status=status, message=message)


def _with_reasons(strategy: Strategy, after: PlanBatch, corrected: ReadablePlans, kept: Flags) -> PlanBatch:
    """The batch, with messages that name the options left out, and why."""
    if kept.all():
        return after
    message = after.message.copy()
    refused = np.flatnonzero(~kept)
    owner = corrected.plans.owner[refused]
    numbers = refused - np.searchsorted(corrected.plans.owner, owner) + 1
    against = reasons_against(strategy, corrected.origins.iloc[refused], corrected.plans.options.iloc[refused])
    for i, number, reason in zip(owner.tolist(), numbers.tolist(), against, strict=True):
        left_out = f"given option {number} is left out: {reason}"
        message[i] = f"{message[i]}; {left_out}" if message[i] else left_out
    return replace(after, message=message)
