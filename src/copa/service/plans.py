"""`/v1/plan`, `/v1/audit`, `/v1/correct` and `/v1/verify`: plans that the service makes, judges, repairs or proves.

Rows are read one by one, so that one that cannot be read fails no other; those that can are worked on together.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Request, Response
from pydantic import BeforeValidator, Field, StrictBool, StrictStr

from copa._core.threads import stop_if_interrupted
from copa._core.words import ERROR
from copa.analysis.attribution import Attributor
from copa.exceptions import CopaError
from copa.planner.correct import Correction
from copa.planner.wishes import LEAST_WEIGHT, MOST_WEIGHT
from copa.plans.document import Findings, check_document, terms_entry
from copa.service.answers import Answer, Asked, Assumptions, Body, Entry, PlanAnswer, PlanEntry, entries_of, error_entry
from copa.service.problems import invalid
from copa.service.routing import Running, answer_from, answer_of, count_applicants, new_router
from copa.service.rows import RowError, RowReader
from copa.service.state import PlanRequest, Service

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner, Wishes
    from copa.plans import PlanBatch

router = new_router("plans")
MOST_OPTIONS = 79
MOST_FAULTS = 100

# ---------------------------------------------------------------------------------------------- what may be asked for


def _whole(value: Any) -> Any:
    """JSON knows one kind of numbers: 2.0 is the whole number 2."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


AsWhole = BeforeValidator(_whole)
Applicant = dict[str, Any]
Probability = Annotated[float, Field(strict=True, gt=0.0, lt=1.0)]
Side = Annotated[float, Field(strict=True, ge=0.0, le=1e15)]
ShareOfOwn = Annotated[float, Field(strict=True, gt=0.0, le=10.0)]
NOptions = Annotated[int, Field(strict=True, ge=1), AsWhole]
Horizon = Annotated[int, Field(strict=True, ge=1, le=1000), AsWhole]
Factor = Annotated[float, Field(strict=True, ge=LEAST_WEIGHT, le=MOST_WEIGHT)]
Distance = Annotated[float, Field(strict=True, ge=0.0, le=1e6)]


class Sides(Body):
    """How far up and down, in units of the column (levels of an ordinal); a side that is left out has no limit."""

    up: Side = Field(default_factory=float)  # what is left out is no limit, see `wishes`
    down: Side = Field(default_factory=float)


class WishesBody(Body):
    """Wishes of one person; what is left out is as the bundle has it."""

    fixed: list[StrictStr] = Field(default=[], description="Columns that no option changes.", max_length=10_000)
    max_change: dict[str, ShareOfOwn | Sides] = Field(
        default={}, description="How far an option may go from the applicant's own value: a share of it, or units."
    )
    weights: dict[str, Factor] = Field(
        default={}, description="Factor on the effort of changing a column: below 1 for what one would rather change."
    )
    guarantee: Probability | None = Field(
        default=None, description="Level: of the guarantee, or of the expected rate where the bundle plans for one."
    )
    guarantee_for: Annotated[StrictStr, Field(pattern="^(each|all|any)$")] | None = Field(
        default=None, description="Whom the guarantee is for: each option, all of them together, or any one."
    )
    n_options: NOptions | None = Field(default=None, description="Most options of a plan.")
    horizon: Horizon | None = Field(
        default=None, description="Retrainings that options must survive; /v1/model says what it changes."
    )

    def wishes(self) -> dict[str, Any]:
        """Return the wishes that were given, as `copa.Wishes` takes them."""
        told = {name: getattr(self, name) for name in WishesBody.model_fields}
        told["max_change"] = {
            name: most.model_dump(exclude_unset=True) if isinstance(most, Sides) else most
            for name, most in self.max_change.items()
        }
        return {name: value for name, value in told.items() if value not in (None, [], {})}


def require_few(service: Service, request: Request, applicants: Sequence[Any], field: str) -> None:
    """Raise for more applicants than a request may have, and tell the log how many there are."""
    most = service.settings.max_applicants
    if len(applicants) > most:
        raise invalid(field, f"{len(applicants)} of them", f"at most {most} in one request")
    count_applicants(request, len(applicants))


