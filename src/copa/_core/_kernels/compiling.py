"""How every kernel is compiled: the options of Numba, decided in one place.

Floating-point arithmetic is done as it is written. Numba may neither reorder a sum (`reassoc`), whose result would then
depend on the width of the processor's vectors and on where an array begins in memory, nor fuse a product with a sum
(`contract`), which not every processor can. So a kernel gives the same bits in every run, and on every processor whose
mathematical library gives the same `exp`, `log` and trigonometric functions. Where a sum must be fast, the kernel
spells out an order that vectorises: along rows, or with several accumulators (`small_matrices.dot`).
"""

import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any, get_type_hints

from numba import njit, types
from numba.core import event, sigutils

from copa._core._kernels.linking import EntryCompiler
from copa._core.compilation import COMPILING
from copa._core.kernels import kernel
from copa._core.progress import stage
from copa.exceptions import CompilationWarning

PACKAGE = Path(__file__).parents[2]


def _probe() -> None:
    """Stand in for a kernel when a place for machine code is looked for."""


def can_keep_machine_code(source: Path) -> bool:
    """Whether Numba finds a place for the machine code of a source: beside it, in `NUMBA_CACHE_DIR` or in the home."""
    try:
        njit(cache=True)(FunctionType(_probe.__code__.replace(co_filename=str(source)), {}))
    except RuntimeError:  # "cannot cache function": every place was tried, and none can be written to
        return False
    return True


def kernel_options() -> dict[str, Any]:
    """Options for `numba.njit`; warn once where the machine code cannot be kept for the next process."""
    cached = all(can_keep_machine_code(source) for source in PACKAGE.glob("**/_kernels/__init__.py"))
    if not cached:
        warnings.warn(
            "no folder can be written to that would keep the compiled kernels, so every process compiles them again; "
            "set NUMBA_CACHE_DIR to a folder of your own to compile them once",
            CompilationWarning,
            stacklevel=2,
        )
    return {"cache": cached, "nogil": True, "error_model": "numpy"}


options = kernel_options()


def place_of_machine_code() -> str:
    """Where the machine code is kept for the next process, in words."""
    if not options["cache"]:
        return "and not kept: no folder can be written to"
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return f"and kept in {folder}" if folder else "and kept beside the sources or in the home folder"


class Announcement(event.Listener):
    """Says to those who wait that a kernel is being compiled, which is not so where its machine code is on disk."""

    def __init__(self) -> None:
        self._under_way: list[ExitStack] = []  # one within another, under Numba's own lock

    def on_start(self, _: Any) -> None:
        """Begin a stage."""
        own = ExitStack()
        own.enter_context(stage(COMPILING if options["cache"] else "compiling, about half a minute"))
        self._under_way.append(own)

    def on_end(self, _: Any) -> None:
        """End it."""
        self._under_way.pop().close()


event.register("numba:compile", Announcement())


# Functions below the entry points. They have no wrapper for calls from Python, which takes longer to compile than the
# function where many arrays are passed, and no file of their own: the entry points' machine code contains them.
allocating: dict[str, Any] = {**options, "cache": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# Most of them also do not count references to arrays, which took half of the search's time. That is right only where
# arrays come as arguments and stay the caller's: the function makes no array, returns none, and calls none that does.
# Otherwise memory is lost or freed twice, and nothing says so but `tests/unit/_core/test_reference_counts.py`.
inner: dict[str, Any] = {**allocating, "_nrt": False}
# Small ones that are called thousands of times for an applicant become part of their callers. A call passes every
# array of its named tuples as seven words, a hundred and more in all, which took a third of the search's time.
leaf: dict[str, Any] = {**inner, "forceinline": True}


class EntryPoint:
    """A function that Python calls, compiled for one signature when that is asked for the first time.

    Calling it is calling `kernel`: the machine code may come from the library.

    Parameters
    ----------
    py_func : callable
        The kernel's source.
    signature : str or numba signature
        Types of its arguments; it returns nothing.
    """

    def __init__(self, py_func: Callable[..., None], signature: Any) -> None:
        self.py_func, self.signature = py_func, signature
        self.name = f"{py_func.__module__}:{py_func.__name__}"
        self.__doc__ = py_func.__doc__

    @property
    def types(self) -> Any:
        """Numba's types of the arguments."""
        return sigutils.normalize_signature(self.signature)[0]

    @cached_property
    def compiled(self) -> Any:
        """Numba's compiled function, from its cache where it is there."""
        try:
            return njit(self.signature, pipeline_class=EntryCompiler, **options)(self.py_func)
        except (AttributeError, TypeError):  # a Numba with other insides: as it compiles by itself, in twice the time
            return njit(self.signature, **options)(self.py_func)

    def __call__(self, *arguments: Any) -> None:
        kernel(self.name)(*arguments)


def entry_point(signature: Any) -> Callable[[Callable[..., None]], EntryPoint]:
    """Decorate a function that Python calls."""
    return lambda function: EntryPoint(function, signature)


def signature(*records: type[tuple[Any, ...]]) -> Any:
    """Signature of an entry point that takes named tuples; the fields' annotations say what they hold.

    Parameters
    ----------
    *records : subclasses of NamedTuple
        With fields of `int`, `float`, `bool` or the arrays of `fields`.
    """
    return types.void(*(record_type(record) for record in records))


SCALARS = {int: types.int64, float: types.float64, bool: types.boolean}


def record_type(record: type[tuple[Any, ...]]) -> Any:
    """Numba's type of a named tuple, from the annotations of its fields."""
    fields: list[Any] = []
    for hint in get_type_hints(record, include_extras=True).values():
        if hint in SCALARS:
            fields.append(SCALARS[hint])
        else:
            dtype, n_axes = hint.__metadata__
            fields.append(types.Array(SCALARS[dtype], n_axes, "C"))
    base: Any = types.BaseTuple
    return base.from_types(fields, record)
