"""The care of kernels that Numba compiles: machine code that is older than its sources, and compiling on several cores.

No kernel is imported here: loading one costs more than importing the rest of the package. Entry points have explicit
signatures, so that their machine code is made once, at their first use, and read from the cache on disk afterwards.
With the library that is built with the package (`kernels`) nothing of this is needed.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from copa._core.kernels import SWITCH, being_compiled, find_library
from copa._core.progress import stage

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


COMPILING = "compiling, once per installation, about half a minute"
PACKAGE = Path(__file__).parents[1]
ENTRY_POINT = re.compile(r"^@entry_point\(.*\)\ndef (\w+)\(", re.MULTILINE)


def entry_points() -> list[str]:
    """Names of all kernels that Python calls, as `kernels.kernel` takes them; those in the longest files first."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.glob("**/_kernels/*.py"))}
    found = []
    for path in sorted(sources, key=lambda path: -len(sources[path])):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        found += [f"{module}:{name}" for name in ENTRY_POINT.findall(sources[path])]
    return found


@contextmanager
def compiled_meanwhile(names: Sequence[str]) -> Iterator[None]:
    """Compile kernels beside the work of the block, and wait for them at its end.

    A block that fails is not held up: what is being compiled then is given up.

    Loading them afterwards finds the machine code on disk. Where a process cannot be started, or fails, nothing is
    lost: loading then compiles as ever. Where no machine code can be kept, processes of their own would be in vain.
    """
    groups: dict[str, list[str]] = {}  # by package: kernels of one share most of what they call
    for name in names:
        if find_library()[0] is None and not is_compiled(name):
            groups.setdefault(name.partition("._kernels")[0], []).append(name)
    # One group alone is compiled as fast by loading it.
    if len(groups) < 2 or (os.cpu_count() or 1) < 2 or not keeps_machine_code():
        groups = {}
    processes = []
    for group in groups.values():
        process = start_compiling(group)
        if process is not None:
            processes.append(process)
            being_compiled.update(dict.fromkeys(group, process))
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
        being_compiled.clear()


def is_compiled(name: str) -> bool:
    """Whether a kernel's machine code lies beside its source; taken to be so where Numba keeps it elsewhere."""
    if os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("NUMBA_DISABLE_JIT"):
        return True
    module, _, function = name.partition(":")
    *folders, file = module.split(".")[1:]
    cache = PACKAGE.joinpath(*folders) / "__pycache__"
    return any(cache.glob(f"{file}.{function}-*.nbi"))


def keeps_machine_code() -> bool:
    """Whether what another process compiles can be found here."""
    from copa._core._kernels.compiling import options  # which loads Numba

    return bool(options["cache"])


def start_compiling(names: Sequence[str]) -> "subprocess.Popen[bytes] | None":
    """A process that compiles kernels and keeps their machine code; None where none can be started."""
    if not sys.executable:
        return None
    # The same folders to import from as here, whatever this process did to its own.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), SWITCH: "jit"}
    try:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and kernels
            [sys.executable, "-c", f"from copa._core.kernels import load_kernels; load_kernels({names!r})"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
