"""What bodies and answers hold: models for the description of the service."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

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
    title: str = Field(description="What people call the column.")
    unit: str = Field(description="Of its numbers; empty where there is none.")
    from_: Cell = Field(alias="from", description="Value today.")
    to: Cell = Field(description="New value.")
    at_least: float | None = Field(description="Least value with which the option stays as sure, if it is known.")
    at_most: float | None = Field(description="Greatest value with which the option stays as sure, if it is known.")
    effort: float | None = Field(description="Effort of this change by itself.")


class Ranges(Answer):
    """What holds from `at_least` to `at_most` in all changes of an option, in any combination."""

    guarantee: float


class OptionEntry(Answer):
    """One option of a plan."""

    option: int = Field(description="Its number, from 1.")
    row: dict[str, Cell] = Field(description="The whole row that the model accepts.")
    changes: list[ChangeEntry]
    guarantee: float = Field(ge=0, le=1, description="Proven lower bound on the probability that it holds.")
    expected: float | None = Field(description="Rate at which refits accept it; a forecast, no guarantee.")
    effort: float | None
    plausibility: float | None = Field(description="Share of training rows that are as far from their neighbours.")
    accepted: bool = Field(description="Whether today's model accepts it.")
    ranges: Ranges | None


class PlanEntry(Answer):
    """The plan of one applicant."""

    applicant: int | str = Field(description="Position of the applicant in the request, from 0.")
    status: Literal["ok", "already_valid", "fragile", "infeasible", "time_limit", "error"]
    message: str
    options: list[OptionEntry]
    all: float | None = Field(description="Proven lower bound on the probability that all options hold.")
    any: float | None = Field(description="Proven lower bound on the probability that at least one holds.")
    upper: float | None = Field(description="Upper bound on the probability that all hold.")
    highest_level: float | None = Field(description="Highest guarantee found, where the one asked for is not reached.")
    card: dict[str, Any] | None = Field(default=None, description="What cards are drawn from, if asked for.")


class Asked(Answer):
    """What was asked for, and what guarantees rest on."""

    guarantee: float | None
    expected_rate: float | None
    guarantee_for: Literal["each", "all", "any"]
    n_options: int
    plausibility: float
    assumption: str


class PlanAnswer(Answer):
    """Plans, in the order of the applicants."""

    plans: list[PlanEntry]
    asked: Asked
    wishes: dict[str, Any] = Field(description="The wishes that were heard.")
    document: dict[str, Any] | None = Field(default=None, description="Plans with proofs, if asked for.")
