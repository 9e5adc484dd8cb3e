"""Work beside the event loop: a thread takes what waits, and requests that ask alike together."""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

Work = Callable[[Any, Sequence[Any]], Sequence[Any]]


@dataclass(eq=False)
class Job:
    """Something to do.

    Attributes
    ----------
    key : hashable
        Jobs with equal keys may be done together.
    item : object
        What is handed to the work.
    size : int
        How much of the lane it takes.
    result : Future
    """

    key: Hashable
    item: Any
    size: int
    result: "Future[Any]" = field(default_factory=Future)


class Lane:
    """A thread that does jobs in their order, and with the first one all that wait and have the same key.

    While it works, others gather: the busier it is, the more are done at once, and nobody waits for company.

    Parameters
    ----------
    name : str
        Of the thread.
    work : callable
        From a key and the items of jobs to a result for each.
    most : int
        Largest sum of the sizes of jobs that are done together.
    """

    def __init__(self, name: str, work: Work, most: int) -> None:
        self._work, self._most = work, most
        self._jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, key: Hashable, item: Any, size: int = 1) -> "Future[Any]":
        """Queue a job; its future can be cancelled as long as nobody has begun with it."""
        job = Job(key, item, size)
        with self._changed:
            if self._closed:
                raise RuntimeError("the lane is closed")
            self._jobs.append(job)
            self._changed.notify()
        return job.result

    def close(self) -> None:
        """Finish what waits, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._next():
            self._do(jobs)

    def _next(self) -> list[Job]:
        """The first job, and those that wait with the same key; none where the lane is closed and empty."""
        with self._changed:
            while True:
                taken = self._take()
                if taken or self._closed:
                    return taken
                self._changed.wait()

    def _take(self) -> list[Job]:
        taken: list[Job] = []
        left: deque[Job] = deque()
        room = self._most
        for job in self._jobs:
            if taken and (job.key != taken[0].key or job.size > room):
                left.append(job)
            elif job.result.set_running_or_notify_cancel():
                taken.append(job)
                room -= job.size
        self._jobs = left
        return taken

    def _do(self, jobs: list[Job]) -> None:
        try:
            results = list(zip(jobs, self._work(jobs[0].key, [job.item for job in jobs]), strict=True))
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            if len(jobs) == 1:
                jobs[0].result.set_exception(error)
                return
            for job in jobs:  # one of them must not fail the others
                self._do([job])
            return
        for job, result in results:
            job.result.set_result(result)
