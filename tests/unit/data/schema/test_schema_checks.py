import numpy as np
import pandas as pd
import pytest

from copa import InvalidInputError
from copa.data.schema import Feature, FeatureSchema

SCHEMA = FeatureSchema(
    [
        Feature("age", "integer", immutable=True, lower=18, upper=99),
        Feature("income", "numeric", lower=0),
        Feature("job", "categorical", values=("none", "skilled")),
        Feature("grade", "ordinal", values=(1, 2, 3), immutable=True, upper=2),
        Feature("debt", "integer", step=5),
        Feature("rate", "numeric", step=0.05),
    ]
)
GOOD = {"age": 40, "income": 1000.0, "job": "none", "grade": 2, "debt": 10, "rate": 0.5}


def column_of(value):
    """A column of one value; as an object where pandas 2.1 fails to see that no number type can hold it."""
    return pd.Series([value], index=["Ann"], dtype=object if value == 10**400 else None)


def complaint(schema=SCHEMA, **changes):
    table = pd.DataFrame({name: column_of(value) for name, value in (GOOD | changes).items()})
    return schema.check(table)


def test_a_good_row_has_no_complaint():
    assert complaint() == [""]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"job": "pilot"}, "row 'Ann': column 'job' must be one of 'none', 'skilled', got 'pilot'"),
        ({"grade": 7}, "row 'Ann': column 'grade' must be one of 1, 2, 3, got 7"),
        ({"income": "much"}, "column 'income' must be a number, got 'much'"),
        ({"income": "1000"}, "column 'income' must be a number, got '1000'"),
        ({"income": np.inf}, "column 'income' must be finite, got inf"),
        ({"age": 40.5}, "column 'age' must be a whole number, got 40.5"),
        ({"debt": 10**17}, "column 'debt' must be smaller than 9007199254740992, where multiples of 5 are exact"),
        ({"debt": -(2**53) - 1}, "must be smaller than 9007199254740992, where multiples of 5 are exact (rescale the"),
        ({"rate": 1e13}, "column 'rate' must be smaller than 10000000000000, where multiples of 0.05 are exact"),
        ({"age": 10**400}, "column 'age' must be finite, got 1000"),
    ],
)
def test_a_complaint_names_row_column_value_and_what_is_allowed(changes, message):
    [found] = complaint(**changes)
    assert message in found
    assert found.startswith("row 'Ann': column ")


def test_what_no_option_changes_may_be_missing():
    assert complaint(age=np.nan, grade=None) == [""]


def test_what_a_rule_needs_must_not_be_missing():
    schema = FeatureSchema(SCHEMA.features, rules=["income <= 100*age"])
    [found] = complaint(schema, age=np.nan)
    assert "column 'age' must not be missing, because a rule needs it (a number" in found
    assert complaint(schema, job=None) == [""]


def test_a_special_code_in_a_column_of_a_rule_is_no_fault():
    schema = FeatureSchema(SCHEMA.features, rules=["income <= 100*age"]).replace(income={"special": [-9]})
    assert complaint(schema, income=-9.0) == [""]


@pytest.mark.parametrize("missing", ["stay", "may_change"])
@pytest.mark.parametrize("changes", [{"income": np.nan}, {"job": None}, {"income": None, "job": np.nan}])
def test_a_missing_value_is_no_fault_of_the_applicant(changes, missing):
    schema = SCHEMA.replace({name: {"missing": missing} for name in SCHEMA})
    assert complaint(schema, **changes) == [""]


@pytest.mark.parametrize("changes", [{"income": -5.0}, {"age": 17}, {"grade": 3}], ids=["free", "immutable", "choice"])
def test_a_value_outside_its_range_is_no_fault_of_the_applicant(changes):
    assert complaint(**changes) == [""]


@pytest.mark.parametrize("changes", [{"debt": 2**53 - 1}, {"rate": 9999999999999.95}, {"age": 10**17}])
def test_a_number_is_good_below_where_steps_are_exact_and_anywhere_where_it_stays(changes):
    assert complaint(**changes) == [""]


def test_all_faults_of_a_row_are_told_once():
    [found] = complaint(age=17.5, job="pilot", income="much")
    assert found.count("row 'Ann'") == 1
    assert found.count("column 'age'") == 1
    assert [found.index(f"column '{name}'") for name in ("age", "income", "job")] == sorted(
        found.index(f"column '{name}'") for name in ("age", "income", "job")
    )


def test_complaints_stand_at_their_rows():
    table = pd.DataFrame([GOOD, GOOD | {"job": "pilot"}, GOOD], index=[10, 20, 30])
    found = SCHEMA.check(table)
    assert [bool(message) for message in found] == [False, True, False]
    assert found[1].startswith("row 20: ")


def test_a_missing_column_is_an_error_at_once_with_the_nearest_name():
    table = pd.DataFrame([GOOD]).rename(columns={"income": "imcome"})
    with pytest.raises(InvalidInputError, match=r"X must have a column 'income', .*; did you mean 'imcome'"):
        SCHEMA.check(table)


def test_other_columns_play_no_part():
    assert SCHEMA.check(pd.DataFrame([GOOD | {"note": "x"}])) == [""]


def test_a_column_that_is_there_twice_is_refused():
    table = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(InvalidInputError, match="more than one column 'age'"):
        SCHEMA.check(table)


def test_only_tables_are_checked():
    with pytest.raises(InvalidInputError, match=r"X must be a DataFrame with named columns .*, got ndarray"):
        SCHEMA.check(np.zeros((2, 4)))


def test_long_lists_of_values_are_cut():
    schema = FeatureSchema([Feature("x", "categorical", values=range(100))])
    [found] = schema.check(pd.DataFrame({"x": [-1]}))
    assert "10, 11, ... (100 in all), got -1" in found


def test_cells_that_are_missing_special_or_outside_are_counted_by_column():
    schema = FeatureSchema(
        [
            Feature("debt", "numeric", lower=0.1, upper=9, special=[-9, 99.5]),
            Feature("grade", "ordinal", values=[1, 2, 3], lower=2),
            Feature("job", "categorical", values=["a", "b"]),
            Feature("open", "integer"),
        ]
    )
    table = pd.DataFrame(
        {
            "debt": np.array([0.1, -9, 99.5, np.nan, 10, 0], dtype=np.float32),
            "grade": [1, 2, 3, 1, None, 7],
            "job": ["a", "b", None, None, "x", "a"],
            "open": [-9, 1, 2, 3, 4, 5],
        }
    )
    assert schema.count_cells(table) == {
        "debt": {"missing": 1, "special": 2, "outside": 2},
        "grade": {"missing": 1, "outside": 2},
        "job": {"missing": 2},
    }
    assert schema.count_cells(table[:0]) == {}
