"""The sentence about what was tested stands beside requests of the tested kind only."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import copa
from copa.plans.wording import assumption
from copa.report.validators import assumption_sentences

TESTED, UNTESTED = "Tested for logistic regressions", "of this kind of request was not tested"
SETTINGS = {
    "guarantee": 0.9,
    "n_options": 2,
    "later_models": copa.LaterModels(n_refits=40),
    "n_starts": 2,
    "n_jobs": 1,
    "progress": False,
}


def table(n=600, seed=0):
    X = pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 4)).round(1), columns=["a", "b", "c", "d"])
    return X, X.sum(axis=1) + np.random.default_rng(1).normal(size=n) > 0


def planned(planner, X):
    batch = planner.plan(X[~planner.model.predict(X)].head(2))
    sentences = assumption_sentences(batch.ambiguity, batch.basis, batch.request)
    said = assumption(batch.ambiguity, batch.basis, batch.request)
    assert (TESTED in said) == any(TESTED in one for one in sentences)
    return said


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def planner(data):
    X, y = data
    return copa.RecoursePlanner(LogisticRegression().fit(X, y), **SETTINGS).fit(X, y)


def test_a_request_of_the_tested_kind_is_told_what_was_tested(planner, data):
    said = planned(planner, data[0])
    assert TESTED in said
    assert UNTESTED not in said


@pytest.mark.parametrize(
    "wishes",
    [
        {"fixed": ["a", "b"]},
        {"max_change": {"a": {"up": 1.0}}},
        {"guarantee": 0.7},
        {"guarantee": 0.99},
        {"guarantee_for": "any"},
        {"guarantee_for": "all"},
    ],
    ids=str,
)
def test_another_request_is_told_that_it_was_not_tested(planner, data, wishes):
    said = planned(planner.with_wishes(copa.Wishes(**wishes)), data[0])
    assert UNTESTED in said
    assert "Tested" not in said


@pytest.mark.parametrize(
    ("model", "n_rows", "more"),
    [
        (RidgeClassifier(), 600, {}),
        (LogisticRegression(), 250, {}),
        (LogisticRegression(), 600, {"cost": "l2"}),
        (LogisticRegression(), 600, {"threshold": 0.6}),
        (LogisticRegression(), 600, {"later_models": copa.LaterModels(family="gaussian")}),
        (
            LogisticRegression(),
            600,
            {"later_models": copa.LaterModels(history=[table(600, 5), table(600, 6), table(600, 7)])},
        ),
    ],
    ids=["another model", "too few rows", "another cost", "a threshold", "another family", "a history"],
)
def test_another_planner_says_that_it_was_not_tested(model, n_rows, more):
    X, y = table(n_rows)
    planner = copa.RecoursePlanner(model.fit(X, y), **SETTINGS | more).fit(X, y)
    assert "Tested" not in planned(planner, X)


def test_plans_that_others_made_were_not_tested(planner, data):
    X = data[0][~planner.model.predict(data[0])].head(1)
    batch = planner.audit([X + 2.0], X)
    assert "Tested" not in batch[0].explain()