def read_wishes(service: Service, body: WishesBody) -> "Wishes":
    """Return the wishes of a request, or raise the problem with one of them."""
    most = service.settings.max_options
    if body.n_options is not None and body.n_options > most:
        raise invalid("/n_options", body.n_options, f"must be a whole number from 1 to {most}")
    return service.wishes(body.wishes())


# ---------------------------------------------------------------------------------------------- plans of the service


class PlanBody(WishesBody):
    """Applicants, and what is asked for."""

    applicants: list[Applicant] = Field(
        min_length=1, description="From each column to its value; null where there is none. /v1/schema lists them."
    )
    cards: StrictBool = Field(default=False, description="Give each plan what the cards of the report are drawn from.")
    certificates: StrictBool = Field(default=False, description="Give a document with proofs, for /v1/verify.")


@router.post("/plan", response_model=PlanAnswer)
async def plan(body: PlanBody, request: Request, service: Running) -> Response:
    """Build a plan for every applicant; one that cannot be read gets the status "error" and fails no other."""
    require_few(service, request, body.applicants, "/applicants")
    asked = PlanRequest(body.applicants, cards=body.cards, certificates=body.certificates)
    return await answer_of(service.plan(read_wishes(service, body), asked), service.settings.time_limit)


# ---------------------------------------------------------------------------------------------- plans of others


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


class Terms(Answer):
    """The request that plans answer, and the assumptions that their guarantees rest on."""

    asked: Asked | None = Field(description="null where no applicant could be read.")
    assumptions: Assumptions | None = Field(description="null where no applicant could be read.")


class AuditAnswer(Terms):
    """Plans as they are, in the order of the applicants."""

    plans: list[AuditEntry]
    comparison: str = Field(description="What the shares of a score are compared with.")


class CorrectAnswer(Terms):
    """Plans before and after, in the order of the applicants."""

    before: list[PlanEntry]
    plans: list[PlanEntry]


@router.post("/audit", response_model=AuditAnswer)
async def audit(body: AuditBody, request: Request, service: Running) -> Response:
    """Bound plans that someone else made, and say which option breaks first and how."""
    require_few(service, request, body.plans, "/plans")
    planner = service.asking(read_wishes(service, body))
    return await answer_from(service, lambda: _audited(planner, service.reader, body))


@router.post("/correct", response_model=CorrectAnswer)
async def correct(body: CorrectBody, request: Request, service: Running) -> Response:
    """Repair plans that someone else made, and say what it did."""
    try:
        Correction.read(body.method, float(body.budget), float(body.margin), body.n_corrections)
        service.planner.strategy_.require_method(body.method)
    except ValueError as error:
        raise invalid("/method", body.method, error) from error
    require_few(service, request, body.plans, "/plans")
    planner = service.asking(read_wishes(service, body))
    return await answer_from(service, lambda: _corrected(planner, service.reader, body))


def _audited(planner: "RecoursePlanner", reader: RowReader, body: AuditBody) -> Answer:
    attributor = Attributor(planner.strategy_)
    found: dict[int, Entry] = {}
    terms: Entry = {"asked": None, "assumptions": None}

    def audit(positions: Sequence[int], options: "Rows", applicants: "pd.DataFrame") -> "PlanBatch":
        batch = planner.audit(options, applicants)
        terms.update(terms_entry(batch))
        for k, entry in enumerate(entries_of(batch)):
            first = attributor.attribute(batch[k]) if batch.counts[k] else None
            found[positions[k]] = entry | {"breaks_first": None if first is None else first.to_dict()}
        return batch

    messages = _each(reader, body.plans, audit)
    plans = [found.get(i) or error_entry(i, messages[i]) | {"breaks_first": None} for i in range(len(body.plans))]
    return AuditAnswer.model_validate({"plans": plans, **terms, "comparison": attributor.comparison})


