"""Files that appear when they are whole, or not at all.

What is written goes to a part `.<name>.<8 hex digits>.part` beside the file, which takes the file's name at the end.
The part is removed where something goes wrong on the way. Where the process is killed it stays, and is removed when the
same file is written the next time: a lock on the part tells whether its writer is still alive.
"""

import hashlib
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from copa.exceptions import DataError

_LOCKED_BYTE = 2**30  # beyond what a lock file holds: where locks are mandatory, its content stays readable


def try_lock(file: IO[Any]) -> bool | None:
    """Lock an open file against other processes, without waiting.

    Returns
    -------
    True where it is locked now, False where someone else holds it, None where the file system knows no locks
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
            os.lseek(file.fileno(), _LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file.fileno(), position, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return None
    return True


def is_at(file: IO[Any], path: Path) -> bool:
    """Return whether an open file still is the one that a path leads to."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def remove_locked(file: IO[Any], path: Path) -> None:
    """Remove a locked file and close it, in the order that leaves nobody else's new file of that name in danger."""
    if sys.platform == "win32":  # which removes no open file, and no file that someone else has open
        file.close()
        with suppress(PermissionError):
            path.unlink(missing_ok=True)
    else:
        path.unlink(missing_ok=True)
        file.close()


PART = re.compile(r"\.(.+)\.[0-9a-f]{8}\.part", re.DOTALL)
CERTAINLY_OLD = 86_400.0  # seconds; where there are no locks, a part that was not written to for so long is abandoned


@contextmanager
def whole_file(path: Path, *, binary: bool, swept: bool = False) -> Iterator[Any]:
    """Open a file for writing that takes its name when it is complete; where something goes wrong, nothing of it stays.

    Parameters
    ----------
    path : Path
    binary : bool
    swept : bool
        Whether abandoned parts are removed already. Looking for them reads the whole folder, which whoever writes
        thousands of files into it does once.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    if not swept:
        remove_abandoned_parts(path)
    part = None
    try:
        file, part = _new_part(path, binary=binary)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":  # under its lock, so that nobody takes the part for an abandoned one
                part.replace(path)
        if sys.platform == "win32":  # which renames no open file
            part.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file, of which a piece at a time is in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomically(path: Path, data: bytes | memoryview, *, swept: bool = False) -> None:
    """Write a file so that at any moment there is either the old one or the whole new one; see `whole_file`."""
    with whole_file(path, binary=True, swept=swept) as file:
        file.write(data)


def remove_abandoned_parts(*paths: Path) -> None:
    """Remove what writers of files left beside them when they were killed; parts of living writers stay."""
    for folder in {path.parent for path in paths}:
        names = {path.name for path in paths if path.parent == folder}
        with suppress(OSError), os.scandir(folder) as entries:
            matches = [(entry.path, PART.fullmatch(entry.name)) for entry in entries]
            for part in [Path(place) for place, name in matches if name is not None and name[1] in names]:
                _remove_if_abandoned(part)


def _remove_if_abandoned(part: Path) -> None:
    with suppress(OSError), part.open("rb+") as file:
        free = try_lock(file)
        if free is None:
            free = time.time() - os.fstat(file.fileno()).st_mtime > CERTAINLY_OLD
        if free:
            remove_locked(file, part)


def _new_part(path: Path, *, binary: bool) -> tuple[IO[Any], Path]:
    """A new file beside a path, open and locked."""
    while True:
        part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        file: IO[Any] = part.open("xb") if binary else part.open("x", encoding="utf-8", newline="")
        if try_lock(file) is not False and is_at(file, part):
            return file, part
        file.close()  # someone who cleans up found it before it was locked, and removes it
