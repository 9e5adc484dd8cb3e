import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC

from copa.exceptions import InvalidInputError, RetrainingError
from copa.models.black_box import BlackBox
from copa.models.linear import LinearModel
from copa.models.refits.history import refit_versions, version_scores
from unit.planner import loans


def table_and_labels(seed, n=200):
    table = loans.people(n, seed)
    return table, outcomes_as_text(table, seed)


def outcomes_as_text(table, seed=1):
    return np.where(loans.outcomes(table, seed), "paid", "lost")


def fitted(seed, classifier=None, **onehot):
    return loans.pipeline(classifier, **onehot).fit(*table_and_labels(seed))


@pytest.fixture(scope="module")
def rows():
    return loans.people(25, 5)


def test_linear_versions_have_their_own_encoders_and_cutoffs(rows):
    old, new = fitted(1), fitted(2)
    like = LinearModel.read(new, rows.columns, threshold=0.7, favourable="lost")  # the first of the two labels
    wanted = [-version.decision_function(rows) - np.log(0.7 / 0.3) for version in (old, new)]
    np.testing.assert_allclose(version_scores([old, new], rows, like), wanted, atol=1e-12)
    accepted = np.array([version.predict_proba(rows)[:, 0] >= 0.7 for version in (old, new)])
    assert ((version_scores([old, new], rows, like) >= 0.0) == accepted).all()


def test_feature_maps_and_black_boxes_are_read_alike(rows):
    rows = rows[loans.NUMBERS]
    curved = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression())
    table, labels = table_and_labels(1)
    curved.fit(table[loans.NUMBERS], labels)
    like = LinearModel.read(curved, rows.columns)
    np.testing.assert_allclose(version_scores([curved], rows, like)[0], curved.decision_function(rows), atol=1e-12)


def test_scores_of_black_boxes_are_cut_off_where_those_of_the_one_in_force_are(rows):
    old, new = (fitted(k, RandomForestClassifier(20, random_state=0)) for k in (1, 2))
    like = BlackBox.read(new, rows.columns).clipped_for(loans.people(200, 2))
    scores = version_scores([old, new], rows, like)
    assert (scores[1] == like.scores(rows)).all()
    assert np.abs(scores[0]).max() <= np.log((1 - like.clip) / like.clip) + 1e-12
    assert ((scores[0] >= 0) == (old.predict(rows) == "paid")).all()


def test_versions_of_another_kind_with_log_odds_are_compared(rows):
    forest = fitted(1, RandomForestClassifier(20, random_state=0))
    like = LinearModel.read(fitted(2), rows.columns)
    assert ((version_scores([forest], rows, like)[0] >= 0) == (forest.predict(rows) == "paid")).all()
    logistic = fitted(2)
    like = BlackBox.read(forest, rows.columns)
    chance = np.clip(logistic.predict_proba(rows)[:, 1], like.clip, 1 - like.clip)
    np.testing.assert_allclose(version_scores([logistic], rows, like)[0], np.log(chance / (1 - chance)), atol=1e-9)


def test_an_older_version_may_know_fewer_columns_and_another_order(rows):
    table, labels = table_and_labels(1)
    old = LogisticRegression().fit(table[["debt", "income"]], labels)
    like = LinearModel.read(fitted(2), rows.columns)
    np.testing.assert_allclose(
        version_scores([old], rows, like)[0], old.decision_function(rows[["debt", "income"]]), atol=1e-12
    )


def test_models_without_names_get_the_columns_in_the_order_of_the_one_in_force(rows):
    table, labels = table_and_labels(1)
    new = LogisticRegression().fit(table[["debt", "income"]], labels)
    old = LogisticRegression().fit(table[["debt", "income"]].to_numpy(), labels)
    like = LinearModel.read(new, rows.columns)
    np.testing.assert_allclose(
        version_scores([old], rows, like)[0], old.decision_function(rows[["debt", "income"]].to_numpy()), atol=1e-12
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (loans.pipeline, "version 2 of the model cannot be used: .* is not a fitted classifier"),
        (lambda: loans.pipeline(RandomForestClassifier()), "version 2 of the model cannot be used: .* not a fitted"),
        (
            lambda: LogisticRegression().fit(pd.DataFrame({"wage": [1.0, 2.0]}), ["lost", "paid"]),
            "version 2 of the model cannot be used: the model needs column 'wage', which the table lacks",
        ),
        (
            lambda: loans.pipeline().fit(loans.people(80, 3), loans.outcomes(loans.people(80, 3))),
            "version 2 of the model chooses between False, True, the one in force between 'lost', 'paid'",
        ),
        (
            lambda: loans.pipeline().fit(loans.people(90, 3), ["lost", "paid", "late"] * 30),
            "version 2 of the model cannot be used: .* 2 classes, it has 3|version 2 .* must have 2 classes",
        ),
        (
            lambda: fitted(3, LinearSVC()),
            "version 2 of the model has decision values of LinearSVC as scores, the one in force log-odds",
        ),
        (
            lambda: loans.pipeline().fit(*few_jobs()),
            "version 2 of the model refuses reference rows: Found unknown categories",
        ),
        (lambda: "model-2024.skops", "version 2 of the model cannot be used"),
    ],
)
def test_a_version_that_cannot_be_used_is_named(rows, make, message):
    like = LinearModel.read(fitted(2), rows.columns)
    with pytest.raises(InvalidInputError, match=message):
        version_scores([fitted(1), make()], rows, like)


