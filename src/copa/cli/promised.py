"""Where commands read promises from: a ledger, or a file in its place."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from copa.cli.messages import MisuseError, misuse

VARIABLE = "COPA_LEDGER"
SAVED = (".copa", ".zip")
HELP = f"Ledger: postgresql://user@host/name, or an SQLite file. With a password, put it into {VARIABLE}."

LedgerUrl = Annotated[str, typer.Option("--ledger", envvar=VARIABLE, help=HELP, metavar="URL")]
OtherLedger = Annotated[str | None, typer.Option("--ledger", help=HELP, metavar="URL")]
PromisesFile = Annotated[
    Path | None,
    typer.Option(
        "--promises",
        help="Promises in a file instead: plans (.copa, .zip), or a table of rows (.csv, .parquet).",
        metavar="FILE",
    ),
]


def open_promises(url: str | None, path: Path | None, read: Callable[[Path], Any], stack: ExitStack) -> Any:
    """The ledger, which the stack closes; or the plans or rows of a file.

    Parameters
    ----------
    url : str or None
        None where a file is given, or the environment names the ledger.
    path : Path or None
    read : callable
        Reads a table of rows.
    stack : ExitStack
    """
    from copa.plans import PlanBatch
    from copa.plans.storage import in_parts, read_parts
    from copa.promises import Ledger

    known = url or (os.environ.get(VARIABLE) if path is None else None)
    if (known is None) == (path is None):
        raise MisuseError("give the promises, by --ledger URL or by --promises FILE, one of them")
    with misuse():
        if known is not None:
            return stack.enter_context(Ledger.open(known, create=False))
        assert path is not None  # noqa: S101 - one of the two is given
        if not path.is_file():
            raise MisuseError(f"the promises {path} do not exist (looked for {path.absolute()})")
        if path.suffix.lower() in SAVED:
            return PlanBatch.concat([*read_parts(PlanBatch, path)]) if in_parts(path) else PlanBatch.load(path)
        return read(path)
