"""The care of compiled kernels: machine code that is older than its sources, and compiling on several cores.

No kernel is imported here: loading one costs more than importing the rest of the package. Entry points have explicit
signatures, so that their machine code is made once, at the first import, and read from the cache on disk afterwards.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt

from copa._core.progress import stage

# Fields of the named tuples that kernels take: contiguous arrays, with what Numba has to know of them.
Floats = Annotated[npt.NDArray[np.float64], float, 1]
Matrix = Annotated[npt.NDArray[np.float64], float, 2]
Cube = Annotated[npt.NDArray[np.float64], float, 3]
Ints = Annotated[npt.NDArray[np.int64], int, 1]
Flags = Annotated[npt.NDArray[np.bool_], bool, 2]

SHARED = Path(__file__).parent / "_kernels"


def drop_stale_machine_code(folder: Path) -> None:
    """Remove the cached machine code in `folder` that is older than a source it may be made of, in it or here.

    Numba renews the cache of a function when its own file changes, but not when a file it calls into does: after an
    update of, say, the Newton system, the entry points would go on running the old one.
    """
    newest = max(source.stat().st_mtime for place in (folder, SHARED) for source in place.glob("*.py"))
    for index in folder.glob("__pycache__/*.nbi"):
        with suppress(OSError):  # a folder that cannot be written to holds no machine code of an earlier version either
            if index.stat().st_mtime < newest:
                index.unlink()


COMPILING = "compiling, once per installation, about a minute"
PACKAGE = Path(__file__).parents[1]


@contextmanager
def compiled_meanwhile(modules: Sequence[str]) -> Iterator[None]:
    """Compile modules of this package beside the work of the block, and wait for them at its end.

    A block that fails is not held up: what is being compiled then is given up.

    Importing them afterwards finds the machine code on disk. Where a process cannot be started, or fails, nothing is
    lost: the import then compiles as ever. Where no machine code can be kept, processes of their own would be in vain.
    """
    waiting = [module for module in modules if not is_compiled(module)]
    # One alone is compiled as fast by importing it.
    if len(waiting) < 2 or (os.cpu_count() or 1) < 2 or not keeps_machine_code():
        waiting = []
    processes = [process for module in waiting if (process := _start(module)) is not None]
    try:
        yield
    except BaseException:
        for process in processes:
            process.terminate()
        raise
    finally:
        with stage(COMPILING) if processes else nullcontext():
            for process in processes:
                process.wait()


def load_kernels(modules: Sequence[str]) -> None:
    """Import modules of this package, which compiles them where that has not been done."""
    with stage("loading compiled code"):
        for module in modules:
            import_module(module)


def is_compiled(module: str) -> bool:
    """Whether a module's machine code lies beside its source; taken to be so where Numba keeps it elsewhere."""
    if os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("NUMBA_DISABLE_JIT"):
        return True
    *folders, name = module.split(".")[1:]
    cache = PACKAGE.joinpath(*folders) / "__pycache__"
    return any(cache.glob(f"{name}.*.nbi"))


def keeps_machine_code() -> bool:
    """Whether what another process compiles can be found here."""
    from copa._core._kernels.compiling import options  # which loads Numba

    return bool(options["cache"])


def _start(module: str) -> "subprocess.Popen[bytes] | None":
    if not sys.executable:
        return None
    # The same folders to import from as here, whatever this process did to its own.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and a module of our own
            [sys.executable, "-c", f"import {module}"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
