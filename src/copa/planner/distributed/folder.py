"""A folder of plans, a Parquet file for each partition: what is in it is whole, and belongs together.

`_run.json` says what the plans are made from, and is written first; `_SUCCESS` lists the files, and is written last.
Readers of a folder of Parquet files leave out what begins with an underscore. Neither has a time in it, nor who did the
work: the same plans are the same bytes, however they came about.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from copa._core.files import is_at, remove_abandoned_parts, remove_locked, try_lock, write_atomically
from copa._core.words import listed
from copa.exceptions import DataError, InvalidInputError
from copa.planner.distributed.work import Part, read_part

FORMAT, VERSION = "copa-plan-folder", 1
RUN, SUCCESS, LOCK = "_run.json", "_SUCCESS", ".lock"


@dataclass(frozen=True)
class PlanFolder:
    """A folder with all plans of a run.

    Attributes
    ----------
    path : Path
        The folder, which pandas, Dask, Spark and others read as one Parquet table.
    n_applicants : int
    statuses : dict of str to int
        How many applicants have each status.
    files : tuple of str
        Names of the files, in the order of the partitions.

    Examples
    --------
    >>> from pathlib import Path
    >>> from copa.planner.distributed import PlanFolder
    >>> folder = PlanFolder(Path("plans"), 2, {"ok": 2}, ("part-000000-0123456789ab.parquet",))
    >>> folder.statuses
    {'ok': 2}
    """

    path: Path
    n_applicants: int
    statuses: dict[str, int]
    files: tuple[str, ...]


class PartFolder:
    """The folder while it is being filled.

    Parameters
    ----------
    path : Path
    made_from : Mapping
        Planner, applicants and settings, as JSON holds them: plans of other ones are not mixed.
    n_parts : int
    """

    def __init__(self, path: Path, made_from: Mapping[str, Any], n_parts: int) -> None:
        self.path = path
        content = {"format": FORMAT, "version": VERSION, **made_from, "partitions": n_parts}
        self._made_from = json.loads(json.dumps(content))
        digest = hashlib.sha256(json.dumps(self._made_from, sort_keys=True).encode()).hexdigest()
        self.names = [f"part-{number:06d}-{digest[:12]}.parquet" for number in range(n_parts)]
        self._told: dict[int, dict[str, Any]] = {}

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Make the folder, or take up what an earlier run of the same left in it; no other run gets in meanwhile.

        Raises
        ------
        InvalidInputError
            If it is of another run, or holds something else.
        """
        self.path.mkdir(exist_ok=True)
        with self._alone():
            if not (self.path / RUN).exists():
                self._require_empty()
                write_atomically(self.path / RUN, _dumped(self._made_from))
            self._require_same_run()
            remove_abandoned_parts(*(self.path / name for name in [*self.names, RUN, SUCCESS]))
            for number in self.finished:
                self._tell(number, self._read(number))
            yield

    @contextmanager
    def _alone(self) -> Iterator[None]:
        path = self.path / LOCK
        while True:
            file = path.open("a")
            if try_lock(file) is False:
                with file:
                    raise InvalidInputError(
                        f"another run of copa is at work in {self.path}; wait until it ends, or give another folder"
                    )
            if is_at(file, path):
                break
            file.close()  # a run that has just ended removed it
        try:
            yield
        finally:
            remove_locked(file, path)

    def _require_empty(self) -> None:
        found = sorted(entry.name for entry in self.path.iterdir() if not entry.name.startswith("."))
        if found:
            raise InvalidInputError(
                f"the folder {self.path} holds {listed(found)}, and no plans of this command; give another folder"
            )

    def _require_same_run(self) -> None:
        try:
            found = json.loads((self.path / RUN).read_bytes())
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{self.path / RUN} cannot be read ({error}); remove the folder") from error
        found = found if isinstance(found, dict) else {}
        different = [key for key in {**self._made_from, **found} if found.get(key) != self._made_from.get(key)]
        if different:
            raise InvalidInputError(
                f"{self.path} holds plans of another run: {', '.join(different)} differ; give the same as before, or "
                "another folder"
            )

    @property
    def finished(self) -> list[int]:
        """Numbers of the partitions that are done."""
        there = {entry.name for entry in self.path.iterdir()}
        return [number for number, name in enumerate(self.names) if name in there]

    def keep(self, number: int, part: Part) -> None:
        """Write the plans of a partition, all of them or nothing."""
        write_atomically(self.path / self.names[number], part.data, swept=True)
        self._tell(number, part)

    def finish(self) -> PlanFolder:
        """List the files, which says that all are there."""
        parts = [self._told[number] for number in range(len(self.names))]
        counts = Counter[str]()
        for part in parts:
            counts.update(part["statuses"])
        statuses = dict(sorted(counts.items()))
        n_applicants = sum(part["applicants"] for part in parts)
        content = self._made_from | {"applicants": n_applicants, "statuses": statuses, "files": parts}
        write_atomically(self.path / SUCCESS, _dumped(content), swept=True)
        return PlanFolder(self.path, n_applicants, statuses, tuple(self.names))

    def _read(self, number: int) -> Part:
        path = self.path / self.names[number]
        try:
            return read_part(path)
        except ValueError as error:
            raise DataError(f"{path} is damaged ({error}); remove this file and run again") from error

    def _tell(self, number: int, part: Part) -> None:
        self._told[number] = {
            "name": self.names[number],
            "sha256": hashlib.sha256(part.data).hexdigest(),
            "applicants": part.n_applicants,
            "statuses": part.statuses,
        }


def _dumped(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()
