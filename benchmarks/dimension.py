"""What the dimension costs: L* of five options at D = 1000 against D = 15, once the scores are formed.

A plan enters its bound through J vectors only, so after the scores' means, roots and reaches are there, D enters
once more, in folding the roots into a triangle. Medians over plans of the same kind, which take turns.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.plans import draw_points, lower_from_scores, questions
from benchmarks.reporting import Row
from benchmarks.timing import timed

SMALL, LARGE, N_OPTIONS = 15, 1000, 5


def run(*, quick: bool) -> list[Row]:
    n_plans = 5 if quick else 15
    seconds: dict[int, list[float]] = {SMALL: [], LARGE: []}
    gaps = []
    rng = np.random.default_rng(0)
    with threadpool_limits(1):
        # A ball of dimension 1000 takes a second to factorise: one for all its plans.
        balls = {dimension: next(questions(N_OPTIONS, dimension)).ball for dimension in seconds}
        for _ in range(n_plans):
            for dimension, ball in balls.items():
                plans = draw_points(rng, ball.mean, rng.uniform(0.3, 0.6, (1, N_OPTIONS)))
                scores = ball.scores(plans)
                best = timed(lambda r=scores.roots, m=scores.means, t=scores.reaches: lower_from_scores(r, m, t), 50)
                seconds[dimension].append(best.seconds)
                gaps.append(best.result[1])
    small, large = (float(np.median(seconds[d])) for d in (SMALL, LARGE))
    return [
        Row(
            name="L*: kernel, scores given",
            size=f"J = {N_OPTIONS}, D = {LARGE}, {n_plans} plans",
            seconds=large,
            baseline=f"the same at D = {SMALL}",
            baseline_seconds=small,
            measured=large / small,
            unit="x the cost",
            at_most=3.0,
            accuracy=f"gap {max(gaps):.0e}",
        )
    ]
