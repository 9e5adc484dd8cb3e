"""Models that cannot be planned for are refused before they are retrained."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import copa
from copa import Feature, FeatureSchema
from copa.planner.strategies.black_box import fewest_values, local_space
from copa.plans.cost import L1

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"income": RNG.normal(size=240).round(2), "home": RNG.choice(["own", "rent"], 240)})
GOOD = (TABLE["income"] + (TABLE["home"] == "own") + 0.5 * RNG.normal(size=240) > 0.5).to_numpy()
FAST = {"n_options": 1, "n_starts": 2, "n_jobs": 1, "progress": False}


class CountedLogistic(LogisticRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


class CountedForest(RandomForestClassifier):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def schema_of(*homes):
    return FeatureSchema(
        [
            Feature("income", "numeric", lower=-3.0, upper=3.0, step=0.01),
            Feature("home", "categorical", values=homes, rare="offer"),
        ]
    )


@pytest.mark.parametrize("classifier", [CountedLogistic(), CountedForest(5, random_state=0)])
def test_a_level_that_the_encoder_does_not_know_is_refused_without_a_refit(classifier):
    encoder = make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["income"]))
    model = make_pipeline(encoder, classifier).fit(TABLE, GOOD)
    type(classifier).fits = 0
    with pytest.raises(copa.InvalidInputError, match="'boat'"):
        copa.RecoursePlanner(model, schema=schema_of("boat", "own", "rent"), **FAST).fit(TABLE, GOOD)
    assert type(classifier).fits == 0


def test_refits_that_cannot_read_a_rare_level_are_refused_after_one_of_them():
    rare = TABLE.assign(home=np.where(np.arange(240) == 7, "boat", TABLE["home"]))
    encoder = make_column_transformer((OrdinalEncoder(), ["home"]), remainder="passthrough")
    model = make_pipeline(encoder, CountedForest(5, random_state=0)).fit(rare, GOOD)
    CountedForest.fits = 0
    with pytest.raises(copa.InvalidInputError, match="retrained, cannot read the value 'boat' of column 'home'"):
        copa.RecoursePlanner(model, schema=schema_of("boat", "own", "rent"), **FAST).fit(rare, GOOD)
    assert CountedForest.fits == 1


def test_the_sample_with_the_fewest_values_is_found():
    space = local_space(schema_of("boat", "own", "rent").with_spreads(TABLE), L1())
    table = pd.DataFrame({"income": 0.0, "home": ["own", "own", "rent", "boat"]})
    samples = [np.array([0, 2]), np.array([0, 1]), np.array([1, 2, 3])]
    assert fewest_values(space, table, samples) == 1
