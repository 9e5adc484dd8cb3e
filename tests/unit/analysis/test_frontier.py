import copy

import numpy as np
import pytest

from copa.analysis.frontier import Frontier, frontier
from copa.planner.later_models import assume


@pytest.fixture(scope="module")
def found(bank, loan_plans):
    return frontier(bank, loan_plans.applicants.iloc[:8], levels=(0.5, 0.7, 0.9))


def test_the_planners_own_level_is_among_the_levels(bank, found):
    assert found.levels.tolist() == [0.5, 0.7, 0.8, 0.9]
    assert bank.guarantee == 0.8


def test_at_the_planners_own_level_the_effort_is_at_most_that_of_its_plan(loan_plans, found):
    cheapest = np.array([plan.effort.min() if plan.status == "ok" else np.nan for plan in loan_plans[:8]])
    reached = np.isfinite(cheapest)
    assert reached.sum() > 3
    assert (found.effort[reached, 2] <= cheapest[reached] + 1e-12).all()


def test_a_higher_level_never_costs_less_and_is_never_in_reach_alone(found):
    reached = np.isfinite(found.effort)
    assert (reached[:, :-1] | ~reached[:, 1:]).all()
    steps = np.diff(found.effort, axis=1)
    assert (steps[np.isfinite(steps)] >= 0.0).all()
    assert steps[np.isfinite(steps)].max() > 0.0


def test_the_levels_of_a_planner_for_expected_rates_are_expected_rates(bank, loan_plans):
    people = loan_plans.applicants.iloc[:4]
    expecting = copy.copy(bank).set_params(later_models=assume(bank.later_models, expected=True))
    asking = copy.copy(expecting).set_params(guarantee=0.8)
    found = frontier(asking, people, levels=(0.6, 0.95))
    assert found.levels.tolist() == [0.6, 0.8, 0.95]
    for level, effort in zip((0.6, 0.95), (found.effort[:, 0], found.effort[:, 2]), strict=True):
        batch = copy.copy(expecting).set_params(guarantee=level).plan(people)
        cheapest = [plan.effort.min() if plan.status == "ok" else np.nan for plan in batch]
        assert (np.isnan(effort) | (effort <= np.array(cheapest) + 1e-12)).all()
    assert (found.effort[:, 2] < frontier(bank, people, levels=(0.95,)).effort[:, -1]).any()


def test_without_time_nothing_is_claimed(bank, loan_plans):
    late = frontier(bank, loan_plans.applicants.iloc[:2], seconds=0.0)
    assert not late.complete
    assert not late.tried.any()
    assert len(late.only_tried().levels) == 0
    assert np.isnan(late.effort).all()


def test_the_medians_follow_the_same_applicants_on_a_real_planner(found):
    followed = found.effort[found.followed, : found.n_drawn]
    assert found.n_drawn > 1
    assert 3 <= len(followed) == found.n_reached[found.n_drawn - 1]
    assert found.medians[: found.n_drawn].tolist() == np.median(followed, axis=0).tolist()
    assert (np.diff(found.medians[: found.n_drawn]) >= 0.0).all()


def test_levels_that_fewer_than_half_or_than_three_reach_have_no_median():
    effort = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan], [1.0, 2.5, np.nan], [1.0, np.nan, np.nan]])
    assert Frontier(np.array([0.6, 0.7, 0.8]), effort, complete=True).n_drawn == 2
    few = Frontier(np.array([0.6, 0.7, 0.8]), effort[:2], complete=True)
    assert few.n_drawn == 0
    assert np.isnan(few.medians).all()
