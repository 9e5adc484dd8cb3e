"""COPA as its users get it, for a neural network: the planner asks the network and its refits, real rows come out."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from copa.paper.networks import train_network

if TYPE_CHECKING:
    import pandas as pd

    from copa.arrays import Array
    from copa.paper.encoding import Encoding
    from copa.paper.table2 import NetworkCase
    from copa.plans import PlanBatch

NAME = "COPA planner"
GUARANTEE = 0.9
N_REFITS = 20


class EncodedNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The paper's network over raw columns, so that it can be asked about rows, cloned and retrained.

    Parameters
    ----------
    encoding : of the raw columns; it is not fitted again
    random_state : int, of the network's first weights
    """

    def __init__(self, encoding: "Encoding", random_state: int = 0) -> None:
        self.encoding = encoding
        self.random_state = random_state

    def fit(self, X: "pd.DataFrame", y: Any) -> "EncodedNetwork":
        """Train the network."""
        return self.deployed(train_network(self.encoding.encode(X), np.asarray(y), self.random_state), X)

    def deployed(self, network: Any, X: "pd.DataFrame") -> "EncodedNetwork":
        """Take a network that is trained already."""
        self.network_ = network
        self.classes_ = network.classes_
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        return self

    def predict_proba(self, X: "pd.DataFrame") -> Any:
        """Probability of each class."""
        return self.network_.predict_proba(self.encoding.encode(X)[:, 1:])

    def predict(self, X: "pd.DataFrame") -> Any:
        """The more probable class."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


def network_menus(case: "NetworkCase") -> "PlanBatch":
    """Menus of the applicants whom the network declines."""
    from copa.planner import RecoursePlanner

    linear = case.linear
    features = linear.data.present.features
    planner = RecoursePlanner(
        EncodedNetwork(linear.encoding).deployed(case.network, features),
        schema=linear.data.schema,
        guarantee=GUARANTEE,
        n_options=linear.settings.n_options,
        n_models=N_REFITS,
        random_state=linear.settings.seed,
        n_jobs=1,
        progress=False,
    )
    return planner.fit(features, linear.data.present.favourable).plan(linear.applicants)


def network_plans(case: "NetworkCase") -> tuple[list["Array | None"], "Array"]:
    """Encoded menus (J, D) of each applicant, None where there is none; and the guarantees of those there are."""
    batch = network_menus(case)
    points = case.linear.encoding.encode(batch.options)
    plans = [points[batch.owner == i] if batch.counts[i] else None for i in range(len(batch))]
    return plans, batch.lower[batch.counts > 0]
