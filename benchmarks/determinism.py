"""What it costs that results are the same bits in every run: kernels as they are, against reordered sums.

The baseline is the same kernels compiled with leave to reorder sums and to fuse products with sums (`reassoc` and
`contract` of LLVM), in a process of its own with a cache of its own. Its results depend on the width of the processor's
vectors and on where arrays begin in memory. The processes take turns; the least time of each is shown.
"""

import tempfile

from benchmarks.interpreters import fresh
from benchmarks.reporting import Row

PREPARED = """
from copa._core._kernels import compiling
if {reordered}:
    compiling.options["fastmath"] = {{"reassoc", "contract"}}
from threadpoolctl import threadpool_limits
threadpool_limits(1)
from benchmarks.determinism import measure
print(*measure({repeats}))
"""

SIZES = ((5, 15, 40), (10, 100, 15), (20, 100, 3))  # options, dimension, repetitions
PLANS, APPLICANTS = 500, 15


def measure(repeats: int) -> list[float]:
    """Least seconds of L* of one plan by size, of the bounds of a batch, and of building plans."""
    from benchmarks.batch import bound, plans
    from benchmarks.construction import build, gaussian
    from benchmarks.plans import lower_call, questions
    from benchmarks.timing import timed

    asked = [(next(questions(j, d)), n) for j, d, n in SIZES]
    seconds = [timed(lambda q=q, b=q.ball: lower_call(q.points, b), n * repeats).seconds for q, n in asked]
    batch, crowd = plans(PLANS), gaussian(0, APPLICANTS)
    seconds.append(timed(lambda: bound(batch, 1), 1 + repeats).seconds)
    seconds.append(timed(lambda: build(crowd, (0.5, 5.0)), 1 + repeats).seconds)
    return seconds


def run(*, quick: bool) -> list[Row]:
    rounds, repeats = (2, 1) if quick else (4, 3)
    least: dict[bool, list[float]] = {}
    with tempfile.TemporaryDirectory() as written, tempfile.TemporaryDirectory() as reordered:
        folders = {False: written, True: reordered}
        for _ in range(rounds):
            for variant, folder in folders.items():
                code = PREPARED.format(reordered=variant, repeats=repeats)
                now = fresh(code, NUMBA_CACHE_DIR=folder)
                least[variant] = [min(pair) for pair in zip(least.get(variant, now), now, strict=True)]
    names = [("L*: scores and kernel", f"J = {j}, D = {d}") for j, d, _ in SIZES]
    names += [("all bounds, 1 core", f"N = {PLANS}, J = 5, D = 15"), ("plans", f"N = {APPLICANTS}, J = 5, D = 16")]
    return [
        Row(
            name=name,
            size=size,
            seconds=ours,
            baseline="sums reordered, products fused",
            baseline_seconds=theirs,
            measured=ours / theirs,
            unit="x the time",
        )
        for (name, size), ours, theirs in zip(names, least[False], least[True], strict=True)
    ]
