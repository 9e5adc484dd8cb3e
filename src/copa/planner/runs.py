"""A run: plans for many applicants in a folder of parts, which the same call continues after whatever ended it.

`run.json` says what the plans are made from, and is written first. Each part is a saved `PlanBatch`. `parts.json` lists
the parts, and is written last. None of them has a time in it, nor who did the work: the same plans are the same bytes,
however they came about.
"""

import hashlib
import json
import os
import pickle
import re
import socket
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copa._core.files import PART, is_at, remove_abandoned_parts, remove_locked, try_lock, write_atomically
from copa._core.progress import stage
from copa._core.words import counted, listed
from copa.data.tables.frames import as_pandas
from copa.exceptions import DataError, InvalidInputError
from copa.plans import PlanBatch
from copa.plans.storage import PARTS, pack, read, read_batches

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner.recourse_planner import RecoursePlanner

FORMAT, VERSION = "copa-run", 1
RUN, LOCK = "run.json", "lock.json"
PART_ROWS = 500  # applicants: a second of work for a linear model, which is what an interruption costs at most
RETRIES = 2  # of a part that raises an error on a worker, which may have been a disk's
OUT_OF_TIME = 1e-3  # seconds for a part whose turn comes too late: each applicant gets the status "time_limit"
ATTEMPTS = 100  # to make a folder that others keep removing
_OWN = re.compile(r"part-[0-9]{6,9}\.copa|run\.json|parts\.json|lock\.json|\..*")

Say = Callable[[str], object]


class Part(NamedTuple):
    """Plans of some applicants.

    Parameters
    ----------
    raw : bytes
        Of a saved batch.
    statuses : dict of str to int
        How many applicants have each status.
    """

    raw: bytes
    statuses: dict[str, int]


Rows = Iterable[tuple[int, "pd.DataFrame"]]  # numbers of parts and their applicants
Engine = Callable[[Rows], Iterator[tuple[int, Part | Exception]]]  # plans for them, in any order


def plan_part(planner: "RecoursePlanner", applicants: "pd.DataFrame") -> Part:
    """Plan for some applicants; the same applicants give the same bytes, wherever it is done."""
    batch = planner.plan(applicants)
    # How long it took is no result, and would make two runs differ.
    batch = replace(batch, seconds=np.full(len(batch), np.nan))
    return Part(pack(batch), dict(sorted(Counter(batch.status.tolist()).items())))


def plan_here(
    planner: "RecoursePlanner", rows: Rows, deadline: float | None = None
) -> Iterator[tuple[int, Part | Exception]]:
    """Plan for one part after another in this process, on as many threads as the planner is told to use."""
    limit = planner.time_limit
    try:
        for number, applicants in rows:
            if deadline is not None:
                planner.time_limit = max(deadline - perf_counter(), OUT_OF_TIME)
            yield number, plan_part(planner, applicants)
    finally:
        planner.time_limit = limit


def plan_on(client: Any, planner: "RecoursePlanner", rows: Rows) -> Iterator[tuple[int, Part | Exception]]:
    """Plan for parts side by side on the workers of a Dask cluster; those of a worker that dies go to another.

    No more parts are sent at a time than keep the workers busy.
    """
    from distributed import as_completed

    # Not scattered: what is computed can be computed again when every worker that had it is gone.
    sent = client.submit(for_worker, planner, pure=False)
    waiting, numbers, left = as_completed(), dict[Any, int](), iter(rows)

    def submit_some() -> None:
        with _answering(client):
            n_threads = sum(client.nthreads().values())
        while len(numbers) < 2 * max(n_threads, 1) + 1:
            number, applicants = next(left, (None, None))
            if number is None:
                return
            future = client.submit(plan_part, sent, applicants, pure=False, retries=RETRIES)
            numbers[future] = number
            waiting.add(future)

    with stage("planning") as advance:
        submit_some()
        for future in waiting:
            number, outcome = numbers.pop(future), _outcome(client, future)
            yield number, outcome
            if isinstance(outcome, Part):
                advance(sum(outcome.statuses.values()))
            future.release()
            submit_some()


