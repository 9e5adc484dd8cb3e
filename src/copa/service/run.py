"""Running a service: its socket, its processes and its log."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from copa.exceptions import InvalidInputError
from copa.service.settings import ServiceSettings

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

BACKLOG = 1024
KEEP_ALIVE_SECONDS = 5  # that a connection is kept after an answer
SPARE_CONNECTIONS = 256  # beyond those of requests under way: idle ones, and those that are being refused
HEALTH_SECONDS = 60  # in which a worker must show that it is alive, also while it loads the bundle on a busy machine


@dataclass(frozen=True)
class Address:
    """Where a service listens.

    Attributes
    ----------
    host : str
    port : int
        0 for any that is free.
    """

    host: str = "127.0.0.1"
    port: int = 8000

    def bound(self) -> socket.socket:
        """Return a socket at the address, which processes may share."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=BACKLOG)
        except (OSError, OverflowError) as error:
            raise InvalidInputError(f"the address {self.host}, port {self.port} cannot be used: {error}") from error


def url_of(bound: socket.socket) -> str:
    """Return the address of a socket, as clients write it."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def make_app(path: "Path", settings: ServiceSettings) -> "FastAPI":
    """Make the application of this process, and set the process up for it."""
    import threadpoolctl

    from copa.service import create_app

    log_to_stderr()
    threadpoolctl.threadpool_limits(1)  # requests are what runs side by side
    return create_app(path, settings)


def serve(
    app: "Callable[[], FastAPI] | str",
    settings: ServiceSettings,
    address: Address,
    *,
    workers: int = 1,
    announce: Callable[[str], None],
) -> None:
    """Serve an application until a signal ends it; requests under way are finished first.

    Parameters
    ----------
    app : callable or str
        Makes the application; for several workers the place it is imported from, such as "package.module:function".
    settings : ServiceSettings
    address : Address
    workers : int
        Processes, each of which makes the application.
    announce : callable
        Told the address when the socket is there.
    """
    import uvicorn

    log_to_stderr()
    options: dict[str, Any] = {
        "factory": True,
        "log_config": None,
        "log_level": logging.WARNING if workers == 1 else logging.INFO,  # which says what becomes of workers
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "http": "h11",
        "ws": "none",
        "lifespan": "on",
        "backlog": BACKLOG,
        "limit_concurrency": settings.max_requests + SPARE_CONNECTIONS,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": int(settings.time_limit) + 5,
    }
    with address.bound() as bound:
        announce(url_of(bound))
        if workers == 1:
            uvicorn.Server(uvicorn.Config(app, **options)).run(sockets=[bound])
        else:
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # uvicorn takes it for a socket of a file
            options |= {"workers": workers, "fd": bound.fileno(), "timeout_worker_healthcheck": HEALTH_SECONDS}
            uvicorn.run(app, **options)


def end_with_parent() -> None:
    """End this worker when the process that started it ends, also by `kill -9`."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="copa-parent", daemon=True).start()


def log_to_stderr() -> None:
    """Log requests as lines of JSON, and what goes wrong as plain lines."""
    access = logging.getLogger("copa.service.access")
    plain = logging.StreamHandler(sys.stderr)
    plain.setFormatter(logging.Formatter("%(message)s"))
    access.handlers, access.propagate = [plain], False
    access.setLevel(logging.INFO)
    for name in ("copa.service", "uvicorn.error"):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
