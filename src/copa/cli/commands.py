"""How commands are declared and run: options that all commands take, groups of options, errors as exit codes."""

import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from copa._core.progress import showing
from copa._core.words import visible
from copa.cli.messages import FAILED, FINE, LONGEST, MISUSED, MisuseError, exit_code, say
from copa.exceptions import CopaError

EVERY_COMMAND = "Options of every command"

_given: ContextVar[Mapping[str, Any]] = ContextVar("given", default=MappingProxyType({}))  # inherited options

Function = TypeVar("Function", bound=Callable[..., Any])


def _remember(context: typer.Context, param: typer.CallbackParam, value: Any) -> None:
    """Keep the value of an inherited option for `inherited`; one that is not given leaves an earlier one."""
    source = context.get_parameter_source(str(param.name))
    if source is not None and source.name != "DEFAULT":
        context.meta[f"copa.{param.name}"] = value


def inherited_option(*names: str, panel: str = EVERY_COMMAND, **more: Any) -> Any:
    """Declare an option of a group that may stand anywhere after the group's name; commands ask `inherited` for it."""
    return typer.Option(*names, expose_value=False, callback=_remember, rich_help_panel=panel, **more)


def inherited(name: str, default: Any = None) -> Any:
    """Return the value of an option that the command has from its group."""
    return _given.get().get(f"copa.{name}", default)


def wants_json() -> bool:
    """Return whether the command prints one JSON document and nothing else."""
    return bool(inherited("json"))


Debug = Annotated[bool, inherited_option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, inherited_option("--quiet", "-q", help="Show no progress; notes, warnings and errors stay.")]
Json = Annotated[bool, inherited_option("--json", help="Print one JSON document on stdout and nothing else.")]
NJobs = Annotated[
    int | None,
    inherited_option("--n-jobs", help="Threads; default: all cores. Results do not depend on it.", metavar="N"),
]
Delimiter = Annotated[
    str, inherited_option("--delimiter", help="Character between two cells of a CSV file that is read.", metavar="CHAR")
]
RawCells = Annotated[
    bool,
    inherited_option(
        "--raw-cells", help="Read and write CSV cells unchanged, even those a spreadsheet runs as formulas."
    ),
]


def _with_inherited(params: list[Any], context: typer.Context) -> list[Any]:
    """Return options and arguments with those of the groups around them; flags are shown without a value."""
    around = context.parent
    while around is not None:
        params = [*params, *(param for param in around.command.params if not param.expose_value and not param.is_eager)]
        around = around.parent
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command, which takes the options of its groups too."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options and arguments, with those that it inherits and that for help."""
        return _with_inherited(super().get_params(ctx), ctx)


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its options and arguments, with those that it inherits and that for help."""
        return _with_inherited(super().get_params(ctx), ctx)


def guarded(command: Function, failed: int = FAILED) -> Function:
    """Turn what a command raises into one line on stderr and an exit code, and what it returns into the latter.

    A parameter whose type is a dataclass becomes an option for each of its fields. `failed` is the exit code of errors.
    """
    own = inspect.signature(command)
    groups: dict[str, Any] = {
        k: param.annotation for k, param in own.parameters.items() if is_dataclass(param.annotation)
    }

    @functools.wraps(command)
    def run(context: typer.Context, **kwargs: Any) -> None:
        _given.set(context.meta)
        for name, kind in groups.items():
            kwargs[name] = kind(**{field.name: kwargs.pop(field.name) for field in fields(kind)})
        with showing(False if inherited("quiet") else None):
            code = _attempt(command, kwargs, failed)
        if code != FINE:
            raise typer.Exit(code)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for name, param in own.parameters.items():
        if name in groups:
            parameters += inspect.signature(groups[name]).parameters.values()
        else:
            parameters.append(param)
    # Typer reads the signature of what is wrapped.
    parameters = [param.replace(kind=inspect.Parameter.KEYWORD_ONLY) for param in parameters]
    vars(run)["__signature__"] = own.replace(parameters=parameters)
    run.__annotations__ = {param.name: param.annotation for param in parameters}
    return run  # type: ignore[return-value]


def _attempt(command: Callable[..., Any], options: dict[str, Any], failed: int) -> int:
    try:
        return _flushed(int(command(**options) or FINE))
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except MisuseError as error:
        return fail(error, MISUSED)
    except CopaError as error:
        return fail(error, failed)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return fail(f"{where}{error.strerror or error}", failed)
    except KeyboardInterrupt as interruption:
        say("stopped.")
        return exit_code(interruption)
    except Exception as error:  # noqa: BLE001 - a person must never see a traceback without asking for it
        hint = "" if inherited("debug") else "; rerun with --debug for the traceback"
        message = str(error) if len(str(error)) <= LONGEST else f"{str(error)[:LONGEST]} ..."
        return fail(f"unexpected {type(error).__name__}: {message}{hint}", failed)


def _flushed(code: int) -> int:
    """Return an exit code once all results are written: here a full disk is still an error in one line."""
    sys.stdout.flush()
    return code


def fail(error: object, code: int) -> int:
    """Say what went wrong, in one line."""
    if inherited("debug"):
        say(traceback.format_exc())
    say(f"error: {' '.join(visible(error).split())}")
    return code
