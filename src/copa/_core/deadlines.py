"""Flags that are set at their deadlines, by one thread for all of them: to start one for each takes longer than a plan.

The thread sleeps until the earliest deadline that it knows. Whoever is done takes the flag away, and the thread is not
told: it finds out when it wakes up.
"""

import os
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Condition, Thread
from time import perf_counter

import numpy as np
import numpy.typing as npt

MOST_LEFT = 1000  # deadlines without a flag that are kept
Flag = npt.NDArray[np.int64]  # (1,), not zero once the work must stop


class Deadlines:
    """Sets flags at their deadlines.

    Examples
    --------
    >>> import time
    >>> import numpy as np
    >>> from copa._core.deadlines import Deadlines
    >>> deadlines, flag = Deadlines(), np.zeros(1, dtype=np.int64)
    >>> number = deadlines.add(time.perf_counter() + 0.01, flag)
    >>> while not flag[0]:
    ...     time.sleep(0.01)
    >>> deadlines.remove(number)
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._numbers = count()
        self._waiting: list[tuple[float, int]] = []  # a heap
        self._flags: dict[int, Flag] = {}
        self._thread: Thread | None = None

    def add(self, deadline: float, flag: Flag) -> int:
        """Set the flag (1,) at a deadline, as `time.perf_counter` counts; the number is for `remove`."""
        with self._changed:
            number = next(self._numbers)
            self._flags[number] = flag
            is_first = not self._waiting or deadline < self._waiting[0][0]
            heappush(self._waiting, (deadline, number))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="copa-deadlines", daemon=True)
                self._thread.start()
            elif is_first:
                self._changed.notify()
        return number

    def remove(self, number: int) -> None:
        """Let a flag be, if it is not set yet."""
        with self._changed:
            self._flags.pop(number, None)
            if len(self._waiting) > MOST_LEFT + 2 * len(self._flags):
                self._waiting = [entry for entry in self._waiting if entry[1] in self._flags]
                heapify(self._waiting)

    def _run(self) -> None:
        with self._changed:
            while True:
                while self._waiting and (self._waiting[0][1] not in self._flags or self._is_over()):
                    flag = self._flags.pop(heappop(self._waiting)[1], None)
                    if flag is not None:
                        flag.fill(1)
                self._changed.wait(self._waiting[0][0] - perf_counter() if self._waiting else None)

    def _is_over(self) -> bool:
        return self._waiting[0][0] <= perf_counter()


_of_process: dict[int, Deadlines] = {}  # a process that was forked has no thread of its parent's


def deadlines() -> Deadlines:
    """The deadlines of this process."""
    return _of_process.setdefault(os.getpid(), Deadlines())
