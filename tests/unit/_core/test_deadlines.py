"""Flags that one thread sets at their deadlines."""

import threading
import time

import numpy as np
import pytest

from copa._core.threads import Deadlines
from waiting import wait_until

LONG = 3600.0  # seconds, in which nothing happens


def _flag():
    return np.zeros(1, dtype=np.int64)


def _is_set(flag):
    return wait_until(lambda: bool(flag[0]))


def test_an_earlier_deadline_that_comes_later_is_kept():
    deadlines, late, early, over = Deadlines(), _flag(), _flag(), _flag()
    deadlines.add(time.perf_counter() + LONG, late)
    deadlines.add(time.perf_counter(), over)
    assert _is_set(over)  # from now on the thread sleeps until the late one, or has the lock that `add` waits for
    deadlines.add(time.perf_counter() + 0.05, early)
    assert _is_set(early)
    assert not late[0]


def test_a_flag_that_was_taken_away_is_not_set():
    deadlines, gone, kept = Deadlines(), _flag(), _flag()
    soon = time.perf_counter() + 0.1
    deadlines.add(soon, gone)
    deadlines.remove(gone)
    deadlines.add(soon + 0.05, kept)
    assert _is_set(kept)
    assert not gone[0]


def test_a_deadline_that_is_over_sets_its_flag_at_once():
    deadlines, flag = Deadlines(), _flag()
    deadlines.add(time.perf_counter() - 1.0, flag)
    assert _is_set(flag)


@pytest.mark.parametrize("n", [1, 50])
def test_all_flags_have_one_thread(n):
    before, deadlines, flags = set(threading.enumerate()), Deadlines(), [_flag() for _ in range(n)]
    for flag in flags:
        deadlines.add(time.perf_counter() + LONG, flag)
    new = set(threading.enumerate()) - before
    assert [thread.name for thread in new].count("copa-deadlines") == 1


def test_deadlines_without_a_flag_do_not_pile_up():
    deadlines, kept = Deadlines(), _flag()
    for _ in range(100):
        gone = _flag()
        deadlines.add(time.perf_counter() + LONG, gone)
        deadlines.remove(gone)
    assert deadlines._waiting == {}
    deadlines.add(time.perf_counter() + 0.01, kept)
    assert _is_set(kept)
