"""Linear classifiers inside of others: cross-validated penalties, calibrations, thresholds, searches."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa.exceptions import BlackBoxWarning
from copa.models.linear import LinearModel, at_chosen_penalty, is_linear, why_black_box
from copa.models.refits.refits import can_batch, refit_parameters

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "income": RNG.normal(40, 10, 300).round(1),
        "debt": RNG.normal(size=300).round(2),
        "home": RNG.choice(list("abc"), 300),
    }
)
GOOD = (TABLE["income"] / 10 - TABLE["debt"] + (TABLE["home"] == "a") + RNG.normal(size=300) > 4.3).to_numpy()
FAST = {"later_models": copa.LaterModels(n_refits=40), "n_options": 1, "n_starts": 2, "n_jobs": 1, "progress": False}


def encoded(classifier):
    parts = make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["income", "debt"]))
    return make_pipeline(parts, classifier)


def refits_of(model):
    return refit_parameters(model, TABLE, GOOD, n_halves=8, n_thirds=4, seed=0, n_jobs=1)


class CountingCV(LogisticRegressionCV):
    """Counts how often any of its clones is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def searched():
    settings = {"Cs": [0.01, 0.1, 1.0], "cv": 3, "scoring": "accuracy"}
    if "l1_ratios" in LogisticRegressionCV().get_params():
        settings["l1_ratios"] = (0,)
    if "use_legacy_attributes" in LogisticRegressionCV().get_params():
        settings["use_legacy_attributes"] = False
    return encoded(CountingCV(**settings)).fit(TABLE, GOOD)


def test_refits_of_a_cross_validated_penalty_keep_the_one_that_was_found(searched):
    found = float(np.ravel(searched[-1].C_)[0])
    same = encoded(LogisticRegression(C=found)).fit(TABLE, GOOD)
    models = [LinearModel.read(model, TABLE.columns) for model in (searched, same)]
    CountingCV.fits = 0
    own, plain = map(refits_of, models)
    assert CountingCV.fits == 0
    assert can_batch(models[0], TABLE)
    np.testing.assert_allclose(own.halves, plain.halves, rtol=1e-9)
    other = LinearModel.read(encoded(LogisticRegression(C=3 * found)).fit(TABLE, GOOD), TABLE.columns)
    assert not np.allclose(refits_of(other).halves, own.halves)


def test_the_penalty_is_kept_by_the_array_core_and_under_a_calibration(searched):
    rows = searched[0].transform(TABLE)
    own = copa.retrained_parameters(searched[-1], rows, GOOD, n_models=4, random_state=0)
    plain = LogisticRegression(C=at_chosen_penalty(searched[-1]).C)
    np.testing.assert_allclose(own, copa.retrained_parameters(plain, rows, GOOD, n_models=4, random_state=0))
    model = encoded(CalibratedClassifierCV(searched[-1], ensemble=False)).fit(TABLE, GOOD)
    assert can_batch(LinearModel.read(model, TABLE.columns), TABLE)


def test_a_calibration_of_one_pipeline_is_read_as_the_pipeline_that_ends_in_it():
    outside = CalibratedClassifierCV(encoded(LogisticRegression()), ensemble=False).fit(TABLE, GOOD)
    read = LinearModel.read(outside, TABLE.columns)
    assert is_linear(outside)
    assert why_black_box(outside) == ""
    said = read.encode(TABLE) @ read.theta >= 0.0
    assert said.tolist() == read.accepts(TABLE).tolist() == outside.predict(TABLE).tolist()
    assert 0 < said.sum() < len(said)
    planner = copa.RecoursePlanner(outside, guarantee=0.7, **FAST).fit(TABLE, GOOD)
    batch = planner.plan(TABLE[~outside.predict(TABLE)].head(3))
    assert planner.strategy_.kind == "linear"
    assert list(batch.status) == ["ok"] * 3
    assert outside.predict(batch.options).all()


def test_a_calibration_of_several_pipelines_says_that_it_is_a_black_box():
    model = CalibratedClassifierCV(encoded(LogisticRegression()), cv=2).fit(TABLE, GOOD)
    with pytest.warns(BlackBoxWarning, match="averages 2 pipelines, .* black box: .* With ensemble=False"):
        planner = copa.RecoursePlanner(model, **FAST | {"later_models": copa.LaterModels(n_refits=4)}).fit(TABLE, GOOD)
    assert planner.strategy_.kind == "boundary"
    inside = encoded(CalibratedClassifierCV(LogisticRegression(), cv=2)).fit(TABLE, GOOD)
    assert is_linear(inside)
    assert why_black_box(inside) == ""


def test_a_search_over_a_calibrated_pipeline_is_read_through():
    inner = CalibratedClassifierCV(encoded(LogisticRegression()), ensemble=False)
    model = GridSearchCV(inner, {"estimator__logisticregression__C": [0.1, 1.0]}, cv=2).fit(TABLE, GOOD)
    read = LinearModel.read(model, TABLE.columns)
    assert (read.encode(TABLE) @ read.theta >= 0.0).tolist() == model.predict(TABLE).tolist()


@pytest.mark.parametrize("favourable", [True, False])
def test_a_threshold_inside_the_model_is_refused_with_what_to_type(favourable):
    fixed = FixedThresholdClassifier(encoded(LogisticRegression()), threshold=0.3).fit(TABLE, GOOD)
    cut = 0.3 if favourable else 0.7
    with pytest.raises(copa.InvalidInputError, match=rf"RecoursePlanner\(model.estimator_, threshold={cut}, ...\)"):
        copa.RecoursePlanner(fixed, favourable=favourable, **FAST).fit(TABLE, GOOD)
    read = LinearModel.read(fixed.estimator_, TABLE.columns, threshold=cut, favourable=favourable)
    assert read.accepts(TABLE).tolist() == (fixed.predict(TABLE) == favourable).tolist()


def test_a_tuned_threshold_is_refused_too_and_in_a_pipeline():
    tuned = TunedThresholdClassifierCV(LogisticRegression(), cv=2, thresholds=10)
    model = encoded(tuned).fit(TABLE, GOOD)
    with pytest.raises(copa.InvalidInputError, match=r"TunedThreshold.* model\[-1\].estimator_ as its last"):
        copa.RecoursePlanner(model, **FAST).fit(TABLE, GOOD)
    odd = FixedThresholdClassifier(LogisticRegression(), threshold=0.0, response_method="decision_function")
    with pytest.raises(copa.InvalidInputError, match="response_method='predict_proba'"):
        copa.RecoursePlanner(encoded(odd).fit(TABLE, GOOD), **FAST).fit(TABLE, GOOD)
