"""The paper's neural network, its local linear surrogates, and the case in which it is deployed (Appendix C)."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from copa import WeightMoments
from reproduction.data.case import HALF, TRAINING_SHARE, Case, choose_applicants
from reproduction.data.encoding import Array

HIDDEN = (20, 50, 20)
N_PERTURBED = 5000
WIDTH = 0.75  # of the kernel, in units of the root of the number of features
RIDGE = 1.0
SURROGATE_VARIANCE = 0.05

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


@dataclass(frozen=True, eq=False)
class NetworkCase:
    """A case whose deployed model is a neural network.

    Attributes
    ----------
    linear : Case
        The case of the same data, with the applicants that the network declines.
    network : MLPClassifier
        The deployed one.
    surrogate : callable
        How local linear models are made; see `Surrogate`.
    """

    linear: Case
    network: Any
    surrogate: Surrogate

    @cached_property
    def later(self) -> list[Any]:
        """Networks trained on random halves of D2."""
        case = self.linear
        rows, good = case.encoding.encode(case.data.shifted.features), case.data.shifted.favourable
        rng = np.random.default_rng(case.settings.seed + 3)
        networks = []
        for k in range(case.settings.n_networks):
            chosen = rng.permutation(len(rows))[: round(HALF * len(rows))]
            networks.append(train_network(rows[chosen], good[chosen], k))
        return networks

    @cached_property
    def local(self) -> list[Case]:
        """One case per applicant, with the moments of its surrogate."""
        case = self.linear
        data = case.encoding.encode(case.data.present.features)
        chance, dimension = acceptance(self.network), case.encoding.dimension
        found = []
        for i, origin in enumerate(case.origins):
            theta = self.surrogate(chance, origin, data, np.random.default_rng([case.settings.seed, i]))
            moments = WeightMoments(theta, SURROGATE_VARIANCE * np.eye(dimension))
            found.append(replace(case, theta=theta, moments=moments, applicants=case.applicants.iloc[[i]]))
        return found


def prepare_network(case: Case, surrogate: Surrogate) -> NetworkCase:
    """Train the deployed network on 80 % of D1 and choose applicants that it declines."""
    rows, good = case.encoding.encode(case.data.present.features), case.data.present.favourable
    chosen = np.random.default_rng(case.settings.seed).permutation(len(rows))[: round(TRAINING_SHARE * len(rows))]
    network = train_network(rows[chosen], good[chosen], case.settings.seed)
    declined = acceptance(network)(rows) < 0.5
    return NetworkCase(
        replace(case, applicants=choose_applicants(case.data, declined, case.settings)), network, surrogate
    )
