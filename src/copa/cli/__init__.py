"""The `copa` command: from files to certified plans, audits, corrections and reports."""

import sys

__all__ = ["main"]

_QUIET = frozenset({"--quiet", "-q", "--help", "-h"})
_GROUPS = ("promises", "schema")  # of commands, whose second word is the command
_NEEDED = ("typer", "rich", "skops", "pyarrow")


def main() -> int:
    """Run the command; returns the exit code."""
    from copa._core.progress import showing

    arguments = sys.argv[1:]
    n_words = 2 if arguments[:1] in ([group] for group in _GROUPS) else 1
    # The command, which begins before it is loaded.
    words = [word for word in arguments[:n_words] if word[:1] != "-" and word.replace("-", "").isalpha()]
    with showing(bool(words) and _QUIET.isdisjoint(arguments), " ".join(["copa", *words])):
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"copa: the command needs {', '.join(missing)}; install with: pip install 'copa-recourse[cli]'\n"
        )
        return 2
    from copa.cli.app import run

    return run(arguments)
