"""Calling the kernels' inner functions, which are compiled without a wrapper for calls from Python."""

from functools import cache
from importlib import import_module

import pytest
from numba import njit

from copa._core._kernels.compiling import options
from copa._core.kernels import find_library

needs_library = pytest.mark.skipif(find_library()[0] is None, reason=f"no library: {find_library()[1]}")


@cache
def callable_from_python(function):
    """The same compiled function, with the wrapper."""
    return njit(**options)(function.py_func)


class CallableModule:
    """A module of kernels whose inner functions can be called; entry points and constants are as they are."""

    def __init__(self, name):
        self._module = import_module(f"copa.{name}")

    def __getattr__(self, name):
        found = getattr(self._module, name)
        return callable_from_python(found) if getattr(found, "targetoptions", {}).get("no_cpython_wrapper") else found
