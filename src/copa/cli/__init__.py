"""The `copa` command: from files to certified plans, audits, corrections and reports."""

import sys

__all__ = ["main"]

_NEEDED = ("typer", "rich", "skops", "pyarrow")


def main() -> int:
    """Run the command; returns the exit code."""
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"copa: the command needs {', '.join(missing)}; install with: pip install 'copa-recourse[cli]'\n"
        )
        return 2
    from copa.cli.app import run

    return run(sys.argv[1:])
