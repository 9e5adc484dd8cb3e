"""Many plans at once: `copa.validity_bounds` on 10,000 plans of five options in fifteen dimensions.

The complete call: checks, all bounds, certificates. Peak memory is that of a process of its own that does this and
nothing else, with what importing and drawing the plans had already taken.
"""

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import copa
from benchmarks.interpreters import fresh
from benchmarks.plans import draw, draw_points
from benchmarks.reporting import Row
from benchmarks.timing import taking_turns

N_OPTIONS, DIMENSION = 5, 15

PEAK = """
from benchmarks.batch import bound, peak_memory, plans
batch = plans({n_plans})
before = peak_memory()
bound(batch, {n_jobs})
print(before, peak_memory())
"""


def peak_memory() -> float:
    """Most memory this process has had, in MB; NaN where Linux's /proc is missing.

    Not `getrusage`: its maximum is handed down from the process that started this one.
    """
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), float("nan"))


def plans(n_plans: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Draw a batch (N, J, D) of plans that one mean accepts, and the ball."""
    rng = np.random.default_rng(0)
    ball = draw(rng, N_OPTIONS, DIMENSION)
    points = draw_points(rng, ball.mean, rng.uniform(0.3, 0.6, (n_plans, N_OPTIONS)))
    return points, ball.mean, ball.cov, ball.radius


def bound(batch: tuple[np.ndarray, np.ndarray, np.ndarray, float], n_jobs: int) -> copa.ValidityBounds:
    return copa.validity_bounds(*batch, n_jobs=n_jobs)


def run(*, quick: bool) -> list[Row]:
    n_plans = 2000 if quick else 10_000
    batch = plans(n_plans)
    with threadpool_limits(1):
        bound(plans(10), 1)
        cores = (2, 1)
        measured = taking_turns({str(c): (lambda c=c: bound(batch, c), 1) for c in cores}, rounds=3)
    rows = []
    for n_jobs in cores:
        seconds, bounds = measured[str(n_jobs)].seconds, measured[str(n_jobs)].result
        before, peak = fresh(PEAK.format(n_plans=n_plans, n_jobs=n_jobs))
        tight = int((bounds.status == "tight").sum())
        inside = int(((bounds.lower > 0.001) & (bounds.lower < 0.999)).sum())
        rows.append(
            Row(
                name=f"complete call, {n_jobs} core{'s' * (n_jobs > 1)}",
                size=f"N = {n_plans:,}, J = {N_OPTIONS}, D = {DIMENSION}",
                seconds=seconds,
                measured=n_plans / seconds,
                unit="plans/s",
                at_least=2000.0 if n_jobs == 2 else None,
                status=f"{tight:,} tight, {inside:,} with 0.001 < L* < 0.999",
                accuracy=f"gap {bounds.gap.max():.0e}; peak {peak:.0f} MB, of which {before:.0f} before",
            )
        )
    return rows
