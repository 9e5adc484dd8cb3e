"""Audits: what plans made elsewhere are worth, exactly as they are."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.arrays import Array
from copa._core.words import ERROR, FRAGILE, INFEASIBLE, OK
from copa.external import ExternalPlans, read_plans
from copa.planner.plan import Delivered, Texts, assemble, deliver, read_rows
from copa.planner.strategies.base import Flags, Strategy, read_options
from copa.plans import PlanBatch, PlanRequest
from copa.plans.wording import WHOM

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
    encoded_applicants, encoded_options : ndarray of shape (N, k), (M, k)
        What `Strategy.encode` says of them; NaN for applicants that cannot be read. None where it was not called.
    """

    plans: ExternalPlans
    errors: dict[int, str]
    n_options: int
    encoded_applicants: Array
    encoded_options: Array | None

    @classmethod
    def read(cls, strategy: Strategy, given: ExternalPlans) -> "ReadablePlans":
        """Check every row, and encode it."""
        order = np.argsort(given.owner, kind="stable")
        owner, options = given.owner[order], given.options.iloc[order].reset_index(drop=True)
        own, messages = read_rows(strategy, given.factuals)
        encoded, option_messages = read_rows(strategy, options)
        errors = {i: f"the applicant's own row: {message}" for i, message in enumerate(messages) if message}
        for i, message in zip(owner.tolist(), option_messages, strict=True):
            if message:
                errors.setdefault(i, f"an option cannot be read: {message}")
        good = (option_messages == "") & (messages[owner] == "")
        if not good.all():
            options, owner, encoded = options[good].reset_index(drop=True), owner[good], encoded[good]
        n_options = int(np.bincount(given.owner, minlength=1).max())
        return cls(ExternalPlans(given.factuals, options, owner), errors, n_options, own, encoded)

    def with_options(self, options: "pd.DataFrame", kept: Flags | None = None) -> "ReadablePlans":
        """The same applicants with other options, that were checked; `kept` says which positions these take."""
        owner = self.plans.owner if kept is None else self.plans.owner[kept]
        return replace(self, plans=ExternalPlans(self.plans.factuals, options, owner), encoded_options=None)

    @property
    def origins(self) -> "pd.DataFrame":
        """The applicant of each option, (M rows)."""
        return self.plans.factuals.iloc[self.plans.owner]


class Audit(NamedTuple):
    """The plans as they are, and which of their options the schema allows and the model accepts, (M,)."""

    batch: PlanBatch
    sound: Flags


def read_given(strategy: Strategy, source: Any, applicants: "pd.DataFrame | None") -> ExternalPlans:
    """Read external plans in the columns of the model, and in those of the schema that it does not use."""
    return read_plans(source, strategy.model.columns, applicants, others=strategy.schema.names)


def audit_plans(strategy: Strategy, given: ReadablePlans, request: PlanRequest, n_jobs: int | None) -> Audit:
    """Bound and judge external plans, exactly as they are."""
    started = perf_counter()
    factuals, n = given.plans.factuals, len(given.plans.factuals)
    owner = given.plans.owner.astype(np.int64)
    table, n_options = given.plans.options, given.n_options
    options = read_options(strategy, factuals, table, owner, n_options, n_jobs, given.encoded_options)
    sized = replace(request, n_options=n_options)
    made = deliver(strategy, factuals, options, sized, n_jobs, keep_refused=True)  # what is wrong is said of them
    violations = strategy.schema.violations(given.origins, options.table)
    status, message = _verdicts(made, violations, n, request)
    for i, error in given.errors.items():
        status[i], message[i] = ERROR, error
    seconds = np.full(n, (perf_counter() - started) / max(n, 1))
    verdicts = status, message, np.full(n, np.nan), seconds
    batch = assemble(factuals, np.arange(n), made, verdicts, request, strategy.basis)
    return Audit(batch, options.accepted & np.array([not found for found in violations], dtype=bool))


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
            weakest = int(np.argmax(made.bounds.weights[own])) + 1
            status[i] = FRAGILE
            message[i] = (
                f"the guarantee asked for, {request.guarantee:g} for {WHOM[request.guarantee_for]}, is not reached; "
                f"option {weakest} breaks first"
            )
    return status, message
