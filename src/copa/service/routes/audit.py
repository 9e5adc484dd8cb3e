"""`POST /v1/audit` and `/v1/correct`: plans that others made, judged as they are, or repaired.

Rows are read one by one, so that one that cannot be read fails no other; what can be is audited and corrected together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Request, Response
from pydantic import Field

from copa._core.threads import stop_if_interrupted
from copa._core.words import ERROR
from copa.analysis.attribution import Attributor
from copa.exceptions import CopaError
from copa.planner.correct import Correction
from copa.plans.document import terms_entry
from copa.service.answers import Answer, Asked, Assumptions, Body, Entry, PlanEntry, encoded, entries_of, error_entry
from copa.service.problems import invalid
from copa.service.routes.plan import Applicant, AsWhole, WishesBody, read_wishes, require_few
from copa.service.routes.resources import Running, answer_of, count_applicants, json_response, new_router
from copa.service.rows import RowError, RowReader
from copa.service.state import Service

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import CorrectedPlans, RecoursePlanner
    from copa.plans import PlanBatch

router = new_router("audit")
MOST_OPTIONS = 79
Distance = Annotated[float, Field(strict=True, ge=0.0, le=1e6)]


class GivenPlan(Body):
    """An applicant as they are today, and options that someone made for them."""

    applicant: Applicant = Field(description="From each column to its value.")
    options: list[Applicant] = Field(description="The rows that were offered.", max_length=MOST_OPTIONS)


class AuditBody(WishesBody):
    """Plans that someone made."""

    plans: list[GivenPlan] = Field(min_length=1)


class CorrectBody(AuditBody):
    """The same, and how to repair them."""

    method: Literal["level", "requirement", "mahalanobis"] = "level"
    budget: Distance = Field(default=0.1, description="Largest distance an option is moved (mahalanobis).")
    margin: Distance = Field(default=0.1, description="Mean score to reach (requirement).")
    n_corrections: Annotated[int, Field(strict=True, ge=1, le=MOST_OPTIONS), AsWhole] | None = Field(
        default=None, description="Most options moved per plan; null for all."
    )


class Share(Answer):
    """A part of a score, today and where the option breaks."""

    part: str
    column: str | None
    changed: bool
    today: float
    broken: float


class BreaksFirst(Answer):
    """The option that fails first, and how."""

    option: int
    probability: float = Field(description="At most this is the probability that the next model refuses it.")
    accepted: bool
    shares: list[Share]
    causes: list[str]
    in_words: str


class AuditEntry(PlanEntry):
    """A plan as it is."""

    breaks_first: BreaksFirst | None


class AuditAnswer(Answer):
    """Plans as they are, in the order of the applicants."""

    plans: list[AuditEntry]
    asked: Asked | None = Field(description="null where no applicant could be read.")
    assumptions: Assumptions | None = Field(description="null where no applicant could be read.")
    comparison: str = Field(description="What the shares of a score are compared with.")


class CorrectAnswer(Answer):
    """Plans before and after, in the order of the applicants."""

    before: list[PlanEntry]
    plans: list[PlanEntry]
    asked: Asked | None = Field(description="null where no applicant could be read.")
    assumptions: Assumptions | None = Field(description="null where no applicant could be read.")


@router.post("/audit", response_model=AuditAnswer)
async def audit(body: AuditBody, request: Request, service: Running) -> Response:
    """Bound plans that someone else made, and say which option breaks first and how."""
    return await _answer(service, request, body, audit_content, AuditAnswer)


@router.post("/correct", response_model=CorrectAnswer)
async def correct(body: CorrectBody, request: Request, service: Running) -> Response:
    """Repair plans that someone else made, and say what it did."""
    try:
        Correction.read(body.method, float(body.budget), float(body.margin), body.n_corrections)
        service.planner.strategy_.require_method(body.method)
    except ValueError as error:
        raise invalid("/method", body.method, error) from error
    return await _answer(service, request, body, correct_content, CorrectAnswer)


async def _answer(service: Service, request: Request, body: AuditBody, content: Any, model: type[Answer]) -> Response:
    require_few(service, body.plans, "/plans")
    count_applicants(request, len(body.plans))
    planner = service.asking(read_wishes(service, body))
    work = service.call(lambda: encoded(content(planner, service.reader, body), model))
    return json_response(await answer_of(work, service.settings.time_limit))


@dataclass(frozen=True, eq=False)
class ExternalGroup:
    """Applicants whose rows and options have the same dtypes.

    Attributes
    ----------
    positions : list of int
        Which applicants of the request they are.
    applicants : DataFrame
    options : list of DataFrame
        Of each.
    """

    positions: list[int]
    applicants: "pd.DataFrame"
    options: list["pd.DataFrame | None"]

    def alone(self) -> list["ExternalGroup"]:
        """The same, one applicant in each."""
        return [
            ExternalGroup([position], self.applicants.iloc[[k]], [self.options[k]])
            for k, position in enumerate(self.positions)
        ]


def read_external(reader: RowReader, plans: Sequence[GivenPlan]) -> tuple[list[ExternalGroup], dict[int, str]]:
    """Read applicants and their options; what cannot be read is said of its applicant, and fails no other.

    Parameters
    ----------
    reader : RowReader
    plans : sequence of GivenPlan
    """
    messages: dict[int, str] = {}
    kinds: dict[tuple[str, ...], list[int]] = {}
    for i, plan in enumerate(plans):
        try:
            signs = {reader.signature(option) for option in plan.options}
        except RowError as error:
            messages[i] = f"an option cannot be read: {error}"
        try:
            sign = reader.signature(plan.applicant)
        except RowError as error:
            messages[i] = f"the applicant's own row: {error}"
        if i not in messages:
            kinds.setdefault((sign, *sorted(signs)), []).append(i)
    groups = []
    for some in kinds.values():
        (table,), _ = reader.tables([plans[i].applicant for i in some], some)
        groups.append(ExternalGroup(some, table.frame, [_options(reader, plans[i].options) for i in some]))
    return groups, messages


def _options(reader: RowReader, rows: Sequence[Applicant]) -> "pd.DataFrame | None":
    import pandas as pd

    tables, _ = reader.tables(rows, range(len(rows)))
    if not tables:
        return None
    return pd.concat([table.frame.astype(object) for table in tables]).sort_index()


def _each(
    groups: Sequence[ExternalGroup], messages: dict[int, str], work: "Callable[[ExternalGroup], PlanBatch]"
) -> None:
    """Do the work of every group; of one in which something cannot be read, each applicant by themselves.

    What is said of an applicant's rows then counts their rows only.
    """
    batch: PlanBatch | None
    for group in groups:
        stop_if_interrupted()
        several = len(group.positions) > 1
        try:
            batch = work(group)
        except CopaError as error:
            if not several:
                messages[group.positions[0]] = str(error)
            batch = None
        if several and (batch is None or (batch.status == ERROR).any()):
            _each(group.alone(), messages, work)


def audit_content(planner: "RecoursePlanner", reader: RowReader, body: Any) -> Entry:
    """Return the answer of an audit: each plan as it is, and what breaks it first."""
    groups, messages = read_external(reader, body.plans)
    attributor = Attributor(planner.strategy_)
    found: dict[int, Entry] = {}
    terms: Entry = {"asked": None, "assumptions": None}

    def audit(group: ExternalGroup) -> "PlanBatch":
        batch = planner.audit(group.options, group.applicants)
        terms.update(terms_entry(batch))
        for k, entry in enumerate(entries_of(batch)):
            first = attributor.attribute(batch[k]) if batch.counts[k] else None
            entry["breaks_first"] = None if first is None else first.to_dict()
            found[group.positions[k]] = entry
        return batch

    _each(groups, messages, audit)
    plans = [found.get(i) or error_entry(i, messages[i]) | {"breaks_first": None} for i in range(len(body.plans))]
    return {"plans": plans, **terms, "comparison": attributor.comparison}


def correct_content(planner: "RecoursePlanner", reader: RowReader, body: Any) -> Entry:
    """Return the answer of a correction: each plan before and after."""
    groups, messages = read_external(reader, body.plans)
    before: dict[int, Entry] = {}
    after: dict[int, Entry] = {}
    terms: Entry = {"asked": None, "assumptions": None}
    how = {"method": body.method, "budget": body.budget, "margin": body.margin, "n_corrections": body.n_corrections}

    def correct(group: ExternalGroup) -> "PlanBatch":
        corrected: CorrectedPlans = planner.correct(group.options, group.applicants, **how)
        terms.update(terms_entry(corrected.after))
        for entries, batch in ((before, corrected.before), (after, corrected.after)):
            entries |= dict(zip(group.positions, entries_of(batch), strict=True))
        return corrected.before

    _each(groups, messages, correct)

    def told(entries: dict[int, Entry]) -> list[Entry]:
        return [entries.get(i) or error_entry(i, messages[i]) for i in range(len(body.plans))]

    return {"before": told(before), "plans": told(after), **terms}
