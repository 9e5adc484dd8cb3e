"""Refits one by one: classifiers, calibrations and encoders of every kind."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from copa.exceptions import RetrainingError
from copa.models import LinearModel
from copa.models.refits.pipeline_refits import Coordinates
from copa.models.refits.refits import can_batch, refit_parameters
from copa.models.refits.subsets import Subsets


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(8)
    X = pd.DataFrame(
        {
            "income": rng.lognormal(size=240) * 1e3,
            "age": rng.integers(20, 70, 240),
            "job": rng.choice(["clerk", "nurse", "smith"], 240, p=[0.6, 0.35, 0.05]),
            "owner": rng.choice(["no", "yes"], 240),
        }
    )
    score = np.log(X["income"]) - 7.0 + 0.03 * (X["age"] - 45) + 0.7 * (X["job"] == "nurse") + rng.logistic(size=240)
    return X, np.where(score > 0.0, "paid", "open")


def encoder(numeric):
    return make_column_transformer((OneHotEncoder(), ["job", "owner"]), (numeric, ["income", "age"]))


def read(classifier, loans, numeric=None, **settings):
    X, y = loans
    pipeline = make_pipeline(encoder(StandardScaler() if numeric is None else numeric), classifier).fit(X, y)
    return LinearModel.read(pipeline, X.columns, **settings)


def decisions(model, loans, settings, n_halves=2, n_thirds=2):
    """Scores of the training rows by clones of the pipeline with the settings of each share, towards the favourable."""
    X, y = loans
    subsets = Subsets.draw((y == model.classes[1]).astype(float), n_halves, n_thirds, 0)
    for k in range(n_halves + n_thirds):
        rows = subsets.rows(k)
        pipeline = clone(model.estimator).set_params(**settings(len(y) / rows.size))
        for key, part in pipeline.get_params().items():
            if isinstance(part, OneHotEncoder):
                pipeline.set_params(**{f"{key}__handle_unknown": "ignore"})
        yield model.sign * pipeline.fit(X.iloc[rows], y[rows]).decision_function(X) - model.cutoff


def scores(model, loans, n_halves=2, n_thirds=2):
    refits = refit_parameters(model, *loans, n_halves=n_halves, n_thirds=n_thirds, seed=0, n_jobs=1)
    return np.vstack([refits.halves, refits.thirds]) @ model.encode(loans[0]).T, refits.exact


@pytest.mark.parametrize(
    ("classifier", "settings"),
    [
        (LinearSVC(C=0.5, random_state=0, tol=1e-8, max_iter=100000), lambda n: {"linearsvc__C": 0.5 * n}),
        (RidgeClassifier(alpha=3.0), lambda n: {"ridgeclassifier__alpha": 3.0 / n}),
        (SGDClassifier(random_state=0), lambda _: {}),
        (Perceptron(penalty="l2", alpha=0.01, random_state=0), lambda _: {}),
        (
            LogisticRegression(solver="saga", C=0.2, l1_ratio=1.0, tol=1e-9, max_iter=10**5, random_state=0),
            lambda n: {"logisticregression__C": 0.2 * n},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_penalty_per_row_is_kept(classifier, settings, loans):
    model = read(classifier, loans, favourable="open")
    assert not can_batch(model, loans[0])
    found, exact = scores(model, loans)
    assert exact
    np.testing.assert_allclose(found, np.stack(list(decisions(model, loans, settings))), rtol=1e-6, atol=1e-6)


def test_a_calibration_keeps_its_cutoff(loans):
    base = LogisticRegression(solver="newton-cholesky", tol=1e-10, C=0.3)
    calibrated = read(CalibratedClassifierCV(base, cv=3), loans, threshold=0.6)
    plain = read(base, loans)
    found, exact = scores(calibrated, loans)
    assert exact
    assert can_batch(calibrated, loans[0])
    np.testing.assert_allclose(found, scores(plain, loans)[0] - calibrated.cutoff, atol=1e-7)


def test_searches_and_frozen_parts_are_refitted(loans):
    X, y = loans
    wanted, _ = scores(read(LinearSVC(C=0.1, random_state=0), loans), loans)
    search = GridSearchCV(make_pipeline(encoder(StandardScaler()), LinearSVC(random_state=0)), {"linearsvc__C": [0.1]})
    found, _ = scores(LinearModel.read(search.fit(X, y), X.columns), loans)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    freeze = pytest.importorskip("sklearn.frozen").FrozenEstimator
    fitted = encoder(StandardScaler()).fit(X)
    frozen = make_pipeline(freeze(fitted), LinearSVC(C=0.1, random_state=0)).fit(X, y)
    found, _ = scores(LinearModel.read(frozen, X.columns), loans)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


@pytest.mark.parametrize("numeric", [make_pipeline(StandardScaler(), PCA()), PolynomialFeatures(2)], ids=str)
def test_affine_encoders_are_exact(numeric, loans):
    if isinstance(numeric, PolynomialFeatures):
        numeric = make_pipeline(StandardScaler(), numeric)
    model = read(RidgeClassifier(), loans, numeric)
    found, exact = scores(model, loans)
    assert exact
    wanted = np.stack(list(decisions(model, loans, lambda n: {"ridgeclassifier__alpha": 1.0 / n})))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize(
    "numeric",
    [
        make_pipeline(StandardScaler(), PCA(n_components=1)),
        SplineTransformer(extrapolation="linear"),
    ],
    ids=str,
)
def test_other_encoders_have_the_nearest_scores(numeric, loans):
    model = read(RidgeClassifier(), loans, numeric)
    assert not can_batch(model, loans[0])
    found, exact = scores(model, loans)
    assert not exact
    wanted = np.stack(list(decisions(model, loans, lambda n: {"ridgeclassifier__alpha": 1.0 / n})))
    assert np.corrcoef(found.ravel(), wanted.ravel())[0, 1] > 0.95
    residual = (found - wanted) @ model.encode(loans[0])  # of a least squares fit: orthogonal to the columns
    np.testing.assert_allclose(residual, 0.0, atol=1e-6 * np.abs(wanted).max() * np.abs(model.encode(loans[0])).sum())


def test_rows_with_unseen_values_are_left_out_of_the_comparison(loans):
    X, y = loans
    X = X.assign(job=np.where(np.arange(240) == 7, "abbot", X["job"]))
    ordinal = make_column_transformer((OrdinalEncoder(), ["job", "owner"]), (StandardScaler(), ["income", "age"]))
    model = LinearModel.read(make_pipeline(ordinal, RidgeClassifier()).fit(X, y), X.columns)
    refits = refit_parameters(model, X, y, n_halves=2, n_thirds=0, seed=0, n_jobs=1)
    subsets = Subsets.draw((y == "paid").astype(float), 2, 0, 0)
    for k in (0, 1):
        rows = subsets.rows(k)
        pipeline = clone(model.estimator).set_params(ridgeclassifier__alpha=0.5).fit(X.iloc[rows], y[rows])
        part = X.iloc[rows]
        np.testing.assert_allclose(model.encode(part) @ refits.halves[k], pipeline.decision_function(part), atol=1e-7)


def test_tables_without_names(loans):
    X, y = loans
    array = X[["income", "age"]].to_numpy()
    model = LinearModel.read(make_pipeline(StandardScaler(), LogisticRegression()).fit(array, y), ["income", "age"])
    named = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[["income", "age"]], y)
    numbers = {"n_halves": 3, "n_thirds": 3, "seed": 2, "n_jobs": 1}
    one = refit_parameters(model, X, y, **numbers)
    other = refit_parameters(LinearModel.read(named, ["income", "age"]), X, y, **numbers)
    assert np.array_equal(one.halves, other.halves)


def test_a_refit_that_fails_says_so(loans):
    X, y = loans
    model = LinearModel.read(make_pipeline(encoder(PCA(n_components=2)), LinearSVC()).fit(X, y), X.columns)
    few = np.append(np.flatnonzero(y == "open")[:2], np.flatnonzero(y == "paid")[:1])
    with pytest.raises(RetrainingError, match="lacked a class"):
        refit_parameters(model, X.iloc[few], y[few], n_halves=0, n_thirds=1, seed=0, n_jobs=1)
    pipeline = make_pipeline(encoder(KBinsDiscretizer(4, strategy="uniform", subsample=None)), LinearSVC(C=1.0)).fit(
        X, y
    )
    pipeline.named_steps["linearsvc"].C = -1.0  # as no fit allows it
    with pytest.raises(RetrainingError, match="LinearSVC and its encoder cannot be fitted again to 120 of the rows"):
        refit_parameters(LinearModel.read(pipeline, X.columns), X, y, n_halves=1, n_thirds=0, seed=0, n_jobs=1)


def test_columns_are_found_among_todays():
    rng = np.random.default_rng(0)
    owner = (rng.random(50) < 0.4).astype(float)
    today = np.column_stack([np.ones(50), owner, 1.0 - owner, rng.normal(size=50), np.full(50, 3.0)])
    other = np.column_stack([1.0 - owner, owner, 2.0 * today[:, 3] - 1.0, np.full(50, 5.0), rng.normal(size=50)])
    matches = Coordinates(today).match(other)
    assert matches.place.tolist() == [1, 0, 2, -1, -2]
    np.testing.assert_allclose(matches.slope[:3], [1.0, 1.0, 2.0])
    np.testing.assert_allclose(matches.offset[:4], [0.0, 0.0, -1.0, 5.0], atol=1e-12)
    theta = np.array([0.5, 1.0, -1.0, 2.0, 0.1])
    expressed, exact = Coordinates(today).express(other[:, :4], theta)
    assert exact
    np.testing.assert_allclose(today @ expressed, theta[0] + other[:, :4] @ theta[1:], atol=1e-12)
    assert not Coordinates(today).express(other, np.ones(6))[1]
