"""`/v1/promises`: options that are recorded in the ledger as promises, listed, redeemed, and weighed together."""

from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from pydantic import Field, StrictBool, StrictStr

from copa.data.tables.cells import as_json
from copa.plans.frames import option_numbers
from copa.promises import Ledger, portfolio_risk
from copa.promises.promised_rows import split_facts
from copa.promises.record import chosen_options, read_text
from copa.service.answers import Answer, Body, Cell, Entry, row_entries
from copa.service.letters import Day
from copa.service.plans import Applicant, AsWhole, WishesBody, read_wishes
from copa.service.problems import ProblemError, invalid
from copa.service.routing import Running, answer_from, count_applicants, new_router
from copa.service.state import LEDGER, Service

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner
    from copa.plans import PlanBatch

router = new_router("promises")
SHOWN = ("applicant", "option", "status", "option_guarantee", "model_version", "made", "valid_until", "recorded_by")
ELSEWHERE = "give the service more time (--time-limit), or use `copa promises` beside it"
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
    """Promises that are recorded; recording the same once more records nothing, and says the same."""

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
    """Outcome of a return."""

    promise: str
    applicant: str
    fulfilled: bool = Field(description="Whether the row is what was promised for.")
    accepted: bool = Field(description="Whether today's model accepts it.")
    outcome: Outcome
    differences: list[str] = Field(description="Why the row does not fulfil the promise.")
    decision: Literal["honour", "refuse"] | None


class CheckAnswer(Answer):
    """Result of checking that no event was changed, removed or put elsewhere."""

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
async def record(body: RecordBody, request: Request, service: Running) -> Response:
    """Plan once more, and record options as promises; the answer comes when the ledger has them."""
    count_applicants(request, 1)
    planner = service.asking(read_wishes(service, body))
    return await answer_from(service, lambda: _recorded(service, planner, body))


@router.get("/promises", response_model=PromisesAnswer, responses=SLOW)
async def promises(
    service: Running,
    status: Annotated[Status, Query(description="An open promise after its last day counts as expired.")] = "open",
    applicant: Annotated[str | None, Query(max_length=200, description="Those of one person.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most that are returned.")] = 100,
) -> Response:
    """List promises."""

    def listed() -> Answer:
        tables = ledger_of(service).blocks(status, size=limit + 1, applicant=applicant)
        entries = list(islice((entry for table in tables for entry in _entries(*split_facts(table))), limit + 1))
        return PromisesAnswer(promises=entries[:limit], more=len(entries) > limit)

    return await answer_from(service, listed)


@router.get("/promises/summary", response_model=SummaryAnswer, responses=SLOW)
async def summary(service: Running) -> Response:
    """Count the promises of each status."""
    return await answer_from(service, lambda: SummaryAnswer.model_validate({"counts": ledger_of(service).counts()}))


@router.get("/promises/check", response_model=CheckAnswer, responses=SLOW)
async def check(service: Running) -> Response:
    """Check that the chain of events is whole: none was changed, removed or put elsewhere."""
    work = lambda: CheckAnswer(**asdict(ledger_of(service).verify()))  # noqa: E731 - as the routes beside it
    return await answer_from(service, work, thread=LEDGER, advice=ELSEWHERE)


@router.get("/promises/portfolio", response_model=PortfolioAnswer, responses=SLOW)
async def portfolio(service: Running) -> Response:
    """Forecast what the next model does to all outstanding promises together."""

    def forecast() -> Answer:
        risk = portfolio_risk(service.planner, ledger_of(service))
        return PortfolioAnswer.model_validate(risk.to_dict() | {"in_words": risk.in_words()})

    return await answer_from(service, forecast, thread=LEDGER, advice=ELSEWHERE)


@router.post("/promises/{promise}/redeem", response_model=RedeemAnswer)
async def redeem(
    body: RedeemBody,
    request: Request,
    service: Running,
    promise: Annotated[str, Path(max_length=200, description="Id of the promise.")],
) -> Response:
    """Say whether a person's row fulfils a promise and what the model answers, and record both."""
    count_applicants(request, 1)

    def redeemed() -> Answer:
        told = body.model_dump(exclude={"row"})
        redemption = ledger_of(service).redeem(promise, body.row, service.planner, **told)
        return RedeemAnswer.model_validate(asdict(redemption) | {"differences": list(redemption.differences)})

    return await answer_from(service, redeemed)


def ledger_of(service: Service) -> Ledger:
    """Return the ledger of the service, which has one where these routes are."""
    assert service.ledger is not None  # noqa: S101 - see `build_app`
    return service.ledger


def _recorded(service: Service, planner: "RecoursePlanner", body: RecordBody) -> RecordAnswer:
    """Plan once more, and record options; where the plan is not the one that was shown, nothing is."""
    read_text(body.name, "name")
    tables, messages = service.reader.tables([body.applicant], [body.name])
    if messages:
        raise invalid("/applicant", body.applicant, messages[0])
    batch = planner.plan(tables[0].frame)
    if not len(batch.owner):
        raise invalid("/applicant", body.name, f"there is no option to promise: {batch.message[0]}")
    options = None if body.options is None else {batch.applicants.index[0]: body.options}
    chosen = chosen_options(batch, options, include_fragile=body.include_fragile)
    if not len(chosen):
        raise invalid("/options", body.options, f"none can be promised: the plan is {batch.status[0]}")
    _require_shown(batch, chosen, body.rows)
    told = ("valid_for", "made", "include_fragile", "may_differ", "recorded_by")
    promised = ledger_of(service).record(
        batch,
        model_version=body.model_version or service.model_version,
        model=service.planner,
        options=options,
        **{name: getattr(body, name) for name in told},
    )
    numbers = option_numbers(batch)[chosen].tolist()
    entries = [Promised(promise=key, option=number) for key, number in zip(promised, numbers, strict=True)]
    return RecordAnswer(applicant=body.name, promises=entries)


def _require_shown(batch: "PlanBatch", chosen: Any, rows: list[Entry]) -> None:
    """Raise unless these are the rows that the person saw: another bundle may have come in between."""
    if rows and rows != row_entries(batch.options.iloc[chosen]):
        raise ProblemError("conflict", "the plan is no longer the one whose rows were sent; plan again, and look")


def _entries(facts: "pd.DataFrame", rows: "pd.DataFrame") -> list[PromiseEntry]:
    shown = {name: [as_json(value) for value in facts[name].tolist()] for name in SHOWN}
    told = [{name: values[k] for name, values in shown.items()} for k in range(len(facts))]
    return [
        PromiseEntry(promise=str(key), row=row, **own)
        for key, own, row in zip(facts.index.tolist(), told, row_entries(rows), strict=True)
    ]
