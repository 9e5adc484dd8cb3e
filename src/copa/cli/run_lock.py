"""Whose run's folder it is: one process at a time, known by a lock that ends with it."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from copa.cli.messages import MisuseError, say
from copa.exceptions import DataError
from copa.file_locks import is_at, remove_locked, try_lock

LOCK = "lock.json"
ATTEMPTS = 100  # to make a folder that others keep removing


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make a folder, or take one that is there, and keep other runs out; if it is empty in the end it is removed.

    Raises
    ------
    MisuseError
        If another run is at work in it.
    """
    file = _lock(folder)
    try:
        yield
    finally:
        remove_locked(file, folder / LOCK)
        with suppress(OSError):  # it holds finished blocks, or another run has begun in it
            folder.rmdir()


def _lock(folder: Path) -> IO[Any]:
    path = folder / LOCK
    for _ in range(ATTEMPTS):
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            file = path.open("a+", encoding="utf-8")
        except (FileExistsError, FileNotFoundError):  # a run that has just ended removed the folder
            if folder.is_file():
                raise
            continue
        locked = try_lock(file)
        if locked is False:
            with file:
                raise MisuseError(f"{folder} is in use by {_holder(file)}; wait until it ends, or give another output")
        if locked is None:
            say(f"note: the file system of {folder} has no locks; let no other run work in it at the same time")
        if is_at(file, path):
            _close_to_others(folder)
            _sign(file)
            return file
        file.close()
    raise DataError(f"the folder {folder} cannot be made: something keeps removing it; give another output")


def _close_to_others(folder: Path) -> None:
    """Let only its owner read a folder, also one that was there before: it will hold people's data."""
    try:
        folder.chmod(0o700)
    except OSError:
        say(f"note: {folder} cannot be closed to other users; who can read it can read the applicants in it")


def _sign(file: IO[Any]) -> None:
    """Say in the lock who holds it."""
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    file.truncate(0)
    json.dump({"process": os.getpid(), "host": socket.gethostname(), "since": since}, file)
    file.flush()


def _holder(file: IO[Any]) -> str:
    """Who holds a lock, as far as it says so."""
    try:
        file.seek(0)
        told = json.load(file)
        return f"another run of copa (process {told['process']} on {told['host']}, since {told['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another run of copa"
