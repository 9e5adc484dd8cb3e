import numpy as np
import pandas as pd
import pytest

from copa.data.tables.casting import cast_like
from copa.exceptions import InvalidInputError

BEYOND_FLOATS = 2**53 + 1  # the first whole number that no float is


def column(values, dtype=object):
    return pd.Series(values, dtype=dtype, name="age")


@pytest.mark.parametrize(
    ("received", "dtype", "expected"),
    [
        (["24", "7"], "int64", [24, 7]),
        (["24.0", "7"], "int64", [24, 7]),
        ([24.0, 7.0], "int8", [24, 7]),
        ([True, 7], "int64", [1, 7]),
        ([str(BEYOND_FLOATS), "1e3"], "int64", [BEYOND_FLOATS, 1000]),
        ([7.0, None], "Int64", [7, pd.NA]),
        (["0.1", "-2e-3"], "float64", [0.1, -0.002]),
        (["0.1", None], "float32", [np.float32(0.1), np.nan]),
        (["True", "FALSE"], "bool", [True, False]),
        ([1.0, "0"], "bool", [True, False]),
        (["1", None], "boolean", [True, pd.NA]),
        (["01", 1], "str", ["01", "1"]),
        ([2.0, None], "string", ["2", pd.NA]),
        (["2024-02-29"], "datetime64[ns]", [pd.Timestamp("2024-02-29")]),
    ],
)
def test_values_come_back_in_the_dtype_asked_for(received, dtype, expected):
    like = pd.Series([], dtype=dtype)
    pd.testing.assert_series_equal(cast_like(column(received), like), column(expected, dtype), check_names=False)


@pytest.mark.parametrize(
    ("received", "categories", "expected"),
    [
        (["mid", "lo"], ["lo", "mid", "hi"], ["mid", "lo"]),
        (["2", "3.0"], [1, 2, 3], [2, 3]),
        ([2.0, 3], ["2", "3"], ["2", "3"]),
        (["0.5", None], [0.5, 1.5], [0.5, None]),
        (["True", False], [False, True], [True, False]),
    ],
)
def test_categories_are_found_by_what_they_say(received, categories, expected):
    dtype = pd.CategoricalDtype(categories, ordered=True)
    values = cast_like(column(received), pd.Series([], dtype=dtype))
    pd.testing.assert_series_equal(values, column(expected, dtype), check_names=False)


def test_a_column_of_the_right_dtype_is_left_alone():
    values = column([1.5, np.nan], "float64")
    assert cast_like(values, column([2.0], "float64")) is values


@pytest.mark.parametrize(
    ("like", "received", "expected"),
    [
        (["01", "02"], [1, "03"], ["1", "03"]),
        ([1, None, 2], ["3", "4.0"], [3, 4]),
        ([True, False], ["False", None], [False, None]),
        (["a", 1], ["b", 2], ["b", 2]),
        ([], ["b"], ["b"]),
    ],
)
def test_objects_take_the_kind_of_values_that_the_applicants_have(like, received, expected):
    values = cast_like(column(received), column(like))
    assert values.dtype == object
    assert values.tolist() == expected
    assert [type(value) for value in values] == [type(value) for value in expected]


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (["24", "24.5"], [24.0, 24.5]),
        ([3, None], [3.0, np.nan]),
        ([np.inf, 1], [np.inf, 1.0]),
        (["300", "1"], [300.0, 1.0]),
    ],
)
def test_what_whole_numbers_cannot_hold_stays_a_float(received, expected):
    values = cast_like(column(received), column([1], "int8"))
    pd.testing.assert_series_equal(values, column(expected, "float64"), check_names=False)


def test_an_unknown_category_stays_what_it_is():
    values = cast_like(column(["lo", "top"]), column(["lo"], "category"))
    assert values.dtype == object
    assert values.tolist() == ["lo", "top"]


def test_a_missing_truth_value_stays_missing():
    values = cast_like(column(["true", None]), column([False], "bool"))
    assert values.dtype == object
    assert values.tolist() == [True, None]


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_text_among_numbers_is_refused_with_its_place(dtype):
    with pytest.raises(InvalidInputError, match=r"'age' must hold numbers.*'young' in row 2"):
        cast_like(column(["1", None, "young"]), pd.Series([], dtype=dtype))


def test_what_is_neither_true_nor_false_is_refused_with_its_place():
    with pytest.raises(InvalidInputError, match=r"'age' must hold true or false.*2 in row 1"):
        cast_like(column([1, 2]), column([True], "bool"))


def test_what_no_other_dtype_can_read_is_refused():
    with pytest.raises(InvalidInputError, match=r"'age' must hold values of dtype datetime64"):
        cast_like(column(["soon"]), pd.Series([], dtype="datetime64[ns]"))


def test_one_cell_that_is_no_number_does_not_make_text_of_the_others():
    like = pd.Series([11.0, "abc", 25.0], dtype=object, name="months")
    assert cast_like(pd.Series(["104.0", "x"], name="months"), like).tolist() == [104.0, "x"]
