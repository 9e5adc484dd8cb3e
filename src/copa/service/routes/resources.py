"""What routes share: the service, its router class, and waiting for an answer."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from copa.exceptions import CopaError
from copa.service.answers import Answer, encoded
from copa.service.bodies import JSON, StrictRoute
from copa.service.problems import ProblemError, invalid
from copa.service.state import Job, Service

if TYPE_CHECKING:
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


FEWER = "ask for fewer applicants or options"
ELSEWHERE = "give the service more time (--time-limit), or use `copa promises` beside it"


async def answer_of(job: Job, seconds: float, advice: str = FEWER) -> Any:
    """Wait for work on a thread, up to the time limit of a request; work that nobody waits for any more is stopped."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(job.result), seconds)
    except CopaError as error:
        raise invalid("/", "this request", error) from error
    except TimeoutError:
        raise ProblemError("timeout", f"there was no answer within {seconds:g} s; {advice}") from None
    finally:
        job.stop()


async def whole_ledger(service: Service, work: Callable[[], Any], model: type[Answer]) -> Response:
    """Answer what needs all promises: on a thread of its own, so that nobody who records one waits for it."""
    seconds = service.settings.time_limit
    return json_response(await answer_of(service.call_beside(lambda: encoded(work(), model)), seconds, ELSEWHERE))


def json_response(content: bytes) -> Response:
    """An answer that is JSON already."""
    return Response(content, media_type=JSON)
