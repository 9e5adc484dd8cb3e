"""Importing COPA and the first calls, each in a fresh interpreter.

The empty cache of compiled kernels is a temporary folder (`NUMBA_CACHE_DIR`), so the one in use is left alone. The
call is `copa.validity_bounds` on one plan of five options in fifteen dimensions.
"""

import tempfile

from benchmarks.interpreters import fresh
from benchmarks.reporting import Row

IMPORT = """
from time import perf_counter
start = perf_counter()
import copa
print(perf_counter() - start)
"""

CALLS = """
from time import perf_counter
import numpy as np
import copa
rng = np.random.default_rng(0)
mean = rng.standard_normal(15)
points = 0.3 * rng.standard_normal((5, 15)) + mean
for _ in range(2):
    start = perf_counter()
    copa.validity_bounds(points, mean, 0.1 * np.eye(15), 0.1)
    print(perf_counter() - start)
"""


def run(*, quick: bool) -> list[Row]:
    repeats = 3 if quick else 9
    importing = min(fresh(IMPORT)[0] for _ in range(repeats))
    with tempfile.TemporaryDirectory() as cache:
        compiling, _ = fresh(CALLS, NUMBA_CACHE_DIR=cache)
        warm = [fresh(CALLS, NUMBA_CACHE_DIR=cache) for _ in range(repeats)]
    return [
        Row(
            name="import copa",
            size=f"least of {repeats}",
            seconds=importing,
            measured=importing,
            unit="s",
            at_most=1.0,
        ),
        Row(name="first call ever: kernels are compiled", size="once", seconds=compiling),
        Row(
            name="first call of a process: kernels are loaded",
            size=f"least of {repeats}",
            seconds=min(first for first, _ in warm),
        ),
        Row(name="second call", size=f"least of {repeats}", seconds=min(second for _, second in warm)),
    ]
