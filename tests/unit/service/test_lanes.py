"""Work beside the event loop: in order, together where it is alike, and never stopped by what one of it does."""

import threading
from concurrent.futures import CancelledError

import pytest

from copa.service.lanes import Lane


@pytest.fixture
def held():
    """A lane whose first job, "hold", waits until it is let go; and what was done together."""
    free, done = threading.Event(), []

    def work(key, items):
        done.append((key, list(items)))
        if "hold" in items:
            free.wait(10)
        if "fail" in items:
            raise ZeroDivisionError
        if "few" in items:
            return []
        return [f"{key}:{item}" for item in items]

    lane = Lane("test", work, 3)
    holding = lane.submit("a", "hold")
    while not done:
        threading.Event().wait(0.001)
    yield lane, free, done
    free.set()
    lane.close()
    assert holding.result(0) == "a:hold"


def test_what_waits_and_is_alike_is_done_together_up_to_the_limit(held):
    lane, free, done = held
    results = [lane.submit(key, item) for key, item in zip("aababa", range(6), strict=True)]
    free.set()
    assert [result.result(10) for result in results] == ["a:0", "a:1", "b:2", "a:3", "b:4", "a:5"]
    assert done[1:] == [("a", [0, 1, 3]), ("b", [2, 4]), ("a", [5])]


def test_a_large_job_is_done_even_if_it_is_larger_than_the_limit(held):
    lane, free, done = held
    results = [lane.submit("a", 0, 5), lane.submit("a", 1, 1)]
    free.set()
    assert [result.result(10) for result in results] == ["a:0", "a:1"]
    assert done[1:] == [("a", [0]), ("a", [1])]


@pytest.mark.parametrize("bad", ["fail", "few"])
def test_one_that_fails_fails_no_other(held, bad):
    lane, free, _ = held
    good, wrong, other = (lane.submit("a", item) for item in (1, bad, 2))
    free.set()
    assert (good.result(10), other.result(10)) == ("a:1", "a:2")
    with pytest.raises((ZeroDivisionError, ValueError)):
        wrong.result(10)
    assert lane.submit("a", 3).result(10) == "a:3"


def test_nobody_works_for_who_has_gone(held):
    lane, free, done = held
    gone, there = lane.submit("a", 1), lane.submit("a", 2)
    assert gone.cancel()
    free.set()
    assert there.result(10) == "a:2"
    assert done[1:] == [("a", [2])]
    with pytest.raises(CancelledError):
        gone.result(0)


def test_what_waits_is_finished_before_the_end(held):
    lane, free, _ = held
    waiting = [lane.submit("b", item) for item in range(4)]
    ending = threading.Thread(target=lane.close)
    ending.start()
    free.set()
    ending.join(10)
    assert [result.result(0) for result in waiting] == ["b:0", "b:1", "b:2", "b:3"]
    with pytest.raises(RuntimeError, match="closed"):
        lane.submit("b", 5)
