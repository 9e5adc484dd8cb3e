"""Penalties per row: a fit to some rows with the settings kept is the fit to all of their copies."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    Lasso,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from copa.exceptions import InvalidInputError
from copa.models.base import unfitted
from copa.models.refits.refits import keep_penalty_per_row

COPIES = 4


class PassiveAggressiveClassifier(BaseEstimator):
    """As scikit-learn's, which is deprecated: C bounds the step of one row."""

    def __init__(self, C=1.0):
        self.C = C


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(C=0.2, solver="newton-cholesky", tol=1e-10),
        LogisticRegression(C=0.2, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=10**5, random_state=0),
        LinearSVC(C=0.3, tol=1e-10, max_iter=10**6, random_state=0),
        pytest.param(SVC(C=0.3, kernel="linear", tol=1e-9), marks=pytest.mark.slow, id="SVC"),
        RidgeClassifier(alpha=5.0),
        Ridge(alpha=5.0),
        KernelRidge(alpha=5.0),
        Lasso(alpha=0.05, tol=1e-10),
        MultinomialNB(alpha=7.0),
        MLPClassifier((3,), alpha=30.0, solver="lbfgs", random_state=0, max_iter=2000, tol=1e-12),
        HistGradientBoostingClassifier(max_iter=5, l2_regularization=20.0, min_samples_leaf=1, early_stopping=False),
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-10)),
    ],
    ids=lambda estimator: str(type(estimator).__name__),
)
def test_some_rows_stand_for_all_of_their_copies(estimator, credit):
    X, y = np.abs(credit[0][:80]), credit[1][:80]
    kept = unfitted(estimator).set_params(**keep_penalty_per_row(estimator, 1.0 / COPIES)).fit(X, y)
    copies = unfitted(estimator).fit(np.repeat(X, COPIES, axis=0), np.repeat(y, COPIES))
    answer = next(name for name in ("decision_function", "predict_proba", "predict") if hasattr(kept, name))
    found, wanted = getattr(kept, answer)(X), getattr(copies, answer)(X)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-4 * np.ptp(wanted))


@pytest.mark.parametrize(
    ("estimator", "settings"),
    [
        (SGDClassifier(), {}),
        (Perceptron(alpha=0.1), {}),
        (NuSVC(), {}),
        (PassiveAggressiveClassifier(), {}),
        (RandomForestClassifier(min_samples_leaf=5, ccp_alpha=0.1), {}),
        (MLPClassifier(alpha=1.0, solver="adam"), {}),
        (object(), {}),
        (LogisticRegression(C=np.inf), {"C": np.inf}),
        (LogisticRegressionCV(Cs=[1.0, 2.0]), {"Cs": [4.0, 8.0]}),
        (LogisticRegressionCV(Cs=2), {"Cs": [4e-4, 4e4]}),
        (RidgeClassifierCV(alphas=(1.0, 8.0)), {"alphas": [0.25, 2.0]}),
        (CalibratedClassifierCV(LinearSVC(C=3.0)), {"estimator__C": 12.0}),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_settings(estimator, settings):
    found = keep_penalty_per_row(estimator, 0.25)
    assert found.keys() == settings.keys()
    for name, value in settings.items():
        assert found[name] == pytest.approx(value)


def test_frozen_parts_are_thawed():
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator(LogisticRegression(C=1.0))
    model = make_pipeline(StandardScaler(), frozen)
    found = keep_penalty_per_row(model, 0.25)
    assert list(found.values()) == [4.0]
    assert unfitted(model).set_params(**found)[-1].C == 4.0


@pytest.mark.parametrize("share", [0.0, -1.0, 1.1, np.nan])
def test_a_share_is_a_share(share):
    with pytest.raises(InvalidInputError, match="share must be in"):
        keep_penalty_per_row(LogisticRegression(), share)


@pytest.mark.extended
def test_boosting_of_other_packages(credit):
    xgboost = pytest.importorskip("xgboost")
    lightgbm = pytest.importorskip("lightgbm")
    assert keep_penalty_per_row(xgboost.XGBClassifier(reg_lambda=2.0), 0.5) == {"reg_lambda": 1.0}
    assert keep_penalty_per_row(lightgbm.LGBMClassifier(reg_lambda=2.0), 0.5)["reg_lambda"] == 1.0
    X, y = credit[0][:80], credit[1][:80]
    settings = {"n_estimators": 5, "max_depth": 3, "min_child_weight": 0.0, "reg_lambda": 30.0, "tree_method": "exact"}
    model = xgboost.XGBClassifier(**settings)
    kept = unfitted(model).set_params(**keep_penalty_per_row(model, 0.25)).fit(X, y)
    copies = unfitted(model).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    np.testing.assert_allclose(kept.predict_proba(X), copies.predict_proba(X), atol=1e-4)
