"""Promises as commands read them, from a ledger or a file in its place; and the options that name these."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa._core.progress import stage
from copa.cli.messages import MisuseError, misuse
from copa.data.tables.files import unquoted_table

if TYPE_CHECKING:
    import pandas as pd

    from copa.promises import Ledger

VARIABLE = "COPA_LEDGER"
SAVED = (".copa", ".zip")
HELP = f"Ledger: postgresql://user@host/name, or an SQLite file. With a password, put it into {VARIABLE}."

MAX_BROKEN = "Promises that may be broken: a number such as 3, or a share such as 2% or 0.02."

By = Annotated[
    str | None, typer.Option("--by", help="Who records it; default: the user of this process.", metavar="NAME")
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", help="Day to look at, such as 2026-06-30; default: today.", metavar="DATE")
]
LedgerUrl = Annotated[str, typer.Option("--ledger", envvar=VARIABLE, help=HELP, metavar="URL")]
OtherLedger = Annotated[str | None, typer.Option("--ledger", help=HELP, metavar="URL")]
Create = Annotated[bool, typer.Option("--create", help="Make the ledger if there is none.")]
PromisesFile = Annotated[
    Path | None,
    typer.Option(
        "--promises",
        help="Promises in a file instead: plans (.copa, .zip), or a table of rows (.csv, .parquet).",
        metavar="FILE",
    ),
]
ModelVersion = Annotated[
    str | None,
    typer.Option("--model-version", help="Only promises made with this version of the model.", metavar="TEXT"),
]


def open_promises(url: str | None, path: Path | None, read: Callable[[Path], Any], stack: ExitStack) -> Any:
    """Open the ledger, which the stack closes, or read the plans or rows of a file.

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
    from copa.promises import Ledger

    address = url or (os.environ.get(VARIABLE) if path is None else None)
    if (address is None) == (path is None):
        raise MisuseError("give the promises, by --ledger URL or by --promises FILE, one of them")
    with misuse():
        if address is not None:
            return stack.enter_context(Ledger.open(address))
        assert path is not None  # noqa: S101 - one of the two is given
        if not path.is_file():
            raise MisuseError(f"the promises {path} do not exist (looked for {path.absolute()})")
        if path.suffix.lower() in SAVED:
            return PlanBatch.load(path)
        return unquoted_promises(path, read(path))


def open_ledger(url: str, *, create: bool = False) -> "Ledger":
    """Open the ledger that the command line names."""
    from copa.promises import Ledger

    with misuse(), stage("opening the ledger"):
        return Ledger.open(url, create=create)


def unquoted_promises(path: Path, table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table of a file; if `copa promises list` wrote it, without the quotes before text that begins a formula.

    Parameters
    ----------
    path : Path
    table : DataFrame
        As it was read.
    """
    is_listed = len(table.columns) > 0 and table.columns[0] == "promise"
    return unquoted_table(table) if is_listed and path.suffix.lower() not in (".parquet", ".pq") else table
