"""Refits of whole pipelines: fitted together, and one by one, in today's coordinates."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from copa.data.datasets import load_german, load_south_german, load_student
from copa.models import LinearModel
from copa.models.linear import parameter_vector
from copa.models.refits.pipeline_refits import PipelineRefits
from copa.models.refits.refits import can_batch, refit_parameters
from copa.models.refits.subsets import Subsets

DATA = {"german": load_german(), "south_german": load_south_german(), "student": load_student()}


def precise(**settings):
    return LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000, **settings)


def read_model(name, scaler, one_hot, classifier, **settings):
    data = DATA[name]
    levels = [feature.name for feature in data.schema.features if feature.is_categorical]
    encoder = make_column_transformer((one_hot, levels), remainder=scaler)
    pipeline = make_pipeline(encoder, classifier).fit(data.features, data.favourable)
    return LinearModel.read(pipeline, data.features.columns, **settings), data


def one_by_one(model, X, y, *, all_exact=True, **numbers):
    """The same refits by cloning the pipeline."""
    y = np.asarray(y)
    subsets = Subsets.draw((y == model.classes[1]).astype(float), **numbers)
    pipeline = PipelineRefits.read(model, X, y)
    thetas, exact = pipeline.fit_each(subsets, np.arange(len(subsets)), seed=numbers["seed"], n_jobs=1)
    assert exact or not all_exact
    return model.oriented(thetas)


def assert_close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6 * np.abs(wanted).max())


def recorded(fit_each, left):
    """`fit_each`, noting which subsets it is given."""

    def fit(self, subsets, some, **more):
        left.append(some)
        return fit_each(self, subsets, some, **more)

    return fit


SCALERS = [StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler(), MinMaxScaler(feature_range=(-1, 2))]


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_refits_together_are_refits_of_the_pipeline(name, scaler, monkeypatch):
    model, data = read_model(name, scaler, OneHotEncoder(handle_unknown="ignore"), precise(C=0.3))
    numbers = {"n_halves": 4, "n_thirds": 4, "seed": 5}
    left = []
    monkeypatch.setattr(PipelineRefits, "fit_each", recorded(PipelineRefits.fit_each, left))
    refits = refit_parameters(model, data.features, data.favourable, **numbers, n_jobs=1)
    assert can_batch(model, data.features)
    assert left[0].size <= 1
    monkeypatch.undo()
    assert refits.exact
    assert_close(
        np.vstack([refits.halves, refits.thirds]), one_by_one(model, data.features, data.favourable, **numbers)
    )


@pytest.mark.parametrize(
    ("one_hot", "classifier", "settings"),
    [
        (OneHotEncoder(), precise(C=1.0, class_weight="balanced"), {"threshold": 0.7}),
        (OneHotEncoder(drop="first"), precise(C=1.0), {"favourable": False}),
        (OneHotEncoder(drop="if_binary"), precise(C=10.0, class_weight={False: 2.0, True: 1.0}), {}),
        (OneHotEncoder(min_frequency=30), precise(), {}),
        (OneHotEncoder(), LogisticRegression(solver="liblinear", tol=1e-10, max_iter=10000), {}),
        (OneHotEncoder(), precise(fit_intercept=False), {}),
    ],
    ids=str,
)
def test_encoders_and_settings(one_hot, classifier, settings):
    model, data = read_model("german", StandardScaler(), one_hot, classifier, **settings)
    numbers = {"n_halves": 3, "n_thirds": 8, "seed": 1}
    refits = refit_parameters(model, data.features, data.favourable, **numbers, n_jobs=1)
    assert refits.halves.shape == (3, model.theta.size)
    assert refits.thirds.shape == (8, model.theta.size)
    assert_close(
        np.vstack([refits.halves, refits.thirds]), one_by_one(model, data.features, data.favourable, **numbers)
    )


def with_gaps(name, seed=0):
    """A data set in which a tenth of the entries of some columns is missing."""
    data = DATA[name]
    rng = np.random.default_rng(seed)
    table = data.features.copy()
    columns = [feature.name for feature in data.schema.features]
    for column in columns[::3]:
        table[column] = table[column].mask(rng.random(len(table)) < 0.1)
    return table, np.asarray(data.favourable)


@pytest.mark.extended
@pytest.mark.parametrize("name", ["german", "student"])
@pytest.mark.parametrize("fill", ["mean", "median", "constant"])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()], ids=str)
def test_refits_with_imputers_are_those_one_by_one(name, fill, scaler, monkeypatch):
    X, y = with_gaps(name)
    schema = DATA[name].schema
    levels = [feature.name for feature in schema.features if feature.is_categorical]
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    numbers_of = make_pipeline(SimpleImputer(strategy=fill), scaler)
    encoder = make_column_transformer((words, levels), remainder=numbers_of)
    model = LinearModel.read(make_pipeline(encoder, precise(C=0.3)).fit(X, y), X.columns)
    numbers = {"n_halves": 6, "n_thirds": 4, "seed": 5}
    left = []
    monkeypatch.setattr(PipelineRefits, "fit_each", recorded(PipelineRefits.fit_each, left))
    refits = refit_parameters(model, X, y, **numbers, n_jobs=1)
    monkeypatch.undo()
    assert can_batch(model, X)
    assert left[0].size <= 4  # of which another value is the most frequent
    encoded = model.encode(X)  # parameters are not unique beside whole one-hot blocks, scores are
    found = np.vstack([refits.halves, refits.thirds]) @ encoded.T
    assert_close(found, one_by_one(model, X, y, **numbers, all_exact=False) @ encoded.T)


def test_scores_are_those_of_the_refitted_pipeline():
    """An independent route: clone, C * n/m, fit, ask its decision function."""
    data = DATA["student"]
    model, _ = read_model("student", StandardScaler(), OneHotEncoder(handle_unknown="ignore"), precise(C=0.1))
    refits = refit_parameters(model, data.features, data.favourable, n_halves=4, n_thirds=4, seed=2)
    y = data.favourable.to_numpy()
    subsets = Subsets.draw(y.astype(float), 4, 4, 2)
    encoded = model.encode(data.features)
    for k, theta in enumerate(np.vstack([refits.halves, refits.thirds])):
        rows = subsets.rows(k)
        pipeline = clone(model.estimator).set_params(logisticregression__C=0.1 * len(y) / rows.size)
        pipeline.fit(data.features.iloc[rows], y[rows])
        np.testing.assert_allclose(encoded @ theta, pipeline.decision_function(data.features), atol=1e-6)


def test_halves_share_no_row_and_cover_all():
    subsets = Subsets.draw(np.arange(31) % 2.0, 6, 3, 0)
    for first in (0, 2, 4):
        both = np.concatenate([subsets.rows(first), subsets.rows(first + 1)])
        assert np.array_equal(np.sort(both), np.arange(31))
        assert abs(subsets.rows(first).size - 15.5) == 0.5
    assert [subsets.rows(k).size for k in (6, 7, 8)] == [10, 10, 10]
    more = Subsets.draw(np.arange(31) % 2.0, 8, 5, 0)
    assert np.array_equal(more.packed[[0, 1, 2, 3, 4, 5, 8, 9, 10]], subsets.packed)


def test_a_column_that_a_subset_has_once_has_weight_zero():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"usual": rng.normal(size=60), "spike": np.eye(60)[0]})
    y = (X["usual"] + rng.normal(size=60) > 0.0).to_numpy()
    pipeline = make_pipeline(StandardScaler(), precise()).fit(X, y)
    model = LinearModel.read(pipeline, X.columns)
    refits = refit_parameters(model, X, y, n_halves=10, n_thirds=6, seed=0)
    subsets = Subsets.draw(y.astype(float), 10, 6, 0)
    lacks = np.array([0 not in subsets.rows(k) for k in range(16)])
    weights = np.concatenate([refits.halves, refits.thirds])[:, 2]
    assert 0 < lacks.sum() < 16
    assert (weights[lacks] == 0.0).all()
    assert (weights[~lacks] != 0.0).all()
    assert_close(weights, one_by_one(model, X, y, n_halves=10, n_thirds=6, seed=0)[:, 2])


def test_a_dropped_level_that_some_subsets_lack():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"job": rng.permutation(["baker"] * 4 + ["clerk"] * 50 + ["smith"] * 66)})
    y = rng.random(120) < np.where(X["job"] == "smith", 0.7, 0.4)
    pipeline = make_pipeline(OneHotEncoder(drop="first"), precise(C=0.1)).fit(X, y)
    model = LinearModel.read(pipeline, X.columns)
    numbers = {"n_halves": 30, "n_thirds": 10, "seed": 0}
    subsets = Subsets.draw(y.astype(float), **numbers)
    lacks = np.array(["baker" not in set(X["job"].iloc[subsets.rows(k)]) for k in range(40)])
    assert not lacks[:2].any()  # so that the first refits of the encoder do not show it
    assert lacks.any()
    refits = refit_parameters(model, X, y, **numbers, n_jobs=1)
    assert_close(np.vstack([refits.halves, refits.thirds]), one_by_one(model, X, y, **numbers))


def test_the_spread_of_halves_is_that_of_fresh_data():
    """Refits on halves vary as fits on fresh samples do, with the scaler of a heavy-tailed column refitted."""
    rng = np.random.default_rng(3)

    def sample(n):
        X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.standard_t(4, size=n)})
        return X, (X["a"] + 0.5 * X["b"] + rng.logistic(size=n) > 0.0).to_numpy()

    X, y = sample(800)
    pipeline = make_pipeline(StandardScaler(), precise(C=0.01)).fit(X, y)
    model = LinearModel.read(pipeline, X.columns)
    halves = refit_parameters(model, X, y, n_halves=200, n_thirds=0, seed=0).halves
    encoded = model.encode(X.head(50))
    fresh = np.stack([clone(pipeline).fit(*sample(800)).decision_function(X.head(50)) for _ in range(200)])
    ratio = (encoded @ halves.T).std(axis=1) / fresh.std(axis=0)
    assert 0.8 < np.median(ratio) < 1.25


def test_seeds_and_processes():
    model, data = read_model("student", StandardScaler(), OneHotEncoder(), LogisticRegression(solver="liblinear"))
    X, y = data.features.head(200), data.favourable.head(200)
    one, two = (refit_parameters(model, X, y, n_halves=10, n_thirds=3, seed=4, n_jobs=n) for n in (1, 2))
    assert np.array_equal(one.halves, two.halves)
    assert np.array_equal(one.thirds, two.thirds)
    other = refit_parameters(model, X, y, n_halves=10, n_thirds=3, seed=5, n_jobs=1)
    assert not np.allclose(one.halves, other.halves)
    assert one.n_rows == 200
    assert parameter_vector(model.classifier).size == one.halves.shape[1]
