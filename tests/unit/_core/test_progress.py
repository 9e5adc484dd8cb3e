import io
import os
import pty
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from copa._core import progress
from copa._core.progress import Display, aside, counting, duration, showing, stage
from copa._core.threads import for_each_chunk
from waiting import PATIENCE, wait_until


class Clock:
    """Time that passes when the test says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def display(clock):
    """A display that nobody draws, as the current one."""
    own = Display("copa fit", None, clock=clock)
    token = progress._current.set(own)
    yield own
    progress._current.reset(token)


@pytest.fixture
def hasty(monkeypatch):
    """The same display, twenty times as fast."""
    for name in ("FIRST_LINE", "EVERY", "FIRST_DRAWING", "REDRAW", "SETTLED"):
        monkeypatch.setattr(progress, name, getattr(progress, name) / 20.0)


def test_promised_times_are_kept_with_room_to_spare():
    assert progress.FIRST_DRAWING <= progress.FIRST_LINE <= 1.0
    assert progress.REDRAW <= progress.EVERY <= 5.0


def test_before_any_stage_the_command_is_starting_and_later_it_is_working(display):
    assert display.line() == "copa fit [0:00] starting"
    with stage("reading the table"):
        pass
    assert display.line() == "copa fit [0:00] working"


def test_a_stage_shows_counts_time_and_an_estimate_of_the_rest(display, clock):
    with stage("refitting the model", 1000, "refits") as advance:
        assert display.line() == "copa fit [0:00] refitting the model, 0 of 1,000 refits"
        clock.now = 10.0
        advance(250)
        assert display.line() == "copa fit [0:10] refitting the model, 250 of 1,000 refits, about 30 s left"


def test_the_estimate_falls_while_nothing_is_counted(display, clock):
    with stage("refitting the model", 4, "refits") as advance:
        clock.now = 20.0
        advance(2)
        clock.now = 35.0
        assert display.line().endswith("about 5 s left")
        clock.now = 70.0
        assert display.line().endswith("about 1 s left")


def test_there_is_no_estimate_before_something_is_known_of_the_pace(display, clock):
    with stage("refitting the model", 100, "refits") as advance:
        clock.now = 0.1
        advance(1)
        assert "left" not in display.line()


def test_a_stage_without_a_unit_shows_the_share_and_one_without_a_total_the_count(display):
    with stage("reading the table", 2_000_000) as advance:
        advance(500_000)
        assert display.line().endswith("reading the table, 25%")
    with stage("checking proofs", None, "claims") as advance:
        advance(1200)
        assert display.line().endswith("checking proofs, 1,200 claims")


def test_a_stage_within_another_is_shown_when_it_lasts(display, clock):
    with stage("planning as of each version", 8, "versions") as outer:
        clock.now = 10.0
        outer(2)
        with stage("refitting the model", 100, "refits"):
            assert "refitting" not in display.line()
            clock.now = 12.0
            expected = (
                "planning as of each version, 2 of 8 versions, about 28 s left; refitting the model, 0 of 100 refits"
            )
            assert display.line() == f"copa fit [0:12] {expected}"
        assert "refitting" not in display.line()


def test_the_estimate_is_of_the_outermost_stage_that_has_one(display, clock):
    with stage("planning as of each version", 8, "versions"), stage("refitting the model", 100, "refits") as inner:
        clock.now = 5.0
        inner(50)
        assert display.line().endswith("0 of 8 versions; refitting the model, 50 of 100 refits, about 5 s left")


def test_a_stage_of_the_same_words_counts_in_the_one_around_it(display):
    with stage("planning", 500, "applicants") as outer:
        with stage("planning", 250, "applicants") as inner:
            inner(250)
        outer(1)
        assert display.line().endswith("planning, 251 of 500 applicants")


def test_items_count_when_they_are_done(display):
    seen = [display.line() for _ in counting("ab", "asking", 2, "versions")]
    assert [line.split(", ")[1] for line in seen] == ["0 of 2 versions", "1 of 2 versions"]
    assert display.stages == []


def test_a_failure_ends_its_stage(display):
    with pytest.raises(ZeroDivisionError), stage("planning"):
        raise ZeroDivisionError
    assert display.stages == []


def test_every_thread_counts(display):
    with stage("planning", 8000, "applicants") as advance:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(8):
                pool.submit(lambda: [advance(1) for _ in range(1000)])
        assert display.stages[0].done == 8000


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_chunks_count_in_the_stage_that_they_name(display, n_jobs):
    lines = []
    for_each_chunk(lambda _: lines.append(display.line()), 10, 4, n_jobs, what="bounding", unit="plans")
    assert all("bounding, " in line and "of 10 plans" in line for line in lines)
    done = []
    with stage("bounding", 10, "plans"):
        for_each_chunk(lambda _: None, 10, 4, n_jobs, what="bounding", unit="plans")
        done.append(display.stages[0].done)
    assert done == [10]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.0, "1 s"), (99.4, "99 s"), (100.1, "2 min"), (3599.0, "60 min"), (7200.0, "2.0 h")]
)
def test_durations_are_no_more_exact_than_estimates(seconds, words):
    assert duration(seconds) == words


def test_without_a_display_stages_cost_nothing_and_say_nothing(capsys):
    with stage("planning", 3, "applicants") as advance, aside():
        advance(1)
    assert capsys.readouterr() == ("", "")


def wait_for_lines(stream, n):
    """Wait, as in one long call, until lines have been written."""
    wait_until(lambda: stream.getvalue().count("\n") >= n, stream.getvalue)


def threads_that_draw():
    return {thread for thread in threading.enumerate() if thread.name == "copa-progress"}


@pytest.mark.usefixtures("hasty")
def test_a_log_gets_a_first_line_and_then_one_after_another_while_one_call_runs(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "SETTLED", 0.0)
    with showing(True, "copa plan"), stage("planning", 100, "applicants") as advance:
        wait_for_lines(stream, 2)
        advance(40)
        wait_until(lambda: stream.getvalue().count("40 of 100") >= 2, stream.getvalue)
    lines = stream.getvalue().splitlines()
    assert re.fullmatch(r"copa plan \[0:\d\d\] planning, 0 of 100 applicants", lines[0])
    assert re.fullmatch(r"copa plan \[0:\d\d\] planning, 40 of 100 applicants, about \d+ s left", lines[-1])
    assert "\r" not in stream.getvalue()


def test_short_work_says_nothing_in_a_log(capsys):
    with showing(True, "copa plan"), stage("planning"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("hasty")
def test_nothing_is_shown_in_a_log_that_nobody_asked_for(capsys):
    before = threads_that_draw()
    with showing(None), stage("planning"):
        assert threads_that_draw() <= before
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("hasty")
def test_a_block_that_is_silenced_stays_silent_whatever_is_in_it(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with showing(True, "outer"):
        around = threads_that_draw()
        with showing(False), showing(True, "inner"), stage("planning"):
            assert threads_that_draw() <= around
            wait_for_lines(stream, 2)
    assert "planning" not in stream.getvalue()


@pytest.mark.usefixtures("hasty")
def test_what_is_shown_already_shows_the_stages_of_a_planner_too(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with showing(True, "copa plan"), showing(None, "other"), stage("planning"):
        wait_for_lines(stream, 1)
    assert re.fullmatch(r"(copa plan \[0:\d\d\] planning\n)+", stream.getvalue())


@pytest.mark.parametrize("error", [BrokenPipeError, ValueError("I/O operation on closed file")])
@pytest.mark.usefixtures("hasty")
def test_a_closed_stream_breaks_nothing(monkeypatch, error):
    tried = threading.Semaphore(0)

    class Closed(io.StringIO):
        def write(self, _):
            tried.release()
            raise error

    monkeypatch.setattr(sys, "stderr", Closed())
    with showing(True), stage("planning"):
        assert tried.acquire(timeout=PATIENCE)
        assert tried.acquire(timeout=PATIENCE)  # the first failure has not ended it


@pytest.mark.usefixtures("hasty")
def test_a_stream_that_takes_nothing_holds_nothing_up(monkeypatch):
    stuck, released, returned = threading.Event(), threading.Event(), threading.Event()

    class Stuck(io.StringIO):
        def write(self, _):
            stuck.set()
            released.wait(PATIENCE)
            returned.set()

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(sys, "stderr", Stuck())
    with showing(True), stage("planning") as advance:
        assert stuck.wait(PATIENCE)
        advance(1)
        with aside():
            pass
    assert not returned.is_set()
    released.set()


# Ends after so many drawings, and as many again.
WAITING = """
import sys, threading
from copa._core import progress
progress.FIRST_LINE = progress.EVERY = progress.REDRAW = progress.FIRST_DRAWING = 0.02
drawn, draw, number = threading.Semaphore(0), progress.Display._draw, int(sys.argv[1])
progress.Display._draw = lambda *arguments: (draw(*arguments), drawn.release())
with progress.showing(True, "copa plan"), progress.stage("planning", 100, "applicants") as advance:
    for _ in range(number):
        advance(1)
        drawn.acquire()
    with progress.aside():
        print("a result", flush=True)
    for _ in range(number):
        drawn.acquire()
