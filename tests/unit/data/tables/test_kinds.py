import numpy as np
import pandas as pd
import pytest

from copa.data.tables.casting import ColumnReader, infer_kind, read_cell


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "-3"], "integer"),
        (["1", "2.5", ""], "number"),
        (["1e3", ".5", "NA"], "number"),
        (["True", "false"], "truth"),
        (["A11", "2"], "text"),
        (["01", "02"], "text"),
        (["12345678901234567890"], "text"),
        (["1_000"], "text"),
        (["1", "true"], "text"),
        (["", "NA"], "number"),
        ([1, 2], "integer"),
        ([1, 2.5, None], "number"),
        ([True, None], "truth"),
        (["a", None], "text"),
        ([float("nan"), 1], "integer"),
    ],
)
def test_the_kind_of_a_column_is_that_of_all_its_cells(cells, kind):
    assert infer_kind(cells) == kind


@pytest.mark.parametrize(
    ("kind", "cell", "value"),
    [
        ("integer", "7", 7),
        ("integer", "7.0", 7),
        ("integer", " 7 ", 7),
        ("integer", "7.5", 7.5),
        ("integer", "seven", "seven"),
        ("integer", "", None),
        ("integer", "NA", None),
        ("number", "inf", "inf"),
        ("text", "7", "7"),
        ("text", 7, "7"),
        ("text", "NA", "NA"),
        ("text", "", None),
        ("truth", "TRUE", True),
        ("truth", "0", False),
        ("truth", 1, True),
        ("truth", "maybe", "maybe"),
        ("integer", True, 1),
        ("number", float("nan"), None),
    ],
)
def test_a_cell_is_read_as_its_kind_and_kept_where_it_is_none(kind, cell, value):
    read = read_cell(kind, cell)
    assert (read, type(read)) == (value, type(value))


def column(kind, *chunks):
    reader = ColumnReader("x", kind)
    for chunk in chunks:
        reader.add(chunk)
    return reader.series()


@pytest.mark.parametrize(
    ("kind", "chunks", "dtype"),
    [
        ("integer", (["1", "2"], ["3"]), np.int64),
        ("integer", (["1", "2"], [""]), np.float64),
        ("integer", (["1", "2"], ["2.5"]), np.float64),
        ("integer", (["1", "2"], ["x"]), object),
        ("integer", ([str(2**63 - 1)], ["1"]), np.int64),
        ("integer", ([str(2**63)], ["1"]), np.float64),
        ("number", (["1", "2"], ["3"]), np.float64),
        ("truth", (["true"], ["false"]), bool),
        ("truth", (["true"], [""]), object),
        ("text", (["1"], [""]), pd.Series(["a"]).dtype),
        (None, (["1"], ["2"]), np.int64),
        (None, (["1"], ["02"]), pd.Series(["a"]).dtype),
    ],
)
def test_a_column_has_one_dtype_whatever_its_chunks_hold(kind, chunks, dtype):
    assert column(kind, *chunks).dtype == dtype


def test_values_stay_the_same_beside_a_bad_cell():
    values = column("integer", ["1", "2"], ["2.5", "3"], ["x", ""]).tolist()
    assert values == [1, 2, 2.5, 3, "x", None]
    assert [type(value) for value in values] == [int, int, float, int, str, type(None)]
