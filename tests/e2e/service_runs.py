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
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            if found := re.search(r"serving at (http://\S+)", self.said):
                return found[1]
            assert self.process.poll() is None, self.said
            time.sleep(0.02)
        raise AssertionError(self.said)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: object, **more: object) -> httpx.Response:
        """Ask; the first answer waits until the bundle is loaded."""
        return httpx.post(f"{self.url}{path}", json=body, timeout=60.0, **more)

    def raw(self, content: bytes) -> socket.socket:
        """A connection that has said something."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=60.0)
        made.sendall(content)
        return made

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


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
        process.wait(60)
