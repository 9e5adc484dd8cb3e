"""Audit of external plans: read, judged and bounded exactly as they are."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copa._core.arrays import Array, Indices
from copa._core.progress import stage
from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK
from copa.data.schema.columns import ReadTable
from copa.planner.plan import CheckedRows, Delivered, Texts, assemble, deliver, read_rows
from copa.planner.strategies.base import Strategy
from copa.planner.strategies.options import Flags, Options
from copa.plans import PlanBatch, PlanRequest
from copa.plans.external import ExternalPlans
from copa.plans.wording import NOT_ASKED, WHOM
from copa.theory.bounds.worst_option import breaks_first

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ReadablePlans:
    """External plans whose rows the schema and the pipeline can read, the options of each applicant together."""

    origins: ReadTable  # all N applicants
    applicants: CheckedRows  # those of them whose rows are good
    rows: ReadTable  # M options
    owner: Indices  # (M,), positions of their applicants, ascending
    encoded: Array | None  # (M, k), the options by `Strategy.encode`; None where it was not called
    n_options: int  # most options of a plan, as given
    errors: dict[int, str]  # of applicants with a row that cannot be read, whose options are left out

    @classmethod
    def read(cls, strategy: Strategy, given: ExternalPlans) -> "ReadablePlans":
        """Check and encode every row."""
        order = np.argsort(given.owner, kind="stable")
        owner, options = given.owner[order].astype(np.int64), given.options.iloc[order].reset_index(drop=True)
        origins = ReadTable(given.factuals)
        own = read_rows(strategy, origins)
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
            rows = rows.take(np.flatnonzero(kept), renumbered=True)
            encoded, owner = encoded[kept], owner[read.good][kept]
        n_options = int(np.bincount(given.owner, minlength=1).max())
        return cls(origins, own, rows, owner, encoded, n_options, errors)

    def with_options(self, options: "pd.DataFrame", kept: Flags | None = None) -> "ReadablePlans":
        """Return the same applicants with other options, checked already; `kept` flags those that they replace."""
        owner = self.owner if kept is None else self.owner[kept]
        return replace(self, rows=ReadTable(options), owner=owner, encoded=None)


class Audit(NamedTuple):
    """Plans as they are, and flags (M,) of the options that the schema allows and the model accepts."""

    batch: PlanBatch
    sound: Flags


def audit_plans(strategy: Strategy, given: ReadablePlans, request: PlanRequest, n_jobs: int | None) -> Audit:
    """Bound and judge external plans, exactly as they are."""
    started = perf_counter()
    n, n_options = len(given.origins), given.n_options
    with stage("reading what the model says of the options"):
        options = strategy.evaluate_options(given.origins, given.rows, given.owner, n_options, n_jobs, given.encoded)
    sized = replace(request, n_options=max(n_options, 1))  # 0 where nobody has an option
    delivered = deliver(strategy, given.origins, options, sized, n_jobs, keep_refused=True)
    with stage("checking the options against the schema"):
        violations = _violations(strategy, given.origins, options)
    status, message = _verdicts(delivered, violations, n, request)
    if not request.expected:
        shortages = strategy.shortages(delivered.reliability)
        short = (status == FRAGILE) & (shortages != "")
        message[short] = shortages[short]
    for i, error in given.errors.items():
        status[i], message[i] = ERROR, error
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    verdicts = status, message, np.full(n, np.nan), seconds
    rates = strategy.expected_rates(delivered.options, n, n_jobs)
    batch = assemble(given.origins.frame, np.arange(n), delivered, verdicts, request, strategy.basis, rates)
    return Audit(batch, options.accepted & np.array([not words for words in violations], dtype=bool))


def _violations(strategy: Strategy, origins: ReadTable, options: Options) -> list[list[str]]:
    """Say what the schema has against each option; words are made only for those that it refuses."""
    violations: list[list[str]] = [[] for _ in range(len(options.owner))]
    refused = np.flatnonzero(~strategy.schema.obeys(origins, options.rows, options.owner))
    words = strategy.schema.violations(origins.frame.iloc[options.owner[refused]], options.table.iloc[refused])
    for k, of_option in zip(refused.tolist(), words, strict=True):
        violations[k] = of_option
    return violations


def _verdicts(delivered: Delivered, violations: list[list[str]], n: int, request: PlanRequest) -> tuple[Texts, Texts]:
    """Return statuses and messages of N applicants."""
    status, message = np.full(n, OK, dtype=object), np.full(n, "", dtype=object)
    edges = np.searchsorted(
        delivered.options.owner, np.arange(n + 1)
    ).tolist()  # the options of an applicant are together
    for i in range(n):
        own = slice(edges[i], edges[i + 1])
        if own.start == own.stop:
            status[i], message[i] = INFEASIBLE, "there is no option for this applicant"
            continue
        broken = [
            f"option {k} violates the schema: {'; '.join(words)}"
            for k, words in enumerate(violations[own], start=1)
            if words
        ]
        refused = [
            f"option {k}" for k, good in enumerate(delivered.options.accepted[own].tolist(), start=1) if not good
        ]
        if refused:
            broken.append(f"today's model does not accept {', '.join(refused)}")
        if broken:
            status[i], message[i] = INFEASIBLE, "; ".join(broken)
        elif not delivered.reached[i]:
            weights = delivered.bounds.weights[own] * (delivered.bounds.lower[i] > 0.0)
            weakest = breaks_first(delivered.bounds.option_lower[own], weights)
            what = request.goal
            asked = f"the {what} asked for, {request.guarantee:g} for {WHOM[request.guarantee_for]},"
            if request.objective == "paper":
                asked = f"a guarantee of {request.guarantee:g} for {WHOM[request.guarantee_for]}, {NOT_ASKED},"
            status[i] = FRAGILE
            message[i] = f"{asked} is not reached{'' if weakest is None else f'; option {weakest + 1} breaks first'}"
    return status, message
