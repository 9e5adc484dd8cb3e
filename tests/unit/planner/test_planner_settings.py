"""What a plan says must be what was computed, and a limit of time must not cost a plan that is there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import copa
from copa import FeatureSchema, WeightMoments
from copa.exceptions import InvalidInputError
from unit.planner import loans


@pytest.mark.parametrize(
    "change", [{"threshold": 0.9}, {"cost": "l2"}, {"later_models": copa.MomentBall(radius=5.0)}, {"favourable": False}]
)
def test_settings_that_only_fit_takes_up_cannot_be_changed_behind_its_back(model, declined, change):
    planner = loans.planner(model)
    planner.set_params(**change)
    with pytest.raises(InvalidInputError, match=f"{next(iter(change))} was changed .* call fit again"):
        planner.plan(declined.iloc[:1])


def test_the_deadline_may_fall_anywhere_in_a_batch(model):
    table = pd.concat([loans.people(150, 7)] * 4, ignore_index=True)
    stuck = FeatureSchema([f.replace(immutable=f.name != "grade", transitions=None) for f in loans.SCHEMA.features])
    planner = loans.planner(model, schema=stuck, guarantee=0.99)
    seen = set()
    for limit in (0.02, 0.05, 0.1, 0.2, 0.4):
        batch = planner.set_params(time_limit=limit).plan(table)
        seen |= set(batch.status.tolist())
    assert {"time_limit", "already_valid"} <= seen
    assert seen <= {"time_limit", "already_valid", "ok", "fragile", "infeasible"}


@pytest.mark.parametrize("rules", [["a <= b"], ["a <= b", "b <= c"], ["a <= b", "b <= c", "c <= d"]])
def test_rules_that_form_a_chain_are_followed_link_by_link(rules):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(np.sort(rng.integers(0, 20, (300, 4)), axis=1), columns=list("abcd"))
    model = LogisticRegression().fit(table, table["a"] > 8)
    model.coef_[:] = [1.0, -0.05, -0.05, -0.05]
    model.intercept_[:] = -6.0
    moments = WeightMoments(np.concatenate([model.intercept_, model.coef_[0]]), 1e-4 * np.eye(5))
    schema = FeatureSchema.infer(table, rules=rules)
    planner = copa.RecoursePlanner(
        model, schema=schema, later_models=copa.MomentBall(moments.mean, moments.cov, 0.0), guarantee=0.5, n_options=2
    )
    applicant = pd.DataFrame({name: [2] for name in "abcd"})
    batch = planner.fit(table).plan(applicant)
    assert batch.status[0] == "ok"
    assert not any(schema.violations(applicant, batch.options))
    assert model.predict(batch.options).all()


def test_a_margin_out_of_reach_is_what_is_said_to_be(model, declined):
    batch = loans.planner(model, objective=copa.PaperObjective(margin=50.0)).plan(declined.iloc[:3])
    assert (batch.status == "infeasible").all()
    assert all("with a mean score of at least 50" in message for message in batch.message)


def test_single_precision_hardly_costs_the_level(model):
    free = FeatureSchema(
        [f.replace(step=None) if f.name == "income" else f for f in loans.SCHEMA.features], loans.SCHEMA.rules
    )
    planner = loans.planner(model, schema=free)
    people = loans.people(150, 7)
    declined = people[~model.predict(people)].iloc[:20]
    single = declined.assign(income=declined["income"].astype(np.float32))
    ok, ok_single = ((planner.plan(rows).status == "ok").sum() for rows in (declined, single))
    assert ok >= 15
    assert ok_single >= 0.8 * ok  # a row is rounded after the search; the search is repeated a few times


def test_a_misspelt_setting_is_refused(model):
    with pytest.raises(TypeError, match="guarante"):
        copa.RecoursePlanner(model, guarante=0.9)


def test_more_options_than_can_be_proven_are_refused(model):
    with pytest.raises(InvalidInputError, match=r"n_options must be at most 79, got 10000: .* take about .* hours and"):
        loans.planner(model, n_options=10_000)


def test_a_drift_that_cannot_be_one_is_refused_whatever_its_units(model):
    dimension = loans.planner(model).strategy_.parameters.dimension
    drift = np.eye(dimension)
    drift[-1, -1] = -1e-12
    message = f"drift must be positive semidefinite, .*coordinate {dimension - 1} is -1e-12"
    with pytest.raises(InvalidInputError, match=message):
        loans.planner(model, later_models=copa.MomentBall(radius=0.1, drift=drift))


def test_masked_labels_are_refused(model):
    table = loans.people(100, 0)
    labels = np.ma.masked_array(loans.outcomes(table), mask=np.arange(100) == 3)
    with pytest.raises(InvalidInputError, match="y must have no masked entries; fill them"):
        copa.RecoursePlanner(model, schema=loans.SCHEMA).fit(table, labels)
