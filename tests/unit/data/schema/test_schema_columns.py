from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from copa import InvalidInputError
from copa.data.schema import Feature, FeatureSchema
from copa.data.schema.columns import column_numbers, read_table

CODED = [2, 1, 3, 1]  # the same four people in every coding below
EXPECTED = [1, 0, 2, 0]


def schema_of(values, kind="ordinal"):
    return FeatureSchema([Feature("x", kind, values=values)])


def codes(values, column):
    kind = "binary" if len(values) == 2 else "ordinal"
    return schema_of(values, kind).codes(pd.DataFrame({"x": column}), "x").tolist()


@pytest.mark.parametrize("values", [(1, 2, 3), (1.0, 2.0, 3.0), ("1", "2", "3")])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series(CODED),
        pd.Series(CODED, dtype="int8"),
        pd.Series(CODED, dtype="float32"),
        pd.Series(CODED, dtype="Int64"),
        pd.Series(CODED, dtype=object),
        pd.Series(CODED, dtype="category"),
        pd.Series([str(code) for code in CODED]),
        pd.Series([str(code) for code in CODED], dtype=object),
        pd.Series([str(code) for code in CODED], dtype="string"),
        pd.Series([str(code) for code in CODED], dtype="category"),
        pd.Series([np.int16(2), 1.0, "3", np.str_("1")], dtype=object),
    ],
    ids=lambda column: f"{column.dtype}-{type(column.iloc[0]).__name__}",
)
def test_the_same_values_have_the_same_codes_in_every_coding(values, column):
    assert codes(values, column) == EXPECTED


@pytest.mark.parametrize("values", [(False, True), (0, 1), (0.0, 1.0)])
@pytest.mark.parametrize("dtype", ["bool", "boolean", "int64", "float64", "object", "category"])
def test_true_and_false_are_one_and_zero(values, dtype):
    assert codes(values, pd.Series([True, False, True]).astype(dtype)) == [1, 0, 1]


def test_true_and_false_are_found_among_their_texts():
    assert codes(("False", "True"), pd.Series([True, False])) == [1, 0]
    assert codes((False, True), pd.Series(["True", "False"])) == [1, 0]


def test_text_matches_exactly():
    assert codes(("01", "1", "yes"), pd.Series(["1", "01", "yes", "Yes", " yes", ""])) == [1, 0, 2, -1, -1, -1]
    assert codes((1, 2, 3), pd.Series(["01", "1.0", "1 "])) == [-1, -1, -1]


def test_missing_and_unknown_entries_have_no_code():
    entries = pd.Series([1, None, np.nan, pd.NA, "nan", 7, Decimal(1), [1], np.inf, 10**30], dtype=object)
    assert codes((1, 2, 3), entries) == [0] + [-1] * 9
    assert codes(("nan", "x", "None"), pd.Series([np.nan, None, "nan"], dtype=object)) == [-1, -1, 0]


def test_single_precision_decimals_are_found():
    assert codes((0.1, 0.2, 0.7), pd.Series([0.7, 0.1], dtype="float32")) == [2, 0]


def test_categories_that_do_not_occur_play_no_part():
    column = pd.Series(pd.Categorical(["b", "a"], categories=["zzz", "b", "a"]))
    assert codes(("a", "b", "c"), column) == [1, 0]


def test_codes_of_a_line_are_refused():
    schema = FeatureSchema([Feature("x", "numeric")])
    with pytest.raises(InvalidInputError, match="column 'x' is numeric and has no list of values"):
        schema.codes(pd.DataFrame({"x": [1.0]}), "x")


def test_numbers_are_read_from_objects_and_text_is_none():
    entries = pd.Series([1, 2.5, True, Decimal("0.5"), None, "3", [1], np.float32(4.0)], dtype=object)
    numbers, wrong = column_numbers(entries)
    np.testing.assert_array_equal(numbers, [1.0, 2.5, 1.0, 0.5, np.nan, np.nan, np.nan, 4.0])
    assert wrong.tolist() == [False] * 5 + [True, True, False]


@pytest.mark.parametrize("dtype", ["float64", "Float64", "object", "category"])
def test_missing_numbers_are_missing_and_not_wrong(dtype):
    numbers, wrong = column_numbers(pd.Series([1.5, np.nan]).astype(dtype))
    np.testing.assert_array_equal(numbers, [1.5, np.nan])
    assert not wrong.any()


def test_complex_numbers_and_dates_are_no_numbers():
    assert column_numbers(pd.Series([1 + 2j]))[1].all()
    assert column_numbers(pd.Series(pd.to_datetime(["2020-01-01"])))[1].all()
    assert column_numbers(pd.Series([np.timedelta64(1, "D")], dtype=object))[1].all()


@pytest.mark.parametrize("dtype", ["float[pyarrow]", "halffloat[pyarrow]"])
def test_arrow_single_precision_is_read_as_numpys_whose_decimals_are_those_written(dtype):
    table = pd.DataFrame({"a": pd.array([0.1, None, 1.1], dtype=dtype)})
    read = read_table(table, ("a",))
    assert str(read["a"].dtype) in ("float32", "float16")
    assert [str(cell) for cell in read["a"].array] == ["0.1", "nan", "1.1"]
    assert str(table["a"].dtype) == dtype  # the caller's stays as it is


def test_a_sparse_column_is_refused_with_what_to_do():
    table = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])})
    with pytest.raises(InvalidInputError, match=r"sparse column 'a'; make it dense first, with X\['a'\]"):
        read_table(table, ("a",))
