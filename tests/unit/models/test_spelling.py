"""Values written the way a column writes them."""

import numpy as np
import pandas as pd
import pytest

from copa import Feature
from copa.exceptions import InvalidInputError
from copa.models.spelling import spell_levels, spell_numbers, with_room

GRADES = Feature("grade", "ordinal", values=[1, 2, 3])
TRUTHS = Feature("truth", "binary", values=[False, True])
JOBS = Feature("job", "categorical", values=["a", "b", "c"])
SAID = Feature("said", "binary", values=["False", "True"])
COUNT = Feature("count", "integer")
HALVES = Feature("halves", "numeric", step=0.5)


@pytest.mark.parametrize("dtype", ["int64", "int8", "float64", "float32", "Int64", "object", "category"])
def test_numbers_take_the_type_of_the_column(dtype):
    like = pd.Series([5, 7, 7]).astype(dtype)
    spelled = spell_numbers(COUNT, np.array([1.0, 2.0]), like)
    assert spelled.tolist() == [1, 2]
    assert spelled.dtype == ("int64" if dtype == "category" else dtype)
    assert {type(entry) for entry in spelled} == {type(entry) for entry in like}


@pytest.mark.parametrize(
    ("feature", "entries", "expected"),
    [
        (GRADES, pd.Series([1, 2]), [1, 3]),
        (GRADES, pd.Series([1.0, 2.0]), [1.0, 3.0]),
        (GRADES, pd.Series(["1", "2"]), ["1", "3"]),
        (GRADES, pd.Series(["1", "2"], dtype=object), ["1", "3"]),
        (GRADES, pd.Series([1, 2], dtype=object), [1, 3]),
        (GRADES, pd.Series(pd.Categorical(["1"], ["3", "1", "2"])), ["1", "3"]),
        (TRUTHS, pd.Series([False]), [False]),
        (TRUTHS, pd.Series([0]), [0]),
        (TRUTHS, pd.Series([0], dtype=object), [0]),
        (SAID, pd.Series([True]), [False]),
        (SAID, pd.Series([True], dtype=object), [False]),
        (JOBS, pd.Series(["a", None], dtype=object), ["a", "c"]),
    ],
)
def test_choices_are_spelled_as_the_column_does_even_unseen_ones(feature, entries, expected):
    codes = [0] if len(expected) == 1 else [0, 2]
    spelled = spell_levels(feature, np.array(codes), entries)
    assert spelled.tolist() == expected
    assert [type(entry) for entry in spelled.tolist()] == [type(entry) for entry in expected]
    assert spelled.dtype == entries.dtype


@pytest.mark.parametrize(
    ("dtype", "numbers", "wider"),
    [
        ("int64", [1.5, 2.0], "float64"),
        ("Int64", [1.5, 2.0], "Float64"),
        ("uint8", [300.0, 2.0], "int64"),
        ("uint8", [-1.0, 2.0], "int64"),
        ("UInt8", [300.0, 2.0], "Int64"),
        ("int8", [1.5, 300.0], "float64"),
        ("bool", [2.0, 1.0], "int64"),
        ("boolean", [2.0, 1.0], "Int64"),
        ("float16", [1e5, 2.0], "float64"),
        ("category", [1.5, 2.0], "float64"),
    ],
)
def test_a_column_that_cannot_hold_a_number_is_widened_and_no_number_changes(dtype, numbers, wider):
    spelled = spell_numbers(HALVES, numbers, pd.Series([0, 1, 1]).astype(dtype))
    assert spelled.tolist() == numbers
    assert spelled.dtype == wider


@pytest.mark.parametrize("entries", [[1, 2], [1.5, 2.5], [1, 2.5]])
@pytest.mark.parametrize(("feature", "kind"), [(COUNT, int), (HALVES, float), (Feature("x", "numeric"), float)])
def test_numbers_among_objects_are_whole_where_the_feature_is_whatever_the_other_rows_hold(feature, kind, entries):
    spelled = spell_numbers(feature, [3.0, 4.0], pd.Series(entries, dtype=object))
    assert spelled.tolist() == [3, 4]
    assert {type(entry) for entry in spelled} == {kind}


def test_single_precision_is_kept_and_every_number_is_rounded_by_itself():
    like = pd.Series([1.0], dtype="float32")
    together = spell_numbers(Feature("x", "numeric"), [0.1, 2000.123456789], like)
    assert together.dtype == "float32"
    assert together.tolist() == [float(np.float32(0.1)), float(np.float32(2000.123456789))]
    alone = spell_numbers(Feature("x", "numeric"), [0.1], like)
    assert alone.tolist() == together.tolist()[:1]


@pytest.mark.parametrize("own", ["1", 1, 1.0])
def test_a_choice_among_objects_is_spelled_like_the_entry_that_it_replaces(own):
    entries = pd.Series([own, "2" if own != "1" else 2], dtype=object)
    spelled = spell_levels(GRADES, np.array([2, 2]), entries)
    assert [type(entry) for entry in spelled] == [type(entry) for entry in entries]
    assert [float(entry) for entry in spelled] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [([1, 1.5], "int64", [1.5]), ([1, 1.5], "Int64", [1.5]), (["1", "other"], "int64", ["other"]), ([0, 2], bool, [2])],
)
def test_a_value_that_a_column_of_numbers_cannot_hold_is_written_as_it_is(values, dtype, expected):
    feature = Feature("x", "ordinal", values=values)
    spelled = spell_levels(feature, np.array([1]), pd.Series([values[0]], dtype=object).astype(float).astype(dtype))
    assert spelled.tolist() == expected


def test_values_that_categories_lack_are_added_at_the_end():
    column = pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["b", "a"]))
    assert with_room(JOBS, column).dtype == pd.CategoricalDtype(["b", "a", "c"])
    assert with_room(JOBS, column).tolist() == ["b", "a"]
    assert with_room(JOBS.replace(allowed=["a", "b"]), column).dtype == column.dtype
    assert with_room(JOBS.replace(immutable=True), column).dtype == column.dtype
    spelled = spell_levels(JOBS, np.array([2, 0]), column)
    assert spelled.tolist() == ["c", "a"]
    assert isinstance(spelled.dtype, pd.CategoricalDtype)


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        ([1, 3], [1, 2, 3]),
        ([3, 1], [3, 2, 1]),
        ([2], [1, 2, 3]),
        (["1", "3"], ["1", "2", "3"]),
    ],
)
def test_values_that_ordered_categories_lack_are_added_where_they_belong(categories, expected):
    column = pd.Series(pd.Categorical(categories[:1], categories, ordered=True))
    assert with_room(GRADES, column).cat.categories.tolist() == expected
    assert with_room(GRADES, column).cat.ordered


@pytest.mark.parametrize(
    ("feature", "categories"),
    [(JOBS, ["a", "b"]), (Feature("job", "ordinal", values=["a", "b", "c", "d"]), ["b", "a", "c"])],
)
def test_an_order_in_which_a_value_has_no_place_is_refused(feature, categories):
    column = pd.Series(pd.Categorical(["a"], categories, ordered=True))
    with pytest.raises(InvalidInputError, match=r"'job'.*ordered.*as_unordered"):
        with_room(feature, column)


def test_numbers_of_a_line_that_are_kept_as_categories_become_plain():
    column = pd.Series([4, 0]).astype("category")
    assert with_room(COUNT, column).dtype == "int64"
    assert with_room(COUNT, column).tolist() == [4, 0]
