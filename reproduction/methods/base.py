"""What a method is asked and answers, and the projected descent that several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from reproduction.data.encoding import Array

if TYPE_CHECKING:
    import pandas as pd

    from reproduction.data.case import Case

MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8  # of Adam: its two running means, and what keeps steps finite


@dataclass(frozen=True, eq=False)
class Plans:
    """Plans of some applicants of a case.

    Attributes
    ----------
    who : ndarray of shape (n,), int
        Positions of the applicants in the case.
    points : ndarray of shape (n, J, D)
        Their options.
    seconds : ndarray of shape (n,)
        Time spent on each.
    rows : DataFrame of n * J rows, optional
        Raw rows in the order of `points`, where the method makes real rows by itself; otherwise the nearest real rows
        are taken.
    """

    who: npt.NDArray[np.intp]
    points: Array
    seconds: Array
    rows: "pd.DataFrame | None" = None


class Method(Protocol):
    """A way to build plans. A new one is a file with a class like this."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    def plans(self, case: "Case") -> Plans:
        """Build plans for the case's applicants, or for those whom the method can serve.

        Raises
        ------
        DataError
            If something that the method needs is not installed; the message says what to install.
        """


@dataclass(frozen=True, eq=False)
class Space:
    """Where an option may be: the unit box, some coordinates fixed at the applicant's values, the intercept always."""

    fixed: npt.NDArray[np.intp]

    @classmethod
    def of(cls, case: "Case") -> "Space":
        """Return the space of a case, in which what is immutable is fixed."""
        return cls(np.concatenate([[0], case.fixed]).astype(np.intp))

    def project(self, origins: Array) -> Callable[[Array], Array]:
        """Return the projection for points (n, ..., D) of the applicants (n, D)."""

        def project(points: Array) -> Array:
            inside = np.clip(points, 0.0, 1.0)
            own = origins.reshape(len(origins), *[1] * (points.ndim - 2), origins.shape[-1])
            inside[..., self.fixed] = np.broadcast_to(own, points.shape)[..., self.fixed]
            return inside

        return project


class Adam:
    """Adam, the descent that others state their methods with, on an array of any shape."""

    def __init__(self, start: Array, rate: float) -> None:
        self.point = start.copy()
        self.rate = rate
        self.mean, self.square = np.zeros_like(start), np.zeros_like(start)
        self.steps = 0

    def step(self, gradient: Array) -> Array:
        """Take a step against the gradient and return the new point."""
        self.steps += 1
        self.mean = MEAN_DECAY * self.mean + (1.0 - MEAN_DECAY) * gradient
        self.square = SQUARE_DECAY * self.square + (1.0 - SQUARE_DECAY) * gradient**2
        mean = self.mean / (1.0 - MEAN_DECAY**self.steps)
        square = self.square / (1.0 - SQUARE_DECAY**self.steps)
        self.point = self.point - self.rate * mean / (np.sqrt(square) + EPSILON)
        return self.point


def descend(
    start: Array,
    gradient: Callable[[Array], Array],
    project: Callable[[Array], Array],
    *,
    rate: float,
    steps: int,
) -> Array:
    """Return the end of projected Adam, whose rate falls to zero so that it comes to rest at kinks."""
    adam = Adam(project(start), rate)
    for k in range(steps):
        adam.rate = rate * (1.0 - k / steps)
        adam.point = project(adam.step(gradient(adam.point)))
    return adam.point
