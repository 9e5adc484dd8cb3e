"""COPA as its users get it, for a linear classifier and for a network: real rows that obey the schema, at a level."""

from dataclasses import dataclass, replace
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from reproduction.data.case import classifier
from reproduction.data.network import train_network
from reproduction.methods.base import Plans

if TYPE_CHECKING:
    import pandas as pd

    from copa import FeatureSchema, PlanBatch
    from reproduction.data.case import Case
    from reproduction.data.encoding import Array, Encoding
    from reproduction.data.network import NetworkCase

GUARANTEE = 0.9  # with a linear classifier
N_REFITS = 20  # of a network
DIVERSITY_WEIGHT = 0.1  # of its plans
UNITS = 5.0  # of cost that the range of a number is worth: about its standard deviations


@dataclass(frozen=True)
class Planner:
    """Plans of the planner, every option with a guarantee of 0.9; where that is out of reach, the highest there is."""

    name: str = "COPA planner"

    def plans(self, case: "Case") -> Plans:
        """Build the plans of all applicants who have at least one option; missing options of a plan are NaN."""
        batch, seconds = self.batch(case)
        served = np.flatnonzero(batch.counts > 0)
        points = np.full((len(served), case.settings.n_options, case.encoding.dimension), np.nan)
        chosen = batch.select(served)
        rank = np.concatenate([np.zeros(0, dtype=int), *(np.arange(count) for count in chosen.counts)])
        points[chosen.owner, rank] = chosen.encoded
        return Plans(served, points, np.full(len(served), seconds), chosen.options)

    def batch(self, case: "Case") -> "tuple[PlanBatch, float]":
        """Return all plans and the seconds per applicant."""
        planner = fitted_planner(case)
        started = process_time()
        batch = planner.plan(case.applicants)
        return batch, (process_time() - started) / max(len(batch), 1)


def fitted_planner(case: "Case") -> Any:
    """Return a planner for the deployed classifier, by its own estimate of how retraining varies."""
    from copa import RecoursePlanner

    features, good = case.data.present.features, case.data.present.favourable
    planner = RecoursePlanner(
        pipeline(case),
        schema=case.data.schema,
        guarantee=GUARANTEE,
        n_options=case.settings.n_options,
        random_state=case.settings.seed,
        plausibility=0.0,
        n_jobs=1,
        progress=False,
    )
    return planner.fit(features, good)


def pipeline(case: "Case") -> Any:
    """Return the deployed classifier as a pipeline over raw columns, with the coordinates of the case's encoding."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    encoding, features = case.encoding, case.data.present.features
    encoder = ColumnTransformer(
        [
            ("numbers", MinMaxScaler(), list(encoding.numbers)),
            (
                "choices",
                OneHotEncoder(categories=[list(values) for _, values in encoding.choices], sparse_output=False),
                [name for name, _ in encoding.choices],
            ),
        ]
    )
    model = make_pipeline(encoder, classifier()).fit(features, case.data.present.favourable)
    model[-1].coef_[:] = case.theta[1:]  # trained on 80 % of the rows, which the ranges do not depend on
    model[-1].intercept_[:] = case.theta[0]
    return model


@dataclass(frozen=True)
class NetworkPlanner:
    """A row of Table 2: the level of each option.

    Attributes
    ----------
    name : str
        What the table calls it.
    guarantee : float
        Of each option.
    """

    name: str
    guarantee: float


PLANNERS = (NetworkPlanner("COPA planner", 0.8),)


class EncodedNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """The paper's network over raw columns, so that it can score rows, be cloned and be retrained.

    Parameters
    ----------
    encoding : Encoding
        Of the raw columns; it is not fitted again.
    random_state : int
        Seed of the network's first weights.
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


def with_costs_as_proximity(schema: "FeatureSchema") -> "FeatureSchema":
    """The schema with costs that are UNITS times the table's proximity: ranges are 1, another category is sqrt(2)."""
    features = []
    for feature in schema.features:
        if feature.is_categorical:
            features.append(replace(feature, spread=None, weight=UNITS * float(np.sqrt(2.0))))
        elif feature.lower is not None and feature.upper is not None and feature.upper > feature.lower:
            features.append(replace(feature, spread=(feature.upper - feature.lower) / UNITS))
        else:
            features.append(feature)
    return replace(schema, features=tuple(features))


def network_batch(case: "NetworkCase", row: NetworkPlanner) -> "PlanBatch":
    """Return the plans of the applicants whom the network declines."""
    from copa import LaterModels, RecoursePlanner

    linear = case.linear
    features = linear.data.present.features
    planner = RecoursePlanner(
        EncodedNetwork(linear.encoding).deployed(case.network, features),
        schema=with_costs_as_proximity(linear.data.schema),
        cost="l2",
        guarantee=row.guarantee,
        n_options=linear.settings.n_options,
        diversity_weight=DIVERSITY_WEIGHT,
        later_models=LaterModels(n_refits=N_REFITS),
        random_state=linear.settings.seed,
        plausibility=0.0,
        n_jobs=1,
        progress=False,
    )
    return planner.fit(features, linear.data.present.favourable).plan(linear.applicants)


def network_plans(case: "NetworkCase", row: NetworkPlanner) -> tuple[list["Array | None"], "Array"]:
    """Encoded plans (J, D) of each applicant, None where there is none; and the guarantees of those there are."""
    batch = network_batch(case, row)
    points = case.linear.encoding.encode(batch.options)
    plans = [points[batch.owner == i] if batch.counts[i] else None for i in range(len(batch))]
    return plans, batch.lower[batch.counts > 0]
