"""A service as a process of its own: begun, asked over a socket, and ended."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx

from waiting import PATIENCE, wait_until


class Server:
    """A running `copa serve`; what it writes goes to a file."""

    def __init__(self, process: subprocess.Popen, log: Path) -> None:
        self.process, self.log = process, log

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def url(self) -> str:
        """Where it listens; waits until it says so."""
        pattern = r"serving at (http://\S+)"
        wait_until(lambda: re.search(pattern, self.said) or self.process.poll() is not None, lambda: self.said)
        found = re.search(pattern, self.said)
        assert found is not None, self.said
        return found[1]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: object, **more: object) -> httpx.Response:
        """Ask; the first answer waits until the bundle is loaded."""
        return httpx.post(f"{self.url}{path}", json=body, timeout=PATIENCE, **more)

    def raw(self, content: bytes) -> socket.socket:
        """A connection that has said something."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        made.sendall(content)
        return made

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def serving(bundle: Path, folder: Path, *options: object):
    """Serve a bundle at a free port of this machine."""
    log = folder / f"serve-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "copa.cli", "serve", bundle, "--port", 0, *options]
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ
        )
    try:
        yield Server(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
