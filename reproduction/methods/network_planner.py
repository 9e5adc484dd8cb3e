"""COPA as its users get it, for a neural network: the planner asks the network and its refits, real rows come out."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from reproduction.networks import train_network

if TYPE_CHECKING:
    import pandas as pd

    from copa import FeatureSchema, PlanBatch
    from reproduction.encoding import Array, Encoding
    from reproduction.table2 import NetworkCase

N_REFITS = 20
DIVERSITY_WEIGHT = 0.1
UNITS = 5.0  # of effort that the range of a number is worth: about its standard deviations


@dataclass(frozen=True)
class NetworkPlanner:
    """A row of the table: how sure each option must be, and how far the next networks may be from the refits.

    Attributes
    ----------
    name : what the table calls it
    guarantee : of each option
    radius : of the ball, in standard deviations of retraining, or "auto"
    """

    name: str
    guarantee: float
    radius: float | str


PLANNERS = (NetworkPlanner("COPA planner", 0.8, "auto"), NetworkPlanner("COPA planner, wide ball", 0.9, 20.0))


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


def as_the_table_measures(schema: "FeatureSchema") -> "FeatureSchema":
    """The schema with efforts that are UNITS times the table's proximity: ranges are 1, another category is sqrt(2)."""
    features = []
    for feature in schema.features:
        if feature.is_choice:
            features.append(replace(feature, spread=None, weight=UNITS * float(np.sqrt(2.0))))
        elif feature.lower is not None and feature.upper is not None and feature.upper > feature.lower:
            features.append(replace(feature, spread=(feature.upper - feature.lower) / UNITS))
        else:
            features.append(feature)
    return replace(schema, features=tuple(features))


def network_menus(case: "NetworkCase", row: NetworkPlanner) -> "PlanBatch":
    """Menus of the applicants whom the network declines."""
    from copa import RecoursePlanner

    linear = case.linear
    features = linear.data.present.features
    planner = RecoursePlanner(
        EncodedNetwork(linear.encoding).deployed(case.network, features),
        schema=as_the_table_measures(linear.data.schema),
        cost="l2",
        guarantee=row.guarantee,
        radius=row.radius,
        n_options=linear.settings.n_options,
        diversity_weight=DIVERSITY_WEIGHT,
        n_models=N_REFITS,
        random_state=linear.settings.seed,
        n_jobs=1,
        progress=False,
    )
    return planner.fit(features, linear.data.present.favourable).plan(linear.applicants)


def network_plans(case: "NetworkCase", row: NetworkPlanner) -> tuple[list["Array | None"], "Array"]:
    """Encoded menus (J, D) of each applicant, None where there is none; and the guarantees of those there are."""
    batch = network_menus(case, row)
    points = case.linear.encoding.encode(batch.options)
    plans = [points[batch.owner == i] if batch.counts[i] else None for i in range(len(batch))]
    return plans, batch.lower[batch.counts > 0]
