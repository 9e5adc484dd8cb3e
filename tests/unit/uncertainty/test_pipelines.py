"""Moments, radius and drift of pipelines on tables."""

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
from copa.models import LinearModel

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


def test_laplace_and_radius_of_a_pipeline(table, fitted, encoded):
    moments = copa.WeightMoments.from_laplace(fitted, *table)
    wanted = copa.WeightMoments.from_laplace(fitted[-1], encoded, table[1])
    assert np.array_equal(moments.mean, wanted.mean)
    assert np.array_equal(moments.cov, wanted.cov)
    settings = {"n_models": 5, "random_state": 1, "drift": moments.cov}
    for function, more in ((copa.calibrate_radius, {"n_splits": 3}),):
        assert function(fitted, *table, **settings, **more) == function(
            fitted[-1], encoded, table[1], **settings, **more
        )
    found = copa.resampling_radius(fitted, *table, moments, n_samples=4, **settings)
    assert found == copa.resampling_radius(fitted[-1], encoded, table[1], wanted, n_samples=4, **settings)


@pytest.fixture(scope="module")
def versions(table):
    X, y = table
    first = X.assign(job=X["job"].replace("smith", "clerk")).iloc[:150]  # has not seen a level
    return [pipeline().fit(first, y[:150]), pipeline().fit(X[50:250], y[50:250]), pipeline().fit(X, y)]


def test_versions_are_expressed_in_the_columns_of_the_last(table, versions):
    X, _ = table
    encoded = LinearModel.read(versions[-1], X.columns).encode(X)
    moments = copa.WeightMoments.from_history(versions, half_life=np.inf, X=X)
    scores = np.stack([version.decision_function(X) for version in versions])
    np.testing.assert_allclose(encoded @ moments.mean, scores.mean(axis=0), atol=1e-10)
    spread = np.einsum("nd,de,ne->n", encoded, moments.cov, encoded)
    np.testing.assert_allclose(spread, scores.var(axis=0, ddof=1), atol=1e-10)
    last = np.concatenate([versions[-1][-1].intercept_, versions[-1][-1].coef_[0]])
    assert copa.radius_from_history([*versions, versions[-1]], X=X, quantile=0.1) < 1e-12
    drift = copa.estimate_drift(versions, X=X)
    assert drift.shape == (last.size, last.size)
    assert drift[0, 0] > 0.0
    # A level that the first version has not seen: its weight is 0 there.
    assert copa.radius_from_history(versions[:2], X=X) > 0.0


def test_pipelines_need_rows(table, versions):
    X, y = table
    for function in (copa.WeightMoments.from_history, copa.estimate_drift, copa.radius_from_history):
        with pytest.raises(InvalidInputError, match=r"encoders of their own: give raw rows as X="):
            function(versions)
    with pytest.raises(InvalidInputError, match="version 1 must be a fitted pipeline or linear classifier"):
        copa.radius_from_history([[0.0, 1.0], versions[0]], X=X)
    others = pipeline().fit(X, np.where(y == "paid", "yes", "no"))
    with pytest.raises(InvalidInputError, match="version 1 chooses between 'no', 'yes'"):
        copa.radius_from_history([others, versions[0]], X=X)
    strict = make_pipeline(OneHotEncoder(), LogisticRegression())
    picky = strict.fit(X[["job"]][X["job"] != "smith"], y[X["job"] != "smith"])
    with pytest.raises(InvalidInputError, match=r"version 2 cannot read the rows of X"):
        copa.radius_from_history([versions[0], picky], X=X)
    with pytest.raises(InvalidInputError, match=r"version 2 cannot be used.*lacks"):
        copa.radius_from_history([picky, versions[0]], X=X[["job"]][X["job"] != "smith"])
