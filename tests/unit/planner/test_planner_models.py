"""Labels, thresholds, calibration and pipelines: the user's own model decides what is accepted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import copa
from cases import mostly_extended
from unit.planner import loans
from unit.planner.promises import Judge, broken_promises

TRAINING = loans.people(300, 0)
PEOPLE = loans.people(80, 7)
FEW = {"later_models": copa.LaterModels(n_refits=20)}  # for models that are refitted one by one


def raw_theta(classifier):
    return np.concatenate([np.ravel(classifier.intercept_), np.ravel(classifier.coef_)])


def plan_and_judge(model, accepts, turned, *, people=PEOPLE, labels=None, **settings):
    """Plan with given moments; return the batch after checking every promise against the test's own orientation."""
    cov = 0.001 * np.eye(turned.size)
    labels = loans.outcomes(TRAINING) if labels is None else labels
    planner = copa.RecoursePlanner(
        model,
        **{"schema": loans.SCHEMA, **loans.FAST, **settings, "later_models": copa.MomentBall(turned, cov, 0.01)},
    ).fit(TRAINING, labels)
    np.testing.assert_allclose(planner.moments_.mean, turned, rtol=1e-12, atol=1e-12)
    batch = planner.plan(people)
    judge = Judge(model, planner.schema_, accepts, turned, cov, 0.01)
    assert broken_promises(judge, people, batch) == []
    assert (batch.status == "already_valid").tolist() == np.asarray(accepts(people)).tolist()
    assert (batch.status == "ok").sum() >= 5
    return batch


@pytest.mark.parametrize("favourable", ["bad", "good"])
def test_either_of_two_text_labels_may_be_the_favourable_one(favourable):
    labels = np.where(loans.outcomes(TRAINING), "good", "bad")
    model = loans.fitted_pipeline(labels=labels)
    sign = 1.0 if favourable == "good" else -1.0
    batch = plan_and_judge(
        model,
        lambda rows: model.predict(rows) == favourable,
        sign * raw_theta(model[-1]),
        labels=labels,
        favourable=favourable,
    )
    assert batch.basis.favourable == favourable


@pytest.mark.parametrize("favourable", [0, 1])
@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.2])
def test_a_probability_threshold_is_the_users(threshold, favourable):
    labels = loans.outcomes(TRAINING).astype(int)
    model = loans.fitted_pipeline(labels=labels)
    sign = 1.0 if favourable == 1 else -1.0
    turned = sign * raw_theta(model[-1])
    turned[0] -= np.log(threshold / (1.0 - threshold))
    plan_and_judge(
        model,
        lambda rows: model.predict_proba(rows)[:, favourable] >= threshold,
        turned,
        labels=labels,
        threshold=threshold,
        favourable=favourable,
    )


@pytest.mark.parametrize("threshold", [-0.2, 0.3])
@pytest.mark.parametrize("favourable", [False, True])
def test_a_model_without_probabilities_takes_a_decision_value(threshold, favourable):
    model = loans.fitted_pipeline(LinearSVC())
    sign = 1.0 if favourable else -1.0
    turned = sign * raw_theta(model[-1])
    turned[0] -= threshold
    plan_and_judge(
        model,
        lambda rows: sign * model.decision_function(rows) >= threshold,
        turned,
        threshold=threshold,
        favourable=favourable,
    )


