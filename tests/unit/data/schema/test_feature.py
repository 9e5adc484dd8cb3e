import pickle
import re

import numpy as np
import pytest

from copa import InvalidInputError
from copa.data.schema import Feature
from copa.data.tables.cells import text_of

NUMBERS = {"name": "income", "kind": "numeric"}
GRADES = {"name": "grade", "kind": "ordinal", "values": ["low", "mid", "high"]}


def test_defaults_leave_everything_open():
    feature = Feature("income", "numeric")
    assert (feature.immutable, feature.direction, feature.weight) == (False, "both", 1.0)
    assert (feature.lower, feature.upper, feature.step, feature.values, feature.spread) == (None,) * 5


def test_none_empty_and_absent_mean_the_same():
    plain = Feature("grade", "ordinal", values=("low", "mid", "high"))
    said = Feature(
        "grade",
        "ordinal",
        values=["low", "mid", "high"],
        immutable=None,
        lower=[],
        direction=None,
        step=[],
        allowed=[],
        transitions={},
        weight=None,
        spread=[],
    )
    assert said == plain
    assert Feature(**GRADES, transitions={"low": [], "mid": None}) == plain
    assert hash(said) == hash(plain)


def test_words_are_empty_unless_given():
    for nothing in ({}, {"title": None, "labels": None}, {"title": "", "labels": {}}, {"title": [], "labels": []}):
        feature = Feature(**GRADES, **nothing)
        assert (feature.title, dict(feature.labels), feature.heading) == ("", {}, "grade")
        assert feature == Feature(**GRADES)
        assert hash(feature) == hash(Feature(**GRADES))
        assert feature.label_of("low") is None


def test_words_are_part_of_a_feature():
    worded = Feature(**GRADES, title="school grade", labels={"low": "failed"})
    assert worded.heading == "school grade"
    assert (worded.label_of("low"), worded.label_of("mid"), worded.label_of("top")) == ("failed", None, None)
    assert worded != Feature(**GRADES)
    assert worded == Feature(**GRADES, title="school grade", labels={"low": "failed"})
    assert hash(worded) == hash(Feature(**GRADES, title="school grade", labels={"low": "failed"}))
    assert pickle.loads(pickle.dumps(worded)) == worded  # noqa: S301 - our own bytes
    assert worded.replace(weight=2.0).labels == {"low": "failed"}
    assert worded.replace(title=None, labels=None) == Feature(**GRADES)


def test_labels_cannot_be_changed_afterwards():
    given = {"low": "failed"}
    feature = Feature(**GRADES, labels=given)
    given["low"] = "passed"
    assert feature.label_of("low") == "failed"
    with pytest.raises(TypeError):
        feature.labels["low"] = "passed"


def test_labels_are_found_whatever_the_type_of_the_value():
    levels = Feature("level", "ordinal", values=(1, 2), labels={"1": "first", 2.0: "second"})
    assert repr(levels.labels) == "{1: 'first', 2: 'second'}"
    assert [levels.label_of(value) for value in (1, 1.0, "1", np.int8(2), np.float32(2), True)] == (
        ["first"] * 3 + ["second"] * 2 + ["first"]
    )
    assert [levels.label_of(value) for value in (None, np.nan, 3, "one", [1])] == [None] * 5
    phone = Feature("phone", "binary", values=(False, True), labels={True: "own phone"})
    assert [phone.label_of(value) for value in (np.True_, 1, "True", False)] == ["own phone"] * 3 + [None]
    mixed = Feature("mixed", "binary", values=(1, "True"), labels={"True": "said so"})
    assert [mixed.label_of(value) for value in (True, 1, "True")] == [None, None, "said so"]


def test_some_numbers_of_a_line_can_have_words():
    delay = Feature("delay", "numeric", labels={0: "none", "0.5": "half a day", 999: "never paid"})
    assert repr(delay.labels) == "{0: 'none', 0.5: 'half a day', 999: 'never paid'}"
    assert [delay.label_of(value) for value in (0, 0.0, np.float32(0.5), 999.0, 3)] == (
        ["none", "none", "half a day", "never paid", None]
    )


def test_integers_move_in_whole_steps_and_choices_cost_one_per_change():
    assert Feature("age", "integer").step == 1.0
    assert Feature("age", "integer", step=5).step == 5.0
    assert Feature("job", "categorical", values=["a", "b", "c"]).spread == 1.0
    assert Feature("phone", "binary", values=["no", "yes"]).spread == 1.0


