"""A service that runs: its socket, its processes, its log, and how it stops."""

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from copa.exceptions import InvalidInputError
from copa.service.settings import ServiceSettings, require_token_elsewhere

if TYPE_CHECKING:
    from types import FrameType

BACKLOG = 1024
RESTART_SECONDS = 1.0  # before a process that has died is begun anew
ENDING = (signal.SIGTERM, signal.SIGINT)


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
        """A socket at the address, which processes may share."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family, backlog=BACKLOG)
        except (OSError, OverflowError) as error:
            raise InvalidInputError(f"the address {self.host}, port {self.port} cannot be used: {error}") from error


def url_of(bound: socket.socket) -> str:
    """The address of a socket, as clients write it."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(path: Path, settings: ServiceSettings, address: Address, *, workers: int = 1, announce: Any = None) -> None:
    """Serve a bundle until a signal ends it; requests under way are finished first.

    Parameters
    ----------
    path : Path
        The bundle.
    settings : ServiceSettings
    address : Address
    workers : int
        Processes, each of which loads the bundle.
    announce : callable, optional
        Told the address when the socket is there.
    """
    require_token_elsewhere(address.host, settings.token_digest)
    with address.bound() as bound:
        if announce is not None:
            announce(url_of(bound))
        if workers == 1:
            _run_one(path, settings, bound)
        else:
            _run_many(path, settings, bound, workers)


def _run_one(path: Path, settings: ServiceSettings, bound: socket.socket) -> None:
    """Answer requests in this process."""
    import threadpoolctl
    import uvicorn

    from copa.service import create_app
    from copa.service.connections import IDLE_SECONDS, Connection

    _log_to_stderr()
    with threadpoolctl.threadpool_limits(1):  # requests are what runs side by side
        app = create_app(path, settings)
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            http=Connection,
            ws="none",
            lifespan="on",
            timeout_keep_alive=int(IDLE_SECONDS),
            timeout_graceful_shutdown=int(settings.time_limit) + 5,
        )
        uvicorn.Server(config).run(sockets=[bound])


def _log_to_stderr() -> None:
    """Lines of JSON for requests; plain ones for what goes wrong."""
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


def _run_worker(path: Path, settings: ServiceSettings, bound: socket.socket) -> None:
    """Answer requests in a process of several, which ends with the one that began it, however that ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - begun by `_run_many`

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, name="copa-parent", daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # the server has finished what was under way
        _run_one(path, settings, bound)


def _run_many(path: Path, settings: ServiceSettings, bound: socket.socket, workers: int) -> None:
    """Answer requests in several processes; one that dies is begun anew."""
    context = multiprocessing.get_context("spawn")
    ending = False

    def end(_: int, __: "FrameType | None") -> None:
        nonlocal ending
        ending = True

    def begin() -> Any:
        process = context.Process(target=_run_worker, args=(path, settings, bound), daemon=True)
        process.start()
        return process

    before = {number: signal.signal(number, end) for number in ENDING}
    try:
        processes = [begin() for _ in range(workers)]
        while not ending:
            time.sleep(0.1)
            for k, process in enumerate(processes):
                if not process.is_alive() and not ending:
                    logging.getLogger("copa.service").error("a process ended (%s) and is begun anew", process.exitcode)
                    time.sleep(RESTART_SECONDS)
                    processes[k] = begin()
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(settings.time_limit + 10.0)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
