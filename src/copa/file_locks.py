"""Locks on open files: they end with the process that holds them, however it ends."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

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
    """Whether an open file still is the one that a path leads to."""
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
