"""Reliability within each applicant's limits: what is left to change decides what is guaranteed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import copa
from copa.planner.strategies.next_parameters import shrunk
from copa.theory.sets.families import FAMILIES

SIGNALS, NOISE = ("s0", "s1"), 20


@pytest.fixture(scope="module")
def planner():
    """Two columns that carry the score, and twenty that carry nothing."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.standard_normal((1000, 2 + NOISE)), columns=[*SIGNALS, *(f"n{k}" for k in range(NOISE))])
    y = (rng.random(1000) < 1.0 / (1.0 + np.exp(-X["s0"] - X["s1"]))).astype(int)
    features = [copa.Feature(name, "numeric", lower=-2.6, upper=2.6) for name in X.columns]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    later = copa.LaterModels(n_refits=200)
    planner = copa.RecoursePlanner(
        model,
        copa.FeatureSchema(features),
        favourable=1,
        n_options=2,
        later_models=later,
        plausibility=0.0,
        progress=False,
    )
    return planner.fit(X, y)


@pytest.fixture(scope="module")
def applicants(planner):
    """Declined applicants, the nearest to acceptance first."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.standard_normal((300, 2 + NOISE)), columns=planner.feature_names_in_)
    scores = planner.model.decision_function(X)
    return X.iloc[np.flatnonzero(scores < 0.0)[np.argsort(-scores[scores < 0.0])]].head(8).reset_index(drop=True)


def test_with_the_signals_open_options_are_as_reliable_as_the_data(planner, applicants):
    batch = planner.plan(applicants)
    assert (batch.status == "ok").all()
    assert (batch.reliability >= 0.85).all()
    assert (batch.reliability <= planner.strategy_.reliability).all()


def test_where_a_wish_leaves_only_noise_nothing_is_guaranteed_and_the_message_says_why(planner, applicants):
    batch = planner.with_wishes(copa.Wishes(fixed=SIGNALS)).plan(applicants)
    assert (batch.reliability < 0.6).all()
    assert not (batch.status == "ok").any()
    assert all("columns that are left to change say too little" in message for message in batch.message)


def test_who_has_the_signals_at_the_end_of_their_range_is_judged_by_what_is_left(planner, applicants):
    ends = applicants.assign(s0=2.6, s1=-2.6)
    schema = planner.strategy_.schema
    assert schema["s1"].lower == -2.6
    open_side = planner.plan(ends)
    held = planner.with_wishes(copa.Wishes(max_change={"s1": {"up": 0.0}})).plan(ends)
    declined = held.status != "already_valid"
    assert (held.reliability[declined] < 0.6).all()
    assert (open_side.reliability[declined] > held.reliability[declined]).all()


def test_an_applicant_is_judged_alike_alone_and_in_company(planner, applicants):
    batch = planner.plan(applicants)
    alone = np.concatenate([planner.plan(applicants.iloc[[i]]).reliability for i in range(len(applicants))])
    assert alone.tolist() == batch.reliability.tolist()


def test_guarantees_are_those_of_the_set_at_the_reliability_of_each(planner, applicants):
    strategy = planner.strategy_
    batch = planner.plan(applicants)
    theta = strategy.model.theta
    today = strategy.with_set(strategy.parameters).parameters
    for i in range(len(batch)):
        plan, b = batch[i], float(batch.reliability[i])
        own = shrunk(today.__class__(theta, today.cov, today.radius, "cov", "unimodal", simultaneous=False), b, 0.95)
        expected = own.option_guarantees(plan.points[:, :-1])
        np.testing.assert_allclose(plan.option_lower, expected, atol=1e-9)
        np.testing.assert_allclose(plan.certificate.verify().lower, plan.lower, atol=1e-9)


def test_nothing_is_deducted_at_the_reliability_of_the_data_and_more_below(planner, applicants):
    strategy = planner.strategy_
    options = planner.plan(applicants)
    b = np.full(len(options.owner), strategy.reliability)
    assert (strategy.deducted(options.points, b)[:, -1] == 0.0).all()
    half = strategy.deducted(options.points, 0.5 * b)[:, -1]
    less = strategy.deducted(options.points, 0.8 * b)[:, -1]
    assert (half > less).all()
    assert (less > 0.0).all()


def test_expected_rates_count_scores_as_far_as_they_are_reliable(planner, applicants):
    strategy = planner.strategy_
    batch = planner.plan(applicants)
    rows, b = batch.encoded, batch.reliability[batch.owner]
    scores, today = rows @ strategy.thirds.T, (rows @ strategy.model.theta)[:, None]
    kept = b[:, None] * today + np.sqrt(0.5 * (1.0 + b[:, None])) * (scores - today)
    np.testing.assert_allclose(batch.expected_rate, (kept >= 0.0).mean(axis=1), atol=1e-12)
    assert (batch.expected_rate <= (scores >= 0.0).mean(axis=1)).all()


def test_a_saved_planner_judges_alike(planner, applicants, tmp_path):
    path = tmp_path / "planner.copa"
    planner.save(path, include_model=True)
    again = copa.RecoursePlanner.load(path).plan(applicants)
    batch = planner.plan(applicants)
    assert again.reliability.tolist() == batch.reliability.tolist()
    assert again.option_lower.tolist() == batch.option_lower.tolist()


def test_halves_are_asked_at_the_level_of_the_rule_whatever_is_planned_for(planner, applicants):
    assert FAMILIES["unimodal"].ratio(0.9) == pytest.approx(1.856, abs=1e-3)
    at_other_level = planner.with_wishes(copa.Wishes(guarantee=0.6)).plan(applicants)
    assert at_other_level.reliability.tolist() == planner.plan(applicants).reliability.tolist()
