"""Random plans of chosen size, well scaled (so that the paper's programs keep their digits), with bounds inside (0, 1).

And COPA's side of the comparisons: from points to one bound, through the kernels.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from copa._core.arrays import Array
from copa._kernels import lower_bounds, surest_mixtures
from copa.theory.bounds.ball_problem import TOLERANCE
from copa.theory.sets.ambiguity import MomentBall

GO = np.zeros(1, dtype=np.int64)  # a flag that stops kernels, never set
INTERESTING = (0.05, 0.95)  # a bound near 0 or 1 is easier than one between


@dataclass(frozen=True)
class Question:
    """The arguments of a bound: points (J, D) and the ball's mean, covariance and radius."""

    points: Array
    mean: Array
    cov: Array
    radius: float

    @property
    def arguments(self) -> tuple[Array, Array, Array, float]:
        """In the order that every bound takes them."""
        return self.points, self.mean, self.cov, self.radius

    @property
    def ball(self) -> MomentBall:
        """The ball with its covariance factorised: build it outside of what is timed."""
        return MomentBall(self.mean, self.cov, self.radius)


def draw(rng: np.random.Generator, n_options: int, dimension: int, *, rejected: bool = False) -> Question:
    """Draw a plan whose options the mean accepts by 0.3 to 0.6 of their length; if asked, about half it rejects.

    The mean has length 1, the radius is 0.05, and the covariance is Wishart, so that a score deviates by 0.1 |x|.
    """
    mean = rng.standard_normal(dimension)
    mean /= np.linalg.norm(mean)
    cosines = rng.uniform(0.3, 0.6, n_options)
    if rejected:
        cosines = rng.uniform(0.05, 0.3, n_options) * rng.permutation(np.resize([1.0, -1.0], n_options))
    factor = rng.standard_normal((dimension, 2 * dimension))
    cov = 0.01 * factor @ factor.T / (2 * dimension)
    return Question(draw_points(rng, mean, cosines), mean, cov, radius=0.05)


def draw_points(rng: np.random.Generator, mean: Array, cosines: Array) -> Array:
    """Draw options (..., J, D), intercept 1, their features moved along the mean to x'mean = cosine (..., J) |x|."""
    points = rng.standard_normal((*cosines.shape, mean.size))
    points[..., 0] = 1.0
    free = mean.copy()
    free[0] = 0.0
    wanted = cosines * np.linalg.norm(points, axis=-1)
    moved: Array = points + ((wanted - points @ mean) / (free @ free))[..., None] * free
    return moved


def questions(n_options: int, dimension: int, *, rejected: bool = False) -> Iterator[Question]:
    """Yield plans of one size without end; the k-th depends on k only."""
    seed = 0
    while True:
        yield draw(np.random.default_rng([n_options, dimension, seed]), n_options, dimension, rejected=rejected)
        seed += 1


def is_interesting(bound: float) -> bool:
    return INTERESTING[0] < bound < INTERESTING[1]


def lower_call(points: Array, ball: MomentBall) -> tuple[float, float]:
    """L* of one plan and its proven gap: form the scores, then run the kernel."""
    scores = ball.scores(points[None])
    return lower_from_scores(scores.roots, scores.means, scores.reaches)


def lower_from_scores(roots: Array, means: Array, reaches: Array) -> tuple[float, float]:
    """L* of one plan and its proven gap from the roots (1, J, K), means (1, J) and reaches (1, J) of its scores."""
    _, n_options, length = roots.shape
    n = min(n_options, length) + 1
    lower, ceiling = np.empty(1), np.empty(1)
    lower_bounds(
        roots,
        means,
        reaches,
        TOLERANCE,
        GO,
        np.empty((1, n_options, n)),
        np.empty((1, n_options)),
        np.empty((1, n, n)),
        np.empty(1),
        np.empty((1, n_options, n, n)),
        np.empty((1, n_options)),
        lower,
        ceiling,
    )
    return float(lower[0]), float(ceiling[0] - lower[0])


def upper_call(points: Array, ball: MomentBall) -> float:
    """U* of one plan: form the scores, then find the mixture of options that is surest to fail."""
    return 1.0 - any_call(-points, ball)


def any_call(points: Array, ball: MomentBall) -> float:
    """Least probability that at least one option holds."""
    scores = ball.scores(points[None])
    held = np.empty(1)
    surest_mixtures(scores.roots, scores.reach_roots, scores.means, GO, np.empty(scores.means.shape), held)
    return float(held[0])
