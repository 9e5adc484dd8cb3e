"""Finished blocks of a long run, on disk: what an interruption leaves, and what `--resume` goes on from."""

import json
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from copa._core.files import is_at, remove_abandoned_parts, remove_locked, try_lock, write_atomically
from copa.cli.messages import MisuseError, say
from copa.exceptions import DataError
from copa.plans import PlanBatch

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


FORMAT, VERSION = "copa-shards", 2  # of version 1 were blocks of 250
MANIFEST = "run.json"
_NAME = re.compile(r"block-([0-9]{6,})\.copa")
_PART = re.compile(r"\.(block-[0-9]{6,}\.copa|run\.json)\.[0-9a-f]{8}\.part")


class Shards:
    """A folder `<output>.partial` with a file per finished block, and what they were made from.

    Parameters
    ----------
    output : path of the final file
    made_from : bundle, input and settings, as JSON holds them: shards of other ones are not mixed
    outputs : all files that the run writes in the end
    """

    def __init__(self, output: Path, made_from: Mapping[str, Any], outputs: Sequence[Path] = ()) -> None:
        self.folder = output.with_name(f"{output.name}.partial")
        self._made_from = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **made_from}))
        self._outputs = [str(path.absolute()) for path in outputs]

    @contextmanager
    def begun(self, *, resume: bool) -> Iterator[None]:
        """Make the folder, or take up what an earlier run left in it; no other run gets in meanwhile.

        In the end the folder stays only if there are finished blocks in it.
        """
        with locked_folder(self.folder):
            try:
                self._begin(resume=resume)
                yield
            finally:
                if not self.finished:
                    (self.folder / MANIFEST).unlink(missing_ok=True)

    def _begin(self, *, resume: bool) -> None:
        self._remove_parts()
        if self.finished and not resume:
            raise MisuseError(
                f"{self.folder} holds what an earlier run finished; go on from there with --resume, or remove it"
            )
        if self.finished:
            self._require_same_run()
        content = self._made_from | {"outputs": self._outputs}
        write_atomically(self.folder / MANIFEST, json.dumps(content, indent=1).encode())

    def _remove_parts(self) -> None:
        """Remove what an earlier run had half written when it was killed: its blocks, and its outputs."""
        for path in self.folder.iterdir():
            if _PART.fullmatch(path.name):
                path.unlink()
        try:
            outputs = json.loads((self.folder / MANIFEST).read_bytes())["outputs"]
            for name in outputs:
                remove_abandoned_parts(Path(name))
        except (OSError, ValueError, KeyError, TypeError):
            return  # there was no run before, or what it left is refused in a moment

    def _require_same_run(self) -> None:
        try:
            found = json.loads((self.folder / MANIFEST).read_bytes())
        except (OSError, ValueError) as error:
            raise MisuseError(f"{self.folder} is not what a run of copa left ({error}); remove the folder") from error
        found = found if isinstance(found, dict) else {}
        different = [key for key, value in self._made_from.items() if found.get(key) != value]
        if different:
            raise MisuseError(
                f"{self.folder} is of another run: {', '.join(different)} differ; give the same as before, or remove "
                "the folder to begin anew"
            )

    @property
    def finished(self) -> frozenset[int]:
        """Numbers of the blocks that are done."""
        if not self.folder.is_dir():
            return frozenset()
        found = [_NAME.fullmatch(path.name) for path in self.folder.iterdir()]
        return frozenset(int(match[1]) for match in found if match)

    def keep(self, number: int, batch: PlanBatch) -> None:
        """Write a finished block, all of it or nothing."""
        batch.save(self._path(number))

    def read(self, number: int) -> PlanBatch:
        """Return a block that is done."""
        try:
            return PlanBatch.load(self._path(number))
        except DataError as error:
            raise DataError(f"{error}; remove this file and run again with --resume") from error

    def remove(self) -> None:
        """Remove the shards, whose content is in the outputs now."""
        for number in self.finished:
            self._path(number).unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"block-{number:06d}.copa"
