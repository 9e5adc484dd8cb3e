"""One counterfactual per applicant in the form of Wachter, Mittelstadt and Russell (2018).

Minimises weight * (f(x) - 1)^2 + sum_k |x_k - x0_k| / MAD_k over x, where f is the model's probability of the
favourable outcome and MAD the median absolute deviation of a coordinate in the data. The weight doubles until f(x)
reaches one half.
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

WEIGHTS = tuple(2.0**power for power in range(16))
RATE, STEPS = 0.02, 300


@dataclass(frozen=True)
class Wachter:
    """The nearest accepted point, one per applicant."""

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
