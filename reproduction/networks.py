"""The paper's neural network: layers of 20, 50 and 20 with ReLU, and its local linear surrogates (Appendix C)."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from reproduction.encoding import Array

HIDDEN = (20, 50, 20)
N_PERTURBED = 5000
WIDTH = 0.75  # of the kernel, in units of the root of the number of features
RIDGE = 1.0

# From the probability of acceptance of rows (n, D), an applicant (D,), rows of the data (n, D) and a generator to the
# parameters (D,) of a linear model that is trusted near the applicant: it accepts where theta'x >= 0.
Surrogate = Callable[[Callable[[Array], Array], Array, Array, np.random.Generator], Array]


def train_network(rows: Array, good: npt.NDArray[np.bool_], seed: int) -> Any:
    """Train the network on rows (n, D), of which the first coordinate is the intercept."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 200 passes are what it gets
        return MLPClassifier(HIDDEN, max_iter=200, random_state=seed).fit(rows[:, 1:], good)


def network_layers(network: Any) -> list[tuple[Array, Array]]:
    """Return weights (outputs, inputs) and intercepts of each layer."""
    return [(np.ascontiguousarray(w.T), b) for w, b in zip(network.coefs_, network.intercepts_, strict=True)]


def acceptance(network: Any) -> Callable[[Array], Array]:
    """Return the probability of the favourable outcome as a function of rows (n, D)."""

    def chance(rows: Array) -> Array:
        return np.asarray(network.predict_proba(rows[:, 1:])[:, 1])

    return chance


def local_ridge(chance: Callable[[Array], Array], origin: Array, data: Array, rng: np.random.Generator) -> Array:
    """Fit a weighted ridge regression to the network's probability around an applicant, in the manner of LIME.

    Perturbed rows differ from the applicant by the data's differences between two random rows, so that scales and
    categories are those of the data; rows near the applicant count more.
    """
    first, second = (data[rng.integers(len(data), size=N_PERTURBED)] for _ in range(2))
    moved = origin + (first - second) * rng.random((N_PERTURBED, 1))
    rows = np.vstack([origin, np.clip(moved, 0.0, 1.0)])
    rows[:, 0] = 1.0
    width = WIDTH * np.sqrt(origin.size - 1)
    weights = np.exp(-((rows - origin) ** 2).sum(axis=1) / width**2)
    penalty = RIDGE * np.eye(origin.size)
    penalty[0, 0] = 0.0
    gram = (weights * rows.T) @ rows + penalty
    return np.asarray(np.linalg.solve(gram, (weights * (chance(rows) - 0.5)) @ rows))
