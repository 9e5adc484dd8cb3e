"""What the command says: messages on stderr, results on stdout, one clear line for every failure."""

import functools
import inspect
import json
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from copa._core.progress import aside, showing
from copa._core.words import visible
from copa.data.tables.cells import as_json as as_json_value
from copa.exceptions import CopaError, InvalidInputError

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

Command = TypeVar("Command", bound=Callable[..., Any])

debugging: ContextVar[bool] = ContextVar("debugging", default=False)  # whether `--debug` was given
stderr = Console(stderr=True, soft_wrap=True, markup=False, emoji=False, highlight=False)


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress; notes, warnings and errors stay.")]


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
    show(json.dumps(_plain(content), allow_nan=False))  # in ASCII, so that nothing in it steers a terminal


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


def guarded(command: Command) -> Command:
    """Turn what a command raises into one line on stderr and an exit code, and what it returns into the latter.

    It gets an option --quiet.
    """

    @functools.wraps(command)
    def run(*args: Any, quiet: bool = False, **kwargs: Any) -> None:
        with showing(False if quiet else None):
            code = _attempt(command, args, kwargs)
        if code != FINE:
            raise typer.Exit(code)

    # Typer reads the signature of what is wrapped.
    own = inspect.signature(command)
    last = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    vars(run)["__signature__"] = own.replace(parameters=[*own.parameters.values(), last])
    run.__annotations__ = {**command.__annotations__, "quiet": Quiet}
    return run  # type: ignore[return-value]


def _attempt(command: Callable[..., Any], args: Any, kwargs: Any) -> int:
    try:
        return _flushed(int(command(*args, **kwargs) or FINE))
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except MisuseError as error:
        return fail(error, MISUSED)
    except CopaError as error:
        return fail(error, FAILED)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return fail(f"{where}{error.strerror or error}", FAILED)
    except KeyboardInterrupt as interruption:
        say("stopped.")
        return exit_code(interruption)
    except Exception as error:  # noqa: BLE001 - a person must never see a traceback without asking for it
        hint = "" if debugging.get() else "; rerun with --debug for the traceback"
        told = str(error) if len(str(error)) <= LONGEST else f"{str(error)[:LONGEST]} ..."
        return fail(f"unexpected {type(error).__name__}: {told}{hint}", FAILED)


def _flushed(code: int) -> int:
    """Return an exit code once all results are written: here a full disk is still an error in one line."""
    sys.stdout.flush()
    return code


def fail(error: object, code: int) -> int:
    """Say what went wrong, in one line."""
    if debugging.get():
        say(traceback.format_exc())
    say(f"error: {' '.join(visible(error).split())}")
    return code


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return as_json_value(value)
