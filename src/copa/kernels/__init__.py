"""Compiled linear algebra that the kernels of every stage share, and the care of their machine code.

No kernel is imported here: loading one costs more than importing the rest of the package. The entry points of the
stages (`bounds.kernels`, `planning.kernels`) have explicit signatures, so their machine code is made once, at the first
import, and read from the cache on disk afterwards.
"""

from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent


def drop_stale_machine_code(folder: Path) -> None:
    """Remove the cached machine code in `folder` that is older than a source it may be made of, in it or here.

    Numba renews the cache of a function when its own file changes, but not when a file it calls into does: after an
    update of, say, the Newton system, the entry points would go on running the old one.
    """
    newest = max(source.stat().st_mtime for place in (folder, HERE) for source in place.glob("*.py"))
    for index in folder.glob("__pycache__/*.nbi"):
        with suppress(OSError):  # a folder that cannot be written to holds no machine code of an earlier version either
            if index.stat().st_mtime < newest:
                index.unlink()


drop_stale_machine_code(HERE)
