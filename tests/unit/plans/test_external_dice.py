"""DiCE's forms, written out by hand; `tests/e2e/test_dice.py` reads those of the real package."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest

from copa.exceptions import InvalidInputError
from copa.plans.external import read_plans

COLUMNS = ["code", "age", "rate"]
NAMES = ["rate", "code", "age", "good"]


def table(rows):
    return pd.DataFrame(rows, columns=NAMES)


QUERIES = [table([[0.1, "01", 20, 0]]), table([[0.2, "02", 30, 0]]), table([[0.3, "10", 40, 0]])]
OPTIONS = [table([[0.5, "01", 21, 1], [0.1, "10", 22, 1]]), None, table([[0.75, "02", 40, 1]])]
EXPECTED = pd.DataFrame({"code": ["01", "10", "02"], "age": [21, 22, 40], "rate": [0.5, 0.1, 0.75]})


def result(queries=QUERIES, options=OPTIONS, sparse=OPTIONS):
    entries = zip(queries, options, sparse, strict=True)
    return SimpleNamespace(
        cf_examples_list=[
            SimpleNamespace(test_instance_df=query, final_cfs_df=full, final_cfs_df_sparse=short)
            for query, full, short in entries
        ]
    )


def as_json(queries=QUERIES, options=OPTIONS):
    return {
        "test_data": [query.to_numpy().tolist() for query in queries],
        "cfs_list": [None if rows is None else rows.to_numpy().tolist() for rows in options],
        "local_importance": None,
        "summary_importance": None,
        "data_interface": {"outcome_name": "good", "data_df": "dummy_data"},
        "feature_names": [name for name in NAMES if name != "good"],
        "feature_names_including_target": NAMES,
        "model_type": "classifier",
        "desired_class": 1,
        "desired_range": None,
        "metadata": {"version": "2.0"},
    }


def people():
    factuals = pd.concat(QUERIES).set_axis(["ann", "bob", "eve"])
    return factuals.astype({"age": "int8", "code": pd.CategoricalDtype(["01", "02", "10"])})


FORMS = {
    "object": result,
    "dict": as_json,
    "text": lambda: "\n " + json.dumps(as_json()),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_options_and_their_owners(form):
    plans = read_plans(FORMS[form](), COLUMNS)
    pd.testing.assert_frame_equal(plans.options, EXPECTED)
    pd.testing.assert_frame_equal(plans.factuals, pd.concat(QUERIES, ignore_index=True)[COLUMNS])
    assert plans.owner.tolist() == [0, 0, 2]


@pytest.mark.parametrize("form", FORMS)
def test_given_applicants_lend_their_labels_and_dtypes(form):
    plans = read_plans(FORMS[form](), COLUMNS, people())
    pd.testing.assert_frame_equal(plans.factuals, people()[COLUMNS])
    pd.testing.assert_frame_equal(plans.options, EXPECTED.astype(plans.factuals.dtypes))
    assert plans.owner.tolist() == [0, 0, 2]


def test_a_file_holds_the_same(tmp_path):
    path = tmp_path / "dice.json"
    path.write_text(json.dumps(as_json()), encoding="utf-8")
    pd.testing.assert_frame_equal(read_plans(path, COLUMNS).options, EXPECTED)


def test_values_that_became_text_are_cast_back():
    as_text = [None if rows is None else rows.astype(str) for rows in OPTIONS]
    plans = read_plans(result(sparse=as_text), COLUMNS, people())
    pd.testing.assert_frame_equal(plans.options, EXPECTED.astype(plans.factuals.dtypes))


def test_the_sparse_options_count_and_the_others_where_there_are_none():
    sparse = [OPTIONS[0].iloc[:1], None, None]
    plans = read_plans(result(sparse=sparse), COLUMNS)
    pd.testing.assert_frame_equal(plans.options, EXPECTED.iloc[[0, 2]].reset_index(drop=True))


def test_row_labels_that_repeat_do_not_matter():
    repeated = [None if rows is None else rows.set_axis([0] * len(rows)) for rows in OPTIONS]
    pd.testing.assert_frame_equal(read_plans(result(sparse=repeated), COLUMNS).options, EXPECTED)


@pytest.mark.parametrize("nothing", [None, table([])])
def test_a_result_without_options_keeps_its_queries(nothing):
    plans = read_plans(result(options=[nothing] * 3, sparse=[None] * 3), COLUMNS)
    assert len(plans.factuals) == 3
    assert len(plans.options) == len(plans.owner) == 0


def test_decimals_that_were_rounded_do_not_make_another_applicant():
    factuals = people().assign(rate=[0.10001, 0.2, 0.3])
    assert read_plans(result(), COLUMNS, factuals).factuals["rate"].tolist() == [0.10001, 0.2, 0.3]


@pytest.mark.parametrize("dtype", ["float64", "str"])
def test_queries_are_recognised_whatever_their_dtype(dtype):
    queries = [query.astype({"age": dtype}) for query in QUERIES]
    assert read_plans(result(queries), COLUMNS, people()).owner.tolist() == [0, 0, 2]


def test_truth_values_are_taken_from_the_applicants_only():
    queries = [query.assign(member=True) for query in QUERIES]
    options = [None if rows is None else rows.assign(member="False") for rows in OPTIONS]
    source = result(queries, options, options)
    with pytest.raises(InvalidInputError, match="applicants must be given, because column 'member'"):
        read_plans(source, [*COLUMNS, "member"])
    plans = read_plans(source, [*COLUMNS, "member"], people().assign(member=[False, True, False]))
    assert plans.factuals["member"].tolist() == [False, True, False]
    assert plans.options["member"].tolist() == [False] * 3
    assert plans.options["member"].dtype == bool


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.iloc[::-1], "same order; in row 0, label 'eve', 'code' is '10', but DiCE was given '01'"),
        (lambda p: p.assign(age=[20, 31, 40]), "in row 1, label 'bob', 'age' is 31, but DiCE was given 30"),
        (lambda p: p.iloc[:2], "3 of them, got 2 rows"),
    ],
)
def test_other_applicants_than_those_of_the_queries_are_refused(change, message):
    with pytest.raises(InvalidInputError, match=message):
        read_plans(result(), COLUMNS, change(people()))


def without(key):
    return {name: value for name, value in as_json().items() if name != key}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"cf_examples_list": []}, "not from DiCE: .*got 'cf_examples_list'"),
        ({}, "not from DiCE: it needs the keys 'cfs_list', .*got none"),
        (without("cfs_list"), "not from DiCE: .*got 'test_data', 'local_importance'"),
        (without("feature_names_including_target"), "not from DiCE"),
        (as_json() | {"test_data": []}, "damaged"),
        (as_json() | {"feature_names_including_target": NAMES[:3]}, "damaged: ValueError: 3 columns passed"),
        (as_json() | {"cfs_list": 5}, "damaged"),
        (as_json() | {"test_data": [], "cfs_list": []}, "at least one query"),
        (as_json(queries=[pd.concat(QUERIES), *QUERIES[1:]]), "query 0 .* must be one row, got 3"),
        (result(queries=[q.rename(columns={"age": "ages"}) for q in QUERIES]), "no column 'age'; did you mean 'ages'"),
        (SimpleNamespace(cf_examples_list=[]), "at least one query"),
    ],
)
def test_what_dice_does_not_write_is_refused(source, message):
    with pytest.raises(InvalidInputError, match=message):
        read_plans(source, COLUMNS)
