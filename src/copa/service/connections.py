"""Connections that ask for nothing are closed: a server that waits for ever soon has no room for others."""

from asyncio import Transport
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

IDLE_SECONDS = 30.0  # for the first line and the headers of a request


class Connection(H11Protocol):
    """A connection that is closed where no request begins within `IDLE_SECONDS`, or twice that at most.

    uvicorn closes those that are silent after an answer, but neither those that never say anything nor those whose
    headers never end.
    """

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to watch."""
        super().connection_made(transport)
        self._seen: Any = None  # the request that was last looked at
        self.loop.call_later(IDLE_SECONDS, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        answered = self.cycle is None or self.cycle.response_complete
        if answered and self.cycle is self._seen:
            self.transport.close()
            return
        self._seen = self.cycle
        self.loop.call_later(IDLE_SECONDS, self._look)