def _outcome(client: Any, future: Any) -> Part | Exception:
    with _answering(client):
        if future.status in ("cancelled", "lost"):
            raise DataError("the connection to the scheduler was lost")
        error = future.exception() if future.status == "error" else None
        if error is None:
            part: Part = future.result()
            return part
    if isinstance(error, Exception):
        return error
    raise error


@contextmanager
def _answering(client: Any) -> Iterator[None]:
    """Name a scheduler that is gone while it is asked as the cause."""
    from distributed import CancelledError

    if client.status != "running":
        raise DataError("the connection to the scheduler was lost")
    try:
        yield
    except (OSError, CancelledError) as lost:
        raise DataError(f"the connection to the scheduler was lost: {lost}") from lost


def for_worker(planner: "RecoursePlanner") -> "RecoursePlanner":
    """Return a copy that plans on one thread and shows no progress: parts are what runs side by side."""
    own: RecoursePlanner = pickle.loads(pickle.dumps(planner))  # noqa: S301 - made here
    return own.set_params(n_jobs=1, progress=False)


def plan_run(
    planner: "RecoursePlanner", applicants: "pd.DataFrame", folder: str | Path, *, client: Any = None
) -> "Run":
    """Plan for many applicants into a folder, part by part; the same call again goes on where an earlier one ended.

    Parameters
    ----------
    planner : RecoursePlanner
        Fitted.
    applicants : DataFrame
        One applicant per row.
    folder : str or Path
        Made if it is not there. If this process is killed, its finished parts stay.
    client : distributed.Client, optional
        Of a Dask cluster whose workers plan; None plans in this process.

    Returns
    -------
    Run
        With `folder`, `n_applicants`, `statuses`, and `batches()`, which yields the plans a part at a time;
        `PlanBatch.load(folder)` reads them as one batch.

    Raises
    ------
    InvalidInputError
        If the folder holds something else, is in use, or belongs to another planner or to other applicants.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> import copa
    >>> from copa.planner.runs import plan_run
    >>> draw = np.random.default_rng(0)
    >>> X = pd.DataFrame({"income": draw.integers(10, 60, 300), "debt": draw.integers(0, 20, 300)})
    >>> y = X["income"] - X["debt"] > 25
    >>> later = copa.LaterModels(n_refits=20)
    >>> model = LogisticRegression().fit(X, y)
    >>> planner = copa.RecoursePlanner(model, n_options=2, later_models=later, random_state=0, progress=False).fit(X, y)
    >>> run = plan_run(planner, X.head(40), Path(mkdtemp()) / "run")
    >>> run.statuses
    {'already_valid': 19, 'ok': 21}
    >>> len(copa.PlanBatch.load(run.folder))
    40
    """
    import pandas as pd

    table = as_pandas(applicants, "applicants")
    rows = hashlib.sha256(pd.util.hash_pandas_object(table).to_numpy().tobytes())
    rows.update(json.dumps([[str(name), str(dtype)] for name, dtype in table.dtypes.items()]).encode())
    engine: Engine = partial(plan_here, planner)
    if client is not None:
        engine = partial(plan_on, client, planner)
    run = Run(Path(folder), {"planner": _digest(planner), "applicants": rows.hexdigest()}, table)
    with run.begun():
        run.fill(engine)
    return run


def _digest(planner: "RecoursePlanner") -> str:
    """Tell planners apart; one whose model is of another package is told apart within a process only."""
    from copa.models.storage import ForeignTypeError
    from copa.planner.persistence import pack_planner

    try:
        raw = pack_planner(planner)
    except ForeignTypeError:
        raw = pickle.dumps(planner)
    return hashlib.sha256(raw).hexdigest()


