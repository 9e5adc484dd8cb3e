"""Compile all kernels into a library: `python scripts/kernel_library`, from a checkout or when a package is built.

One file for each processor level of this architecture, and `manifest.json`, go into the folder given, by default
`src/copa/_core/_library`, where an editable installation finds them. A library that fits the sources is left alone.
"""

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import Future, ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

SOURCE = Path(__file__).resolve().parents[2] / "src"
sys.path.insert(0, str(SOURCE))
# Before Numba is imported: its code for an entry point must not depend on the processor of this machine.
os.environ.update(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="", COPA_KERNELS="jit")

from linker import find_linker, link  # noqa: E402 - after the settings above

from copa._core import kernel_library  # noqa: E402
from copa._core.compilation import entry_points  # noqa: E402
from copa._core.processor import BASELINE, levels_of, machine  # noqa: E402

OLDEST_LLVM = (16, 0, 0)  # with pointers that have no type

Objects = dict[str, dict[str, bytes]]  # by level and kernel


def main() -> None:
    """Build, and say what came of it in one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=kernel_library.FOLDER, help="folder for the library")
    parser.add_argument("--again", action="store_true", help="also where there is one that fits the sources")
    asked = parser.parse_args()
    if not asked.again and fits(asked.into):
        print(f"the library of kernels in {asked.into} fits the sources")
        return
    started = perf_counter()
    levels = levels_of(machine())
    if not levels:
        raise SystemExit(f"no library of kernels is built on {machine()}: Numba compiles them on first use")
    build(asked.into, levels)
    print(f"library of kernels for {', '.join(levels)}: {perf_counter() - started:.0f} s, in {asked.into}")


def fits(folder: Path) -> bool:
    """Whether there is a library that was made of these sources."""
    try:
        kernel_library.KernelLibrary(folder)
    except kernel_library.UnfitLibraryError:
        return False
    return True


def build(folder: Path, levels: tuple[str, ...]) -> None:
    """Write a library for each level, and the manifest last: without it no library is used."""
    linker = find_linker()
    sources = kernel_library.kernel_sources()
    made_of = kernel_library.digest(sources)  # before they are read: what changes meanwhile makes the library stale
    kernels, objects = compile_kernels(levels)
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / kernel_library.MANIFEST
    manifest.unlink(missing_ok=True)
    for level in levels:
        with tempfile.TemporaryDirectory() as place:
            paths = []
            for name, code in objects[level].items():
                paths.append(Path(place, f"{name}.o"))
                paths[-1].write_bytes(code)
            library = Path(place, "library")
            link(linker, paths, library)
            _replace(folder / f"{level}.so", library.read_bytes())
    described = {
        "machine": machine(),
        "numba": import_module("numba").__version__,
        "levels": {level: f"{level}.so" for level in levels},
        "digest": made_of,
        "sources": sources,
        "kernels": kernels,
    }
    _replace(manifest, (json.dumps(described, indent=1) + "\n").encode())


def compile_kernels(levels: tuple[str, ...]) -> tuple[dict[str, Any], Objects]:
    """What each kernel takes, and object files; Numba works here, LLVM in other processes at the same time."""
    skip_package_code()
    import llvmlite.binding
    import translation

    if llvmlite.binding.llvm_version_info < OLDEST_LLVM:
        raise SystemExit("no library of kernels is built with this release of Numba; 0.62 or a later one can")

    kernels: dict[str, Any] = {}
    waiting: dict[tuple[str, str], Future[bytes]] = {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for level in levels:
            waiting[level, "shim"] = pool.submit(translation.shim, _cpu(level))
        for name in sorted(entry_points()):
            module, _, function = name.partition(":")
            entry = getattr(import_module(module), function)
            if any(known["symbol"] == translation.PREFIX + function for known in kernels.values()):
                raise ValueError(f"two kernels are called {function}")
            kernels[name] = {"symbol": translation.PREFIX + function, "arguments": translation.arguments_of(entry)}
            bitcode = translation.collect(entry)
            for level in levels:
                waiting[level, function] = pool.submit(translation.translate, bitcode, _cpu(level))
        objects: Objects = {level: {} for level in levels}
        for (level, function), result in waiting.items():
            objects[level][function] = result.result()
    return kernels, objects


def skip_package_code() -> None:
    """Let kernels be imported without the packages they are in, which need more than is there when a wheel is built."""
    for source in kernel_library.kernel_sources():
        folders = source.split("/")[:-2]  # up to `_kernels`, which holds nothing but kernels
        for depth in range(1, len(folders) + 1):
            name = ".".join(["copa", *folders[:depth]])
            if name not in sys.modules:
                sys.modules[name] = ModuleType(name)
                sys.modules[name].__path__ = [str(SOURCE.joinpath("copa", *folders[:depth]))]


def _cpu(level: str) -> str:
    """LLVM's name of a level."""
    return "generic" if level == BASELINE else level


def _replace(path: Path, content: bytes) -> None:
    """Write a file at once: a process that has the old library loaded keeps it."""
    other = path.with_name(f"{path.name}.{os.getpid()}")
    other.write_bytes(content)
    other.replace(path)


if __name__ == "__main__":
    main()
