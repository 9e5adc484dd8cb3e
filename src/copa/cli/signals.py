"""Signals that end the command: what was begun is cleaned up before it does."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = ("SIGTERM", "SIGHUP")  # as far as the system has them; Ctrl-C is Python's own


class TerminatedError(KeyboardInterrupt):
    """A signal asked the process to end; handled as Ctrl-C is, with an exit code of its own.

    Parameters
    ----------
    number : of the signal
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Let signals that end the process raise, so that parts of files are removed; those that are ignored stay so."""
    numbers = [getattr(signal, name) for name in ENDING if hasattr(signal, name)]
    here = threading.current_thread() is threading.main_thread()  # no other can take signals
    taken = [number for number in numbers if here and signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def exit_code(interruption: KeyboardInterrupt) -> int:
    """Exit code after an interruption, as shells count them: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + (interruption.number if isinstance(interruption, TerminatedError) else signal.SIGINT)


def _end(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # a second one must not interrupt the cleaning up
    raise TerminatedError(number)