class Run:
    """A folder of plans while it is filled, and afterwards.

    Parameters
    ----------
    folder : Path
    made_from : Mapping
        Planner, applicants and settings, as JSON holds them: plans of other ones are not mixed.
    applicants : DataFrame
    outputs : sequence of Path
        Files that are written from the plans; what a killed run left of them is removed.
    private : bool
        Whether the folder is closed to other users also if it was there before.
    say : callable
        Told what a person should know.

    Attributes
    ----------
    statuses : dict of str to int
        How many applicants have each status, once the run is filled.
    """

    def __init__(
        self,
        folder: Path,
        made_from: Mapping[str, Any],
        applicants: "pd.DataFrame",
        *,
        outputs: Sequence[Path] = (),
        private: bool = False,
        say: Say = warnings.warn,
    ) -> None:
        self.folder, self.statuses = folder, dict[str, int]()
        self._applicants = applicants
        self.names = [f"part-{k:06d}.copa" for k in range(-(-len(applicants) // PART_ROWS))]
        content = {"format": FORMAT, "version": VERSION, **made_from, "part_rows": PART_ROWS, "parts": len(self.names)}
        self._made_from = json.loads(json.dumps(content))
        self._outputs = [str(path.absolute()) for path in outputs]
        self._private, self._say = private, say
        self._known: dict[int, tuple[str, dict[str, int]]] = {}  # digests and statuses of parts

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Make the folder, or take up what an earlier run of the same left in it; no other run gets in meanwhile.

        In the end the folder stays only if there are finished parts in it.
        """
        with locked_folder(self.folder, private=self._private, say=self._say):
            try:
                self._begin()
                yield
                self._note([])  # they are whole now, and no part of what the run is
            finally:
                if not self.finished:
                    (self.folder / RUN).unlink(missing_ok=True)

    def _begin(self) -> None:
        others = sorted(path.name for path in self.folder.iterdir() if not _OWN.fullmatch(path.name))
        if others:
            raise InvalidInputError(f"the folder {self.folder} holds {listed(others)}, and no run; give another folder")
        self._remove_halves()
        if any(path.suffix == ".copa" for path in self.folder.iterdir()):
            self._require_same_run()
        if len(self.finished) < len(self.names):
            (self.folder / PARTS.content).unlink(missing_ok=True)
        self._note(self._outputs)

    def _note(self, outputs: list[str]) -> None:
        """Write what the plans are made from, and which files are being written from them."""
        content = self._made_from | ({"outputs": outputs} if outputs else {})
        write_atomically(self.folder / RUN, _dumped(content), swept=True)

    def _remove_halves(self) -> None:
        """Remove what an earlier run had half written when it was killed: its parts, and its outputs."""
        halves = filter(None, (PART.fullmatch(path.name) for path in self.folder.iterdir()))
        remove_abandoned_parts(*(self.folder / half[1] for half in halves if _OWN.fullmatch(half[1])))
        # Without a note of an earlier run there was none, or what it left is refused in a moment.
        with suppress(OSError, ValueError, KeyError, TypeError):
            remove_abandoned_parts(*map(Path, json.loads((self.folder / RUN).read_bytes())["outputs"]))

    def _require_same_run(self) -> None:
        try:
            earlier = json.loads((self.folder / RUN).read_bytes())
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{self.folder} is not what a run left ({error}); remove the folder") from error
        earlier = {key: earlier[key] for key in earlier if key != "outputs"} if isinstance(earlier, dict) else {}
        different = [key for key in {**self._made_from, **earlier} if earlier.get(key) != self._made_from.get(key)]
        if different:
            raise InvalidInputError(
                f"{self.folder} is of another run: {', '.join(different)} differ; give the same as before, another "
                "output, or remove the folder to begin anew"
            )

    @property
    def n_applicants(self) -> int:
        """Number of applicants."""
        return len(self._applicants)

    @property
    def finished(self) -> list[int]:
        """Numbers of the parts that are done."""
        there = {entry.name for entry in self.folder.iterdir()} if self.folder.is_dir() else set()
        return [number for number, name in enumerate(self.names) if name in there]

    def fill(self, engine: Engine) -> None:
        """Plan for the parts that are not done yet, write each at once, and list all of them in the end.

        Raises
        ------
        DataError
            If a part cannot be planned for, or is damaged. What is finished stays.
        """
        for number in self.finished:
            self._read_earlier(number)
        left = [number for number in range(len(self.names)) if number not in self._known]
        rows = [self._rows(number) for number in left]
        failed: dict[int, Exception] = {}
        try:
            with stage("planning", sum(map(len, rows)), "applicants"):
                for number, part in engine(zip(left, rows, strict=True)):
                    if isinstance(part, Exception):
                        failed[number] = part
                        continue
                    write_atomically(self.folder / self.names[number], part.raw, swept=True)
                    self._known[number] = (hashlib.sha256(part.raw).hexdigest(), part.statuses)
        except DataError as error:
            raise DataError(f"{error}; {self.progress()}") from error
        if failed:
            first = min(failed)
            more = f" (and {counted(len(failed) - 1, 'other part')})" if len(failed) > 1 else ""
            words = f"part {first:,} of the plans: {type(failed[first]).__name__}: {failed[first]}{more}"
            raise DataError(f"{words}; {self.progress()}") from failed[first]
        self._list()

    def _rows(self, number: int) -> "pd.DataFrame":
        return self._applicants.iloc[number * PART_ROWS : (number + 1) * PART_ROWS]

    def _read_earlier(self, number: int) -> None:
        path = self.folder / self.names[number]
        raw = path.read_bytes()
        try:
            statuses = Counter(read(PlanBatch, raw, path).status.tolist())
        except DataError as error:
            raise DataError(f"{error}; remove this file and run the same again") from error
        self._known[number] = (hashlib.sha256(raw).hexdigest(), dict(sorted(statuses.items())))

    def _list(self) -> None:
        counts = Counter[str]()
        for _, statuses in self._known.values():
            counts.update(statuses)
        self.statuses = dict(sorted(counts.items()))
        parts = [{"name": name, "sha256": self._known[number][0]} for number, name in enumerate(self.names)]
        content = {"applicants": self.n_applicants, "statuses": self.statuses, "parts": parts}
        write_atomically(self.folder / PARTS.content, PARTS.seal(content), swept=True)

    def progress(self) -> str:
        """Return in words what is done and how to go on."""
        parts = f"{len(self.finished):,} of {counted(len(self.names), 'part')}"
        return f"{parts} of the plans are done, and kept in {self.folder}; the same again goes on from there"

    def batches(self) -> Iterator[PlanBatch]:
        """Yield the plans, a part at a time."""
        return read_batches(PlanBatch, self.folder)

    def remove(self) -> None:
        """Remove the plans, which are in the outputs now."""
        for name in (PARTS.content, *self.names):
            (self.folder / name).unlink(missing_ok=True)


def _dumped(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


@contextmanager
def locked_folder(folder: Path, *, private: bool = False, say: Say = warnings.warn) -> Iterator[None]:
    """Make a folder, or take one that is there, and keep other runs out; if it is empty in the end it is removed.

    Raises
    ------
    InvalidInputError
        If another run is at work in it.
    """
    file = _lock(folder, private, say)
    try:
        yield
    finally:
        remove_locked(file, folder / LOCK)
        with suppress(OSError):  # it holds finished parts, or another run has begun in it
            folder.rmdir()


def _lock(folder: Path, private: bool, say: Say) -> IO[Any]:
    path = folder / LOCK
    for _ in range(ATTEMPTS):
        try:
            folder.mkdir(mode=0o700, exist_ok=True)  # for people's data
            file = path.open("a+", encoding="utf-8")
        except (FileExistsError, FileNotFoundError):  # a run that has just ended removed the folder
            if folder.is_file():
                raise
            continue
        locked = try_lock(file)
        if locked is False:
            with file:
                raise InvalidInputError(
                    f"{folder} is in use by {_holder(file)}; wait until it ends, or give another output"
                )
        if locked is None:
            say(f"note: the file system of {folder} has no locks; let no other run work in it at the same time")
        if is_at(file, path):
            if private:
                _close_to_others(folder, say)
            _sign(file)
            return file
        file.close()
    raise DataError(f"the folder {folder} cannot be made: something keeps removing it; give another output")


def _close_to_others(folder: Path, say: Say) -> None:
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
    """Return who holds a lock, as far as it says so."""
    try:
        file.seek(0)
        holder = json.load(file)
        return f"another run of copa (process {holder['process']} on {holder['host']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another run of copa"
