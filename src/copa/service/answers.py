"""Models of what requests hold and of what is answered: every answer goes through the model that describes it."""

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from copa.data.tables.cells import as_json
from copa.plans.card import plan_views
from copa.plans.document import BOUNDS, plan_entries, table_columns

if TYPE_CHECKING:
    from copa.plans import PlanBatch

Entry = dict[str, Any]
Cell = str | bool | int | float | None


class Body(BaseModel):
    """A part of a request: whatever else is in it is a mistake."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """A part of an answer: nothing else is in it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class ChangeEntry(Answer):
    """A column that an option changes."""

    column: str
    from_: Cell = Field(alias="from", description="Value today.")
    to: Cell = Field(description="New value.")
    at_least: int | float | None = Field(description="Least value with which the option stays as sure, if known.")
    at_most: int | float | None = Field(description="Greatest value with which it stays as sure, if it is known.")
    effort: float | None = Field(description="Effort of this change by itself.")


class Ranges(Answer):
    """The guarantee from `at_least` to `at_most` in all changes of an option, in any combination."""

    guarantee: float


class OptionEntry(Answer):
    """One option of a plan."""

    option: int = Field(description="Its number, from 1.")
    row: dict[str, Cell] = Field(description="The whole row that the model accepts.")
    changes: list[ChangeEntry] = Field(description="/v1/schema says what people call their columns.")
    guarantee: float = Field(ge=0, le=1, description="Proven lower bound on the probability that it holds.")
    expected: float | None = Field(description="Rate at which refits accept it; a forecast, no guarantee.")
    effort: float | None
    plausibility: float | None = Field(description="Share of training rows that are as far from their neighbours.")
    weight: float | None = Field(description="Mass of the worst distribution against it: the largest breaks first.")
    accepted: bool = Field(description="Whether today's model accepts it.")
    ranges: Ranges | None


class PlanEntry(Answer):
    """The plan of one applicant."""

    applicant: int | str = Field(description="Position of the applicant in the request, from 0.")
    status: Literal["ok", "already_valid", "fragile", "infeasible", "time_limit", "error"]
    message: str
    factual: dict[str, Cell] = Field(description="The applicant as read; empty for one that cannot be read.")
    options: list[OptionEntry]
    all: float | None = Field(description="Proven lower bound on the probability that all options hold.")
    any: float | None = Field(description="Proven lower bound on the probability that at least one holds.")
    upper: float | None = Field(description="Upper bound on the probability that all hold.")
    highest_level: float | None = Field(description="Highest guarantee found, where the one asked for is not reached.")
    reliability: float | None = Field(
        description="Share of scores that another sample is expected to find, within what the applicant may change."
    )
    card: dict[str, Any] | None = Field(default=None, description="What cards are drawn from, if asked for.")


class Asked(Answer):
    """The request that plans answer."""

    guarantee: float | None
    expected_rate: float | None
    guarantee_for: Literal["each", "all", "any"]
    n_options: int
    objective: str
    cost: str
    plausibility: float


class Assumptions(Answer):
    """The assumptions that guarantees rest on."""

    model_config = ConfigDict(extra="allow")  # fields of the ambiguity set

    favourable: Cell = Field(description="The answer that applicants want.")
    threshold: float | None
    radius: float
    radius_source: str = Field(description="Where the radius of the ambiguity set comes from, in words.")
    drift: bool
    guarantees_mean: str
    in_words: str


class PlanAnswer(Answer):
    """Plans, in the order of the applicants."""

    plans: list[PlanEntry]
    asked: Asked
    assumptions: Assumptions
    wishes: dict[str, Any] = Field(description="The wishes that were heard.")
    document: dict[str, Any] | None = Field(default=None, description="Plans with proofs, if asked for.")


def entries_of(batch: "PlanBatch") -> list[Entry]:
    """Return the plans of a batch as files have them, each option with its whole row."""
    return list(plan_entries(batch, whole_rows=True))


def card_entries(batch: "PlanBatch") -> list[Entry]:
    """Return what `cards.js` draws of each plan, and what is said beside it."""
    from copa.report.views import beside_cards

    return [view | beside for view, beside in zip(plan_views(batch), beside_cards(batch), strict=True)]


def error_entry(label: Any, message: str) -> Entry:
    """Return the entry of an applicant that cannot be read."""
    empty: Entry = {"factual": {}, "options": [], **dict.fromkeys(BOUNDS), "highest_level": None, "reliability": None}
    return {"applicant": as_json(label), "status": "error", "message": message, **empty}


def row_entries(table: Any) -> list[Entry]:
    """Return the rows of a table as JSON has them."""
    columns = table_columns(table)
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def to_json(content: Answer | Entry) -> bytes:
    """Return an answer as JSON in ASCII, whatever is in it."""
    if isinstance(content, Answer):
        content = content.model_dump(by_alias=True, exclude_unset=True)
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
