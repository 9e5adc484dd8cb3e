"""`python -m reproduction`, from the root of a checkout."""

import sys
from importlib.util import find_spec


def main() -> int:
    """Run the command; returns the exit code."""
    if find_spec("typer") is None:
        sys.stderr.write("reproduction: the command needs typer; install with: pip install 'copa-recourse[cli]'\n")
        return 2
    import typer

    from reproduction.command import register

    app = typer.Typer(name="reproduction", add_completion=False, pretty_exceptions_enable=False)
    register(app)
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


sys.exit(main())
