import numpy as np
import pandas as pd
import pytest

from copa import Feature, FeatureSchema
from copa.data.schema.typical import typical_row

AMOUNT = FeatureSchema([Feature("amount", "numeric", special=[-9], step=5)])


def typical(values, schema=AMOUNT, name="amount", dtype=None):
    return typical_row(schema, pd.DataFrame({name: pd.Series(values, dtype=dtype)}), [name])[name].iloc[0]


def test_numbers_are_medians_rounded_to_what_their_spread_tells_and_to_their_step():
    # Spread of 200: told in tens. The median is 1,234.
    assert typical([1034.0, 1134.0, 1234.0, 1334.0, 1434.0]) == 1230.0


def test_whole_numbers_stay_whole_and_years_are_not_rounded_away():
    row = typical_row(
        FeatureSchema([Feature("year", "integer")]), pd.DataFrame({"year": [1979, 1987, 1987, 1995]}), ["year"]
    )
    assert row["year"].dtype == np.int64
    assert row["year"].iloc[0] == 1987


@pytest.mark.parametrize(
    ("values", "expected"), [([np.nan, np.nan, 5.0], np.nan), ([-9.0, -9.0, np.nan, 50.0], -9.0), ([-9.0, 50.0], 50.0)]
)
def test_the_most_frequent_irregular_cell_is_typical_where_most_are_irregular(values, expected):
    assert np.array_equal(typical(values), expected, equal_nan=True)


def test_levels_are_the_most_frequent_ones_and_ties_do_not_depend_on_the_order_of_the_rows():
    schema = FeatureSchema([Feature("job", "categorical", values=["clerk", "nurse", "driver"])])
    assert typical(["nurse", "clerk", "nurse"], schema, "job") == "nurse"
    assert typical(["nurse", "clerk"], schema, "job") == typical(["clerk", "nurse"], schema, "job") == "clerk"
    assert pd.isna(typical([None, None, "clerk"], schema, "job"))
    assert typical(["nurse", "clerk", "nurse"], schema, "job", dtype="category") == "nurse"


def test_columns_that_the_schema_does_not_know_are_read_by_their_kind():
    table = pd.DataFrame({"points": [1.0, 2.0, 30.0], "flag": [True, True, False]})
    row = typical_row(AMOUNT, table, ["points", "flag"])
    assert row.to_dict("records") == [{"points": 2.0, "flag": True}]
