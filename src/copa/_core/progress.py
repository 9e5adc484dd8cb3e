"""Progress for the person who waits: one live line on a terminal, lines in a log.

Work names what it does with `stage` and counts what is done; it never writes. A thread of its own does, and only where
the stream can take a line at once, so that a slow, full or closed stream holds nothing up. Nothing heavy is imported
here: the first sign of life of a command comes before its imports.

No line has data in it: what is being done, counts and times.
"""

import os
import select
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Event, Lock, RLock, Thread
from time import perf_counter
from typing import IO, TypeVar

FIRST_LINE = 0.8  # seconds before the first line of a log; shorter work says nothing
EVERY = 5.0  # seconds between two lines of a log: one in any ten, also if a library does not let go for some
FIRST_DRAWING = 0.3  # seconds before the live line appears
REDRAW = 0.2  # seconds between two drawings of it
SETTLED = 1.0  # seconds from which on a stage is worth an estimate, and one within another is worth showing
STDERR = 2
PATIENCE = 1.0  # seconds that the end of the work waits for the thread

Item = TypeVar("Item")
Advance = Callable[[int], None]


class Stage:
    """A piece of work under way.

    Parameters
    ----------
    what : str
        What is being done, in words.
    total : int, optional
        How much there is to do; None where it cannot be known.
    unit : str
        What is counted, in the plural; without one the share is shown.
    clock : callable
        Seconds.
    """

    def __init__(self, what: str, total: int | None, unit: str, clock: Callable[[], float]) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done = 0
        self._clock, self._lock = clock, Lock()
        self.begun = self._counted = clock()

    def advance(self, n: int) -> None:
        """Count what was done, from any thread."""
        with self._lock:
            self.done += n
            self._counted = self._clock()

    def in_words(self) -> str:
        """Say what is being done, and how much of it."""
        if not self.total:
            return f"{self.what}, {self.done:,} {self.unit}" if self.unit and self.done else self.what
        if not self.unit:
            return f"{self.what}, {min(self.done / self.total, 1.0):.0%}"
        return f"{self.what}, {self.done:,} of {self.total:,} {self.unit}"

    def seconds_left(self) -> float | None:
        """Estimate of the rest, at the pace so far; None where too little is done for one."""
        with self._lock:
            spent, done = self._counted - self.begun, self.done
        if not self.total or not 0 < done < self.total or spent < SETTLED:
            return None
        return max(spent / done * (self.total - done) - (self._clock() - self._counted), 0.0)


