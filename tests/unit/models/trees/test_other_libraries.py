"""Trees of LightGBM and XGBoost equal their own probabilities at 10,000 rows and at the thresholds."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from test_reading_trees import at_thresholds, read_models

from copa.models.trees import NotTreesError
from copa.models.trees.conformance import chances
from tree_models import NUMBERS, VALUES, one_hot, ordinal, table

pytestmark = pytest.mark.extended


def lightgbm(**settings):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**{"n_estimators": 40, "verbose": -1, "n_jobs": 1, "random_state": 0} | settings)


def xgboost(**settings):
    from xgboost import XGBClassifier

    return XGBClassifier(**{"n_estimators": 40, "n_jobs": 1, "random_state": 0} | settings)


NATIVE = {"missing": True, "native": True}
CASES = {
    "LightGBM, own categories": (lightgbm, None, NATIVE),
    "LightGBM, few categories at a time": (lambda: lightgbm(max_cat_to_onehot=100), None, NATIVE),
    "LightGBM, another sharpness": (lambda: lightgbm(sigmoid=0.7), NUMBERS, {"missing": True}),
    "LightGBM, ordinal, scaled": (
        lambda: make_pipeline(ordinal(StandardScaler()), lightgbm()),
        None,
        {"missing": True},
    ),
    "LightGBM, one-hot": (lambda: make_pipeline(one_hot("passthrough"), lightgbm()), None, {"missing": True}),
    "XGBoost, own categories": (lambda: xgboost(enable_categorical=True), None, NATIVE),
    "XGBoost, one category at a time": (lambda: xgboost(enable_categorical=True, max_cat_to_onehot=100), None, NATIVE),
    "XGBoost, numbers": (lambda: xgboost(max_depth=9, gamma=1.0), NUMBERS, {"missing": True}),
    "XGBoost, ordinal, scaled": (lambda: make_pipeline(ordinal(StandardScaler()), xgboost()), None, {"missing": True}),
    "XGBoost, sparse one-hot": (lambda: make_pipeline(OneHotEncoder(handle_unknown="ignore"), xgboost()), VALUES, {}),
    "XGBoost, several trees at a time": (lambda: xgboost(num_parallel_tree=3, subsample=0.7), NUMBERS, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_probabilities_and_scores_are_the_library_s_own(name):
    make, columns, kinds = CASES[name]
    X, y = table(1500, **kinds)
    X, y = X[columns or list(X)], (y == "yes").astype(int)
    model = make().fit(X, y)
    rows = table(10_000, seed=1, **kinds)[0][list(X)]
    rng = np.random.default_rng(2)
    rounding = 2.5e-7 if name.startswith("XGBoost") else 1e-13
    for settings in ({"favourable": 1}, {"favourable": 0}, {"favourable": 1, "threshold": 0.3}):
        box, read = read_models(model, X, **settings)
        for some in (rows, at_thresholds(read, rows, rng)):
            theirs = model.predict_proba(some)[:, box.position]
            np.testing.assert_allclose(chances(read, some, box.position), theirs, rtol=0.0, atol=rounding)
            scores, expected = read.scores(read.codes(some))[0], box.scores(some)
            decided = np.abs(expected) > 1e-5
            np.testing.assert_array_equal((scores >= 0.0)[decided], (expected >= 0.0)[decided])
            np.testing.assert_allclose(scores, expected, rtol=0.0, atol=1e-3 if rounding > 1e-10 else 1e-8)


def test_early_stopping_is_followed():
    from lightgbm import early_stopping

    X, y = table(1500)
    X, y = X[NUMBERS], (y == "yes").astype(int)
    eager = xgboost(n_estimators=300, learning_rate=0.5, early_stopping_rounds=5)
    stopped = eager.fit(X[:1000], y[:1000], eval_set=[(X[1000:], y[1000:])], verbose=False)
    other = lightgbm(n_estimators=300, learning_rate=0.5)
    other.fit(X[:1000], y[:1000], eval_X=X[1000:], eval_y=y[1000:], callbacks=[early_stopping(5, verbose=False)])
    for model, rounding in ((stopped, 2.5e-7), (other, 1e-13)):
        _, read = read_models(model, X)
        assert len(read.arrays.roots) - 1 < 300
        np.testing.assert_allclose(chances(read, X, 1), model.predict_proba(X)[:, 1], rtol=0.0, atol=rounding)


def test_boosters_of_other_kinds_are_refused_with_the_reason():
    X, y = table(400)
    X, y = X[NUMBERS], (y == "yes").astype(int)
    for message, model in {
        "it is a dart": xgboost(booster="dart"),
        "binary:hinge": xgboost(objective="binary:hinge"),
        "a number for a missing value": xgboost(missing=0.0),
    }.items():
        with pytest.raises(NotTreesError, match=message):
            read_models(model.fit(X, y), X)
