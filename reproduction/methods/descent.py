"""Adam, the descent that the methods of others are stated with."""

from collections.abc import Callable

import numpy as np

from reproduction.encoding import Array

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # decay of the two running means, and what keeps the step finite


class Adam:
    """Steps of Adam on an array of any shape; every entry has its own pace."""

    def __init__(self, start: Array, rate: float) -> None:
        self.point = start.copy()
        self.rate = rate
        self.mean, self.square = np.zeros_like(start), np.zeros_like(start)
        self.steps = 0

    def step(self, gradient: Array) -> Array:
        """Take a step against the gradient and return the new point."""
        self.steps += 1
        self.mean = FIRST * self.mean + (1.0 - FIRST) * gradient
        self.square = SECOND * self.square + (1.0 - SECOND) * gradient**2
        mean = self.mean / (1.0 - FIRST**self.steps)
        square = self.square / (1.0 - SECOND**self.steps)
        self.point = self.point - self.rate * mean / (np.sqrt(square) + TINY)
        return self.point


def descend(
    start: Array,
    gradient: Callable[[Array], Array],
    project: Callable[[Array], Array],
    *,
    rate: float,
    steps: int,
) -> Array:
    """Return where projected Adam arrives; its rate falls to zero, so that it comes to rest at kinks."""
    adam = Adam(project(start), rate)
    for k in range(steps):
        adam.rate = rate * (1.0 - k / steps)
        adam.point = project(adam.step(gradient(adam.point)))
    return adam.point