@pytest.mark.parametrize(
    "classifier",
    [
        LinearSVC(),
        pytest.param(RidgeClassifier(), marks=pytest.mark.extended),
        pytest.param(SGDClassifier(alpha=0.05, random_state=0), marks=pytest.mark.extended),
        pytest.param(Perceptron(random_state=0), marks=pytest.mark.extended),
        LogisticRegression(C=0.1),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_every_kind_of_linear_classifier_is_refitted_and_planned_for(classifier):
    model = loans.fitted_pipeline(classifier)
    planner = loans.planner(model, guarantee=0.6, **FEW)
    batch = planner.plan(PEOPLE)
    assert broken_promises(Judge.of(planner), PEOPLE, batch) == []
    assert set(batch.status) <= {"ok", "already_valid", "fragile"}
    assert len(batch.options) > 50


CALIBRATED = {
    f"{name}-{threshold}-{ensemble}": (base, threshold, ensemble)
    for name, base in (("svc", LinearSVC()), ("logistic", LogisticRegression()))
    for threshold in (None, 0.6)
    for ensemble in (True, False)
}
QUICK = ("svc-None-True", "svc-0.6-False", "logistic-0.6-True")


@pytest.mark.parametrize(
    "case",
    [
        *mostly_extended(QUICK, QUICK[:1]),
        *(pytest.param(c, marks=pytest.mark.slow) for c in CALIBRATED if c not in QUICK),
    ],
)
def test_a_calibrated_classifier_accepts_every_option(case):
    base, threshold, ensemble = CALIBRATED[case]
    model = loans.fitted_pipeline(CalibratedClassifierCV(base, ensemble=ensemble, cv=3, method="sigmoid"))
    planner = loans.planner(model, threshold=threshold, guarantee=0.6, **FEW)
    batch = planner.plan(PEOPLE)

    def accepts(rows):
        return model.predict(rows) if threshold is None else model.predict_proba(rows)[:, 1] >= threshold

    judge = replace(Judge.of(planner), accepts=accepts)
    assert broken_promises(judge, PEOPLE, batch) == []
    assert (batch.status == "already_valid").tolist() == accepts(PEOPLE).tolist()
    assert len(batch.options) > 50


@pytest.mark.extended
def test_components_of_numeric_columns_are_seen_through():
    encoder = ColumnTransformer(
        [
            ("numbers", make_pipeline(StandardScaler(), PCA(2)), loans.NUMBERS),
            ("rest", OneHotEncoder(), ["job", "grade", "married"]),
        ]
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(TRAINING, loans.outcomes(TRAINING))
    planner = loans.planner(model)
    batch = planner.plan(PEOPLE)
    assert broken_promises(Judge.of(planner), PEOPLE, batch) == []
    assert (batch.status == "ok").sum() > 10


def test_components_after_the_encoder_are_seen_through():
    model = make_pipeline(loans.encoder(), PCA(5), LogisticRegression()).fit(TRAINING, loans.outcomes(TRAINING))
    planner = loans.planner(model, guarantee=0.6, **FEW)
    batch = planner.plan(PEOPLE)
    assert broken_promises(Judge.of(planner), PEOPLE, batch) == []
    assert len(batch.options) > 50


def test_a_missing_immutable_value_is_imputed_by_the_pipeline_and_stays_missing():
    rng = np.random.default_rng(3)

    def with_gaps(table):
        return table.astype({"age": "float64"}).mask(
            pd.DataFrame({name: (rng.random(len(table)) < 0.4) & (name == "age") for name in table}, index=table.index)
        )

    training, people = with_gaps(TRAINING), with_gaps(PEOPLE)
    encoder = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), loans.NUMBERS),
            ("rest", OneHotEncoder(), ["job", "grade", "married"]),
        ]
    )
    labels = loans.outcomes(TRAINING)
    model = make_pipeline(encoder, LogisticRegression()).fit(training, labels)
    planner = copa.RecoursePlanner(model, schema=loans.SCHEMA, **loans.FAST).fit(training, labels)
    batch = planner.plan(people)
    assert broken_promises(Judge.of(planner), people, batch) == []
    assert "error" not in batch.status
    assert batch.options["age"].isna().any()


def test_the_best_pipeline_of_a_search_is_the_model():
    labels = loans.outcomes(TRAINING)
    search = GridSearchCV(loans.pipeline(), {"logisticregression__C": [0.5, 1.0]}, cv=2).fit(TRAINING, labels)
    found = loans.planner(search).plan(PEOPLE)
    direct = loans.planner(search.best_estimator_).plan(PEOPLE)
    assert found.to_json() == direct.to_json()


def test_a_classifier_without_a_pipeline_takes_the_raw_columns():
    table = TRAINING[["income", "debt", "age"]]
    labels = loans.outcomes(TRAINING)
    people = PEOPLE[table.columns]
    for given in (table, table.to_numpy()):
        model = LogisticRegression(max_iter=1000).fit(given, labels)
        planner = copa.RecoursePlanner(model, schema=copa.FeatureSchema(loans.SCHEMA.features[:3]), **loans.FAST)
        batch = planner.fit(table, labels).plan(people)
        assert (batch.status == "ok").sum() > 10
        assert model.predict(batch.options if given is table else batch.options.to_numpy()).all()


def test_columns_that_the_model_does_not_know_are_handed_through(planner):
    extra = PEOPLE.assign(name=[f"n{k}" for k in range(len(PEOPLE))], zero=-0.0)
    batch, plain = planner.plan(extra), planner.plan(PEOPLE)
    assert batch.options["name"].tolist() == extra["name"].iloc[batch.owner].tolist()
    assert np.signbit(batch.options["zero"]).all()
    pd.testing.assert_frame_equal(batch.options[PEOPLE.columns], plain.options)
