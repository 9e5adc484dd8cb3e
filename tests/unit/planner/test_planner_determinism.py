"""The same question has the same answer, to the last bit, however it is asked."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import copa
from unit.planner import loans


def essence(plan):
    """Everything a plan says, but the time it took."""
    arrays = (plan.effort, plan.option_lower, plan.weights, plan.points, plan.at_least, plan.at_most)
    numbers = (plan.lower, plan.upper, plan.any_lower, plan.gap, plan.highest_level)
    return (
        plan.label,
        plan.status,
        plan.message,
        plan.options.to_json(),
        [array.tobytes() for array in arrays],
        np.array(numbers).tobytes(),
    )


@pytest.fixture(scope="module", params=["each", "any", "paper"])
def asking(request, model, planner):
    settings = loans.same_ball(planner)
    settings |= {"objective": copa.PaperObjective()} if request.param == "paper" else {"guarantee_for": request.param}
    return loans.planner(model, **settings)


def test_the_same_seed_gives_the_same_json(batch, declined):
    again = loans.planner(loans.fitted_pipeline()).plan(declined)
    assert again.to_json() == batch.to_json()


def test_another_seed_gives_other_moments(model, planner):
    assert not np.array_equal(loans.planner(model, random_state=1).moments_.cov, planner.moments_.cov)


def test_no_seed_is_a_fixed_seed(model, declined):
    first, second = (loans.planner(model, random_state=None).plan(declined.iloc[:5]).to_json() for _ in range(2))
    assert first == second


def test_the_number_of_threads_changes_nothing(model, batch, declined):
    for n_jobs in (2, 3, None):
        assert loans.planner(model, n_jobs=n_jobs).plan(declined).to_json() == batch.to_json()


def test_the_order_of_a_batch_changes_nothing(asking, declined):
    table = declined.iloc[:20]
    plans = {plan.label: essence(plan) for plan in asking.plan(table)}
    order = np.random.default_rng(0).permutation(len(table))
    shuffled = asking.plan(table.iloc[order])
    assert [plan.label for plan in shuffled] == table.index[order].tolist()
    for plan in shuffled:
        assert essence(plan) == plans[plan.label]


def test_a_batch_is_a_loop_over_its_people(asking, declined):
    table = declined.iloc[:12]
    together = asking.plan(table)
    for i in range(len(table)):
        [alone] = asking.plan(table.iloc[[i]])
        assert essence(alone) == essence(together[i])


def test_blocks_change_nothing(monkeypatch, planner, batch, declined):
    monkeypatch.setattr("copa.planner.recourse_planner.BLOCK", 7)
    assert planner.plan(declined).to_json() == batch.to_json()


def test_planning_leaves_the_table_and_the_planner_alone(planner, batch, declined):
    before = declined.copy(deep=True)
    planner.plan(declined)
    assert declined.equals(before)
    assert planner.plan(declined).to_json() == batch.to_json()


N_COLUMNS = 7


def rotated(**settings):
    """A planner for a pipeline that multiplies matrices, and people whom its model declines."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(500, N_COLUMNS)) @ rng.normal(size=(N_COLUMNS, N_COLUMNS))
    table = pd.DataFrame(numbers.round(2), columns=[f"c{k}" for k in range(N_COLUMNS)])
    labels = numbers @ rng.normal(size=N_COLUMNS) + rng.normal(size=500) > 0.0
    model = make_pipeline(StandardScaler(), PCA(), LogisticRegression()).fit(table[:300], labels[:300])
    columns = [copa.Feature(name, "numeric", lower=-9.0, upper=9.0, step=0.1) for name in table]
    given = {
        "schema": copa.FeatureSchema(columns),
        "later_models": copa.LaterModels(n_refits=40),
        "n_options": 3,
        "n_starts": 2,
        "random_state": 0,
    }
    planner = copa.RecoursePlanner(model, **given | {"guarantee": 0.7, "progress": False} | settings)
    others = table[300:]
    return planner.fit(table[:300], labels[:300]), others[~model.predict(others)][:70]


@pytest.mark.parametrize("objective", [None, copa.PaperObjective()])
def test_a_pipeline_that_multiplies_matrices_gives_the_same_plan_alone_and_in_a_batch(objective):
    planner, people = rotated(objective=objective)
    together = planner.plan(people)
    assert len(together) == 70
    assert together.counts[:8].min() > 0
    for i in range(8):
        assert essence(planner.plan(people.iloc[[i]])[0]) == essence(together[i])


def test_a_row_is_encoded_alike_in_any_batch():
    planner, people = rotated()
    model = planner.strategy_.model
    table = people.iloc[np.arange(200) % len(people)]
    for n_rows in (1, 2, 3, 17, 63, 64, 65, 130):
        np.testing.assert_array_equal(model.encode(table[:n_rows]), model.encode(table)[:n_rows])
