"""`POST /v1/letter`: letters to declined applicants, whose numbers are checked."""

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Request, Response
from pydantic import Field, StrictBool, StrictStr

from copa._core.threads import stop_if_interrupted
from copa.exceptions import InvalidInputError
from copa.report.letters import Letter, LetterSettings, LetterWriter
from copa.report.letters.writer import UNREADABLE, WHY_NONE
from copa.service.answers import Answer
from copa.service.plans import Applicant, WishesBody, read_wishes, require_few
from copa.service.problems import invalid
from copa.service.routing import Running, answer_from, new_router

if TYPE_CHECKING:
    from copa.planner import RecoursePlanner
    from copa.service.rows import RowReader

router = new_router("letter")
Line = Annotated[StrictStr, Field(max_length=500)]
Day = Annotated[
    StrictStr,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", json_schema_extra={"format": "date"}, examples=["2027-03-31"]),
]


SAID = ("sender", "contact", "valid_until", "date", "without_protected", "include_fragile")  # of `LetterSettings`


class LetterBody(WishesBody):
    """Applicants, what is asked for, and what the sender says."""

    applicants: list[Applicant] = Field(min_length=1, description="From each column to its value.")
    names: list[Line] = Field(default=[], description="What the letters call the applicants, in their order.")
    sender: Line = Field(default="", description="Who writes.")
    contact: Line = Field(default="", description="Whom an applicant may ask.")
    valid_until: Day | None = Field(default=None, description="Day until which the sender stands by the options.")
    date: Day | None = Field(default=None, description="Day of the letters.")
    without_protected: StrictBool = Field(
        default=False, description="Leave out reasons that look like protected attributes; the letters say so."
    )
    include_fragile: StrictBool = Field(
        default=False, description="Offer options of fragile plans, below the guarantee that was asked for."
    )


class LetterReason(Answer):
    """A reason that a letter gives."""

    column: str
    contribution: float = Field(description="By how much the score would rise with the value of those accepted.")


class LetterEntry(Answer):
    """The letter to one applicant, as a page and as text, which say the same; or why there is none."""

    applicant: int = Field(description="Position of the applicant in the request, from 0.")
    html: str | None
    text: str | None
    message: str = Field(description="Why there is no letter; empty where there is one.")
    reasons: list[LetterReason]
    protected: list[str] = Field(description="Columns among the reasons that look like protected attributes.")
    fragile_left_out: int = Field(description="Options of a fragile plan that the letter does not offer.")


class LetterAnswer(Answer):
    """Letters, in the order of the applicants."""

    letters: list[LetterEntry]


@router.post("/letter", response_model=LetterAnswer)
async def letter(body: LetterBody, request: Request, service: Running) -> Response:
    """Write to declined applicants: the decision, its principal reasons, the options, what is promised."""
    require_few(service, request, body.applicants, "/applicants")
    settings, planner = _read_settings(body), service.asking(read_wishes(service, body))
    return await answer_from(service, lambda: _letters(service.reader, planner, settings, body))


def _letters(
    reader: "RowReader", planner: "RecoursePlanner", settings: LetterSettings, body: LetterBody
) -> LetterAnswer:
    names = [*body.names, *[""] * len(body.applicants)][: len(body.applicants)]
    tables, messages = reader.tables(body.applicants, names)
    found = {i: _no_letter(i, UNREADABLE, message) for i, message in messages.items()}
    for table in tables:
        stop_if_interrupted()
        batch = planner.plan(table.frame)
        written = LetterWriter(planner.strategy_, settings).write(batch)
        for i, told, made in zip(table.positions, batch.message.tolist(), written, strict=True):
            found[i] = _entry(i, made) if isinstance(made, Letter) else _no_letter(i, made, told)
    return LetterAnswer(letters=[found[i] for i in range(len(body.applicants))])


def _entry(i: int, made: Letter) -> LetterEntry:
    return LetterEntry(
        applicant=i,
        html=made.html,
        text=made.text,
        message="",
        reasons=[LetterReason(column=it.column, contribution=float(it.contribution)) for it in made.told],
        protected=list(made.protected),
        fragile_left_out=made.fragile_left_out,
    )


def _no_letter(i: int, why: str, told: str) -> LetterEntry:
    message = WHY_NONE[why].format(told)
    return LetterEntry(applicant=i, html=None, text=None, message=message, reasons=[], protected=[], fragile_left_out=0)


def _read_settings(body: LetterBody) -> LetterSettings:
    said: dict[str, Any] = {name: getattr(body, name) for name in SAID}
    for name in ("date", "valid_until"):
        try:
            said[name] = None if said[name] is None else date.fromisoformat(said[name])
        except ValueError as error:
            raise invalid(f"/{name}", said[name], f"must be a day such as 2027-03-31: {error}") from error
    try:
        return LetterSettings(**said)
    except InvalidInputError as error:
        raise invalid("/valid_until", body.valid_until, error) from error
