"""Compiled kernels. No kernel is imported here: loading them costs more than the rest of the package.

Each entry point (`lower.lower_bounds`, `mixture.surest_mixtures`) has an explicit signature, so its machine code is
made once, at the first import, and read from the cache on disk afterwards.
"""

from contextlib import suppress
from pathlib import Path


def _drop_stale_machine_code() -> None:
    """Remove cached machine code that is older than any kernel's source.

    Numba renews the cache of a function when its own file changes, but not when a file it calls into does: after an
    update of, say, the Newton system, the entry points would go on running the old one.
    """
    here = Path(__file__).parent
    newest = max(source.stat().st_mtime for source in here.glob("*.py"))
    for index in here.glob("__pycache__/*.nbi"):
        with suppress(OSError):  # a folder that cannot be written to holds no machine code of an earlier version either
            if index.stat().st_mtime < newest:
                index.unlink()


_drop_stale_machine_code()
