"""The same question has the same answer, to the last bit, however it is asked."""

import numpy as np
import pytest

from unit.planner import loans


def essence(plan):
    """Everything a plan says, but the time it took."""
    arrays = (plan.effort, plan.relaxed_effort, plan.option_lower, plan.weights, plan.points)
    numbers = (plan.lower, plan.upper, plan.any_lower, plan.gap, plan.relaxed_lower, plan.highest_level)
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
    settings = {"moments": planner.moments_, "radius": planner.radius_, "drift": planner.drift_}
    settings |= {"objective": "paper"} if request.param == "paper" else {"guarantee_for": request.param}
    return loans.planner(model, **settings)


def test_the_same_seed_gives_the_same_json(batch, declined):
    again = loans.planner(loans.fitted_pipeline()).plan(declined)
    assert again.to_json() == batch.to_json()


def test_another_seed_gives_other_moments(model, planner):
    assert not np.array_equal(loans.planner(model, random_state=1).moments_.mean, planner.moments_.mean)


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