class Display:
    """Draws the stages of one task.

    Parameters
    ----------
    title : str
        What the lines begin with.
    stream : file object, optional
        Where they go; None for nowhere.
    live : bool
        One line that is drawn over and over, for a terminal or a notebook; otherwise lines as in a log.
    clock : callable
        Seconds.
    """

    def __init__(
        self,
        title: str,
        stream: IO[str] | None,
        *,
        live: bool = False,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.title, self.live, self.clock = title, live, clock
        self.begun = clock()
        self.stages: list[Stage] = []
        self._idle = "starting"  # what is said before the first stage, and between two
        self._stream = stream
        self._width = 0  # of the line that is on the terminal now
        self._writing = RLock()
        self._ended = Event()
        self._thread = Thread(target=self._beat, name="copa-progress", daemon=True)

    def begin(self, stage: Stage) -> None:
        """Show a stage from now on."""
        self.stages.append(stage)
        self._idle = "working"

    def start(self) -> None:
        """Begin to draw."""
        self._thread.start()

    def stop(self) -> None:
        """Draw no more, and leave no live line behind."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)
        with self.cleared():
            pass

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Keep the live line away while something else is written."""
        held = self._writing.acquire(timeout=PATIENCE)  # not for ever: the thread may be stuck in a write
        try:
            if held and self._width and self._write(f"\r{' ' * self._width}\r"):
                self._width = 0
            yield
        finally:
            if held:
                self._writing.release()

    def line(self) -> str:
        """Return the current line: the outermost stage, the innermost if it lasts, and the first estimate of a rest."""
        stages = list(self.stages)
        shown = stages[:1] + [stage for stage in stages[-1:] if self.clock() - stage.begun >= SETTLED]
        parts, estimated = [], False
        for stage in dict.fromkeys(shown):
            left = None if estimated else stage.seconds_left()
            estimated = estimated or left is not None
            parts.append(stage.in_words() + ("" if left is None else f", about {duration(left)} left"))
        return f"{self.title} [{clock_time(self.clock() - self.begun)}] {'; '.join(parts) or self._idle}"

    def _beat(self) -> None:
        first, then = (FIRST_DRAWING, REDRAW) if self.live else (FIRST_LINE, EVERY)
        wait = first
        while not self._ended.wait(wait):
            wait = then
            with self._writing:
                if not self._ended.is_set():
                    self._draw(self.line())

    def _draw(self, line: str) -> None:
        if not self.live:
            self._write(f"{line}\n")
            return
        line = line[: max(shutil.get_terminal_size().columns - 1, 20)]
        if self._write(f"\r{line.ljust(self._width)}"):
            self._width = len(line)

    def _write(self, text: str) -> bool:
        """Write if that can be done at once; whether it was."""
        if self._stream is None:
            return False
        with suppress(OSError, ValueError):  # closed, or nobody reads it any more
            if self._stream is not sys.__stderr__:
                self._stream.write(text)
                self._stream.flush()
                return True
            # Not through the stream's buffer, whose lock a write that does not return would hold until the end.
            if _takes_a_line(STDERR):
                os.write(STDERR, text.encode("ascii", "replace"))
                return True
        return False


_current: ContextVar[Display | None] = ContextVar("_current", default=None)


@contextmanager
def showing(wanted: bool | None, title: str = "copa") -> Iterator[None]:
    """Show the stages of the block, as part of what is shown already or on stderr.

    Parameters
    ----------
    wanted : bool, optional
        True for a live line on a terminal or in a notebook, and lines elsewhere; None for the live line only; False for
        neither, whatever is shown around the block.
    title : str
        What the lines begin with, where nothing is shown yet.
    """
    if _current.get() is not None and wanted is not False:
        yield
        return
    watched = _is_watched()
    stream = sys.stderr if wanted or (wanted is None and watched) else None
    display = Display(title, stream, live=watched)
    if stream is not None:
        display.start()
    token = _current.set(display)
    try:
        yield
    finally:
        _current.reset(token)
        if stream is not None:
            display.stop()


@contextmanager
def stage(what: str, total: int | None = None, unit: str = "") -> Iterator[Advance]:
    """Name what the block does; yields a function that is told how many more are done, by any thread.

    Within a stage of the same words it is a part of that one, and counts there.

    Parameters
    ----------
    what : str
        In words, beginning in lower case, without data.
    total : int, optional
        How much there is to do.
    unit : str
        What is counted, in the plural; without one the share is shown.
    """
    display = _current.get()
    if display is None:
        yield lambda _: None
        return
    around = next((other for other in list(display.stages) if other.what == what), None)
    if around is not None:
        yield around.advance
        return
    new = Stage(what, total, unit, display.clock)
    display.begin(new)
    try:
        yield new.advance
    finally:
        display.stages.remove(new)


def counting(items: Iterable[Item], what: str, total: int | None, unit: str = "") -> Iterator[Item]:
    """Yield items, each of which counts as done when the next is asked for."""
    with stage(what, total, unit) as advance:
        for item in items:
            yield item
            advance(1)


@contextmanager
def aside() -> Iterator[None]:
    """Keep the live line away while the block writes to the terminal."""
    display = _current.get()
    if display is None:
        yield
        return
    with display.cleared():
        yield


def show_no_more() -> None:
    """End what is shown, for work that lasts until it is told to end."""
    display = _current.get()
    if display is not None:
        display.stop()


def clock_time(seconds: float) -> str:
    """Time that has passed, as a clock shows it.

    >>> clock_time(65.2), clock_time(3601.0)
    ('1:05', '1:00:01')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float) -> str:
    """Time to wait, in words and no more exact than an estimate is.

    >>> duration(0.2), duration(42.4), duration(200.0), duration(5000.0)
    ('1 s', '42 s', '4 min', '1.4 h')
    """
    if seconds < 100.0:
        return f"{max(round(seconds), 1)} s"
    return f"{-(-seconds // 60.0):.0f} min" if seconds < 4000.0 else f"{seconds / 3600.0:.1f} h"


def _is_watched() -> bool:
    """Return whether someone sees stderr as it is written: on a terminal or in a notebook."""
    try:
        return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    except ValueError:  # it is closed
        return False


def _takes_a_line(descriptor: int) -> bool:
    """Return whether a line can be written without waiting for whoever reads."""
    try:
        return bool(select.select([], [descriptor], [], 0.0)[1])
    except (OSError, ValueError):  # systems that can tell of sockets only
        return True
