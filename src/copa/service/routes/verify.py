"""`POST /v1/verify`: proofs, checked by plain linear algebra."""

from typing import Any

from fastapi import Response
from pydantic import Field

from copa.exceptions import CopaError
from copa.plans.document import Findings, check_document
from copa.service.answers import Answer, Body, encoded
from copa.service.routes.resources import Running, answer_of, json_response, new_router

router = new_router("verify")
MOST_FAULTS = 100


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
    work = service.call(lambda: _verified(body.document))
    return json_response(await answer_of(work, service.settings.time_limit))


def _verified(document: dict[str, Any]) -> bytes:
    try:
        findings = check_document(document)
    except CopaError as error:
        findings = Findings(violations=[str(error)])
    return encoded(findings.to_json(MOST_FAULTS), VerifyAnswer)
