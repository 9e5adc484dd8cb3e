"""What other rows keep of chosen options' scores: known cases, and models that learn and that do not."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import copa
from copa.exceptions import RetrainingError
from copa.models.refits.subsets import draw_thirds_in_halves
from copa.planner.strategies.refit_reliability import choose_rows, compare_halves, n_sides
from unit.planner import loans


def test_refits_lie_inside_the_halves_of_splits_and_have_both_classes():
    target = (np.arange(90) % 3 == 0).astype(float)
    samples = draw_thirds_in_halves(target, (8, 12), 4, np.random.default_rng(0))
    assert len(samples) == 20
    assert {len(set(rows)) for rows in samples} == {30}
    assert all(0 < target[rows].sum() < 30 for rows in samples)
    sides = [set(np.concatenate([*samples[:8][side::4], *samples[8:][side::4]])) for side in range(4)]
    for one, other in ((0, 1), (2, 3)):
        assert not sides[one] & sides[other]
        assert len(sides[one]) <= 45 >= len(sides[other])
        assert len(sides[one] | sides[other]) > 80
    assert sides[0] & sides[2]


def test_a_class_with_too_few_rows_for_halves_is_said_so():
    target = np.zeros(60)
    target[0] = 1.0
    with pytest.raises(RetrainingError, match="rarer"):
        draw_thirds_in_halves(target, (4,), 2, np.random.default_rng(0))


@pytest.mark.parametrize(("n_models", "sides"), [(2, 2), (6, 2), (23, 2), (24, 4), (40, 6)])
def test_splits_have_enough_refits_each(n_models, sides):
    assert n_sides(n_models) == sides


def test_the_cheapest_row_that_is_sure_is_chosen_else_the_surest():
    scores = np.array([[1.0, 9.0, 9.1, -1.0, 2.0, -3.0], [-1.0, 9.1, 9.0, -2.0, -1.0, -2.0]])
    owner, effort = np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 3.0, 2.0, 1.0, 5.0, 1.0])
    assert choose_rows(scores, effort, owner).tolist() == [2, 4]  # the third has nothing with a positive mean


def test_the_reliability_of_gaussian_scores_is_the_one_that_they_have():
    """Scores of rows vary by 1, the errors of a half by v: of what is chosen in all rows 1 / (1 + v / 2) is kept."""
    rng, n_rows, v = np.random.default_rng(0), 4000, 0.8
    true = rng.normal(size=n_rows)
    halves = [true + np.sqrt(v) * rng.normal(size=n_rows) for _ in range(8)]
    scores = [half + 0.5 * rng.normal(size=(5, n_rows)) for half in halves]
    chosen = [np.flatnonzero(half + 0.2 * rng.normal(size=n_rows) > 1.5) for half in halves]
    assert compare_halves(scores, chosen) == pytest.approx(1.0 / (1.0 + v / 2.0), abs=0.03)


def test_nothing_kept_is_a_reliability_near_zero_and_all_kept_is_one():
    one = np.ones((3, 4))
    rows = [np.arange(4)] * 2
    assert compare_halves([one, -one], rows) == pytest.approx(0.01)
    assert compare_halves([one, one], rows) == 1.0
    assert compare_halves([one, 2.0 * one], rows) == 1.0


def test_models_that_learn_are_more_reliable_than_those_that_remember():
    """Outcomes that depend on nothing: a tree remembers them, and no other row keeps what it says."""
    table, rng = loans.people(300, 0), np.random.default_rng(3)
    by_chance = rng.random(300) < 0.5
    settings = loans.FAST | {"later_models": copa.LaterModels(n_refits=12), "schema": loans.SCHEMA}
    tree = loans.pipeline(DecisionTreeClassifier(random_state=0)).fit(table, by_chance)
    forest = loans.fitted_pipeline(RandomForestClassifier(15, min_samples_leaf=5, random_state=0))
    remembered = loans.copa.RecoursePlanner(tree, **settings).fit(table, by_chance)
    learned = loans.copa.RecoursePlanner(forest, **settings).fit(table, loans.outcomes(table))
    assert remembered.strategy_.reliability < 0.5 < learned.strategy_.reliability
    batch = remembered.plan(table[~tree.predict(table)].iloc[:3])
    assert (batch.option_lower <= remembered.strategy_.reliability).all()
    assert all("too few data for this level" in message for message in batch.message)
