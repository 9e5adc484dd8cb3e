"""Which label an applicant wants, and models that are no better than the more frequent one."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import copa
from copa.exceptions import InvalidInputError, WeakModelWarning
from copa.planner.labels import read_favourable, weakness_in_words
from unit.planner import loans

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(200, 2)).round(2), columns=["income", "savings"])
GOOD = (TABLE["income"] + TABLE["savings"] + 0.3 * RNG.normal(size=200) > 0.5).to_numpy()
FAST = {"later_models": copa.LaterModels(n_refits=20), "n_options": 1, "n_starts": 2, "n_jobs": 1, "progress": False}


def planner_for(labels, **settings):
    model = LogisticRegression().fit(TABLE, labels)
    return copa.RecoursePlanner(model, **FAST, **settings).fit(TABLE, labels)


@pytest.mark.parametrize("given", [{}, {"y": None}], ids=["with labels", "without"])
def test_rows_that_the_model_cannot_read_are_said_when_the_planner_is_fitted(given):
    table = loans.people(300, 0)
    fitted = loans.planner(loans.fitted_pipeline())
    settings = loans.FAST | loans.same_ball(fitted)

    class Picky(LogisticRegression):
        def predict(self, _):
            raise OverflowError("income out of range")

    planner = copa.RecoursePlanner(loans.fitted_pipeline(Picky()), schema=loans.SCHEMA, **settings)
    with pytest.raises(InvalidInputError, match=r"cannot read a row of X .OverflowError: income out of range"):
        planner.fit(table, **{"y": loans.outcomes(table)} | given)


class Counting(LogisticRegression):
    """Counts how often any of its clones is fitted."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("labels", [GOOD.astype(int), np.where(GOOD, "paid", "late")])
def test_a_fit_without_the_favourable_label_stops_with_both_and_their_shares(labels):
    share = f"{GOOD.mean():.1%} of the rows"
    with pytest.raises(copa.InvalidInputError, match="favourable must say which label") as caught:
        planner_for(labels)
    assert share in str(caught.value)
    for label in np.unique(labels).tolist():
        assert f"favourable={label!r}" in str(caught.value)


@pytest.mark.parametrize("label", ["late", "paid"])
def test_the_schema_may_name_the_favourable_label(label, tmp_path):
    labels = np.where(GOOD, "paid", "late")
    content = copa.FeatureSchema.infer(TABLE).to_dict() | {"favourable": label}
    schema = copa.FeatureSchema.from_dict(content)
    assert schema.replace(income={"immutable": True}).to_dict()["favourable"] == label
    planner = planner_for(labels, schema=schema)
    assert planner.strategy_.model.favourable == label
    planner.save(tmp_path / "p.copa")
    again = copa.RecoursePlanner.load(tmp_path / "p.copa", planner.model)
    assert again.strategy_.model.favourable == again.favourable == label


def test_the_setting_wins_over_the_schema_and_a_label_is_matched_by_its_text():
    model = LogisticRegression().fit(TABLE, GOOD.astype(int))
    schema = copa.FeatureSchema.from_dict(copa.FeatureSchema.infer(TABLE).to_dict() | {"favourable": "0"})
    assert read_favourable(None, schema, model) == 0
    assert read_favourable(1, schema, model) == 1
    wrong = copa.FeatureSchema.from_dict(schema.to_dict() | {"favourable": "yes"})
    with pytest.raises(copa.InvalidInputError, match=r"says favourable: 'yes', and the labels .* are 0, 1"):
        read_favourable(None, wrong, model)


def test_true_is_favourable_also_to_models_that_make_it_1():
    model = LogisticRegression().fit(TABLE, GOOD.astype(int))
    assert read_favourable(None, None, model, GOOD) == 1
    assert read_favourable(None, None, LogisticRegression().fit(TABLE, GOOD)) == True  # noqa: E712 - the label


def test_a_label_that_the_model_does_not_know_is_said_before_any_refit():
    labels = np.where(GOOD, "paid", "late")
    model = Counting().fit(TABLE, labels)
    Counting.fits = 0
    typo = labels.copy()
    typo[7] = "payd"
    with pytest.raises(copa.InvalidInputError, match="y must hold the model's labels, 'late' and 'paid', got 'payd'"):
        copa.RecoursePlanner(model, favourable="paid", **FAST).fit(TABLE, typo)
    with pytest.raises(copa.InvalidInputError, match="favourable must say"):
        copa.RecoursePlanner(model, **FAST).fit(TABLE, labels)
    assert Counting.fits == 0


@pytest.mark.parametrize("make", [LogisticRegression, lambda: RandomForestClassifier(5, random_state=0)])
def test_a_model_no_better_than_the_majority_is_warned_of(make):
    noise = np.random.default_rng(1).random(200) < 0.8
    model = make().fit(TABLE, noise)
    weak = DummyClassifier(strategy="most_frequent").fit(TABLE, noise)
    model.predict = weak.predict
    with pytest.warns(WeakModelWarning, match=r"than always answering True: it is right on [78]\d\.\d% of the"):
        copa.RecoursePlanner(model, **FAST).fit(TABLE, noise)


def test_a_model_that_weighs_the_rarer_label_more_is_not_weak_for_that():
    labels = np.repeat([True, False], [95, 5])
    balanced = np.concatenate([np.arange(95) >= 15, [False] * 5])  # right on 85 of 100, on all of the rarer
    assert weakness_in_words(balanced, labels) == ""
    assert "no better than always answering True: it is right on 95.0%" in weakness_in_words(np.ones(100, bool), labels)
    assert "it is right on 51.0%" in weakness_in_words(np.arange(100) % 2 == 0, labels)
    assert weakness_in_words(labels, labels) == ""


def test_a_model_is_judged_by_its_threshold_and_not_by_predict():
    rare = TABLE.sum(axis=1).to_numpy() + np.random.default_rng(5).logistic(scale=1.0, size=len(TABLE)) > 3.2
    model = LogisticRegression(C=0.01).fit(TABLE, rare)
    assert not model.predict(TABLE).any()  # predict is no better than "no", and a low threshold is
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakModelWarning)
        copa.RecoursePlanner(model, threshold=float(rare.mean()), **FAST).fit(TABLE, rare)
    good = LogisticRegression().fit(TABLE, GOOD)
    with pytest.warns(WeakModelWarning, match="at its threshold of 1, is no better .* another threshold, or"):
        copa.RecoursePlanner(good, threshold=1.0 - 1e-9, **FAST).fit(TABLE, GOOD)
