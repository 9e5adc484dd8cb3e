import numpy as np
import pandas as pd
import pytest

from copa.exceptions import InvalidInputError
from copa.plans.external import read_plans

COLUMNS = ["code", "age", "rate"]


@pytest.fixture
def applicants():
    return pd.DataFrame(
        {"rate": [0.1, 0.2, 0.3], "age": [20, 30, 40], "code": ["01", "02", "10"], "note": ["x", "y", "z"]},
        index=["ann", "bob", "eve"],
    )


@pytest.fixture
def options():
    return pd.DataFrame(
        {
            "applicant": ["eve", "ann", "eve"],
            "option": [1, 1, 2],
            "code": ["10", "02", "01"],
            "age": ["41", "21", "42"],
            "rate": ["0.25", "0.1", "0.3"],
            "accepted": [1, 1, 1],
        },
        index=[7, 7, 9],
    )


def test_a_table_is_read_with_owners_columns_and_dtypes(applicants, options):
    plans = read_plans(options, COLUMNS, applicants)
    pd.testing.assert_frame_equal(plans.factuals, applicants[COLUMNS])
    expected = pd.DataFrame({"code": ["10", "02", "01"], "age": [41, 21, 42], "rate": [0.25, 0.1, 0.3]})
    pd.testing.assert_frame_equal(plans.options, expected)
    assert plans.owner.tolist() == [2, 0, 2]


def test_the_label_may_be_a_level_of_the_index(applicants, options):
    level = options.set_index(["applicant", "option"])
    assert read_plans(level, COLUMNS, applicants).owner.tolist() == [2, 0, 2]


def test_a_column_of_the_model_named_applicant_is_no_label(applicants, options):
    people = applicants.assign(applicant=["main", "joint", "main"])
    table = options.set_index(["applicant"]).assign(applicant="joint")
    plans = read_plans(table, [*COLUMNS, "applicant"], people)
    assert plans.owner.tolist() == [2, 0, 2]
    assert plans.options["applicant"].tolist() == ["joint"] * 3


@pytest.mark.parametrize("labels", [[30, 10, 30], ["30", "10", "30"], [30.0, 10.0, 30.0]])
def test_numbers_as_labels_are_found_whatever_their_type(applicants, options, labels):
    plans = read_plans(options.assign(applicant=labels), COLUMNS, applicants.set_axis([10, 20, 30]))
    assert plans.owner.tolist() == [2, 0, 2]


def test_all_options_are_the_only_applicants(applicants, options):
    plans = read_plans(options.drop(columns="applicant"), COLUMNS, applicants.loc[["bob"]])
    assert plans.owner.tolist() == [0, 0, 0]
    assert plans.factuals.index.tolist() == ["bob"]


def test_the_applicants_and_the_table_stay_as_they_were(applicants, options):
    before = applicants.copy(), options.copy()
    plans = read_plans(options, COLUMNS, applicants)
    plans.options.loc[0, "age"] = 99
    plans.factuals.loc["ann", "age"] = 99
    pd.testing.assert_frame_equal(applicants, before[0])
    pd.testing.assert_frame_equal(options, before[1])


def test_owners_cannot_be_changed(applicants, options):
    with pytest.raises(ValueError, match="read-only"):
        read_plans(options, COLUMNS, applicants).owner[0] = 1


def test_a_list_holds_one_table_per_applicant(applicants, options):
    empty = options.iloc[:0]
    plans = read_plans([options.iloc[:2].astype({"age": float}), empty, options.iloc[2:]], COLUMNS, applicants)
    assert plans.owner.tolist() == [0, 0, 2]
    assert plans.options["age"].tolist() == [41, 21, 42]
    assert plans.options.dtypes.equals(plans.factuals.dtypes)


def test_putting_tables_together_changes_no_value(applicants, options):
    beyond_floats = 2**53 + 1  # no float is this number, and whole numbers beside fractions become floats
    tables = [options.assign(age=0.5), options.assign(age=beyond_floats), None]
    people = applicants.astype({"age": object})
    people["age"] = [1, "unknown", 2]  # nothing to cast to
    assert read_plans(tables, COLUMNS, people).options["age"].tolist() == [0.5] * 3 + [beyond_floats] * 3


def test_a_list_without_any_option_keeps_the_applicants(applicants):
    plans = read_plans([None, None, None], COLUMNS, applicants)
    assert len(plans.factuals) == 3
    assert plans.options.shape == (0, 3)
    assert plans.options.dtypes.equals(plans.factuals.dtypes)
    assert plans.owner.dtype == np.intp
    assert plans.owner.shape == (0,)


def test_applicants_are_needed(options):
    with pytest.raises(InvalidInputError, match="applicants must be given"):
        read_plans(options, COLUMNS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.rename(columns={"rate": "rates"}), "no column 'rate'; did you mean 'rates'"),
        (lambda t: t.drop(columns="rate"), "no column 'rate'; known are 'applicant', 'option', 'accepted'"),
        (lambda t: pd.concat([t, t[["age"]]], axis=1), "more than one column 'age'"),
        (lambda t: t.iloc[:0], "at least one row, got none"),
        (lambda t: t.drop(columns="applicant"), "there are 3 applicants.*got the columns 'option'"),
        (lambda t: t.replace("ann", "anne"), "row 1 is for applicant 'anne'.*did you mean 'ann'"),
        (lambda t: t.assign(applicant=[None, "ann", "eve"]), "row 0 does not say which applicant"),
        (lambda t: [t, t], "one table per applicant, 3, got 2"),
        (lambda t: [t, 5, t], "entry 1 .* must be a DataFrame .*, got int"),
        (lambda t: [t, t.iloc[:0], t.drop(columns="age")], "entry 2 .* no column 'age'"),
        (lambda t: t["age"], "source must be a DataFrame .*got Series"),
    ],
)
def test_a_source_that_does_not_fit_is_refused(applicants, options, change, message):
    with pytest.raises(InvalidInputError, match=message):
        read_plans(change(options), COLUMNS, applicants)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.set_axis(["ann", "bob", "ann"]), "'ann' more than once"),
        (lambda a: a.iloc[:0], "at least one row"),
        (lambda a: a.loc["ann"], "got Series"),
        (lambda a: a.rename(columns={"code": "cod"}), "applicants has no column 'code'; did you mean 'cod'"),
    ],
)
def test_applicants_that_do_not_fit_are_refused(applicants, options, change, message):
    with pytest.raises(InvalidInputError, match=message):
        read_plans(options, COLUMNS, change(applicants))


@pytest.mark.parametrize(("columns", "message"), [("code", "a list"), ([], "none"), (["age", "age"], "'age' twice")])
def test_columns_that_are_no_list_of_names_are_refused(applicants, options, columns, message):
    with pytest.raises(InvalidInputError, match=message):
        read_plans(options, columns, applicants)
