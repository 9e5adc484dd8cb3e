"""Tables of other libraries, in and out."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import copa
from copa.data.tables.frames import as_backend, as_pandas, backend_of, is_table

KINDS = (pytest.param("polars", marks=pytest.mark.extended), "pyarrow")
CELLS = {"age": [30, 41], "debt": [0.5, None], "home": ["own", None], "married": [True, False]}


def table_of(kind, cells):
    return pa.table(cells) if kind == "pyarrow" else pytest.importorskip(kind).DataFrame(cells)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_another_library_is_read_cell_by_cell(kind):
    table = as_pandas(table_of(kind, CELLS))
    assert isinstance(table, pd.DataFrame)
    assert table["age"].tolist() == [30, 41]
    assert table.isna().to_numpy().tolist() == [[False] * 4, [False, True, True, False]]
    assert table["home"][0] == "own"
    assert table["married"].tolist() == [True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_comes_back_in_its_own_library_without_the_index(kind):
    table = table_of(kind, CELLS)
    assert backend_of(table) == kind
    back = as_backend(as_pandas(table).set_axis(["a", "b"]), kind)
    assert type(back) is type(table)
    assert back.to_pandas().astype(object).equals(as_pandas(table).astype(object))


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_several_kinds_become_text_outside_of_pandas(kind):
    mixed = pd.DataFrame({"to": pd.Series([3.0, "own", None, True], dtype=object), "n": [1, 2, 3, 4]})
    back = as_backend(mixed, kind)
    assert back["to"].to_pylist() if kind == "pyarrow" else back["to"].to_list() == ["3", "own", None, "True"]
    assert as_pandas(back)["n"].tolist() == [1, 2, 3, 4]


def test_a_table_of_pandas_stays_the_same_object():
    table = pd.DataFrame(CELLS)
    assert as_pandas(table) is table
    assert as_backend(table, backend_of(table)) is table


@pytest.mark.parametrize("value", [[[1, 2]], np.ones((2, 2)), {"a": [1]}, "a.csv", None, pd.Series([1])])
def test_what_is_no_table_is_said(value):
    assert not is_table(value)
    with pytest.raises(copa.InvalidInputError, match=r"X must be a DataFrame with named columns \(of pandas, pol"):
        as_pandas(value)


@pytest.mark.extended
def test_a_lazy_table_is_to_be_collected_first():
    lazy = pytest.importorskip("polars").LazyFrame({"a": [1]})
    with pytest.raises(copa.InvalidInputError, match=r"got LazyFrame; call its collect\(\) first"):
        as_pandas(lazy)


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_the_same_name_are_told_by_their_numbers(library):
    twice = pd.DataFrame([[1, 2, 3]], columns=list("aba"))
    if library == "pyarrow":
        twice = pa.table([[1], [2], [3]], names=list("aba"))
    with pytest.raises(copa.InvalidInputError, match="more than one column 'a', numbers 1 and 3 of 3; rename"):
        as_pandas(twice)
