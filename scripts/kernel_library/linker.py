"""Making one shared library of object files, with whichever linker there is."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Linkers themselves, and compilers that call one. No library is linked: what kernels need of the C and mathematical
# libraries every Python process has loaded, and without a version of a symbol any release of them will do.
LINKERS = {
    "ld": [],
    "ld.lld": [],
    "ld.gold": [],
    "cc": ["-nostdlib"],
    "gcc": ["-nostdlib"],
    "clang": ["-nostdlib"],
}
FLAGS = ["-s", "--build-id=none", "--hash-style=gnu", "-z", "noexecstack", "-z", "relro", "-z", "now"]


class NoLinkerError(Exception):
    """There is no linker; the message says which were looked for."""


def find_linker() -> list[str]:
    """Command of a linker, up to the names of files."""
    for name, options in LINKERS.items():
        path = shutil.which(name)
        if path is not None:
            flags = [f"-Wl,{','.join(FLAGS)}"] if options else FLAGS
            return [path, "-shared", *options, *flags]
    raise NoLinkerError(f"none of {', '.join(LINKERS)} is installed")


def link(linker: Sequence[str], objects: Sequence[Path], library: Path) -> None:
    """Write a library of object files, in the order given."""
    command = [*linker, "-o", library.name, *(path.name for path in objects)]
    done = subprocess.run(command, cwd=library.parent, capture_output=True, text=True, check=False)  # noqa: S603 - a linker
    if done.returncode != 0:
        raise RuntimeError(f"{linker[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
