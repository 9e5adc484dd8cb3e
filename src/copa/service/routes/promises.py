"""`/v1/promises`: options that are recorded as promises, listed, redeemed, and weighed together."""

from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from pydantic import Field, StrictBool, StrictStr

from copa.service.answers import Answer, Body, Cell, encoded
from copa.service.routes.letter import Day
from copa.service.routes.plan import Applicant, AsWhole, WishesBody, read_wishes
from copa.service.routes.resources import (
    OpenLedger,
    Running,
    answer_of,
    count_applicants,
    json_response,
    new_router,
    whole_ledger,
)

router = new_router("promises")
Line = Annotated[StrictStr, Field(max_length=200)]
Named = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Status = Literal["open", "kept", "broken", "expired", "waived"]
Number = Annotated[int, Field(strict=True, ge=1, le=79), AsWhole]
SLOW: dict[int | str, dict[str, Any]] = {422: {"description": "No such thing"}, 504: {"description": "Too long"}}
Outcome = Literal["kept", "broken", "not fulfilled"]


class RecordBody(WishesBody):
    """An applicant, what was asked for, and which options are promised."""

    applicant: Applicant = Field(description="From each column to its value, as for /v1/plan.")
    name: Named = Field(description="Whom the promise is made to.")
    options: list[Number] | None = Field(
        default=None, min_length=1, max_length=79, description="Numbers of the options; null for all that can be."
    )
    rows: list[Applicant] = Field(
        default=[], max_length=79, description="Rows of these options as /v1/plan gave them: others are not promised."
    )
    valid_for: Line = Field(description="A span, or the last day.", examples=["12 months", "2027-11-18"])
    made: Day | None = Field(default=None, description="Day on which it is made; today, if null.")
    model_version: Line = Field(default="", description="What the model is called; the service's own word, if empty.")
    may_differ: list[Line] = Field(default=[], max_length=1000, description="Columns that may change, such as an age.")
    recorded_by: Named = Field(description="Who records it.")
    include_fragile: StrictBool = Field(
        default=False, description="Promise options of a fragile plan, below the guarantee that was asked for."
    )


class Promised(Answer):
    """An option that is promised."""

    promise: str = Field(description="Id of the promise.")
    option: int


class RecordAnswer(Answer):
    """What is recorded; recording the same once more records nothing, and says the same."""

    applicant: str
    promises: list[Promised]


class PromiseEntry(Answer):
    """A promise."""

    promise: str
    applicant: str = Field(description="Empty where personal data were purged.")
    option: int
    status: Status
    option_guarantee: float | None
    model_version: str
    made: str
    valid_until: str
    recorded_by: str
    row: dict[str, Cell]


class PromisesAnswer(Answer):
    """Promises, the earliest first."""

    promises: list[PromiseEntry]
    more: bool = Field(description="Whether there are more than were asked for.")


class RedeemBody(Body):
    """A person who comes back, and what is decided if the promise is broken."""

    row: Applicant = Field(description="The person as of today, in the columns of the promised row.")
    decision: Literal["honour", "refuse"] | None = None
    reason: Annotated[StrictStr, Field(max_length=2000)] = Field(default="", description="A refusal needs one.")
    may_differ: list[Line] = Field(default=[], max_length=1000)
    recorded_by: Named = Field(description="Who records it.")


class RedeemAnswer(Answer):
    """What came of it."""

    promise: str
    applicant: str
    fulfilled: bool = Field(description="Whether the row is what was promised for.")
    accepted: bool = Field(description="Whether today's model accepts it.")
    outcome: Outcome
    differences: list[str] = Field(description="Why the row does not fulfil the promise.")
    decision: Literal["honour", "refuse"] | None


class CheckAnswer(Answer):
    """Whether any event was changed, removed or put elsewhere."""

    ok: bool
    events: int
    first_bad: int | None = Field(description="The first event that is not as it was.")
    message: str = Field(description="What is wrong; empty where nothing is.")
    checkpoint: str = Field(description="For `copa promises verify --expect` later; empty where something is wrong.")


class SummaryAnswer(Answer):
    """The ledger as a whole."""

    counts: dict[Status, int] = Field(description="Number of promises of each status.")


class PastEntry(Answer):
    """A share that past versions say something about."""

    share: float
    probability: float = Field(description="At most this is the probability that the next model breaks more.")


class DirectionEntry(Answer):
    """A part of what a model that hurts most changes."""

    part: str
    change: float


class PortfolioAnswer(Answer):
    """Distribution of the share of outstanding promises that the next model breaks: a forecast, no guarantee."""

    mean: float
    quantiles: dict[str, float | None]
    effective_number: float | None
    shares: list[float]
    n_promises: int
    expected_share: float | None
    past: list[PastEntry]
    direction: list[DirectionEntry]
    source: str
    in_words: list[str]


@router.post("/promises", response_model=RecordAnswer, responses={409: {"description": "Another plan"}})
async def record(body: RecordBody, request: Request, service: Running, ledger: OpenLedger) -> Response:
    """Plan once more, and record options as promises; the answer comes when the ledger has them."""
    count_applicants(request, 1)
    planner = service.asking(read_wishes(service, body))
    return await _answer(service, lambda: ledger.record(planner, body), RecordAnswer)


@router.get("/promises", response_model=PromisesAnswer, responses=SLOW)
async def promises(
    service: Running,
    ledger: OpenLedger,
    status: Annotated[Status, Query(description="An open promise after its last day counts as expired.")] = "open",
    applicant: Annotated[str | None, Query(max_length=200, description="Those of one person.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most that are returned.")] = 100,
) -> Response:
    """List promises."""
    return await _answer(service, lambda: ledger.list(status, applicant, limit), PromisesAnswer)


@router.get("/promises/summary", response_model=SummaryAnswer, responses=SLOW)
async def summary(service: Running, ledger: OpenLedger) -> Response:
    """How many there are of each status."""
    return await _answer(service, ledger.summary, SummaryAnswer)


@router.get("/promises/check", response_model=CheckAnswer, responses=SLOW)
async def check(service: Running, ledger: OpenLedger) -> Response:
    """Whether the chain of events is whole: none was changed, removed or put elsewhere."""
    return await whole_ledger(service, ledger.check, CheckAnswer)


@router.get("/promises/portfolio", response_model=PortfolioAnswer, responses=SLOW)
async def portfolio(service: Running, ledger: OpenLedger) -> Response:
    """What the next model may do to all outstanding promises together."""
    return await whole_ledger(service, ledger.portfolio, PortfolioAnswer)


@router.post("/promises/{promise}/redeem", response_model=RedeemAnswer)
async def redeem(
    body: RedeemBody,
    request: Request,
    service: Running,
    ledger: OpenLedger,
    promise: Annotated[str, Path(max_length=200, description="Id of the promise.")],
) -> Response:
    """Say whether a person's row fulfils a promise and what the model answers, and record both."""
    count_applicants(request, 1)
    return await _answer(service, lambda: ledger.redeem(promise, body), RedeemAnswer)


async def _answer(service: Any, work: Any, model: type[Answer]) -> Response:
    return json_response(await answer_of(service.call(lambda: encoded(work(), model)), service.settings.time_limit))
