"""Blocks of the documentation: snippets and commands under a heading, and a shell to run the latter in."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(##+) (.*)\n", re.MULTILINE)


def section(page: str, heading: str) -> str:
    """The text under a heading of a page, up to the next one of any depth."""
    parts = HEADING.split((ROOT / page).read_text(encoding="utf-8"))
    found = [text for title, text in zip(parts[2::3], parts[3::3], strict=True) if title == heading]
    assert len(found) == 1, f"{page} has {len(found)} headings {heading}"
    return found[0]


def chapter(page: str, title: str) -> str:
    """The text under a heading of the second depth, with the headings below it."""
    _, heading, rest = (ROOT / page).read_text(encoding="utf-8").partition(f"\n## {title}\n")
    assert heading, f"{page} has no chapter {title}"
    return rest.split("\n## ")[0]


def blocks_under(page: str, heading: str, language: str) -> list[str]:
    """Blocks of one language under a heading."""
    return [text for own, text in BLOCK.findall(section(page, heading)) if own == language]


def run_snippets(page: str, found: list[tuple[str, str]]) -> dict[str, Any]:
    """Run the Python blocks of a page, each of which prints what the text after it shows; returns all names."""
    names: dict[str, Any] = {}
    printed = ""
    for language, text in found:
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(text, page, "exec"), names)  # noqa: S102 - running the documentation is the test
            printed = output.getvalue()
        elif language == "text":
            assert printed == text
    return names


def run_in_shell(lines: str, folder: Path, **environment: str) -> str:
    """Run lines as a person types them, with our own `copa`; returns what they say. A command that fails is a failure.

    Commands that are left running in the background are ended in the end.
    """
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    command = tools / "copa"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m copa.cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    log = tools / "log.txt"
    with log.open("w") as said:
        shell = subprocess.Popen(  # noqa: S603 - the commands of our own pages
            ["/bin/bash", "-e", "-u", "-c", lines],
            cwd=folder,
            stdout=said,
            stderr=said,
            env=os.environ | {"PATH": path, "PYTHONPATH": source} | environment,
            start_new_session=True,
        )
        try:
            code = shell.wait(timeout=300)
        finally:
            end_group(shell.pid)
    text = log.read_text()
    assert code == 0, text
    return text


def end_group(leader: int) -> None:
    """End what a shell of ours left running, which is in a process group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGTERM)
