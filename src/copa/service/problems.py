"""Problem documents (RFC 9457) that name the field, the value and what is allowed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from copa._core.words import shown

MEDIA_TYPE = "application/problem+json"
KINDS = {
    "not-json": (400, "The body is not JSON that can be read"),
    "unauthorized": (401, "A token is needed"),
    "not-found": (404, "There is nothing here"),
    "method-not-allowed": (405, "This method is not allowed here"),
    "conflict": (409, "The plan has changed"),
    "slow-request": (408, "The body did not arrive in time"),
    "too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body must be JSON"),
    "misdirected": (421, "This host is not served here"),
    "invalid-request": (422, "The request cannot be carried out as it is"),
    "internal": (500, "Something went wrong here"),
    "busy": (503, "Too many requests at once"),
    "timeout": (504, "The time limit of the request ended"),
}
BY_STATUS = {status: kind for kind, (status, _) in KINDS.items()}
LONGEST = 500  # characters of a message about the request


class FieldProblem(BaseModel):
    """A field of a request that is wrong."""

    model_config = ConfigDict(extra="forbid")

    field: str = Field(description="JSON pointer into the body, or the name of a query parameter.", examples=["/fixed"])
    value: str = Field(description="What was received, shortened.", examples=["['incme']"])
    allowed: str = Field(
        description="What is allowed.", examples=["there is no column 'incme'; did you mean 'income'?"]
    )


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(examples=["urn:copa:problem:invalid-request"])
    title: str = Field(examples=[KINDS["invalid-request"][1]])
    status: int = Field(ge=400, le=599, examples=[422])
    detail: str = Field(examples=["fixed: there is no column 'incme'; did you mean 'income'?"])
    errors: list[FieldProblem] = Field(default=[], description="The fields that are wrong.")


class ProblemError(HTTPException):
    """Ends a request with a problem document.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    detail : str
        What is wrong, in a sentence.
    errors : sequence of FieldProblem
    headers : mapping of str to str, optional
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        errors: Sequence[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(KINDS[kind][0], detail, headers=dict(headers or {}))
        self.kind = kind
        self.errors = list(errors)

    def response(self) -> Response:
        """Return the answer to the request."""
        status, title = KINDS[self.kind]
        kind, detail = f"urn:copa:problem:{self.kind}", str(self.detail)
        content = Problem(type=kind, title=title, status=status, detail=detail, errors=self.errors)
        return Response(json.dumps(content.model_dump(exclude_defaults=True)), status, self.headers, MEDIA_TYPE)


def from_status(error: HTTPException) -> ProblemError:
    """Return the problem of a status that the framework gives by itself, such as 404."""
    kind = BY_STATUS.get(error.status_code, "invalid-request" if error.status_code < 500 else "internal")
    detail = {"not-found": "the description of what there is: /openapi.json"}.get(kind, str(error.detail))
    return ProblemError(kind, detail, headers=error.headers)


def from_validation(error: RequestValidationError) -> ProblemError:
    """Return the problem of a request whose form is wrong."""
    found: dict[str, tuple[str, list[str]]] = {}
    for entry in error.errors():
        in_body = entry["loc"][0] == "body"
        field = _pointer(entry["loc"][1:], error.body) if in_body else ".".join(map(str, entry["loc"][1:]))
        value = "nothing" if entry["type"] == "missing" else shown(entry.get("input"))
        words = found.setdefault(field, (value, []))[1]
        if entry["msg"] not in words:
            words.append(entry["msg"])
    errors = [
        FieldProblem(field=field, value=value, allowed=" or: ".join(words)[:LONGEST])
        for field, (value, words) in found.items()
    ]
    first = errors[0]
    return ProblemError("invalid-request", f"{first.field}: {first.allowed}, got {first.value}"[:LONGEST], errors)


def _pointer(place: Sequence[Any], body: Any) -> str:
    """Return a JSON pointer to where a body is wrong, without the names of the types that were tried there."""
    parts, here = [], body
    for k, part in enumerate(place):
        inside = isinstance(part, int) if isinstance(here, list) else isinstance(here, dict) and part in here
        if inside:
            here = here[part] if not isinstance(here, list) or part < len(here) else None
        elif not (isinstance(here, dict) and k == len(place) - 1):
            continue
        parts.append(str(part).replace("~", "~0").replace("/", "~1"))
    return "/" + "/".join(parts)


def invalid(field: str, value: Any, allowed: object) -> ProblemError:
    """Return the problem of one field, in the library's own words."""
    wrong = FieldProblem(field=field, value=shown(value), allowed=str(allowed)[:LONGEST])
    return ProblemError("invalid-request", f"{field}: {wrong.allowed}", [wrong])
