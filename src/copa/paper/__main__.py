"""`python -m copa.paper`, the same as `copa reproduce`."""

import sys
from importlib.util import find_spec


def main() -> int:
    """Run the command; returns the exit code."""
    if find_spec("typer") is None:
        sys.stderr.write("copa: the command needs typer; install with: pip install 'copa-recourse[cli]'\n")
        return 2
    import typer

    from copa.paper.command import register

    app = typer.Typer(name="copa reproduce", add_completion=False, pretty_exceptions_enable=False)
    register(app)
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


sys.exit(main())
