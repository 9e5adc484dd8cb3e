"""`GET /healthz`: whether the service answers."""

from typing import Literal

from copa.service.answers import Answer
from copa.service.routes.resources import new_router

router = new_router("health", prefix="")


class Health(Answer):
    """That the service answers."""

    status: Literal["ok"]


@router.get("/healthz")
async def health() -> Health:
    """Say that the service answers; needs no token, and tells nothing else."""
    return Health(status="ok")
