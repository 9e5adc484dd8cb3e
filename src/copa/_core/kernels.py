"""Compiled kernels by name: from the library that came with the package, or compiled by Numba on first use.

Python code asks for a kernel by its place, `kernel("copa.theory.bounds._kernels.lower:lower_bounds")`, and calls it.
With the library nothing of Numba is loaded, and no module of kernels is imported.
"""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from copa._core.progress import stage
from copa.exceptions import InvalidInputError

if TYPE_CHECKING:
    from subprocess import Popen

    from copa._core.kernel_library import KernelLibrary

SWITCH = "COPA_KERNELS"  # environment variable
CHOICES = ("auto", "library", "jit")

being_compiled: "dict[str, Popen[bytes]]" = {}  # kernels that another process is at work on: `compilation` starts them


def choice() -> str:
    """What the environment asks for: the library where there is one, the library only, or Numba."""
    wanted = os.environ.get(SWITCH) or "auto"
    if wanted not in CHOICES:
        raise InvalidInputError(f"{SWITCH} must be one of {', '.join(CHOICES)}; got {wanted!r}")
    return wanted


@cache
def find_library() -> "tuple[KernelLibrary | None, str]":
    """The library, or None and why it is not used."""
    from copa._core.kernel_library import KernelLibrary, UnfitLibraryError

    wanted = choice()
    if wanted == "jit":
        return None, f"{SWITCH}=jit asks for it"
    try:
        return KernelLibrary(), ""
    except UnfitLibraryError as error:
        if wanted == "library":
            raise InvalidInputError(f"{SWITCH}=library, but {error}") from None
        return None, str(error)


@cache
def kernel(name: str) -> Any:
    """The compiled kernel of a module and a name, as in `copa.theory.bounds._kernels.lower:lower_bounds`."""
    library, _ = find_library()
    if library is not None:
        return library.kernel(name)
    if name in being_compiled:
        being_compiled[name].wait()
    module, _, function = name.partition(":")
    return getattr(import_module(module), function).compiled


def load_kernels(names: Sequence[str]) -> None:
    """Load kernels, which compiles them where that has not been done."""
    with stage("loading compiled code"):
        for name in names:
            kernel(name)


def kernels_in_use() -> str:
    """One line: where compiled kernels come from, and why not from the library where they do not."""
    library, reason = find_library()
    if library is not None:
        return f"kernels: library for {library.level}, compiled with Numba {library.numba} when the package was built"
    from copa._core._kernels.compiling import place_of_machine_code

    return f"kernels: compiled by Numba on first use ({reason}), {place_of_machine_code()}"
