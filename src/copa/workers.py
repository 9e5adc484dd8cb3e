"""Spreading independent pieces of work over threads: the kernels release the interpreter's lock."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Timer
from time import perf_counter

import numpy as np
import numpy.typing as npt

from copa.exceptions import InvalidInputError


def count_threads(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`: a positive number of them, or None or -1 for all cores."""
    if n_jobs is None or n_jobs == -1:
        return os.cpu_count() or 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
        raise InvalidInputError(f"n_jobs must be a positive integer, or None or -1 for all cores, got {n_jobs!r}")
    return int(n_jobs)


def for_each_chunk(work: Callable[[slice], None], n_items: int, chunk: int, n_jobs: int | None) -> None:
    """Call `work` with every slice of `chunk` items, in order on one thread or side by side on several.

    What `work` does for a slice must not depend on the other slices: then the result does not depend on `n_jobs`.
    """
    slices = [slice(first, min(first + chunk, n_items)) for first in range(0, n_items, chunk)]
    threads = min(count_threads(n_jobs), len(slices))
    if threads <= 1:
        for piece in slices:
            work(piece)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, piece) for piece in slices]:
            done.result()


@contextmanager
def stopping_at(deadline: float) -> Iterator[npt.NDArray[np.int64]]:
    """Yield a flag (1,) that becomes 1 at the deadline (of `perf_counter`), which running kernels look at."""
    stop = np.zeros(1, dtype=np.int64)
    if np.isinf(deadline):
        yield stop
        return
    timer = Timer(max(deadline - perf_counter(), 0.0), stop.fill, [1])
    timer.daemon = True
    timer.start()
    try:
        yield stop
    finally:
        timer.cancel()
