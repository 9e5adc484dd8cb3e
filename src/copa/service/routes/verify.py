"""`POST /v1/verify`: proofs, checked by plain linear algebra."""

from typing import Any

from fastapi import Response
from pydantic import Field

from copa.exceptions import CopaError
from copa.plans.document import document_faults
from copa.service.answers import encoded
from copa.service.routes.answer_models import Answer, Body
from copa.service.routes.resources import Running, answer_of, json_response, new_router

router = new_router("verify")
MOST_FAULTS = 100


class VerifyBody(Body):
    """Plans with certificates."""

    document: dict[str, Any] = Field(
        description="What /v1/plan gives with certificates, or what `copa plan --certificates proofs.json` writes."
    )


class VerifyAnswer(Answer):
    """What is proven."""

    proven: bool
    plans: int = Field(description="Plans with options.")
    options: int
    proven_for: str = Field(description="The distributions that the proofs are about, in words.")
    faults: list[str] = Field(description="Claims that are not proven, the first hundred.")


@router.post("/verify", response_model=VerifyAnswer)
async def verify(body: VerifyBody, service: Running) -> Response:
    """Check every bound of a document against its certificate, and the document against its digest."""
    work = service.call(lambda: _verified(body.document))
    return json_response(await answer_of(work, service.settings.time_limit))


def _verified(document: dict[str, Any]) -> bytes:
    n_plans, n_options, faults, proven_for = 0, 0, list[str](), ""
    try:
        for claim, fault in document_faults(document):
            if claim is not None:
                n_plans += len(claim.option_lower) > 0
                n_options += len(claim.option_lower)
                proven_for = proven_for or claim.proven_for
            faults += [] if fault is None else [fault]
    except CopaError as error:
        faults.append(str(error))
    told = {"proven": not faults, "plans": n_plans, "options": n_options}
    return encoded(told | {"proven_for": proven_for, "faults": faults[:MOST_FAULTS]})
