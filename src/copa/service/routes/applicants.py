"""`GET /v1/applicants`: applicants that the service was given, by name."""

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import Field

from copa.plans.document import table_columns
from copa.service.answers import Answer, Cell, encoded
from copa.service.problems import ProblemError
from copa.service.routes.resources import Running, count_applicants, json_response, new_router
from copa.service.state import Service

router = new_router("applicants")


class ApplicantName(Answer):
    """An applicant whom the service knows."""

    id: str


class ApplicantsAnswer(Answer):
    """Applicants whose names hold what was searched for."""

    applicants: list[ApplicantName]
    total: int = Field(description="How many there are in all.")


class KnownApplicant(Answer):
    """An applicant, as the service knows them."""

    id: str
    row: dict[str, Cell] = Field(description="As /v1/plan takes it.")


@router.get("/applicants", response_model=ApplicantsAnswer)
async def applicants(
    service: Running,
    search: Annotated[str, Query(max_length=200, description="Part of a name, in either case; empty for all.")] = "",
    limit: Annotated[int, Query(ge=1, le=100, description="Most that are returned.")] = 20,
) -> Response:
    """Find applicants by their names."""
    wanted = search.casefold()
    found = [name for name in service.names if wanted in name.casefold()]
    content = {"applicants": [{"id": name} for name in found[:limit]], "total": len(found)}
    return json_response(encoded(content, ApplicantsAnswer))


@router.get("/applicants/{name:path}", response_model=KnownApplicant, responses={404: {"description": "Nobody"}})
async def applicant(
    request: Request, service: Running, name: Annotated[str, Path(max_length=1000, description="The whole name.")]
) -> Response:
    """An applicant's row."""
    row = row_of(service, name)
    count_applicants(request, 1)
    return json_response(encoded({"id": name, "row": row}, KnownApplicant))


def row_of(service: Service, name: str) -> dict[str, Any]:
    """The row of the applicant with a name, as JSON has it."""
    place, table = service.names.get(name), service.settings.applicants
    if place is None or table is None:
        raise ProblemError("not-found", "this service knows no applicant of that name")
    cells = table_columns(table.iloc[[place]][list(service.reader.kinds)])
    return {column: values[0] for column, values in cells.items()}