print("done")
"""


def run(**streams):
    command = [sys.executable, "-c", WAITING, "5"]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE, **streams)  # noqa: S603


def test_a_terminal_gets_one_live_line_that_is_gone_in_the_end():
    ours, theirs = pty.openpty()
    assert run(stderr=theirs).stdout == "a result\ndone\n"
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "\n" not in shown
    drawn = [line for line in shown.split("\r") if line.strip()]
    assert len(drawn) > 1
    assert all(re.match(r"copa plan \[0:\d\d\] planning, ", line) for line in drawn)
    assert shown.endswith("\r")
    assert shown.split("\r")[-2].strip() == ""


def full_pipe():
    """Both ends of a pipe that takes nothing more."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while os.write(writing, b"x" * 4096):
            pass
    os.set_blocking(writing, True)
    return reading, writing


def test_a_full_pipe_takes_no_line_until_someone_reads():
    reading, writing = full_pipe()
    assert not progress._takes_a_line(writing)
    os.read(reading, 1 << 16)
    assert progress._takes_a_line(writing)
    os.close(reading)
    os.close(writing)


def test_a_full_pipe_that_nobody_reads_holds_nothing_up():
    reading, writing = full_pipe()
    assert run(stderr=writing).stdout == "a result\ndone\n"
    os.close(reading)
    os.close(writing)


def test_a_pipe_whose_reader_has_gone_breaks_nothing():
    reading, writing = os.pipe()
    os.close(reading)
    assert run(stderr=writing).stdout == "a result\ndone\n"
    os.close(writing)


def test_a_process_without_stderr_does_its_work():
    command = f"exec {sys.executable} -c '{WAITING}' 0 2>&-"  # nothing is drawn
    assert subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout == "a result\ndone\n"  # noqa: S602


@pytest.mark.usefixtures("hasty")
def test_a_notebook_gets_the_live_line_through_its_own_stream(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr(sys, "stderr", stream)
    with showing(None), stage("planning", 3, "applicants"):
        wait_until(stream.getvalue)
    assert re.search(r"\rcopa \[0:\d\d\] planning, 0 of 3 applicants", stream.getvalue())
    assert "\n" not in stream.getvalue()
