"""Spreading independent pieces of work over threads, and stopping them: the kernels release the interpreter's lock.

A running kernel looks at nothing but its arrays. So what may take long runs beside the calling thread, which waits in a
way that Ctrl-C ends: it then sets the flags that the kernels poll, and `KeyboardInterrupt` goes on its way as soon as
they have returned, within a step of their method.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import cache, partial
from threading import Condition, Event, Lock, Thread, current_thread, main_thread
from time import perf_counter
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController, threadpool_limits

from copa._core.progress import Advance, stage
from copa._core.reading import is_whole
from copa.exceptions import InvalidInputError

Result = TypeVar("Result")
Flag = npt.NDArray[np.int64]  # (1,), not zero once the work must stop
POLL = 0.2  # seconds between two looks for Ctrl-C, on systems where waiting for a lock cannot be interrupted


class _Work:
    """Work under way, with whatever is begun inside of it on any thread: the flags that its kernels poll."""

    def __init__(self) -> None:
        self.interrupted: Flag = np.zeros(1, dtype=np.int64)
        self.flags: dict[int, Flag] = {}

    def interrupt(self) -> None:
        """Stop it all."""
        self.interrupted[0] = 1
        for flag in list(self.flags.values()):
            flag[0] = 1

    @contextmanager
    def flag(self) -> Iterator[Flag]:
        """Yield a flag of its own, which an interruption sets too."""
        flag: Flag = np.zeros(1, dtype=np.int64)
        self.flags[id(flag)] = flag
        flag[0] = self.interrupted[0]  # in case that it came before the flag was known
        try:
            yield flag
        finally:
            del self.flags[id(flag)]


_under_way: ContextVar[_Work | None] = ContextVar("_under_way", default=None)


@contextmanager
def _entered(work: _Work) -> Iterator[_Work]:
    """Make it the work under way for the time of the block."""
    token = _under_way.set(work)
    try:
        yield work
    finally:
        _under_way.reset(token)


def _work() -> AbstractContextManager[_Work]:
    """The work under way, or new work for the time of the block."""
    work = _under_way.get()
    return _entered(_Work()) if work is None else nullcontext(work)


def interruption() -> Flag:
    """Return the flag that becomes 1 when the work that this thread is part of is interrupted."""
    work = _under_way.get()
    return np.zeros(1, dtype=np.int64) if work is None else work.interrupted


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt where the work that this thread is part of is interrupted."""
    if interruption()[0] != 0:
        raise KeyboardInterrupt


class Stoppable(Generic[Result]):
    """A call that another thread can stop.

    Parameters
    ----------
    call : callable without arguments

    Examples
    --------
    >>> from copa._core.threads import Stoppable, stop_if_interrupted
    >>> work = Stoppable(stop_if_interrupted)
    >>> work()
    >>> work.stop()
    >>> try:
    ...     work()
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call, self._work = call, _Work()

    def __call__(self) -> Result:
        """Make the call; raise KeyboardInterrupt where it was stopped."""
        with _entered(self._work):
            return self._call()

    def stop(self) -> None:
        """Stop the call at the next step of a kernel, chunk of work or `stop_if_interrupted`."""
        self._work.interrupt()


def count_threads(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: a positive number of them, or None or -1 for all cores."""
    if n_jobs is None or n_jobs == -1:
        from joblib import cpu_count  # which knows the limits of containers and of the process

        return int(cpu_count())
    if not is_whole(n_jobs) or n_jobs < 1:
        raise InvalidInputError(f"n_jobs must be a positive integer, or None or -1 for all cores, got {n_jobs!r}")
    return int(n_jobs)


def for_each_chunk(
    work: Callable[[slice], None],
    n_items: int,
    chunk: int,
    n_jobs: int | None,
    *,
    in_kernels: bool = False,
    what: str = "",
    unit: str = "",
) -> None:
    """Call `work` with every slice of `chunk` items, in order on one thread or side by side on several.

    What `work` does for a slice must not depend on the other slices: then the result does not depend on `n_jobs`.

    Parameters
    ----------
    in_kernels : bool
        Whether a slice may spend more than a second in kernels. They then run beside the calling thread even where
        there is one thread to use, so that Ctrl-C is seen; the kernels must poll `interruption()`.
    what, unit : str
        What is done and what the items are, for those who wait; without it nothing is said.
    """
    if what and n_items:
        with stage(what, n_items, unit) as advance:
            for_each_chunk(_counted(work, n_items, advance), n_items, chunk, n_jobs, in_kernels=in_kernels)
        return
    slices = [slice(first, min(first + chunk, n_items)) for first in range(0, n_items, chunk)]
    threads = min(count_threads(n_jobs), len(slices))
    hides_signals = in_kernels and bool(slices) and current_thread() is main_thread()
    with _work() as under_way:
        if threads > 1 or hides_signals:
            _side_by_side(work, slices, threads, under_way)
            return
        for piece in slices:
            if under_way.interrupted[0] != 0:
                raise KeyboardInterrupt
            work(piece)


