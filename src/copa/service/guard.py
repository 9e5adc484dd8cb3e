"""Middleware: checks before a request is read (host, token, room, size), limits of its body, and the access log."""

import asyncio
import hmac
import json
import logging
import traceback
from datetime import UTC, datetime
from time import perf_counter
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from copa._core.words import shown
from copa.service.problems import ProblemError
from copa.service.settings import ServiceSettings, digest_of

OPEN = ("/healthz",)  # paths that need no token
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
POLICY = (
    b"content-security-policy",
    b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
)
BODY_SECONDS = 30.0  # in which a body must arrive
RETRY_SECONDS = "1"
access = logging.getLogger("copa.service.access")
errors = logging.getLogger("copa.service")


class AccessLog:
    """Middleware that logs each request as a line of JSON, without anything that it holds, and sets headers of answers.

    Parameters
    ----------
    app : ASGI application
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, name = perf_counter(), 0, uuid4().hex
        scope.setdefault("state", {})

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _with_headers(message.get("headers", ()), name)}
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            # Where it happened, without what the exception says: that may hold data of people.
            errors.error(
                "request %s: %s\n%s", name, type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
            )
            if status:  # the answer has begun, and cannot be another one; the server ends the connection
                raise RuntimeError("an answer broke off") from None
            await ProblemError("internal", f"the log has more under {name}").response()(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", None)
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "request": name,
                "method": scope["method"] if scope["method"] in METHODS else "other",
                "route": route,
                "status": status,
                "milliseconds": round(1000.0 * (perf_counter() - started), 1),
                "applicants": scope["state"].get("n_applicants"),
            }
            access.info(json.dumps(line))


METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def _with_headers(given: Any, name: str) -> list[tuple[bytes, bytes]]:
    headers = [*given]
    known = {key.lower() for key, _ in headers}
    headers += [(key, value) for key, value in (*HEADERS, POLICY) if key not in known]
    return [*headers, (b"x-request-id", name.encode("ascii"))]


class Guard:
    """Refuses requests for another host, without the token, too large or too many, before their bodies are read.

    The application reads a body only after it has found the route, so that an unknown path or a wrong method is
    answered without one. Limits of size and time apply while it reads.

    Parameters
    ----------
    app : ASGI application
    settings : ServiceSettings
    open_paths : tuple of str
        Paths that need no token.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, open_paths: tuple[str, ...] = OPEN) -> None:
        self._app, self._settings, self._open = app, settings, open_paths
        self._hosts = frozenset(host.lower() for host in settings.hosts)
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # there are no sockets here
        headers = {key.lower(): value for key, value in scope["headers"]}
        body = LimitedBody(receive, self._settings.max_body, is_read=not _has_body(headers))

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and not body.is_read:
                # The server would read what is left of the body, however slowly it comes, before the next request.
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)

        is_open = scope["path"] in self._open
        try:
            self._require_host(headers)
            if not is_open:
                self._require_token(headers)
                self._require_room()
            self._require_size(headers)
        except ProblemError as problem:
            await problem.response()(scope, receive, sending)
            return
        self._running += not is_open
        try:
            await self._app(scope, body.receive, sending)
        finally:
            self._running -= not is_open

    def _require_host(self, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if self._hosts and name not in self._hosts:
            raise ProblemError("misdirected", f"the host {shown(host)} is not served here; --allowed-host names others")

    def _require_token(self, headers: dict[bytes, bytes]) -> None:
        """Compare digests, which takes the same time wherever they differ."""
        expected = self._settings.token_digest
        if expected is None:
            return
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        same = hmac.compare_digest(digest_of(token.strip()), expected)
        if not (same and scheme.lower() == "bearer"):
            raise ProblemError(
                "unauthorized",
                "send the token of this service in a header: Authorization: Bearer TOKEN",
                headers={"www-authenticate": 'Bearer realm="copa"'},
            )

    def _require_room(self) -> None:
        if self._running >= self._settings.max_requests:
            raise ProblemError(
                "busy",
                f"{self._settings.max_requests} requests are under way, and no more are taken; try again",
                headers={"retry-after": RETRY_SECONDS},
            )

    def _require_size(self, headers: dict[bytes, bytes]) -> None:
        """Check the size that the request states."""
        stated, most = headers.get(b"content-length", b"0"), self._settings.max_body
        if not stated.isdigit() or len(stated) > 18 or int(stated) > most:
            raise _too_large(most)


class LimitedBody:
    """Receives a body up to a size and for a time, whatever its headers state.

    Parameters
    ----------
    receive : ASGI receive
    most : int
        Most bytes.
    is_read : bool
        Whether nothing of the body is left to read.
    """

    def __init__(self, receive: Receive, most: int, *, is_read: bool) -> None:
        self._receive, self._most, self.is_read = receive, most, is_read
        self._size, self._deadline = 0, 0.0

    async def receive(self) -> Message:
        """Receive the next message; raise for a body that is too large or too slow."""
        if self.is_read:
            return await self._receive()
        loop = asyncio.get_running_loop()
        self._deadline = self._deadline or loop.time() + BODY_SECONDS
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise ProblemError("slow-request", f"the body did not arrive within {BODY_SECONDS:g} s") from None
        self._size += len(message.get("body", b""))
        if self._size > self._most:
            raise _too_large(self._most)
        self.is_read = not message.get("more_body", False)
        return message


def _too_large(most: int) -> ProblemError:
    return ProblemError("too-large", f"a body may have at most {most:,} bytes; send fewer applicants")


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
