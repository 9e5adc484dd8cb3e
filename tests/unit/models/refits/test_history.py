import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.models.refits.history import measure_drift


def by_hand(scores, spreads, h):
    moves = []
    for t in range(len(scores) - h):
        far = sorted(abs(scores[t + h][m] - scores[t][m]) / spreads[m] for m in range(len(spreads)) if spreads[m] > 0)
        moves.append(next(move for k, move in enumerate(far, 1) if k >= 0.95 * len(far) - 1e-9))
    return max(moves)


def test_each_horizon_has_the_largest_of_the_95_percent_quantiles_of_its_retrainings():
    rng = np.random.default_rng(0)
    scores, spreads = rng.normal(size=(5, 43)).cumsum(axis=0), rng.uniform(0.1, 2.0, 43)
    drift = measure_drift(scores, spreads, 4)
    assert drift.largest == pytest.approx([by_hand(scores, spreads, h) for h in (1, 2, 3, 4)], rel=1e-12)
    assert drift.n_moves.tolist() == [4, 3, 2, 1]
    assert (drift.n_versions, drift.n_rows, drift.n_measured) == (5, 43, 4)


def test_one_retraining_in_which_all_rows_move_together_is_not_hidden_by_the_others():
    steps = np.where(np.arange(30) == 17, 3.0, 1.0)  # pooled, 97 % of all moves are 1
    scores = np.tile(np.concatenate([[0.0], steps.cumsum()])[:, None], (1, 40))
    assert measure_drift(scores, np.ones(40), 1).radius() == 3.0


def test_one_row_in_twenty_may_move_further_than_the_move_of_its_retraining():
    assert measure_drift([[0.0] * 20, [1.0] * 19 + [9.0]], np.ones(20), 1).radius() == 1.0


def test_a_promise_must_survive_the_largest_drift_on_its_way():
    drift = measure_drift([[0.0], [3.0], [0.5], [3.2]], [1.0], 3)  # there and back: two steps move less than one
    assert drift.largest.tolist() == pytest.approx([3.0, 0.5, 3.2])
    assert [drift.radius(h) for h in (1, 2, 3)] == pytest.approx([3.0, 3.0, 3.2])
    assert drift.radius() == drift.radius(3)


def test_only_as_many_horizons_are_measured_as_there_are_older_versions():
    drift = measure_drift([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], [1.0, 1.0], 4)
    assert np.isnan(drift.largest[2:]).all()
    assert drift.n_moves.tolist() == [2, 1, 0, 0]
    assert drift.radius(4) == 2.0
    seen = "2 older versions show 2 moves over 1 retraining and 1 over 2; nothing was seen over 3 or 4"
    assert drift.in_words() == seen
    assert drift.in_words(1) == "2 older versions show 2 moves over 1 retraining"
    meaning = "a move is the distance that 95 % of the options stay within"
    assert drift.largest_in_words(4) == f"2, the largest of 3 moves ({meaning}); {seen}"
    assert drift.largest_in_words(1).startswith("1, the largest of 2 moves (")


def test_one_older_version_and_none_are_said_in_words():
    one = measure_drift([[0.0], [1.0]], [1.0], 2)
    assert one.in_words() == "1 older version shows 1 move over 1 retraining; nothing was seen over 2"
    none = measure_drift([[0.0]], [1.0], 2)
    assert none.radius() == 0.0
    assert none.largest_in_words(1) == "0; no older version, so that no move over 1 retraining was seen"
    assert none.in_words() == "no older version, so that no move over 1 or 2 retrainings was seen"


def test_rows_that_no_refit_moves_have_no_unit_and_are_left_out():
    drift = measure_drift([[0.0, 0.0], [5.0, 1.0]], [0.0, 1.0], 1)
    assert (drift.radius(), drift.n_rows) == (1.0, 1)
    with pytest.raises(InvalidInputError, match="no reference row has one above 0"):
        measure_drift([[0.0], [5.0]], [0.0], 1)


def test_the_unit_of_the_scores_plays_no_part():
    rng = np.random.default_rng(1)
    scores, spreads = rng.normal(size=(4, 20)), rng.uniform(0.5, 1.0, 20)
    drifts = [measure_drift(unit * scores, unit * spreads, 3).largest for unit in (1.0, 1024.0)]
    assert (drifts[0] == drifts[1]).all()


@pytest.mark.parametrize(
    ("scores", "spreads", "horizon", "message"),
    [
        ([1.0, 2.0], [1.0, 1.0], 1, r"scores must have shape \(V, M\)"),
        ([[1.0, 2.0]], [1.0], 1, r"spreads must have shape \(2,\)"),
        ([[1.0], [np.nan]], [1.0], 1, "scores must be finite"),
        ([[1.0], [2.0]], [np.inf], 1, "spreads must be finite"),
        ([[1.0], [2.0]], [1.0], 0, "horizon must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_measured_is_said(scores, spreads, horizon, message):
    with pytest.raises(InvalidInputError, match=message):
        measure_drift(scores, spreads, horizon)


def test_nothing_is_said_of_a_horizon_that_was_not_asked_about():
    with pytest.raises(InvalidInputError, match="horizon must be a whole number from 1 to 1"):
        measure_drift([[1.0], [2.0]], [1.0], 1).radius(2)
