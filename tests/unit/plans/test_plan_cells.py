import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import copa
from copa.data.tables.cells import as_json, as_text, cells_of
from copa.data.tables.packing import pack_entries, pack_entry, unpack_entry
from copa.plans.changes import changed_cells


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(18), "18"),
        (18.0, "18"),
        (0.1 + 0.2, "0.3"),
        (np.float32(0.1), "0.1"),
        (np.float64(1234.5), "1234.5"),
        (True, "True"),
        (np.bool_(False), "False"),
        ("A61", "A61"),
        ("two words", "'two words'"),
        ("", "''"),
        (None, "missing"),
        (np.nan, "missing"),
        (pd.NA, "missing"),
        (pd.NaT, "missing"),
        (("a", np.int64(1)), "a, 1"),
        (pd.Timestamp("2020-01-02"), "2020-01-02 00:00:00"),
        (np.datetime64("2020-01-02"), "2020-01-02 00:00:00"),
    ],
)
def test_a_cell_reads_as_a_person_writes_it(value, text):
    assert as_text(value) == text


def test_text_is_quoted_where_asked():
    assert as_text("car", quoted=True) == "'car'"
    assert as_text(3, quoted=True) == "3"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (np.int64(3), 3),
        (np.float32(0.1), 0.1),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (np.inf, None),
        (np.nan, None),
        (pd.NaT, None),
        (Decimal("1.5"), 1.5),
        (Decimal("NaN"), None),
        (dt.date(2020, 1, 2), "2020-01-02"),
        (dt.time(1, 2), "01:02:00"),
        (np.datetime64("2020-01-02T03:04"), "2020-01-02T03:04:00"),
        (np.timedelta64(1, "D"), "P1DT0H0M0S"),
        (pd.Interval(0, 1), "(0, 1]"),
        (("a", (1, None)), ["a", [1, None]]),
    ],
)
def test_a_cell_becomes_json(value, content):
    found = as_json(value)
    assert found == content
    assert type(found) is type(content)


def test_cells_of_single_precision_keep_it():
    assert [type(cell) for cell in cells_of(pd.Series([0.1], dtype="float32"))] == [np.float32]
    assert [type(cell) for cell in cells_of(pd.Series([1]))] == [int]


def test_missing_cells_are_the_same_as_each_other_only():
    own = pd.DataFrame({"a": [1.0, np.nan, np.nan, 2.0]}, index=[5, 5, 5, 5])
    new = pd.DataFrame({"a": [1.0, np.nan, 3.0, np.nan]})
    assert changed_cells(own, new)[:, 0].tolist() == [False, False, True, True]


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "string", "boolean", "category", object])
def test_missing_cells_of_other_dtypes_are_compared_too(dtype):
    values = {"string": ["a", None, "b"], "boolean": [True, None, False]}.get(dtype, [1, None, 2])
    own = pd.DataFrame({"a": pd.Series(values, dtype=dtype)})
    assert changed_cells(own, own)[:, 0].tolist() == [False, False, False]
    assert changed_cells(own, own.iloc[[0, 2, 1]])[:, 0].tolist() == [False, True, True]


def test_tables_of_different_dtypes_are_compared_by_value():
    own = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": [1, 2]})
    new = pd.DataFrame({"a": pd.Categorical(["x", "z"]), "b": [1.0, 2.5]})
    assert changed_cells(own, new).tolist() == [[False, False], [True, True]]


def test_values_that_are_equal_but_of_other_types_stay_apart():
    values = [1, 1.0, True, "1", np.int64(1), np.float32(1), None, np.nan, -0.0, 0.0, 0, False, 1]
    codes, distinct = pack_entries(values, "x")
    assert codes.tolist() == [*range(12), 0]
    found = [unpack_entry(distinct[code]) for code in codes]
    assert [(type(v), repr(v)) for v in found] == [(type(v), repr(v)) for v in values]


class Money(int):
    pass


@pytest.mark.parametrize("value", [Money(3), {1}, [1], object(), 1 + 2j, b"x", np.void(b"x")])
def test_values_that_cannot_be_saved_are_refused(value):
    with pytest.raises(copa.InvalidInputError, match=r"column 'a' holds .* which cannot be saved"):
        pack_entry(value, "column 'a'")


@pytest.mark.parametrize("entry", [["os.system", "ls"], ["numpy", "|O", "00"], ["numpy", "|V1", "00"], [], ["date", 3]])
def test_entries_that_were_not_saved_are_refused(entry):
    with pytest.raises((ValueError, KeyError, TypeError)):
        unpack_entry(entry)
