"""The commands, put together."""

from typing import Annotated

import typer

from copa.cli import backtest, demo, external, fit, gate, keep, letter, plan, promises, serve, verify
from copa.cli import schema as schemas
from copa.cli.commands import (
    Command,
    Debug,
    Delimiter,
    Group,
    Json,
    NJobs,
    Quiet,
    RawCells,
    guarded,
)
from copa.cli.messages import FAILED, MISUSED, open_streams, signals_as_exceptions

app = typer.Typer(
    name="copa",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(_: typer.Context, wanted: bool) -> None:
    if wanted:
        from copa import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    *,
    debug: Debug = False,
    quiet: Quiet = False,
    json: Json = False,
    n_jobs: NJobs = None,
    delimiter: Delimiter = ",",
    raw_cells: RawCells = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Counterfactual plans with certified lower bounds on their validity when the model is retrained.

    Exit codes: 0 fine; 1 bad data, nothing planned, a proof that fails or too many promises broken.

    2 wrong use, or a candidate that could not be tried; 130 stopped by Ctrl-C, 143 by SIGTERM.
    """


for command in (
    demo.demo,
    fit.fit,
    plan.plan,
    letter.letter,
    external.audit,
    external.correct,
    backtest.backtest,
    verify.verify,
    gate.gate,
    keep.keep,
    serve.serve,
):
    # Exit code 1 of `copa gate` is a verdict; whatever keeps the candidate from being tried is none.
    app.command(cls=Command)(guarded(command, MISUSED if command is gate.gate else FAILED))
app.add_typer(schemas.commands, name="schema")
app.add_typer(promises.commands, name="promises")


def run(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    try:
        with signals_as_exceptions(), open_streams():
            app(args=arguments, prog_name="copa")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0