def _counted(work: Callable[[slice], None], n_items: int, advance: Advance) -> Callable[[slice], None]:
    def run(piece: slice) -> None:
        work(piece)
        advance(len(range(*piece.indices(n_items))))

    return run


def _side_by_side(work: Callable[[slice], None], slices: list[slice], threads: int, under_way: _Work) -> None:
    """Run the pieces on threads of their own, and wait for them so that they can be interrupted.

    None begins before all are handed over: a thread that is at work while the pool is still starting it would not be
    waited for if Ctrl-C came at that moment.
    """
    pool, handed_over = ThreadPoolExecutor(threads), Event()

    def run(piece: slice) -> None:
        handed_over.wait()
        if under_way.interrupted[0] == 0:
            work(piece)

    try:
        futures: list[Future[None]] = [pool.submit(copy_context().run, run, piece) for piece in slices]
        handed_over.set()
        waiting = set(futures)
        while waiting:
            _, waiting = wait(waiting, timeout=POLL)
    except BaseException:
        under_way.interrupt()
        raise
    finally:
        handed_over.set()
        pool.shutdown(cancel_futures=True)
    for done in futures:
        done.result()


class SharedChange:
    """A change of the whole process for as long as any thread is inside: the first makes it, the last undoes it.

    Were each thread to undo its own, one that began while another was inside would in the end bring back the change.

    Parameters
    ----------
    change : callable
        Returns the context manager that makes it.
    """

    def __init__(self, change: Callable[[], AbstractContextManager[Any]]) -> None:
        self._change, self._lock = change, Lock()
        self._inside, self._made = 0, ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._made.enter_context(self._change())
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._made.close()


# scikit-learn's ensembles empty the filters and fill them again for every tree: what is shown in between is caught.
no_warnings = SharedChange(partial(warnings.catch_warnings, record=True, action="ignore"))


@contextmanager
def one_thread_no_warnings() -> Iterator[None]:
    """Silence warnings, and hold models to one thread: threads of threads wait for each other longer than they work."""
    with threadpool_limits(1, user_api="openmp"), one_blas_thread, no_warnings:  # OpenMP's is of the calling thread
        yield


@cache
def _libraries() -> ThreadpoolController:
    """The libraries with threads of their own that were loaded when this was first asked for."""
    return ThreadpoolController()


one_blas_thread = SharedChange(lambda: _libraries().limit(limits=1, user_api="blas"))


def one_openmp_thread() -> AbstractContextManager[Any]:
    """Let the calling thread's OpenMP loops, such as those of scikit-learn, start no threads that spin beside it.

    For many small calls: the threads take more than they give, on cores that others want. Nothing but the calling
    thread is concerned, so that several may do this at a time.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="openmp")
    return limited


class Deadlines:
    """Sets flags at their deadlines, by one thread for all of them: to start one for each takes longer than a plan.

    The thread sleeps until the earliest deadline that it knows. Whoever is done takes the flag away, and the thread is
    not told: it finds out when it wakes up.

    Examples
    --------
    >>> import time
    >>> import numpy as np
    >>> from copa._core.threads import Deadlines
    >>> deadlines, flag = Deadlines(), np.zeros(1, dtype=np.int64)
    >>> deadlines.add(time.perf_counter() + 0.01, flag)
    >>> while not flag[0]:
    ...     time.sleep(0.01)
    >>> deadlines.remove(flag)
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: dict[int, tuple[float, Flag]] = {}  # by the identity of the flag
        self._wakes_at = np.inf
        self._thread: Thread | None = None

    def add(self, deadline: float, flag: Flag) -> None:
        """Set the flag (1,) at a deadline, as `time.perf_counter` counts."""
        with self._changed:
            self._waiting[id(flag)] = deadline, flag
            if self._thread is None:
                self._thread = Thread(target=self._run, name="copa-deadlines", daemon=True)
                self._thread.start()
            elif deadline < self._wakes_at:
                self._changed.notify()

    def remove(self, flag: Flag) -> None:
        """Let a flag be, if it is not set yet."""
        with self._changed:
            self._waiting.pop(id(flag), None)

    def _run(self) -> None:
        with self._changed:
            while True:
                for number, (deadline, flag) in list(self._waiting.items()):
                    if deadline <= perf_counter():
                        flag.fill(1)
                        del self._waiting[number]
                self._wakes_at = min((deadline for deadline, _ in self._waiting.values()), default=np.inf)
                self._changed.wait(None if np.isinf(self._wakes_at) else max(0.0, self._wakes_at - perf_counter()))


_of_process: dict[int, Deadlines] = {}  # a process that was forked has no thread of its parent's


@contextmanager
def stopping_at(deadline: float) -> Iterator[Flag]:
    """Yield a flag (1,) that becomes 1 at the deadline (of `perf_counter`) or when the work is interrupted."""
    with _work() as under_way, under_way.flag() as stop:
        if np.isinf(deadline):
            yield stop
            return
        deadlines = _of_process.setdefault(os.getpid(), Deadlines())
        deadlines.add(deadline, stop)
        try:
            yield stop
        finally:
            deadlines.remove(stop)
