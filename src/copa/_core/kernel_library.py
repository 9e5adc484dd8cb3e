"""The library of kernels that was compiled when the package was built: whether it fits, and calls into it.

`scripts/kernel_library` writes one file per processor level and `manifest.json`, which says what each kernel takes and
which sources it was made of. There is no Python in these files, nor anything of Numba: a kernel gets the address of one
table with its numbers and the addresses of its arrays.
"""

import builtins
import ctypes
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np

from copa._core.processor import machine, supported_levels

PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "_core" / "_library"
MANIFEST = "manifest.json"
DTYPES = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}
NUMBERS = {"f": "d", "i": "q", "b": "?xxxxxxx"}

Kernel = Callable[..., None]


class UnfitLibraryError(Exception):
    """There is no library that can be used here; the message says why."""


def kernel_sources(package: Path = PACKAGE) -> list[str]:
    """Files that machine code is made of, by their places in the package."""
    return sorted(path.relative_to(package).as_posix() for path in package.glob("**/_kernels/*.py"))


def digest(sources: Iterable[str], package: Path = PACKAGE) -> str:
    """Hash of the names and contents of sources; of one that is missing, of its name only."""
    total = hashlib.sha256()
    for source in sources:
        path = package / source
        content = path.read_bytes() if path.is_file() else b""
        total.update(f"{source} {len(content)}\n".encode())
        total.update(content)
    return total.hexdigest()


class KernelLibrary:
    """Compiled kernels for the best level that both the library and the processor have.

    Parameters
    ----------
    folder : Path
        Where the library is.
    package : Path
        The sources that it must have been made of.

    Raises
    ------
    UnfitLibraryError
        Where there is none, or it is for another machine or was made of other sources.
    """

    def __init__(self, folder: Path = FOLDER, package: Path = PACKAGE) -> None:
        manifest = _read_manifest(folder / MANIFEST)
        try:
            built_for, sources, kernels = manifest["machine"], manifest["sources"], manifest["kernels"]
            levels, self.numba = manifest["levels"], str(manifest["numba"])
            if built_for != machine():
                raise UnfitLibraryError(f"the library is for {built_for}, and this is {machine()}")
            if manifest["digest"] != digest(sources, package):
                raise UnfitLibraryError("the library was made of other sources than those of this package")
            self.level = next((level for level in supported_levels() if level in levels), "")
            if not self.level:
                raise UnfitLibraryError(f"the library is for {' and '.join(levels)}, which this processor has not")
            self.path = folder / levels[self.level]
            self._library = ctypes.CDLL(str(self.path))
            self._kernels = {name: self._bind(entry["symbol"], entry["arguments"]) for name, entry in kernels.items()}
        except (AttributeError, KeyError, TypeError) as error:
            raise UnfitLibraryError(f"{MANIFEST} does not describe the library: {error!r}") from None
        except OSError as error:
            raise UnfitLibraryError(f"the library could not be loaded: {error}") from None

    def kernel(self, name: str) -> Kernel:
        """The kernel of a name as in `copa.theory.bounds._kernels.lower:lower_bounds`."""
        return self._kernels[name]

    def _bind(self, symbol: str, arguments: Sequence[str]) -> Kernel:
        function = self._library[symbol]
        function.argtypes, function.restype = [ctypes.c_char_p], ctypes.c_char_p
        return bound(function, symbol, arguments)


def bound(function: Any, name: str, arguments: Sequence[str]) -> Kernel:
    """A function that takes numbers, arrays and named tuples of both, and calls the one that takes a table.

    Parameters
    ----------
    function : callable
        Takes a table as bytes, and returns nothing or the name of an exception.
    name : str
        For messages.
    arguments : sequence of str
        As `translation.arguments_of` writes them: `f`, `i` or `b`, and for arrays the number of axes.
    """
    kinds = [(DTYPES[letters[0]], int(letters[1:] or -1)) for letters in arguments]
    table = Struct("=" + "".join("q" * (int(a[1:]) + 1) if a[1:] else NUMBERS[a] for a in arguments))
    address_of, first_byte = ctypes.addressof, ctypes.c_char.from_buffer

    def call(*given: Any) -> None:
        fields: list[Any] = []
        for argument in given:
            if isinstance(argument, tuple):
                fields += argument
            else:
                fields.append(argument)
        slots: list[Any] = []
        for field, (dtype, n_axes) in zip(fields, kinds, strict=True):
            if n_axes < 0:
                slots.append(field)
                continue
            if field.ndim != n_axes or field.dtype != dtype or not field.flags.carray:
                raise TypeError(f"{name} takes a contiguous array of {dtype} with {n_axes} axes that can be written to")
            slots.append(address_of(first_byte(field)) if field.size else 0)
            slots += field.shape
        error = function(table.pack(*slots))
        if error is not None:
            raise getattr(builtins, error.decode())(f"in the compiled kernel {name}")

    return call


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnfitLibraryError("the package was built without a library") from None
    except (OSError, ValueError) as error:
        raise UnfitLibraryError(f"{MANIFEST} could not be read: {error}") from None
    if not isinstance(manifest, dict):
        raise UnfitLibraryError(f"{MANIFEST} does not describe a library")
    return manifest
