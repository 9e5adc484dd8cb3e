"""The commands, put together."""

from typing import Annotated

import typer

from copa.cli import audit, backtest, correct, demo, fit, gate, keep, letter, plan, promises, serve, verify, warm_up
from copa.cli import schema as schemas
from copa.cli.flags import Command, Group
from copa.cli.messages import debugging, guarded, signals_as_exceptions
from copa.cli.streams import open_streams

app = typer.Typer(
    name="copa",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        from copa import __version__

        typer.echo(__version__)
        if context.params["verbose"]:
            from copa._core.kernels import kernels_in_use

            typer.echo(kernels_in_use())
        raise typer.Exit


@app.callback()
def root(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    verbose: Annotated[  # noqa: ARG001 - eager, so that it is known when the version is shown
        bool, typer.Option("--verbose", is_eager=True, help="With --version: say where compiled kernels come from.")
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool, typer.Option("--version", callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Counterfactual plans with certified lower bounds on their validity when the model is retrained.

    Exit codes: 0 fine; 1 bad data, nothing planned, a proof that fails or too many promises broken; 2 wrong use, or a
    candidate that could not be tried; 130 stopped by Ctrl-C, 143 by SIGTERM. A pipe that closes early changes none.
    """
    debugging.set(debug)


for command in (
    demo.demo,
    fit.fit,
    plan.plan,
    letter.letter,
    audit.audit,
    correct.correct,
    backtest.backtest,
    verify.verify,
    gate.gate,
    keep.keep,
    serve.serve,
    warm_up.warm_up,
):
    app.command(cls=Command)(guarded(command))
app.add_typer(schemas.commands, name="schema")
app.add_typer(promises.commands, name="promises")


def run(arguments: list[str]) -> int:
    """Run the command; `--debug` may stand anywhere among the arguments."""
    first = ["--debug"] if "--debug" in arguments else []
    try:
        with signals_as_exceptions(), open_streams():
            app(args=[*first, *(argument for argument in arguments if argument != "--debug")], prog_name="copa")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0