def _corrected(planner: "RecoursePlanner", reader: RowReader, body: CorrectBody) -> Answer:
    before: dict[int, Entry] = {}
    after: dict[int, Entry] = {}
    terms: Entry = {"asked": None, "assumptions": None}
    how: Any = {"method": body.method, "budget": body.budget, "margin": body.margin}

    def correct(positions: Sequence[int], options: "Rows", applicants: "pd.DataFrame") -> "PlanBatch":
        corrected = planner.correct(options, applicants, **how, n_corrections=body.n_corrections)
        terms.update(terms_entry(corrected.after))
        before.update(zip(positions, entries_of(corrected.before), strict=True))
        after.update(zip(positions, entries_of(corrected.after), strict=True))
        return corrected.before

    messages = _each(reader, body.plans, correct)
    told = [
        [entries.get(i) or error_entry(i, messages[i]) for i in range(len(body.plans))] for entries in (before, after)
    ]
    return CorrectAnswer.model_validate({"before": told[0], "plans": told[1], **terms})


Rows = list["pd.DataFrame | None"]


def _each(
    reader: RowReader, plans: Sequence[GivenPlan], work: Callable[[Sequence[int], Rows, Any], "PlanBatch"]
) -> dict[int, str]:
    """Work on plans whose rows have the same dtypes together, and return what is wrong with the others.

    Where something cannot be read, each applicant is worked on alone: what is said of an applicant's rows then counts
    these rows only.
    """
    messages: dict[int, str] = {}
    groups = _groups(reader, plans, messages)
    while groups:
        stop_if_interrupted()
        positions = groups.pop()
        try:
            batch = work(positions, *_tables(reader, plans, positions))
            is_read = not (batch.status == ERROR).any()
        except CopaError as error:
            messages |= {positions[0]: str(error)} if len(positions) == 1 else {}
            is_read = False
        if not is_read and len(positions) > 1:
            groups += [[i] for i in positions]
    return messages


def _groups(reader: RowReader, plans: Sequence[GivenPlan], messages: dict[int, str]) -> list[list[int]]:
    """Return positions of plans whose rows have the same dtypes, and say what is wrong with those not among them."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, plan in enumerate(plans):
        where = "the applicant's own row"
        try:
            own = reader.signature(plan.applicant)
            where = "an option cannot be read"
            signs = {reader.signature(option) for option in plan.options}
        except RowError as error:
            messages[i] = f"{where}: {error}"
        else:
            groups.setdefault((own, *sorted(signs)), []).append(i)
    return list(groups.values())


def _tables(reader: RowReader, plans: Sequence[GivenPlan], positions: Sequence[int]) -> tuple[Rows, "pd.DataFrame"]:
    """Return the options of some plans, None for those without, and their applicants."""
    import pandas as pd

    (applicants,), _ = reader.tables([plans[i].applicant for i in positions], positions)
    tables = [reader.tables(plans[i].options, range(len(plans[i].options)))[0] for i in positions]
    frames = [[table.frame.astype(object) for table in read] for read in tables]
    return [pd.concat(some).sort_index() if some else None for some in frames], applicants.frame


# ---------------------------------------------------------------------------------------------- proofs


class VerifyBody(Body):
    """Plans with certificates."""

    document: dict[str, Any] = Field(
        description="What /v1/plan gives with certificates, or what `copa plan --certificates proofs.json` writes."
    )


class VerifyAnswer(Answer):
    """Result of checking proofs."""

    proven: bool
    plans: int = Field(description="Plans with options.")
    options: int
    proven_for: str = Field(description="The distributions that the proofs are about, in words.")
    by_formula: bool = Field(
        description="Whether bounds were recomputed with the formula of their set, which is no independent proof."
    )
    digest_only: list[str] = Field(description="What the document also says, and nothing but its digest covers.")
    faults: list[str] = Field(description="Claims that are not proven, the first hundred.")


@router.post("/verify", response_model=VerifyAnswer)
async def verify(body: VerifyBody, service: Running) -> Response:
    """Check every bound of a document against its certificate, and the document against its digest."""
    return await answer_from(service, lambda: _verified(body.document))


def _verified(document: dict[str, Any]) -> Answer:
    try:
        findings = check_document(document)
    except CopaError as error:
        findings = Findings(violations=[str(error)])
    return VerifyAnswer.model_validate(findings.to_json(MOST_FAULTS))
