"""Connections that ask for nothing are closed, those that ask slowly but in time are not."""

import asyncio
import socket
import threading

import pytest
import uvicorn

from copa.service import connections
from waiting import PATIENCE

IDLE = 1.0  # seconds: a client on a busy machine still sends its request in time


async def application(_scope, _receive, send):
    """Answers after longer than an idle connection has."""
    await asyncio.sleep(1.5 * IDLE)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def port(monkeypatch):
    """A server that waits a second for requests."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", IDLE)
    config = uvicorn.Config(application, http=connections.Connection, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        number = bound.getsockname()[1]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        yield number
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-"])
def test_whoever_never_ends_a_request_is_not_waited_for(port, said):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(said)
        assert client.recv(1) == b""


def test_an_answer_that_takes_longer_arrives_and_headers_after_it_must_end_too(port):
    whole = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
        client.sendall(whole)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        client.sendall(whole[:10])
        while client.recv(4096):
            pass
