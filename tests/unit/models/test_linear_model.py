"""A fitted model taken apart: parameters, orientation, cutoff, and what it says of rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from copa.exceptions import InvalidInputError
from copa.models import LinearModel
from copa.models.linear import base_classifier

rng = np.random.default_rng(0)
TABLE = pd.DataFrame(rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1], columns=["a", "b", "c"])
LABELS = np.where(TABLE["a"] + 0.1 * TABLE["b"] + rng.logistic(size=200) > 0.0, "yes", "no")


def fitted(classifier):
    return make_pipeline(StandardScaler(), classifier).fit(TABLE, LABELS)


@pytest.mark.parametrize("favourable", ["no", "yes"])
@pytest.mark.parametrize("classifier", [LogisticRegression(), LinearSVC(), RidgeClassifier()], ids=str)
def test_the_score_is_positive_exactly_where_predict_says_the_favourable_label(classifier, favourable):
    pipeline = fitted(classifier)
    model = LinearModel.read(pipeline, TABLE.columns, favourable=favourable)
    said = pipeline.predict(TABLE) == favourable
    assert (model.encode(TABLE) @ model.theta > 0.0).tolist() == said.tolist()
    assert model.accepts(TABLE).tolist() == said.tolist()


@pytest.mark.parametrize("favourable", ["no", "yes"])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
def test_the_score_is_positive_exactly_where_the_probability_reaches_the_threshold(threshold, favourable):
    pipeline = fitted(LogisticRegression())
    model = LinearModel.read(pipeline, TABLE.columns, threshold=threshold, favourable=favourable)
    probability = pipeline.predict_proba(TABLE)[:, list(pipeline.classes_).index(favourable)]
    np.testing.assert_allclose(expit(model.encode(TABLE) @ model.theta + model.cutoff), probability, rtol=1e-9)
    assert (model.encode(TABLE) @ model.theta >= 0.0).tolist() == (probability >= threshold).tolist()
    assert model.accepts(TABLE).tolist() == (probability >= threshold).tolist()


@pytest.mark.parametrize("favourable", ["no", "yes"])
def test_refits_are_turned_as_the_model_is(favourable):
    pipeline = fitted(LogisticRegression())
    model = LinearModel.read(pipeline, TABLE.columns, threshold=0.8, favourable=favourable)
    raw = np.concatenate([pipeline[-1].intercept_, pipeline[-1].coef_[0]])
    np.testing.assert_allclose(model.oriented(np.stack([raw, 2.0 * raw]))[0], model.theta, rtol=1e-12)
    assert raw[0] == pipeline[-1].intercept_[0]


@pytest.mark.parametrize("favourable", ["no", "yes"])
@pytest.mark.parametrize("threshold", [None, 0.3, 0.7])
@pytest.mark.parametrize("ensemble", [True, False])
def test_the_score_of_a_calibrated_model_agrees_with_it(ensemble, threshold, favourable):
    pipeline = fitted(CalibratedClassifierCV(LinearSVC(), ensemble=ensemble, cv=3))
    model = LinearModel.read(pipeline, TABLE.columns, threshold=threshold, favourable=favourable)
    probability = pipeline.predict_proba(TABLE)[:, list(pipeline.classes_).index(favourable)]
    said = pipeline.predict(TABLE) == favourable if threshold is None else probability >= threshold
    assert model.accepts(TABLE).tolist() == said.tolist()
    agree = (model.encode(TABLE) @ model.theta >= 0.0) == said
    # Without an ensemble there is one score; with one, the mean of the members is near their vote.
    assert agree.mean() >= (0.97 if ensemble else 1.0)


def test_a_calibrated_probability_that_never_reaches_the_threshold_is_refused():
    pipeline = fitted(CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=3))
    with pytest.raises(InvalidInputError, match="never reaches the threshold"):
        LinearModel.read(pipeline, TABLE.columns, threshold=1.0 - 1e-12)


def test_nested_pipelines_and_steps_that_pass_through_are_taken_apart():
    inner = Pipeline([("nothing", "passthrough"), ("scale", StandardScaler()), ("decide", LogisticRegression())])
    outer = Pipeline([("scale", StandardScaler()), ("rest", inner)]).fit(TABLE, LABELS)
    model = LinearModel.read(outer, TABLE.columns)
    np.testing.assert_allclose(model.encode(TABLE) @ model.theta, outer.decision_function(TABLE), rtol=1e-9)


def test_a_model_fitted_to_an_array_takes_the_columns_in_their_order():
    classifier = LogisticRegression().fit(TABLE.to_numpy(), LABELS)
    model = LinearModel.read(classifier, TABLE.columns)
    assert model.accepts(TABLE).tolist() == (classifier.predict(TABLE.to_numpy()) == "yes").tolist()
    with pytest.raises(InvalidInputError, match="3 columns, got 2"):
        LinearModel.read(classifier, ["a", "b"])


def test_no_rows_are_encoded_as_no_rows():
    model = LinearModel.read(fitted(LogisticRegression()), TABLE.columns)
    assert model.encode(TABLE.iloc[:0]).shape == (0, 4)
    assert model.accepts(TABLE.iloc[:0]).shape == (0,)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [(LogisticRegression(), "fitted"), ("a model", "scikit-learn"), (3, "scikit-learn")],
    ids=str,
)
def test_what_is_no_fitted_model_is_refused(estimator, words):
    with pytest.raises(InvalidInputError, match=words):
        LinearModel.read(estimator, TABLE.columns)


def test_a_missing_column_and_an_unknown_label_are_named():
    pipeline = fitted(LogisticRegression())
    with pytest.raises(InvalidInputError, match="needs column 'c'"):
        LinearModel.read(pipeline, ["a", "b", "cc"])
    with pytest.raises(InvalidInputError, match="'no' and 'yes', got 'maybe'"):
        LinearModel.read(pipeline, TABLE.columns, favourable="maybe")


@pytest.mark.parametrize("steepness", [0.01, 1.0, 60.0, 1e4])
def test_a_threshold_on_a_probability_that_is_not_logistic_is_refused_however_steep_it_is(steepness):
    classifier = SGDClassifier(loss="modified_huber", random_state=0).fit(TABLE.to_numpy(), LABELS)
    # Where the scores are far from zero, this probability and the logistic function are 0 and 1 alike.
    classifier.coef_, classifier.intercept_ = np.full((1, 3), steepness), np.array([0.5 * steepness])
    with pytest.raises(InvalidInputError, match="SGDClassifier is another one"):
        LinearModel.read(classifier, TABLE.columns, threshold=0.2)


@pytest.mark.parametrize("shift", [-30.0, 0.0, 30.0])
def test_a_threshold_on_a_logistic_probability_is_accepted_wherever_the_scores_lie(shift):
    table = TABLE + shift
    classifier = LogisticRegression(C=1e3).fit(table, LABELS)
    model = LinearModel.read(classifier, table.columns, threshold=0.8)
    assert model.cutoff == pytest.approx(np.log(4.0))


def test_names_of_columns_that_are_not_text_are_refused():
    table = TABLE.set_axis([0, 1, 2], axis=1)
    classifier = LogisticRegression().fit(table, LABELS)
    with pytest.raises(InvalidInputError, match="column names must be text, got 0; rename"):
        LinearModel.read(classifier, table.columns)


def test_a_frozen_classifier_is_read_and_refitted_as_the_one_inside():
    FrozenEstimator = pytest.importorskip("sklearn.frozen").FrozenEstimator
    inner = LogisticRegression().fit(TABLE, LABELS)
    calibrated = CalibratedClassifierCV(FrozenEstimator(inner)).fit(TABLE, LABELS)
    for estimator in (FrozenEstimator(inner), calibrated):
        model = LinearModel.read(estimator, TABLE.columns)
        assert model.accepts(TABLE).tolist() == (estimator.predict(TABLE) == "yes").tolist()
        np.testing.assert_allclose(model.theta[1:], inner.coef_[0], rtol=1e-12)
        assert base_classifier(model.classifier) is inner


def test_the_base_of_a_calibrated_model_that_was_not_named_is_the_one_scikit_learn_takes():
    calibrated = CalibratedClassifierCV(cv=3).fit(TABLE, LABELS)
    assert isinstance(base_classifier(calibrated), LinearSVC)
    named = CalibratedClassifierCV(LogisticRegression(C=0.3), cv=3).fit(TABLE, LABELS)
    assert base_classifier(named).C == 0.3