def test_numpy_values_become_plain_ones():
    feature = Feature("x", "categorical", values=np.array([3, 1, 2]), allowed=np.array([1]))
    assert [type(value) for value in feature.values] == [int] * 3
    assert [type(v) for v in Feature("x", "binary", values=(np.False_, np.True_)).values] == [bool, bool]
    assert [type(v) for v in Feature("x", "binary", values=np.array(["a", "b"])).values] == [str, str]
    assert feature.allowed == (1,)
    assert Feature("x", "ordinal", values=np.array([0.1, 0.7], dtype=np.float32)).values == (0.1, 0.7)


def test_allowed_and_transitions_are_matched_with_values_whatever_their_type():
    feature = Feature("x", "ordinal", values=(1, 2, 3), allowed=["2", 3.0], transitions={"1": ["2"], 3.0: [3]})
    assert repr(feature.allowed) == "(2, 3)"
    assert repr(feature.transitions) == "{1: (2,), 3: (3,)}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3, "kind": "numeric"}, "name of a column must be text, got 3"),
        ({"name": "", "kind": "numeric"}, "name of a column must be text, got ''"),
        ({"name": "a", "kind": "numerical"}, "did you mean 'numeric'?"),
        ({"name": "a", "kind": None}, "column 'a': kind must be one of 'numeric', 'integer'"),
        (NUMBERS | {"direction": "up"}, "direction must be one of 'both', 'increase', 'decrease', got 'up'"),
        (NUMBERS | {"immutable": "yes"}, "column 'income': immutable must be true or false, got 'yes'"),
        (NUMBERS | {"lower": 2, "upper": 1}, "column 'income': lower must not be above upper, got 2 and 1"),
        (NUMBERS | {"lower": "much"}, "column 'income': lower must be a finite number, got 'much'"),
        (NUMBERS | {"upper": float("nan")}, "upper must be a finite number, got nan"),
        (NUMBERS | {"upper": True}, "upper must be a finite number, got True"),
        (NUMBERS | {"step": 0}, "column 'income': step must be a positive number, got 0"),
        (NUMBERS | {"step": -0.1}, "step must be a positive number, got -0.1"),
        (NUMBERS | {"step": 1 / 3}, "step must be a decimal number of at most 9 digits"),
        (NUMBERS | {"weight": 0.0}, "column 'income': weight must be a positive number, got 0.0"),
        (NUMBERS | {"spread": -1}, "column 'income': spread must be a positive number, got -1"),
        (NUMBERS | {"values": [1, 2]}, "values means nothing for kind 'numeric'"),
        ({"name": "n", "kind": "integer", "step": 0.5}, "step of an integer must be a whole number, got 0.5"),
        ({"name": "g", "kind": "ordinal"}, "column 'g': values must be given for kind 'ordinal'"),
        (GRADES | {"step": 1}, "column 'grade': step means nothing for kind 'ordinal'"),
        (GRADES | {"lower": 1}, r"a range (lower, upper) needs values that are numbers, but it has the value 'low'"),
        (GRADES | {"values": "low"}, "values must be a list of values, got 'low'"),
        (
            GRADES | {"values": ["low", None]},
            "values must be text, whole or decimal numbers, or true and false, got None",
        ),
        (GRADES | {"values": ["low", float("nan")]}, "true and false, got nan"),
        (GRADES | {"values": ["low", ["mid"]]}, "true and false, got ['mid'] (list)"),
        (GRADES | {"values": ["low", "low"]}, "must differ in more than their type, got 'low' and 'low'"),
        (GRADES | {"values": [1, "1"]}, "must differ in more than their type, got 1 and '1'"),
        (GRADES | {"values": [1, True]}, "must differ in more than their type, got 1 and True"),
        (GRADES | {"allowed": ["top"]}, "allowed may only name its values 'low', 'mid', 'high', got 'top'"),
        (
            GRADES | {"transitions": {"top": ["low"]}},
            "transitions may only name its values 'low', 'mid', 'high', got 'top'",
        ),
        (GRADES | {"transitions": {"low": ["top"]}}, "transitions from 'low' may only name its values"),
        (GRADES | {"title": 3}, "column 'grade': title must be one line of text that is not empty, got 3"),
        (GRADES | {"title": "  "}, "title must be one line of text that is not empty, got '  '"),
        (GRADES | {"title": "a\nb"}, "title must be one line of text"),
        (GRADES | {"labels": {"hgh": "good"}}, "values 'low', 'mid', 'high', got 'hgh'; did you mean 'high'?"),
        (
            GRADES | {"labels": {3: "good"}},
            "column 'grade': labels may only name its values 'low', 'mid', 'high', got 3",
        ),
        (GRADES | {"labels": {"low": ""}}, "labels of 'low' must be one line of text that is not empty, got ''"),
        (
            GRADES | {"labels": {"low": True}},
            "labels of 'low' must be one line of text that is not empty, got True; in a",
        ),
        (GRADES | {"labels": ["low"]}, "labels must be a mapping from a value to its words, got ['low']"),
        (NUMBERS | {"labels": {"much": "a lot"}}, "labels of numbers: a value must be a finite number, got 'much'"),
        (NUMBERS | {"labels": {None: "a lot"}}, "labels of numbers: a value must be a finite number, got None"),
        (NUMBERS | {"labels": {1: "a", "1.0": "b"}}, "column 'income': labels has two entries for 1; keep one of them"),
        (GRADES | {"transitions": ["low"]}, "transitions must be a mapping from a value to a list of values"),
        (GRADES | {"transitions": {"low": "mid"}}, "transitions from 'low' must be a list of values, got 'mid'"),
        ({"name": "b", "kind": "binary", "values": [1, 2, 3]}, "a binary has two values, got 1, 2, 3"),
        ({"name": "b", "kind": "binary", "values": [0, 1], "upper": 1}, "upper means nothing for kind 'binary'"),
        (
            {"name": "c", "kind": "categorical", "values": [1, 2], "direction": "increase"},
            "direction 'increase' needs an order, and a categorical has none",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(fields, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        Feature(**fields)


def test_two_spellings_of_one_origin_are_refused():
    with pytest.raises(InvalidInputError, match="two entries for 1"):
        Feature("x", "ordinal", values=(1, 2), transitions={1: [2], "1": [1]})


def test_numbers_of_a_choice_count_true_as_one():
    assert Feature("x", "ordinal", values=(10, 2.5)).numbers.tolist() == [10.0, 2.5]
    assert Feature("x", "binary", values=(False, True)).numbers.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("feature", [Feature(**GRADES), Feature(**NUMBERS), Feature("x", "ordinal", values=["1", "2"])])
def test_numbers_of_text_or_of_a_line_are_refused(feature):
    with pytest.raises(InvalidInputError, match=f"column '{feature.name}': .* needs values that are numbers"):
        _ = feature.numbers


def test_replace_forgets_the_defaults_of_the_old_kind():
    feature = Feature("x", "integer", weight=2.0).replace(kind="ordinal", values=[1, 2, 3])
    assert feature == Feature("x", "ordinal", values=(1, 2, 3), weight=2.0)


def test_replace_names_the_nearest_field():
    with pytest.raises(InvalidInputError, match="field 'imutable' is not known; did you mean 'immutable'"):
        Feature("x", "integer").replace(imutable=True)


def test_a_feature_travels_between_processes():
    feature = Feature(**GRADES, transitions={"low": ["mid"]})
    assert pickle.loads(pickle.dumps(feature)) == feature  # noqa: S301 - our own bytes


def test_transitions_cannot_be_changed_afterwards():
    given = {"low": ["mid"]}
    feature = Feature(**GRADES, transitions=given)
    given["low"].append("high")
    assert feature.transitions == {"low": ("mid",)}
    with pytest.raises(TypeError):
        feature.transitions["low"] = ("high",)


@pytest.mark.parametrize(
    ("number", "text"), [(0.1, "0.1"), (2.0, "2"), (-3.5, "-3.5"), (np.inf, None), (-np.inf, None), (np.nan, None)]
)
@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64, np.longdouble])
def test_a_number_has_the_same_text_in_every_precision(precision, number, text):
    assert text_of(precision(str(number))) == text


def test_units_are_not_taken_for_a_share():
    with pytest.raises(InvalidInputError, match=r"0.3 for 30 %, and at most 10, got 500; for units write .up: 500"):
        Feature("debt", "numeric", max_change=500)
