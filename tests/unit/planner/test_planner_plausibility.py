"""Plans whose options are plausible, from the setting to the files."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copa
from copa.plans.writers import written_table
from unit.planner import loans
from unit.planner.promises import Judge, broken_promises

HIGH = 0.4  # a floor that many options do not have


@pytest.fixture(scope="module")
def picky(planner, model):
    """A planner that asks for more, made from the same refits."""
    return loans.planner(model, plausibility=HIGH, **loans.same_ball(planner))


@pytest.fixture(scope="module")
def plausible(picky, declined):
    return picky.plan(declined)


@pytest.fixture(scope="module")
def careless(picky, declined):
    """Plans of the same planner that asks for nothing."""
    picky.set_params(plausibility=0.0)
    batch = picky.plan(declined)
    picky.set_params(plausibility=HIGH)
    return batch


def test_the_plausibility_of_an_option_is_that_of_its_row(picky, plausible, careless):
    for batch in (plausible, careless):
        again = picky.strategy_.space.plausibility.scores(batch.options)
        assert batch.plausibility.tobytes() == again.tobytes()
    assert (careless.plausibility < HIGH).any()


def test_no_option_is_less_plausible_than_asked_for(picky, plausible, declined):
    assert (plausible.plausibility >= HIGH).all()
    assert broken_promises(Judge.of(picky), declined, plausible) == []
    assert plausible.request.plausibility == HIGH


def test_the_search_looks_for_plausible_options_and_does_not_only_drop_others(plausible, careless):
    kept = np.bincount(careless.owner[careless.plausibility >= HIGH], minlength=len(careless))
    both = (plausible.status == "ok") & (careless.status == "ok")
    assert (plausible.counts >= kept)[both].all()
    assert plausible.counts[both].sum() > kept[both].sum()


def test_plans_that_are_plausible_anyway_stay_as_they_are(plausible, careless):
    same = 0
    for one, other in zip(plausible, careless, strict=True):
        if other.n_options and (other.plausibility >= HIGH).all():
            pd.testing.assert_frame_equal(one.options, other.options)
            same += 1
    assert same >= 1


def test_plans_do_not_depend_on_the_other_people(picky, plausible, declined):
    order = np.random.default_rng(0).permutation(len(declined))
    again = picky.plan(declined.iloc[order])
    for k, i in enumerate(order.tolist()):
        pd.testing.assert_frame_equal(again[k].options, plausible[i].options, check_exact=True)
        assert (again.status[k], again.message[k]) == (plausible.status[i], plausible.message[i])


def test_where_nothing_is_plausible_the_message_says_how_plausible_it_would_be(picky, declined):
    picky.set_params(plausibility=0.99)
    batch = picky.plan(declined)
    picky.set_params(plausibility=HIGH)
    lost = np.flatnonzero(batch.status == "infeasible")
    assert len(lost) >= 5
    own = picky.strategy_.space.plausibility.scores(declined)
    for i in lost.tolist():
        assert batch.counts[i] == 0
        assert "the most plausible accepted row that was found has a plausibility of 0." in batch.message[i]
        assert f"own row has {own[i] - 5e-4:.3f}" in batch.message[i] or f"own row has {own[i]:.3f}" in batch.message[i]
        assert batch.message[i].endswith("(plausibility=0 lifts this)")


def test_an_audit_reports_it_and_judges_nothing_by_it(picky, careless):
    audited = picky.audit(careless.select(careless.status == "ok"))
    assert (audited.status == "ok").all()
    some = careless.select(careless.status == "ok")
    assert audited.plausibility.tobytes() == some.plausibility.tobytes()
    corrected = picky.correct(some)
    assert corrected.after.plausibility.tobytes() == some.plausibility.tobytes()


def test_tables_and_documents_have_it(plausible):
    frame = plausible.to_frame()
    assert frame["plausibility"].between(HIGH, 1.0).all()
    assert written_table(plausible)["option_plausibility"].dropna().tolist() == plausible.plausibility.tolist()
    content = json.loads(plausible.to_json())
    told = [option["plausibility"] for entry in content["applicants"] for option in entry["options"]]
    assert told == plausible.plausibility.tolist()
    assert content["asked"]["plausibility"] == HIGH


def test_cards_name_only_a_plausibility_that_is_low(plausible):
    low = replace(plausible, plausibility=np.full(len(plausible.options), 0.0512))
    assert "plausibility 0." not in plausible[0]._repr_html_()
    assert low[0]._repr_html_().count("unusual combination: plausibility 0.051") == low[0].n_options


def test_a_saved_planner_plans_the_same(picky, plausible, declined, tmp_path):
    picky.save(tmp_path / "planner")
    again = copa.RecoursePlanner.load(tmp_path / "planner", picky.model)
    assert again.plausibility == HIGH
    batch = again.plan(declined.iloc[:10])
    pd.testing.assert_frame_equal(batch.options, plausible[:10].options)
    assert batch.plausibility.tobytes() == plausible[:10].plausibility.tobytes()
    batch.save(tmp_path / "plans")
    assert copa.PlanBatch.load(tmp_path / "plans").plausibility.tobytes() == batch.plausibility.tobytes()


def test_a_planner_saved_without_a_floor_holds_no_rows(picky, declined, tmp_path):
    picky.set_params(plausibility=0.0)
    picky.save(tmp_path / "planner")
    picky.set_params(plausibility=HIGH)
    again = copa.RecoursePlanner.load(tmp_path / "planner", picky.model)
    assert again.strategy_.space.plausibility is None
    assert np.isnan(again.plan(declined.iloc[:2]).plausibility).all()
    with pytest.raises(copa.InvalidInputError, match="needs training rows to compare with, and this planner has none"):
        again.set_params(plausibility=0.1).plan(declined.iloc[:2])


@pytest.mark.parametrize("value", [-0.1, 1.0, "high", None, True])
def test_what_is_no_share_is_refused(model, value):
    with pytest.raises(copa.InvalidInputError, match="plausibility must be a share of the training rows"):
        loans.planner(model, plausibility=value)
