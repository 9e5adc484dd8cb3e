"""Plans in canonical form for the kernel tests."""

import numpy as np
from copa._inner_kernels import lower

from copa.theory.sets.ambiguity import MomentBall

GO = np.zeros(1, dtype=np.int64)  # a flag that stops kernels, never set


def canonical(instance):
    """Directions (J, n) and reaches (J,) of an instance, as the kernels see them."""
    ball = MomentBall(instance.mean, instance.cov, instance.radius, instance.drift)
    scores = ball.scores(instance.points)
    n_options, dimension = instance.points.shape
    directions, reach = np.zeros((n_options, min(n_options, dimension) + 1)), np.zeros(n_options)
    lower.canonical_plan(scores.roots, scores.means, scores.reaches, np.empty_like(scores.roots), directions, reach)
    return directions, reach
