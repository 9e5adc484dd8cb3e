"""How every kernel is compiled: the options of Numba, decided in one place.

Floating-point arithmetic is done as it is written. Numba may neither reorder a sum (`reassoc`), whose result would then
depend on the width of the processor's vectors and on where an array begins in memory, nor fuse a product with a sum
(`contract`), which not every processor can. So a kernel gives the same bits in every run, and on every processor whose
mathematical library gives the same `exp`, `log` and trigonometric functions. Where a sum must be fast, the kernel
spells out an order that vectorises: along rows, or with several accumulators (`small_matrices.dot`).
"""

import warnings
from contextlib import ExitStack
from pathlib import Path
from types import FunctionType
from typing import Any, get_type_hints

from numba import njit, types
from numba.core import event

from copa._core.compilation import COMPILING
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


class Announcement(event.Listener):
    """Says to those who wait that a kernel is being compiled, which is not so where its machine code is on disk."""

    def __init__(self) -> None:
        self._under_way: list[ExitStack] = []  # one within another, under Numba's own lock

    def on_start(self, _: Any) -> None:
        """Begin a stage."""
        own = ExitStack()
        own.enter_context(stage(COMPILING if options["cache"] else "compiling, about a minute"))
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


def entry_point(signature: Any) -> Any:
    """Decorate a function that Python calls: compiled for one signature, when its module is imported."""
    return njit(signature, **options)


def signature(*records: type[tuple[Any, ...]]) -> Any:
    """Signature of an entry point that takes named tuples; the fields' annotations say what they hold.

    Parameters
    ----------
    *records : subclasses of NamedTuple
        With fields of `int`, `float`, `bool` or the arrays of `copa._core.compilation`.
    """
    return types.void(*(_tuple_type(record) for record in records))


SCALARS = {int: types.int64, float: types.float64, bool: types.boolean}


def _tuple_type(record: type[tuple[Any, ...]]) -> Any:
    fields: list[Any] = []
    for hint in get_type_hints(record, include_extras=True).values():
        if hint in SCALARS:
            fields.append(SCALARS[hint])
        else:
            dtype, n_axes = hint.__metadata__
            fields.append(types.Array(SCALARS[dtype], n_axes, "C"))
    base: Any = types.BaseTuple
    return base.from_types(fields, record)
