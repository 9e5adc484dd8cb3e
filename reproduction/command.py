"""The paper's experiments from the command line, `python -m reproduction`."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from copa import CopaError

if TYPE_CHECKING:
    from reproduction.session import Session

RESULTS = Path("reproduction") / "results"  # beside the sources, in the root of a checkout
HELP = "table1, table2, classifiers, fig-radius, fig-shift, fig-shift-correlated, fig-mahalanobis, examples"


app = typer.Typer(name="reproduction", add_completion=False, pretty_exceptions_enable=False)


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help=f"Any of {HELP}, causes, benchmark; or all.", show_default="all"),
    ] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Small versions, in minutes.")] = False,
    protocol: Annotated[str, typer.Option(help="paper, sound, or (of Table 1) both.")] = "paper",
    output: Annotated[
        Path, typer.Option("--output", "--out", help="Folder for tables, pictures and the page.")
    ] = RESULTS,
    cache: Annotated[Path | None, typer.Option(help="Folder of DiCE's plans.", show_default="user cache")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of SBAcase.csv.", show_default="COPA_DATA")] = None,
    dice: Annotated[int | None, typer.Option(help="Applicants that DiCE serves; 0 for none.", min=0)] = None,
    docs: Annotated[Path | None, typer.Option(help="Write the page in Markdown too, to this file.")] = None,
) -> None:
    """Run the paper's experiments again, and compare.

    Writes tables (CSV), pictures (PNG, PDF) and one page, reproduction.html, with our numbers, the paper's and the
    difference. A run that was stopped goes on where it was when it is started again with the same folder.
    """
    from reproduction.run import reproduce as run

    try:
        session, protocols = make_session(
            quick=quick, protocol=protocol, output=output, cache=cache, data=data, dice=dice, tell=typer.echo
        )
        page = run(session, experiments or ["all"], protocols, docs)
    except CopaError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"written: {page}")


def make_session(
    *,
    quick: bool,
    protocol: str,
    output: Path,
    cache: Path | None,
    data: Path | None,
    dice: int | None,
    tell: Any = print,
) -> tuple["Session", tuple[str, ...]]:
    """Return the session that was asked for, and the protocols to run."""
    from reproduction.data.shifted import PROTOCOLS
    from reproduction.session import Session
    from reproduction.settings import Settings, require_known

    require_known("protocol", protocol, (*PROTOCOLS, "both"))
    protocols = PROTOCOLS if protocol == "both" else (protocol,)
    settings = Settings.quick() if quick else Settings()
    if dice is not None:
        settings = replace(settings, n_dice=dice)
    session = Session(settings, protocols[0], output, cache or cache_folder(), data, tell)
    return session, protocols


def cache_folder() -> Path:
    """Return the platform's folder for caches, with a folder of ours in it; nothing is created."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "copa"