def few_jobs():
    table, labels = table_and_labels(3)
    return table[table["job"] != "nurse"], labels[table["job"] != "nurse"]


def test_decision_values_of_one_kind_are_compared_and_of_two_kinds_not(rows):
    old, new = fitted(1, RidgeClassifier()), fitted(2, RidgeClassifier())
    like = LinearModel.read(new, rows.columns)
    np.testing.assert_allclose(version_scores([old], rows, like)[0], old.decision_function(rows), atol=1e-12)
    with pytest.raises(InvalidInputError, match=r"version 1 .* LinearSVC as scores, the one in force .* Ridge"):
        version_scores([fitted(1, LinearSVC())], rows, like)


def test_calibrated_versions_are_cut_off_at_their_own_threshold(rows):
    versions = [fitted(k, CalibratedClassifierCV(LinearSVC(), ensemble=False)) for k in (1, 2)]
    like = LinearModel.read(versions[1], rows.columns, threshold=0.6)
    scores = version_scores(versions, rows, like)
    assert ((scores[0] >= 0) == (versions[0].predict_proba(rows)[:, 1] >= 0.6)).all()


def test_one_model_is_no_history(rows):
    with pytest.raises(InvalidInputError, match="history must be a list of fitted models, oldest first, got Pipeline"):
        version_scores(fitted(1), rows, LinearModel.read(fitted(2), rows.columns))


def test_versions_are_fitted_to_older_data_as_the_model_in_force_is():
    new = fitted(2, LogisticRegression(C=0.01), handle_unknown="ignore")
    before = new[-1].coef_.copy()
    old, older = table_and_labels(1), table_and_labels(3)
    versions = refit_versions(LinearModel.read(new, old[0].columns), [older, old])
    wanted = [loans.pipeline(LogisticRegression(C=0.01), handle_unknown="ignore").fit(*data) for data in (older, old)]
    for version, other in zip(versions, wanted, strict=True):
        assert (version[-1].coef_ == other[-1].coef_).all()
    assert (new[-1].coef_ == before).all()
    assert (refit_versions(new, [older])[0][-1].coef_ == wanted[0][-1].coef_).all()  # an estimator as it is


def test_columns_that_the_model_does_not_use_are_no_part_of_older_data():
    table, labels = table_and_labels(1)
    new = LogisticRegression().fit(table[["income", "debt"]], labels)
    (version,) = refit_versions(new, [(table, labels)])
    assert list(version.feature_names_in_) == ["income", "debt"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (loans.people(9, 0), r"the data of version 1 must be a pair \(X, y\), got DataFrame"),
        ((np.zeros((3, 2)), [0, 1, 1]), "the data of version 1 must be a DataFrame .*, got ndarray"),
        ((loans.people(9, 0).drop(columns="debt"), [0, 1, 1] * 3), "the data of version 1 lack the column 'debt'"),
        ((loans.people(9, 0), [0, 1, 1]), r"the data of version 1: y must have shape \(9,\)"),
        ((loans.people(9, 0), ["paid"] * 9), "the data of version 1 have 9 rows of one class only"),
    ],
)
def test_older_data_that_cannot_be_used_are_named(data, message):
    with pytest.raises(InvalidInputError, match=message):
        refit_versions(fitted(2), [data])


def test_a_fit_that_fails_is_named():
    table, labels = table_and_labels(1)
    with pytest.raises(RetrainingError, match="Pipeline cannot be fitted to the data of version 2"):
        refit_versions(fitted(2), [(table, labels), (table.assign(income="much"), labels)])
