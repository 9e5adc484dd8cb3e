"""Refits and moments of pipelines on tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa.exceptions import InvalidInputError

N = {"n_models": 12, "random_state": 3}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(size=300),
            "age": rng.integers(20, 60, 300),
            "job": rng.choice(["clerk", "nurse", "smith"], 300),
        }
    )
    y = np.where(np.log(X["income"]) + (X["job"] == "nurse") + rng.logistic(size=300) > 0.0, "paid", "open")
    return X, y


def pipeline(classifier=None):
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["job"]), (StandardScaler(), ["income", "age"])
    )
    return make_pipeline(encoder, LogisticRegression() if classifier is None else classifier)


@pytest.fixture(scope="module")
def fitted(table):
    return pipeline().fit(*table)


@pytest.fixture(scope="module")
def encoded(table, fitted):
    return fitted[:-1].transform(table[0])


def test_refits_of_a_pipeline_are_those_of_its_classifier(table, fitted, encoded):
    wanted = copa.retrained_parameters(fitted[-1], encoded, table[1], **N)
    assert np.array_equal(copa.retrained_parameters(fitted, *table, **N), wanted)
    assert np.array_equal(copa.retrained_parameters(pipeline(), *table, **N), wanted)  # not fitted yet
    search = GridSearchCV(pipeline(), {"logisticregression__C": [1.0]}).fit(*table)
    assert np.array_equal(copa.retrained_parameters(search, *table, **N), wanted)
    calibrated = CalibratedClassifierCV(pipeline(), cv=3).fit(*table)
    with pytest.raises(InvalidInputError, match="base of a CalibratedClassifierCV must be a linear classifier"):
        copa.retrained_parameters(calibrated, *table, **N)
    inside = pipeline(CalibratedClassifierCV(LogisticRegression(), cv=3)).fit(*table)
    assert np.array_equal(copa.retrained_parameters(inside, *table, **N), wanted)
    moments = copa.WeightMoments.from_retraining(fitted, *table, **N)
    assert np.array_equal(moments.mean, copa.WeightMoments.from_samples(wanted).mean)


def test_tables_without_names(table):
    X, y = table[0][["income", "age"]].to_numpy(), table[1]
    chain = make_pipeline(StandardScaler(), RidgeClassifier()).fit(X, y)
    wanted = copa.retrained_parameters(RidgeClassifier(), chain[:-1].transform(X), y, **N, n_jobs=1)
    assert np.array_equal(copa.retrained_parameters(chain, X, y, **N, n_jobs=1), wanted)
