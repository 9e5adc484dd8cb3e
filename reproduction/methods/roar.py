"""ROAR (Upadhyay, Joshi and Lakkaraju, 2021): one counterfactual that a box of parameter shifts cannot break.

Minimises over x the largest loss, max log(1 + exp(-(theta + delta)'x)) over |delta_k| <= shift, plus
price * |x - x0|_1.
For a linear model the inner maximum is attained at delta = -shift * sign(x), which leaves the score
theta'x - shift * |x|_1. The price is halved until this worst score is positive.
"""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from reproduction.encoding import Array
from reproduction.methods.base import Plans
from reproduction.methods.descent import descend
from reproduction.methods.search import Space

if TYPE_CHECKING:
    from reproduction.case import Case

PRICES = tuple(2.0**-power for power in range(14))
RATE, STEPS = 0.02, 300


@dataclass(frozen=True)
class Roar:
    """Robust to shifts of every parameter by up to `shift`, one option per applicant."""

    shift: float = 0.1
    name: str = "ROAR"

    def plans(self, case: "Case") -> Plans:
        """Build a plan of one option for every applicant."""
        from scipy.special import expit

        started = process_time()
        space, theta, origins = Space.of(case), case.theta, case.origins
        found = origins.copy()
        for price in PRICES:
            todo = np.flatnonzero(worst_score(found, theta, self.shift) <= 0.0)
            if todo.size == 0:
                break

            def gradient(x: Array, own: Array = origins[todo], price: float = price) -> Array:
                worst = theta - self.shift * np.sign(x)  # (n, D)
                pull = expit(-worst_score(x, theta, self.shift))
                return np.asarray(-pull[:, None] * worst + price * np.sign(x - own))

            found[todo] = descend(found[todo], gradient, space.project(origins[todo]), rate=RATE, steps=STEPS)
        seconds = (process_time() - started) / len(origins)
        return Plans(np.arange(len(origins)), found[:, None], np.full(len(origins), seconds))


def worst_score(points: Array, theta: Array, shift: float) -> Array:
    """Least score of points (n, D) over the box of parameters, (n,)."""
    return np.asarray(points @ theta - shift * np.abs(points).sum(axis=-1))
