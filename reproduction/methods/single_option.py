"""Methods that give one option per applicant, which others are measured against: Wachter's and ROAR.

Both are descents within the ranges of the data, repeated with a weight that doubles until the option is good enough.
"""

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from reproduction.data.encoding import Array
from reproduction.methods.base import Plans, Space, descend

if TYPE_CHECKING:
    from reproduction.data.case import Case

WEIGHTS = tuple(2.0**power for power in range(16))  # of Wachter's loss
PRICES = tuple(2.0**-power for power in range(14))  # of ROAR's distance
RATE, STEPS = 0.02, 300


@dataclass(frozen=True)
class Wachter:
    """The nearest accepted point, in the form of Wachter, Mittelstadt and Russell (2018).

    Minimises weight * (f(x) - 1)^2 + sum_k |x_k - x0_k| / MAD_k over x, where f is the model's probability of the
    favourable outcome and MAD the median absolute deviation of a coordinate in the data. The weight doubles until f(x)
    reaches one half.
    """

    name: str = "Wachter"

    def plans(self, case: "Case") -> Plans:
        """Build a plan of one option for every applicant."""
        from scipy.special import expit

        started = process_time()
        space = Space.of(case)
        price = 1.0 / deviations(case)
        theta, origins = case.theta, case.origins
        found = origins.copy()
        for weight in WEIGHTS:
            todo = np.flatnonzero(found @ theta < 0.0)
            if todo.size == 0:
                break

            def gradient(x: Array, own: Array = origins[todo], weight: float = weight) -> Array:
                chance = expit(x @ theta)
                pull = 2.0 * weight * (chance - 1.0) * chance * (1.0 - chance)
                return np.asarray(pull[:, None] * theta + price * np.sign(x - own))

            found[todo] = descend(found[todo], gradient, space.project(origins[todo]), rate=RATE, steps=STEPS)
        seconds = (process_time() - started) / len(origins)
        return Plans(np.arange(len(origins)), found[:, None], np.full(len(origins), seconds))


def deviations(case: "Case") -> Array:
    """Median absolute deviations of the coordinates (D,); where that is zero, the mean one, or else 1."""
    rows = case.encoding.encode(case.data.present.features)
    away = np.abs(rows - np.median(rows, axis=0))
    median, mean = np.median(away, axis=0), away.mean(axis=0)
    return np.where(median > 0.0, median, np.where(mean > 0.0, mean, 1.0))


@dataclass(frozen=True)
class Roar:
    """A point that a box of parameter shifts cannot break: ROAR (Upadhyay, Joshi and Lakkaraju, 2021).

    Minimises over x the largest loss, max log(1 + exp(-(theta + delta)'x)) over |delta_k| <= shift, plus
    price * |x - x0|_1. For a linear model the inner maximum is attained at delta = -shift * sign(x), which leaves the
    score theta'x - shift * |x|_1. The price is halved until this worst score is positive.

    Parameters
    ----------
    shift : float
        By how much every parameter may move.
    """

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
