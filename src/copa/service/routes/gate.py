"""`POST /v1/gate`: a candidate model, tried on all outstanding promises."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from copa.service.problems import ProblemError
from copa.service.routes.answer_models import Answer
from copa.service.routes.resources import Desk, Running, whole_ledger

router = APIRouter(prefix="/v1", tags=["gate"])  # its body is a file, not JSON
FILE = "application/octet-stream"
BODY = {"required": True, "content": {FILE: {"schema": {"type": "string", "format": "binary"}}}}


class GateAnswer(Answer):
    """What `copa gate --json` says, and the same in sentences."""

    passed: bool
    as_of: str
    n_promises: int
    n_applicants: int
    n_broken: int
    broken_share: float
    max_broken: float
    interval: dict[str, float] = Field(description="For promises made in the same way to other people.")
    expected_share: float | None
    parts: dict[str, list[dict[str, Any]]] = Field(description="By model version, guarantee, age and group.")
    swap: dict[str, Any] | None = Field(description="Against the model in force: who gains, who loses.")
    reference: dict[str, Any] | None
    causes: list[dict[str, Any]] = Field(description="Why, for the clearest refusals.")
    why_not: str = Field(description="Why there are no causes; empty where there are.")
    unit: str
    metrics: dict[str, float]
    thresholds: dict[str, dict[str, Any]]
    broken: list[dict[str, Any]]
    format: str
    version: int
    in_words: list[str]


@router.post("/gate", response_model=GateAnswer, openapi_extra={"requestBody": BODY})
async def gate(
    request: Request,
    service: Running,
    desk: Desk,
    max_broken: Annotated[float, Query(ge=0.0, le=1.0, description="Largest share that may be broken.")] = 0.0,
    groups: Annotated[list[str], Query(max_length=20, description="Columns by which promises are counted too.")] = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Try all outstanding promises on a candidate, a skops file of which only known types are made."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FILE:
        raise ProblemError("unsupported-media-type", f"the body must be {FILE}: the skops file of the candidate")
    candidate = await request.body()
    return await whole_ledger(service, lambda: desk.gate(candidate, max_broken, groups))
