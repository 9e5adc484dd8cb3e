"""Plans that try to break the arithmetic: how many end with a proven, tight bound.

The tests' stress instances: D up to 40, J up to 30, condition numbers up to 1e10, scales from 1e-8 to 1e8, means within
1e-9 of the boundary, near-duplicate and opposite options. Many have L* = 0 or 1 to all digits, so the share with
0.001 < L* < 0.999 is shown too.
"""

import numpy as np
from threadpoolctl import threadpool_limits

import copa
from benchmarks.reporting import Row
from benchmarks.timing import timed
from oracle.instances import stress_instances


def run(*, quick: bool) -> list[Row]:
    n_plans = 300 if quick else 3000
    seconds, answers = [], []
    with threadpool_limits(1):
        for i in stress_instances(n_plans, seed=0):
            once = timed(lambda i=i: copa.validity_bounds(i.points, i.mean, i.cov, i.radius, i.drift))
            seconds.append(once.seconds)
            answers.append(once.result)
    lower, gap = np.array([a.lower for a in answers]), np.array([a.gap for a in answers])
    nans = sum(bool(np.isnan([a.lower, a.upper, a.any_lower, a.gap, *a.option_lower]).any()) for a in answers)
    interesting = (lower > 0.001) & (lower < 0.999)
    counts = {status: sum(str(a.status) == status for a in answers) for status in ("tight", "loose", "invalid")}
    return [
        Row(
            name="complete call, one plan at a time",
            size=f"{n_plans:,} plans, J 1 to 30, D 2 to 40",
            seconds=float(np.median(seconds)),
            measured=float((gap <= 1e-6).mean()),
            unit="of the gaps at most 1e-6",
            at_least=0.999,
            status=", ".join(f"{count:,} {status}" for status, count in counts.items()) + f", {nans} with NaN",
            accuracy=f"largest gap {gap.max():.0e}",
        ),
        Row(
            name="the same, 0.001 < L* < 0.999",
            size=f"{int(interesting.sum()):,} plans",
            seconds=float(np.median(np.array(seconds)[interesting])),
            measured=float((gap[interesting] <= 1e-6).mean()),
            unit="of the gaps at most 1e-6",
            accuracy=f"largest gap {gap[interesting].max():.0e}",
        ),
        Row(name="the slowest of all", size=_size(answers[int(np.argmax(seconds))]), seconds=max(seconds)),
    ]


def _size(answer: copa.ValidityBounds) -> str:
    n_options, dimension = answer.certificate.points.shape
    return f"J = {n_options}, D = {dimension}"
