"""Compile the kernels that have no machine code yet, on all cores: tests that start together would each do it."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"


def entry_points() -> list[str]:
    """Modules that compile when they are imported: those with explicit signatures, the largest first."""
    explicit = re.compile(r"^@entry_point\(", re.MULTILINE)
    found = [path for path in SOURCE.glob("copa/**/_kernels/*.py") if explicit.search(path.read_text(encoding="utf-8"))]
    found.sort(key=lambda path: path.stat().st_size, reverse=True)
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in found]


def main() -> None:
    """Import each in a process of its own."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_compile, entry_points()))


def _compile(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)  # noqa: S603 - a module of our own


if __name__ == "__main__":
    main()
