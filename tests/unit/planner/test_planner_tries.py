"""Rows that are tried on a model: how sure they are, what is chosen from them, and with how little they would do."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from copa.models.black_box import BlackBox
from copa.planner.strategies.black_box import score_all
from copa.planner.strategies.exploration import _size_and_level, candidates, lightest
from copa.planner.strategies.samples import Samples, signed_guarantee
from copa.plans import PlanRequest
from copa.theory.sets.ambiguity import MomentBall
from unit.planner import loans


def test_signed_guarantee_is_the_promise_where_there_is_one_and_keeps_the_order_of_score_per_deviation_below():
    ball, spread = MomentBall([1.0], [[1.0]], 2.0), np.ones(9)
    mean = np.linspace(-3.0, 5.0, 9)
    reach = 2.0 * spread
    sure = signed_guarantee(ball, mean, spread, reach)
    promised = ball.guarantee(mean, spread, reach)
    np.testing.assert_array_equal(sure[promised > 0.0], promised[promised > 0.0])
    assert (sure[mean < 2.0] < 0.0).all()
    assert (np.diff(sure) > 0.0).all()
    np.testing.assert_allclose(signed_guarantee(ball, 7.0 * mean, 7.0 * spread, 7.0 * reach), sure)


def _samples(lower):
    n = len(lower)
    points = np.column_stack([np.ones(n), np.arange(n), np.arange(n)[::-1]]).astype(float)
    return Samples(np.zeros(n, int), points[:, 1:], points, np.ones(n), np.array(lower))


@pytest.mark.parametrize(
    ("lower", "level", "kept"),
    [
        ([0.95, 0.91, 0.5], 0.9, [0, 1]),  # those that reach the level
        ([0.5, 0.49, 0.3], 0.9, [0, 1]),  # or nearly the highest one in reach
        ([-0.5, -0.51, -0.9], 0.9, [0, 1]),  # or, where nothing can be promised, the surest
    ],
)
def test_rows_that_are_sure_enough_are_candidates(lower, level, kept):
    assert candidates(_samples(lower), level).tolist() == kept


def test_of_rows_at_the_level_none_is_chosen_whose_changes_another_takes_back():
    own = np.array([0.0, 0.0, 5.0])
    rows = np.array(
        [
            [2.0, 0.0, 5.0],
            [2.0, 1.0, 5.0],  # the first, and more
            [3.0, 0.0, 6.0],  # the same: it asks for more of one column, and for another one
            [-2.0, 1.0, 5.0],  # the other direction
            [3.0, 0.0, 5.0],  # the same column
            [1.0, 0.0, 7.0],  # less of one column
        ]
    )
    assert lightest(rows, own, n_numeric=2).tolist() == [0, 3, 4, 5]
    assert lightest(rows[:0], own, n_numeric=2).tolist() == []


def _asked(classifier, threshold=None):
    model = loans.fitted_pipeline(classifier)
    table = loans.people(300, 0)
    return BlackBox.read(model, table.columns, threshold=threshold).clipped_for(table), model, table


def test_probabilities_are_cut_off_where_the_model_ends():
    votes, _, _ = _asked(RandomForestClassifier(10, random_state=0))
    assert votes.clip == 1e-3
    network, model, table = _asked(MLPClassifier((20,), alpha=0.0, max_iter=4000, random_state=0))
    chance = model.predict_proba(table)[:, 1]
    smallest = np.minimum(chance, 1.0 - chance).min()
    assert 1e-9 < smallest / 2 < 1e-3
    assert network.clip == smallest / 2
    np.testing.assert_allclose(network.scores(table), np.log(chance / (1.0 - chance)), rtol=1e-9)


def test_models_are_asked_by_several_threads_without_a_word_of_warning(recwarn):
    """scikit-learn's forests change the filters of warnings for every tree, in all threads at once."""
    forest, _, table = _asked(RandomForestClassifier(20, random_state=0))
    for _ in range(10):
        scores = score_all((forest,) * 8, table.head(20), n_jobs=4)
    assert (scores == scores[0]).all()
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ("guarantee_for", "highest", "expected"),
    [
        ("each", 0.9, (3, 0.7)),
        ("each", 0.5, (3, 0.7)),  # out of reach: as many as asked for, as sure as can be
        ("all", 0.95, (3, 0.9)),
        ("all", 0.87, (2, 0.85)),  # two hold together, three do not
        ("all", 0.72, (1, 0.7)),
        ("all", 0.6, (3, 0.9)),
    ],
)
def test_a_shorter_menu_is_promised_where_all_of_a_longer_one_are_out_of_reach(guarantee_for, highest, expected):
    request = PlanRequest(guarantee=0.7, guarantee_for=guarantee_for, n_options=3, diversity_weight=2.0)
    n_options, level = _size_and_level(request, highest)
    assert (n_options, round(level, 9)) == expected
