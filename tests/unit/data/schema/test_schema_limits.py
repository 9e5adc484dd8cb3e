import numpy as np
import pandas as pd
import pytest

from copa.data.schema import Feature, FeatureSchema

INF = np.inf
OWN = [5.0, 10.0, 30.0]  # below, at and above the range 10..20 used below


def line(own=OWN, **fields):
    schema = FeatureSchema([Feature("x", "numeric", **fields)])
    lower, upper = schema.limits(pd.DataFrame({"x": own})).numeric["x"]
    return lower.tolist(), upper.tolist()


def moves(values=("low", "mid", "high"), kind="ordinal", own=None, **fields):
    schema = FeatureSchema([Feature("x", kind, values=values, **fields)])
    mask = schema.limits(pd.DataFrame({"x": list(values) if own is None else own})).categorical["x"]
    return mask.astype(int).tolist()


def test_a_line_is_open_unless_something_is_said():
    assert line() == ([-INF] * 3, [INF] * 3)


def test_an_immutable_line_stays_even_outside_its_range():
    assert line(immutable=True, lower=10, upper=20) == (OWN, OWN)


def test_a_value_outside_the_range_may_change_to_one_inside():
    assert line(lower=10, upper=20) == ([10.0] * 3, [20.0] * 3)


def test_directions_start_at_the_applicant():
    assert line(direction="increase", lower=10, upper=20) == ([10.0, 10.0, 30.0], [20.0, 20.0, 30.0])
    assert line(direction="decrease", lower=10, upper=20) == ([5.0, 10.0, 10.0], [5.0, 10.0, 20.0])


def test_a_missing_own_value_has_no_limits():
    lower, upper = line(own=[np.nan, 1.0], direction="increase", upper=3.0)
    np.testing.assert_array_equal(lower, [np.nan, 1.0])
    np.testing.assert_array_equal(upper, [np.nan, 3.0])


def test_a_missing_number_that_may_change_has_the_whole_range():
    lower, upper = line(own=[np.nan, 2.0], missing="may_change", direction="increase", max_change=0.5, upper=9.0)
    assert (lower, upper) == ([-INF, 2.0], [9.0, 3.0])
    np.testing.assert_array_equal(line(own=[np.nan], missing="may_change", immutable=True), [[np.nan], [np.nan]])


def test_a_special_code_is_left_for_the_whole_range():
    fields = {"special": [-9], "direction": "decrease", "max_change": {"down": 1}}
    assert line(own=[-9.0, 2.0], **fields) == ([-INF, 1.0], [INF, 2.0])
    assert line(own=[-9.0, 2.0], lower=0, upper=9, **fields) == ([0.0, 1.0], [9.0, 2.0])
    assert line(own=[-9.0], immutable=True, **fields) == ([-9.0], [-9.0])


def test_a_largest_change_narrows_the_range_to_what_is_near_the_applicant():
    assert line(own=[2000.0, -10.0, 0.0], max_change=0.3) == ([1400.0, -13.0, 0.0], [2600.0, -7.0, 0.0])
    assert line(own=[2000.0], max_change={"up": 500}) == ([-INF], [2500.0])
    assert line(own=[2000.0], max_change={"down": 0.5}) == ([1999.5], [INF])
    assert line(own=[5.0, 30.0], max_change=0.1, lower=10, upper=20) == ([5.0, 30.0], [5.0, 30.0])


def test_the_ends_of_a_largest_change_are_the_decimals_that_are_printed():
    assert line(own=[0.7], max_change=0.1) == ([0.63], [0.77])  # 0.7 + 0.1 * 0.7 is 0.7699999999999999 in floats
    single = FeatureSchema([Feature("x", "numeric", max_change=0.5)])
    lower, upper = single.limits(pd.DataFrame({"x": np.array([0.1], dtype=np.float32)})).numeric["x"]
    assert (lower.tolist(), upper.tolist()) == ([0.05], [0.15])


def test_an_ordinal_moves_by_no_more_than_its_levels():
    assert moves(max_change={"up": 1}) == [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    assert moves(max_change={"up": 0, "down": 1}) == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]


def test_a_missing_choice_may_become_what_others_may_move_to():
    fields = {"allowed": ["low", "mid"], "withheld": ["low"], "transitions": {"low": ["high"]}}
    assert moves(own=[None, "low", "odd"], missing="may_change", **fields) == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert moves(own=[None], **fields) == [[0, 0, 0]]
    assert moves(own=[None], missing="may_change", immutable=True) == [[0, 0, 0]]


def test_a_choice_may_go_anywhere_unless_something_is_said():
    assert moves() == [[1, 1, 1]] * 3


def test_an_immutable_choice_stays_whatever_else_is_said():
    assert moves(immutable=True, allowed=["mid"], transitions={"low": ["high"]}) == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_ordinals_move_along_the_order_of_their_values():
    assert moves(direction="increase") == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert moves(direction="decrease") == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_staying_is_possible_although_only_some_values_are_allowed():
    assert moves(allowed=["mid"]) == [[1, 1, 0], [0, 1, 0], [0, 1, 1]]


def test_transitions_limit_where_they_say_something():
    assert moves(transitions={"low": ["mid"], "high": ["high"]}) == [[1, 1, 0], [1, 1, 1], [0, 0, 1]]


def test_everything_together():
    limited = moves(direction="increase", allowed=["mid", "high"], transitions={"low": ["high"]})
    assert limited == [[1, 0, 1], [0, 1, 1], [0, 0, 1]]


def test_an_ordinal_outside_its_range_stays_or_comes_inside():
    assert moves(values=(1, 2, 3), lower=2) == [[1, 1, 1], [0, 1, 1], [0, 1, 1]]
    assert moves(values=(1, 2, 3), upper=2, direction="increase") == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]


def test_a_binary_may_be_switched_one_way():
    assert moves(values=(False, True), kind="binary", direction="increase") == [[1, 1], [0, 1]]


@pytest.mark.parametrize("immutable", [True, False])
def test_an_unknown_own_value_has_no_choices(immutable):
    assert moves(own=["low", "top", None], immutable=immutable)[1:] == [[0, 0, 0], [0, 0, 0]]


def test_limits_are_read_only_and_do_not_touch_the_table():
    schema = FeatureSchema([Feature("x", "numeric", immutable=True), Feature("y", "binary", values=(0, 1))])
    table = pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]})
    limits = schema.limits(table)
    for array in (*limits.numeric["x"], limits.categorical["y"]):
        assert not array.flags.writeable
    table.loc[0, "x"] = 9.0
    assert limits.numeric["x"][0].tolist() == [1.0, 2.0]
    assert set(limits.numeric) == {"x"}
    assert set(limits.categorical) == {"y"}
