"""What the command says: messages on stderr, results on stdout, one clear line for every failure."""

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

from rich.console import Console
from rich.table import Table

from copa._core.progress import aside
from copa._core.words import visible
from copa.data.tables.cells import as_json as as_json_value
from copa.exceptions import InvalidInputError

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


FINE, FAILED, MISUSED = 0, 1, 2
WIDTH_OF_FILES = 160  # where nobody looks at a terminal, lines are not broken early
LONGEST = 300  # characters of an error that nobody foresaw: some libraries put whole tables into theirs

stderr = Console(stderr=True, soft_wrap=True, markup=False, emoji=False, highlight=False)


class MisuseError(InvalidInputError):
    """The command was called in a way that cannot work: exit code 2."""


def say(message: str) -> None:
    """Tell the person at the terminal something; results do not go this way."""
    with aside():
        stderr.print(visible(message))


def show(text: str) -> None:
    """Print a result."""
    with aside():
        sys.stdout.write(f"{visible(text)}\n")
        if sys.stdout.isatty():
            sys.stdout.flush()  # before the live line comes back


def show_json(content: Mapping[str, Any]) -> None:
    """Print the one JSON document that `--json` promises."""
    show(json_text(content))


def json_text(content: Mapping[str, Any]) -> str:
    """Return content as one line of JSON, in ASCII, so that nothing in it steers a terminal."""
    return json.dumps(_plain(content), allow_nan=False)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; columns whose cells are all numbers stand to the right."""
    table = Table(show_edge=False, pad_edge=False)
    for k, name in enumerate(columns):
        numeric = all(not isinstance(row[k], str) or row[k] == "" or row[k][0].isdigit() for row in rows)
        table.add_column(visible(name, lines=False), justify="right" if numeric and rows else "left", overflow="fold")
    for row in rows:
        table.add_row(*[visible(cell, lines=False) for cell in row])
    width = None if sys.stdout.isatty() else WIDTH_OF_FILES
    console = Console(markup=False, emoji=False, highlight=False, width=width)
    with aside():
        console.print(table)


@contextmanager
def misuse() -> Iterator[None]:
    """Turn what the library says of an argument into a fault of usage, where the argument is one of the command."""
    try:
        yield
    except InvalidInputError as error:
        raise MisuseError(str(error)) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return as_json_value(value)


class OpenStream:
    """A text stream whose output is thrown away from the moment on at which its reader has closed the pipe.

    Parameters
    ----------
    stream : file object
        Text is written to it as long as someone reads it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        try:
            self._stream.write(text)
        except OSError as error:
            self._throw_away(error)
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        try:
            self._stream.flush()
        except OSError as error:
            self._throw_away(error)

    def _throw_away(self, error: OSError) -> None:
        """Lead the stream to nowhere, also what it still holds; an error other than a closed pipe is said, once."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def open_streams() -> Iterator[None]:
    """Let a command finish although nobody reads its output to the end: its exit code says what it found."""
    streams: list[Any] = [OpenStream(stream or io.StringIO()) for stream in (sys.stdout, sys.stderr)]  # None: closed
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        try:
            yield
        finally:
            for stream in streams:
                stream.flush()
