import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest

from copa._core.threads import count_threads, for_each_chunk, interruption, one_thread_no_warnings, stopping_at
from copa.exceptions import InvalidInputError
from waiting import wait_until

LONG = 60.0  # seconds that work takes which nobody stops: far more than a loaded machine needs to react


def run_until(flag):
    """Stand in for a kernel: it looks at nothing but its flag."""
    return bool(wait_until(lambda: flag[0] != 0, patience=LONG))


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "2"])
def test_a_number_of_threads_that_is_none_is_refused(n_jobs):
    with pytest.raises(InvalidInputError, match="positive integer"):
        count_threads(n_jobs)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are assigned as on Linux")
def test_all_cores_are_those_that_the_process_may_use():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert count_threads(None) == count_threads(-1) == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_what_threads_change_together_stays_until_the_last_leaves_and_is_undone_then():
    filters, silent = list(warnings.filters), ("ignore", None, Warning, None, 0)
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_thread_no_warnings())
    with ThreadPoolExecutor(1) as other:
        other.submit(second.enter_context, one_thread_no_warnings()).result()
        first.close()
        assert warnings.filters[0] == silent
        other.submit(second.close).result()
    assert warnings.filters == filters


@pytest.mark.parametrize("in_kernels", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_items", [0, 1, 7, 10])
def test_every_item_is_in_exactly_one_chunk(n_items, n_jobs, in_kernels):
    seen = np.zeros(n_items, dtype=int)

    def work(rows):
        seen[rows] += 1

    for_each_chunk(work, n_items, 3, n_jobs, in_kernels=in_kernels)
    assert (seen == 1).all()


@pytest.mark.parametrize(("n_jobs", "in_kernels"), [(1, False), (1, True), (2, False)])
def test_what_goes_wrong_in_a_chunk_is_raised(n_jobs, in_kernels):
    def work(rows):
        if rows.start == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        for_each_chunk(work, 4, 1, n_jobs, in_kernels=in_kernels)


def test_kernels_leave_the_main_thread_free_to_see_signals_and_other_work_stays_on_it():
    threads = []

    def work(_):
        threads.append(threading.current_thread())

    for_each_chunk(work, 1, 1, 1, in_kernels=True)
    for_each_chunk(work, 1, 1, 1)
    assert threads[0] is not threading.main_thread()
    assert threads[1] is threading.main_thread()


@pytest.fixture
def ctrl_c():
    """Send this process Ctrl-C once the work is under way, and let KeyboardInterrupt be raised as in a script."""
    begun = threading.Event()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def press():
        if begun.wait(LONG):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    yield begun
    begun.set()
    thread.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_stops_kernels_and_whatever_has_not_begun(ctrl_c, n_jobs):
    stopped, begun = [], []

    def work(rows):
        begun.append(rows.start)
        if len(begun) == n_jobs:  # once every thread is at work
            ctrl_c.set()
        stopped.append(run_until(interruption()))

    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        for_each_chunk(work, 50, 1, n_jobs, in_kernels=True)
    assert time.perf_counter() - started < LONG / 2
    assert all(stopped)
    assert len(begun) == n_jobs


def test_ctrl_c_reaches_a_search_with_a_deadline_inside_of_other_work(ctrl_c):
    stopped = []

    def search(_):
        ctrl_c.set()
        stopped.append(run_until(stop))

    def work(_):
        nonlocal stop
        with stopping_at(time.perf_counter() + 10 * LONG) as stop:
            for_each_chunk(search, 1, 1, 1, in_kernels=True)

    stop = np.zeros(1, dtype=np.int64)
    with pytest.raises(KeyboardInterrupt):
        for_each_chunk(work, 1, 1, 1, in_kernels=True)
    assert stopped == [True]


def test_a_deadline_stops_the_search_and_no_other_work():
    with stopping_at(time.perf_counter() + 0.05) as stop:
        assert run_until(stop)
        assert interruption()[0] == 0


def test_work_is_not_interrupted_by_what_interrupted_earlier_work(ctrl_c):
    def work(_):
        ctrl_c.set()
        run_until(interruption())

    with pytest.raises(KeyboardInterrupt):
        for_each_chunk(work, 1, 1, 1, in_kernels=True)
    seen = []
    for_each_chunk(lambda _: seen.append(int(interruption()[0])), 2, 1, 2)
    assert seen == [0, 0]


@pytest.mark.parametrize("_", range(40))  # the moment that matters is short: a few tries in a hundred meet it
def test_ctrl_c_while_threads_are_being_started_leaves_none_of_them_at_work(ctrl_c, _):
    ended = []

    def work(_):
        ctrl_c.set()
        ended.append(run_until(interruption()))

    with pytest.raises(KeyboardInterrupt):
        for_each_chunk(work, 1, 1, 1, in_kernels=True)
    assert ended == [True]
