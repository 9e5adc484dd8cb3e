"""`PlanMapper` without Spark: tables in, tables of plans out. tests/spark has it with Spark."""

import pickle

import pandas as pd
import pytest

import copa
from copa.exceptions import InvalidInputError
from copa.planner.bundle import save_bundle
from copa.planner.distributed import PlanMapper
from copa.plans.writers import typed_table
from unit.planner import loans


@pytest.fixture(scope="module")
def bundle(bank, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "loans.bundle"
    save_bundle(path, bank, loans.people(3, 0), {})
    return path


@pytest.fixture(scope="module")
def people():
    return loans.people(8, 5).reset_index(names="name")


def test_the_plans_of_tables_are_those_of_the_planner(bank, bundle, people):
    mapper = pickle.loads(pickle.dumps(PlanMapper(bundle, id="name")))  # noqa: S301 - as Spark sends it
    found = pd.concat(mapper([people.iloc[:5], people.iloc[:0], people.iloc[5:]]), ignore_index=True)
    expected = typed_table(bank.plan(people.set_index("name").rename_axis(None)))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_the_schema_names_every_column_with_a_type(bundle, people):
    mapper = PlanMapper(bundle, id="name")
    told = dict(column.rsplit(" ", 1) for column in mapper.schema.split(", "))
    table = next(iter(mapper([people])))
    assert [name.strip("`") for name in told] == list(table.columns)
    assert told["`income`"] == "DOUBLE"
    assert told["`debt`"] == "BIGINT"
    assert told["`married`"] == "BOOLEAN"
    assert told["`job`"] == told["`applicant`"] == "STRING"
    assert str(table["debt"].dtype) == "Int64"


def test_a_bad_row_fails_no_other(bundle, people):
    table = people.astype({"debt": object})
    table.loc[1, "debt"] = "much"
    table.loc[2, "debt"] = None
    plans = next(iter(PlanMapper(bundle, id="name")([table])))
    failed = plans[plans["plan_status"] == "error"]
    assert failed["applicant"].tolist() == ["person 1", "person 2"]
    assert failed["debt"].isna().all()
    assert str(plans["debt"].dtype) == "Int64"


@pytest.mark.parametrize("dtype", ["Int64", "float64", object])
def test_a_missing_cell_is_one_in_every_dtype(bundle, people, dtype):
    table = people.astype({"debt": dtype})
    table.loc[2, "debt"] = None
    plans = next(iter(PlanMapper(bundle, id="name")([table])))
    assert plans.loc[plans["plan_status"] == "error", "applicant"].tolist() == ["person 2"]


def test_the_words_of_changes_do_not_depend_on_how_spark_cuts_the_table(bundle, people):
    table = people.astype({"debt": "Int64"})
    table.loc[2, "debt"] = None
    mapper = PlanMapper(bundle, id="name")
    whole = pd.concat(mapper([table]), ignore_index=True)
    cut = pd.concat(mapper([table.iloc[:2], table.iloc[2:3], table.iloc[3:]]), ignore_index=True)
    pd.testing.assert_frame_equal(whole, cut)
    assert not whole["option_changes"].str.contains(r"debt: \d+\.").any()


def test_wishes_are_heard(bundle, people):
    plans = next(iter(PlanMapper(bundle, id="name", wishes=copa.Wishes(n_options=1))([people])))
    assert plans["option"].max() == 1


def test_a_missing_column_is_named(bundle, people):
    with pytest.raises(InvalidInputError, match="no column 'name'"):
        next(iter(PlanMapper(bundle, id="name")([people.drop(columns="name")])))
