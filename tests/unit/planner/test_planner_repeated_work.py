"""How often the model, the schema and the delivery are called: once for each block, unless the search asks again."""

from collections import Counter

import pytest
from sklearn.ensemble import RandomForestClassifier

import copa
from copa import FeatureSchema
from copa.models import LinearModel
from copa.models.black_box import BlackBox
from copa.planner import external, plan
from copa.planner.strategies import linear
from unit.planner import loans

METHODS = [
    (LinearModel, "encode"),
    (LinearModel, "accepts"),
    (BlackBox, "accepts"),
    (FeatureSchema, "check"),
    (FeatureSchema, "obeys"),
    (FeatureSchema, "violations"),
    (plan, "deliver"),
    (external, "deliver"),
    (linear, "write_options"),
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
    assert calls == {"check": 2, "encode": 2, "accepts": 1, "obeys": 1, "violations": 1, "deliver": 1}


@pytest.mark.parametrize("method", ["level", "mahalanobis"])
def test_a_correction_reads_every_row_once_and_every_row_that_it_writes(planner, declined, model, same, calls, method):
    weak = loans.planner(model, guarantee=0.3, **same).plan(declined.iloc[:5])
    calls.clear()
    fixed = planner.correct(weak, method=method)
    assert (fixed.moved > 0.0).any()
    assert not fixed.left_out.any()
    # The applicants, their options and the corrected options are encoded; the judge sees the corrected rows by
    # themselves, and the audits the plans before and after.
    assert calls == {"check": 2, "encode": 3, "accepts": 3, "obeys": 3, "violations": 2, "deliver": 2}


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
