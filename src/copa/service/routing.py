"""Parts that all routes share: strict JSON, the service behind a request, and waiting for work on a thread."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute

from copa._core.archive import parse_json
from copa._core.words import shown
from copa.exceptions import CopaError
from copa.service.answers import Answer, Entry, to_json
from copa.service.problems import ProblemError, invalid
from copa.service.state import SINGLE, Job, Service

JSON = "application/json"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ProblemError("not-json", f"the name {shown(twice)} is there twice in one object; keep one of them")
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
        """Return the content of the body."""
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
        """Return the function that answers a request."""
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
    """Return a router that reads JSON strictly."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=StrictRoute)


async def service_of(request: Request) -> Service:  # FastAPI would call a plain function on another thread
    """Return the service that the application was made for."""
    service: Service = request.app.state.service
    return service


Running = Annotated[Service, Depends(service_of)]


def count_applicants(request: Request, number: int) -> None:
    """Tell the log how many applicants a request has."""
    request.scope["state"]["n_applicants"] = number


FEWER = "ask for fewer applicants or options"


async def answer_of(job: Job, seconds: float, advice: str = FEWER) -> Response:
    """Wait for the JSON of an answer up to the time limit; stop the work once nobody waits for it."""
    try:
        return json_response(await asyncio.wait_for(asyncio.wrap_future(job.result), seconds))
    except CopaError as error:
        raise invalid("/", "this request", error) from error
    except TimeoutError:
        raise ProblemError("timeout", f"there was no answer within {seconds:g} s; {advice}") from None
    finally:
        job.stop()


async def answer_from(
    service: Service, work: Callable[[], Answer | Entry], *, thread: str = SINGLE, advice: str = FEWER
) -> Response:
    """Make an answer on a thread of the service."""
    return await answer_of(service.call(lambda: to_json(work()), thread), service.settings.time_limit, advice)


def json_response(content: bytes | Answer | Entry) -> Response:
    """Return a response of JSON."""
    return Response(content if isinstance(content, bytes) else to_json(content), media_type=JSON)
