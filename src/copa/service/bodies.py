"""Bodies of requests: JSON that says one thing, and nothing twice."""

import math
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from copa._core.archive import parse_json
from copa._core.words import shown
from copa.service.problems import ProblemError

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
