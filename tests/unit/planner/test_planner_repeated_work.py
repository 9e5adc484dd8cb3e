"""How often a row is read, encoded and bounded: once, whoever asks about it, and judged as it is written."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa import FeatureSchema
from copa.models import LinearModel
from copa.models.black_box import BlackBox
from copa.models.direct import DirectEncoder
from copa.planner import audit, plan
from copa.planner.strategies import linear
from copa.planner.strategies.base import Strategy
from unit.planner import loans

MOST_CALLS = {"linear": 2800, "forest": 8000}  # of Python functions of the package, for one applicant
METHODS = [
    (LinearModel, "encode"),
    (LinearModel, "accepts"),
    (BlackBox, "accepts"),
    (FeatureSchema, "check"),
    (FeatureSchema, "obeys"),
    (FeatureSchema, "violations"),
    (plan, "deliver"),
    (audit, "deliver"),
    (Strategy, "write_options"),
]


@pytest.fixture
def calls(monkeypatch):
    """Counts calls by name."""
    found = Counter()

    def counting(name, function):
        def counted(*given, **named):
            found[name] += 1
            return function(*given, **named)

        return counted

    for owner, name in METHODS:
        monkeypatch.setattr(owner, name, counting(name, getattr(owner, name)))
    return found


@pytest.fixture
def same(planner):
    """What another planner for the same model need not estimate again."""
    return loans.same_ball(planner)


def test_a_block_is_encoded_once_and_so_are_its_options(planner, declined, calls):
    batch = planner.plan(declined.iloc[:20])
    assert set(batch.status) == {"ok"}
    # The model sees the applicants, the options, and the corners of their boxes; the rules are checked in the search,
    # by the judge, and at the corners.
    assert calls == {"check": 1, "encode": 3, "accepts": 3, "obeys": 3, "write_options": 1, "deliver": 1}


def test_accepted_applicants_are_encoded_with_the_others(planner, model, calls):
    people = loans.people(20, 3)
    accepted = people[model.predict(people).astype(bool)]
    assert set(planner.plan(accepted).status) == {"already_valid"}
    assert calls["check"] == 1
    assert calls["encode"] <= 2  # the second is of no options


def test_a_joint_guarantee_delivers_once_for_each_level_that_the_search_tries(model, declined, same, calls):
    joint = loans.planner(model, guarantee_for="all", **same)
    calls.clear()
    assert joint.plan(declined.iloc[:1]).status == ["ok"]
    n_levels = 1 + 1 + linear.HALVINGS  # the guarantee itself, Boole's, and those between them
    n_written = n_levels + 1  # at last the plans that are kept, of whatever level
    n_seen = n_written + 2  # and the applicant, and the corners of the boxes
    expected = {"check": 1, "encode": n_seen, "accepts": n_seen, "write_options": n_written, "deliver": 1}
    assert calls == expected | {"obeys": n_levels + 2}


def test_an_audit_reads_every_row_once(planner, batch, calls):
    planner.audit(batch)
    # The judge is asked of all rows at once, and for words about those that it refuses only.
    # Applicants of plans made elsewhere are encoded once more, for the reliability within their limits.
    assert calls == {"check": 2, "encode": 3, "accepts": 1, "obeys": 1, "violations": 1, "deliver": 1}


@pytest.mark.parametrize("method", ["level", "mahalanobis"])
def test_a_correction_reads_every_row_once_and_every_row_that_it_writes(planner, declined, model, same, calls, method):
    weak = loans.planner(model, guarantee=0.3, **same).plan(declined.iloc[:5])
    calls.clear()
    fixed = planner.correct(weak, method=method)
    assert (fixed.moved > 0.0).any()
    assert not fixed.left_out.any()
    # The applicants, their options and the corrected options are encoded; the judge sees the corrected rows by
    # themselves, and the audits the plans before and after.
    assert calls == {"check": 2, "encode": 5, "accepts": 3, "obeys": 3, "violations": 2, "deliver": 2}


def test_a_black_box_is_asked_for_its_verdict_once_for_the_applicants_and_once_for_the_options(calls):
    model = loans.fitted_pipeline(RandomForestClassifier(20, min_samples_leaf=5, random_state=0))
    n_models = 4
    forest = loans.planner(model, later_models=copa.LaterModels(n_refits=n_models), guarantee=0.5)
    people = loans.people(60, 3)
    calls.clear()
    batch = forest.plan(people[~model.predict(people).astype(bool)].iloc[:4])
    assert len(batch.options) > 0
    assert calls["accepts"] == 2  # the refits are asked for scores
    assert (calls["check"], calls["deliver"]) == (1, 1)


@pytest.fixture(scope="module")
def german():
    """A planner for the German credit data, and declined applicants."""
    data = copa.datasets.load_german()
    levels = [feature.name for feature in data.schema.features if feature.is_categorical]
    numbers = [feature.name for feature in data.schema.features if feature.is_numeric]
    encoder = ColumnTransformer([("levels", OneHotEncoder(), levels), ("numbers", StandardScaler(), numbers)])
    model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(data.features, data.favourable)
    later = copa.LaterModels(n_refits=50)
    settings = {"guarantee": 0.7, "later_models": later, "random_state": 0, "progress": False}
    planner = copa.RecoursePlanner(model, schema=data.schema, **settings).fit(data.features, data.favourable)
    return planner, data.features[~model.predict(data.features)], data.features[model.predict(data.features)]


@pytest.fixture
def encoded(monkeypatch):
    """Numbers of rows that the encoder of a linear model was given, call by call."""
    sizes, original = [], DirectEncoder.encode

    def encode(self, table):
        sizes.append(len(table))
        return original(self, table)

    monkeypatch.setattr(DirectEncoder, "encode", encode)
    return sizes


def test_an_applicant_is_encoded_once_and_each_option_once(german, encoded):
    planner, declined, _ = german
    batch = planner.plan(declined.iloc[:1])
    assert batch.status.tolist() == ["ok"]
    assert encoded[:2] == [1, len(batch.options)]  # what follows are the corners of the intervals, which are other rows


def test_accepted_applicants_are_encoded_once(german, encoded):
    planner, _, accepted = german
    assert set(planner.plan(accepted.iloc[:20]).status) == {"already_valid"}
    assert encoded == [20]


def test_a_plan_is_bounded_once(planner, declined, monkeypatch):
    sizes, original = [], plan.bound_plans

    def bound_plans(ambiguity, points, *rest):
        sizes.append(len(points))
        return original(ambiguity, points, *rest)

    monkeypatch.setattr(plan, "bound_plans", bound_plans)
    batch = planner.plan(declined.iloc[:4])
    assert sizes == [len(batch.options)]


def count_calls(work):
    """How many Python functions of the package a call of `work` calls."""
    package, n_calls = str(Path(copa.__file__).parent), 0

    def count(frame, event, _):
        nonlocal n_calls
        n_calls += event == "call" and frame.f_code.co_filename.startswith(package)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n_calls


def test_one_applicant_of_a_linear_model_takes_few_calls(german):
    planner, declined, _ = german
    planner.plan(declined.iloc[:1])  # what a planner makes once
    assert count_calls(lambda: planner.plan(declined.iloc[1:2])) <= MOST_CALLS["linear"]


def test_one_applicant_of_a_forest_takes_few_calls():
    model = loans.fitted_pipeline(RandomForestClassifier(20, min_samples_leaf=5, random_state=0))
    later = copa.LaterModels(n_refits=12)
    forest, people = loans.planner(model, later_models=later, guarantee=0.5), loans.people(60, 3)
    declined = people[~model.predict(people).astype(bool)]
    forest.plan(declined.iloc[:1])
    assert count_calls(lambda: forest.plan(declined.iloc[1:2])) <= MOST_CALLS["forest"]
