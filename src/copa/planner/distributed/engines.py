"""Who does the work: this process, or the workers of a Dask cluster."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from copa.exceptions import CopaError, DataError, MissingPackageError
from copa.planner.distributed.sources import DaskRows, FileRows, Task
from copa.planner.distributed.work import PackedPlanner, Part, plan_part

if TYPE_CHECKING:
    import pandas as pd

    from copa.planner import RecoursePlanner

Result = TypeVar("Result")
Numbered = tuple[int, Result | Exception]  # the number of a partition, and what became of it

RETRIES = 2  # of a partition that raises an error, which may have been a disk's
LOCAL_WORKERS = 2
LOOPBACK = "127.0.0.1"
# A worker holds a partition at most; it writes no applicants to a disk to make room for others.
UNSPILLED = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False}
# Ctrl-C goes to all processes of a terminal; the client ends the workers.
UNINTERRUPTED = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"


class Engine(Protocol):
    """Does the work of partitions.

    Attributes
    ----------
    counts : bool
        Whether the applicants who are done are counted by whoever plans for them, for the person who waits.
    """

    counts: bool

    def survey(self, partitions: Sequence[FileRows]) -> "Iterator[Numbered[pd.DataFrame]]":
        """Yield a table without rows in the dtypes of each partition, as they come."""

    def plan(self, partitions: Iterable[tuple[int, Task]]) -> Iterator[Numbered[Part]]:
        """Yield the plans of each partition, as they come."""


class ThisProcess:
    """One partition after another, on the threads that the planner was told to use.

    Parameters
    ----------
    planner : RecoursePlanner
    """

    counts = True

    def __init__(self, planner: "RecoursePlanner") -> None:
        self._planner = planner

    def survey(self, partitions: Sequence[FileRows]) -> "Iterator[Numbered[pd.DataFrame]]":
        """Yield a table without rows in the dtypes of each partition."""
        for number, part in enumerate(partitions):
            yield number, _attempted(part.survey)

    def plan(self, partitions: Iterable[tuple[int, Task]]) -> Iterator[Numbered[Part]]:
        """Yield the plans of each partition."""
        for number, task in partitions:
            yield number, _attempted(self._plan, task)

    def _plan(self, task: Task) -> Part:
        return plan_part(self._planner, task.read())


def _attempted(work: Callable[..., Result], *arguments: Any) -> Result | Exception:
    try:
        return work(*arguments)
    except (CopaError, OSError) as error:
        return error


class DaskWorkers:
    """Partitions side by side, on the workers of a cluster; those of a worker that dies go to another.

    Parameters
    ----------
    client : distributed.Client
    packed : PackedPlanner
        Goes to each worker once.
    """

    counts = False

    def __init__(self, client: Any, packed: PackedPlanner) -> None:
        self._client = client
        self._packed = packed

    def survey(self, partitions: Sequence[FileRows]) -> "Iterator[Numbered[pd.DataFrame]]":
        """Yield a table without rows in the dtypes of each partition, as they come."""
        calls = ((number, (_survey, part)) for number, part in enumerate(partitions))
        return self._each(calls)

    def plan(self, partitions: Iterable[tuple[int, Task]]) -> Iterator[Numbered[Part]]:
        """Yield the plans of each partition, as they come."""
        # Not scattered: what is computed can be computed again when every worker that had it is gone.
        planner = self._client.submit(_same, self._packed, key=f"copa-planner-{self._packed.sha256}")
        calls = ((number, (_plan, planner, self._argument(task))) for number, task in partitions)
        return self._each(calls)

    def _argument(self, task: Task) -> Any:
        return self._client.compute(task.rows) if isinstance(task, DaskRows) else task

    def _each(self, calls: Iterable[tuple[int, tuple[Any, ...]]]) -> Iterator[Numbered[Any]]:
        """Submit calls, no more at a time than keep the workers busy, and yield what becomes of each."""
        from distributed import as_completed

        waiting, numbers, left = as_completed(), dict[Any, int](), iter(calls)

        def submit_some() -> None:
            while len(numbers) < 2 * max(sum(self._client.nthreads().values()), 1) + 1:
                number, call = next(left, (None, ()))
                if number is None:
                    return
                future = self._client.submit(*call, pure=False, retries=RETRIES)
                numbers[future] = number
                waiting.add(future)

        submit_some()
        for future in waiting:
            number = numbers.pop(future)
            yield number, self._outcome(future)
            future.release()
            submit_some()

    def _outcome(self, future: Any) -> Any:
        from distributed import CancelledError

        if future.status in ("cancelled", "lost") or self._client.status != "running":
            raise DataError("the connection to the scheduler was lost")
        error = future.exception() if future.status == "error" else None
        if error is None:
            try:
                return future.result()
            except (OSError, CancelledError) as lost:
                raise DataError(f"the connection to the scheduler was lost: {lost}") from lost
        if isinstance(error, Exception):
            return error
        raise error


def _same(packed: PackedPlanner) -> PackedPlanner:
    return packed


def _survey(part: FileRows) -> "pd.DataFrame":
    return part.survey()


def _plan(packed: PackedPlanner, applicants: Any) -> Part:
    table = applicants.read() if hasattr(applicants, "read") else applicants
    return plan_part(packed.opened(), table)


@contextmanager
def dask_client(scheduler: str | None, n_workers: int | None) -> Iterator[Any]:
    """A client of a scheduler, or of a cluster on this machine for the time of the block.

    Parameters
    ----------
    scheduler : str, optional
        Its address, such as tcp://10.0.0.5:8786.
    n_workers : int, optional
        Processes of the local cluster, each with one thread; None is two.

    Raises
    ------
    MissingPackageError
        If Dask is not installed.
    DataError
        If the scheduler does not answer.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.system import MEMORY_LIMIT
    except ImportError as error:
        raise MissingPackageError("--engine dask needs Dask: pip install 'copa-recourse[dask]'") from error
    if scheduler is not None:
        try:
            client = Client(scheduler)
        except (OSError, ValueError) as error:
            raise DataError(f"the scheduler {scheduler} does not answer: {error}") from error
        with _quiet_logs(), client:
            yield client
        return
    count = LOCAL_WORKERS if n_workers is None else n_workers
    with (
        _quiet_logs(),
        dask.config.set(UNSPILLED),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            dashboard_address=None,
            memory_limit=MEMORY_LIMIT // count,
            silence_logs=logging.CRITICAL,
            preload=[UNINTERRUPTED],
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep what Dask logs of a lost connection off the terminal: the error that follows says it in a line."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
