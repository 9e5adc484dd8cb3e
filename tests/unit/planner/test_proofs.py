"""What proofs about plans say, and of whom."""

from dataclasses import replace

import numpy as np
import pytest

import copa
from copa.exceptions import InvalidInputError
from copa.planner.proofs import Proofs
from unit.planner import loans


@pytest.fixture(scope="module")
def alone(model):
    """One option each, with nothing asked of its plausibility."""
    return loans.planner(model, n_options=1, plausibility=0.0)


def test_nobody_is_proven_of_whom_no_plan_was_sought(alone):
    accepted = loans.people(60, 3)
    accepted = accepted[alone.model.predict(accepted)].head(2)
    proofs = alone.prove(alone.plan(accepted))
    assert proofs.verdict.tolist() == ["", ""]
    assert repr(proofs) == "nothing to prove: no plan was sought"
    assert len(proofs.rows) == 0


def test_plans_of_one_option_are_near_the_bound(alone, declined):
    batch = alone.plan(declined.head(12))
    frame = alone.prove(batch).to_frame()
    planned = frame[batch.status == "ok"]
    assert len(planned) >= 8
    assert planned["verdict"].isin(["optimal", "bounded"]).all()
    assert (planned["bound"] <= planned["cost"]).all()
    assert planned["gap"].median() <= 0.001


def test_a_row_that_was_met_is_as_cheap_as_the_bound_and_obeys(alone, declined):
    batch = alone.plan(declined.head(12))
    proofs = alone.prove(batch)
    assert len(proofs.rows) > 0
    own = batch.applicants.iloc[proofs.rows.index]
    assert not any(alone.schema_.violations(own, proofs.rows))
    assert alone.model.predict(proofs.rows[list(batch.applicants.columns)]).all()


def test_a_plan_without_options_is_proven_or_a_row_is_named(alone, declined):
    asking = alone.with_wishes(copa.Wishes(guarantee=0.9999))
    batch = asking.plan(declined.head(6))
    assert (batch.status != "ok").any()
    verdicts = asking.prove(batch).verdict[batch.status != "ok"]
    assert set(verdicts.tolist()) <= {"none exists", "missed"}


def test_the_summary_counts_the_verdicts():
    verdict = np.array(["optimal", "bounded", "bounded", ""])
    proofs = Proofs(verdict, np.array([1.0, 2.0, 3.0, np.inf]), np.array([1.0, 1.6, 2.9, np.nan]), None)
    assert repr(proofs).splitlines() == [
        "1 optimal: the cheapest option is the cheapest row there is",
        "2 bounded: a cheaper row is not ruled out; none is below the bound",
        "bounded ones cost up to 25.0 % more than their bound",
    ]


def test_a_model_that_is_only_queried_is_refused_by_name():
    from sklearn.neighbors import KNeighborsClassifier

    table = loans.people(150, 7)
    model = loans.fitted_pipeline(KNeighborsClassifier(15))
    later = copa.LaterModels(n_refits=4)
    planner = copa.RecoursePlanner(model, loans.SCHEMA, guarantee=0.5, n_options=1, later_models=later)
    planner.fit(table, model.predict(table))
    batch = planner.plan(table[~model.predict(table)].head(1))
    with pytest.raises(InvalidInputError, match="only for linear models and tree ensembles"):
        planner.prove(batch)


@pytest.mark.parametrize("limit", [0.0, -1.0, "soon"])
def test_a_time_limit_that_is_none_is_refused(alone, declined, limit):
    with pytest.raises(InvalidInputError, match="time_limit"):
        alone.prove(alone.plan(declined.head(1)), time_limit=limit)


def test_expected_rates_are_proven_by_the_law_that_is_expected(alone, declined):
    batch = alone.plan(declined.head(8))
    rates = replace(batch, request=replace(batch.request, expected=True))  # which cheaper rows reach
    some = batch.status == "ok"
    guaranteed, expected = alone.prove(batch).bound[some], alone.prove(rates).bound[some]
    assert len(guaranteed) >= 5
    assert (expected < 0.95 * guaranteed).all()


def test_a_fragile_plan_of_which_nothing_was_asked_option_by_option_is_left_out(alone, declined):
    asking = alone.with_wishes(copa.Wishes(guarantee=0.9999, guarantee_for="any"))
    batch = asking.plan(declined.head(6))
    assert (batch.status == "fragile").any()
    assert (asking.prove(batch).verdict[batch.status == "fragile"] == "").all()


def test_a_bound_of_zero_has_no_share_that_could_be_told():
    proofs = Proofs(np.array(["bounded"]), np.array([2.0]), np.array([0.0]), None)
    assert repr(proofs) == "1 bounded: a cheaper row is not ruled out; none is below the bound"
    assert proofs.to_frame()["gap"].tolist() == [np.inf]
