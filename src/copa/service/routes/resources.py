"""What routes share: the service, bodies that are read strictly, and waiting for an answer."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute

from copa._core.archive import parse_json
from copa._core.words import shown
from copa.exceptions import CopaError
from copa.service.answers import Answer, encoded
from copa.service.problems import ProblemError, invalid
from copa.service.state import Job, Service

if TYPE_CHECKING:
    from copa.service.ledger import ServiceLedger


JSON = "application/json"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ProblemError("not-json", f"the name {shown(name)} is there twice in one object; keep one of them")
            seen.add(name)
    return found


def _refuse_constant(text: str) -> float:
    raise ProblemError("not-json", f"{text} is no number of JSON; write null where there is no value")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ProblemError("not-json", f"the number {shown(text)} is too large")
    return number


class StrictRequest(Request):
    """A request whose JSON is read strictly: no name twice, no NaN, no infinity, no nesting without end."""

    async def json(self) -> Any:
        """The content of the body."""
        raw = await self.body()
        try:
            return parse_json(raw, object_pairs_hook=_once, parse_constant=_refuse_constant, parse_float=_finite)
        except ProblemError:
            raise
        except (ValueError, RecursionError) as error:
            raise ProblemError("not-json", f"{error}"[:200]) from error


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer = super().get_route_handler()
        wants_body = self.body_field is not None

        async def strict(request: Request) -> Response:
            if wants_body:
                kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind != JSON:
                    raise ProblemError(
                        "unsupported-media-type", f"the body must be {JSON}, got {shown(kind) if kind else 'no type'}"
                    )
            return await answer(StrictRequest(request.scope, request.receive))

        return strict


def new_router(tag: str, prefix: str = "/v1") -> APIRouter:
    """A router that reads JSON strictly."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=StrictRoute)


def service_of(request: Request) -> Service:
    """The service that the application was made for."""
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(service_of)]


def ledger_of(request: Request) -> "ServiceLedger":
    """Return the ledger of the service, which has one where these routes are."""
    ledger = service_of(request).ledger
    assert ledger is not None  # noqa: S101 - see `routers`
    return ledger


OpenLedger = Annotated[Any, Depends(ledger_of)]


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
