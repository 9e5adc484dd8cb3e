"""What routes share: the service, its router class, and waiting for an answer."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from copa.exceptions import CopaError
from copa.service.bodies import JSON, StrictRoute
from copa.service.problems import ProblemError, invalid
from copa.service.state import Service

if TYPE_CHECKING:
    from concurrent.futures import Future

    from copa.service.promises import PromiseDesk


def new_router(tag: str, prefix: str = "/v1") -> APIRouter:
    """A router that reads JSON strictly."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=StrictRoute)


def service_of(request: Request) -> Service:
    """The service that the application was made for."""
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(service_of)]


def desk_of(request: Request) -> "PromiseDesk":
    """The ledger of the service, which has one where these routes are."""
    desk = service_of(request).desk
    assert desk is not None  # noqa: S101 - see `routers`
    return desk


Desk = Annotated[Any, Depends(desk_of)]


def count_applicants(request: Request, number: int) -> None:
    """Tell the log of how many applicants a request is."""
    request.scope["state"]["n_applicants"] = number


async def answer_of(work: "Future[Any]", seconds: float) -> Any:
    """Wait for work in a thread, up to the time limit of a request."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(work), seconds)
    except CopaError as error:
        raise invalid("/", "this request", error) from error
    except TimeoutError:
        raise ProblemError(
            "timeout", f"there was no answer within {seconds:g} s; ask for fewer applicants or options"
        ) from None


def json_response(content: bytes) -> Response:
    """An answer that is JSON already."""
    return Response(content, media_type=JSON)
