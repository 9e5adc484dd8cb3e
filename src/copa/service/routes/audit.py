"""`POST /v1/audit` and `/v1/correct`: plans that others made, judged as they are, or repaired."""

from typing import Annotated, Any, Literal

from fastapi import Request, Response
from pydantic import Field

from copa.planner.corrected_rows import Correction
from copa.service.answers import Answer, Asked, Assumptions, Body, PlanEntry, encoded
from copa.service.external import audit_content, correct_content
from copa.service.problems import invalid
from copa.service.routes.plan import Applicant, AsWhole, WishesBody, read_wishes, require_few
from copa.service.routes.resources import Running, answer_of, count_applicants, json_response, new_router
from copa.service.state import Service

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
        service.planner.fitted_.require_method(body.method)
    except ValueError as error:
        raise invalid("/method", body.method, error) from error
    return await _answer(service, request, body, correct_content, CorrectAnswer)


async def _answer(service: Service, request: Request, body: AuditBody, content: Any, model: type[Answer]) -> Response:
    require_few(service, body.plans, "/plans")
    count_applicants(request, len(body.plans))
    planner = service.asking(read_wishes(service, body))
    work = service.call(lambda: encoded(content(planner, service.reader, body), model))
    return json_response(await answer_of(work, service.settings.time_limit))
