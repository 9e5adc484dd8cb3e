"""On a Dask cluster the plans are those of the same rows on one machine."""

import pandas as pd
import pytest

import copa
import copa.planner.distributed
from copa.exceptions import DataError, InvalidInputError
from copa.planner.runs import plan_run
from copa.plans.writers import typed_table
from unit.planner import loans

dd = pytest.importorskip("dask.dataframe", reason="needs Dask: pip install 'copa-recourse[dask]'")
distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'copa-recourse[dask]'")
pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def people():
    table = loans.people(12, 5)
    table.loc["person 7", "debt"] = 1000  # no row that the schema allows
    return table


@pytest.fixture(scope="module")
def applicants(people):
    return dd.from_pandas(people, npartitions=3, sort=False)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def same_rows(found, people, planner):
    expected = typed_table(planner.plan(people))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected, check_dtype=False)


def test_without_a_folder_the_plans_are_a_table_that_is_computed_later(bank, people, applicants):
    plans = copa.planner.distributed.plan(bank, applicants)
    assert plans.npartitions == applicants.npartitions
    assert list(plans.columns) == list(typed_table(bank.plan(people.head(1))).columns)
    found = plans.compute(scheduler="synchronous")
    same_rows(found, people, bank)
    assert (found.dtypes == plans.dtypes).all()


def test_a_run_on_a_cluster_is_the_bytes_of_one_process(bank, people, client, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", 5)
    here = plan_run(bank, people, tmp_path / "here")
    there = plan_run(bank, people, tmp_path / "there", client=client)
    assert len(there.names) == 3
    for path in here.folder.iterdir():
        assert (there.folder / path.name).read_bytes() == path.read_bytes()
    before = {path.name: path.stat().st_mtime_ns for path in there.folder.glob("part-*")}
    assert plan_run(bank, people, tmp_path / "there", client=client).statuses == here.statuses
    assert {path.name: path.stat().st_mtime_ns for path in there.folder.glob("part-*")} == before


def test_a_column_names_the_applicants(bank, people):
    named = dd.from_pandas(people.reset_index(names="name"), npartitions=2)
    same_rows(copa.planner.distributed.plan(bank, named, id="name").compute(scheduler="synchronous"), people, bank)
    with pytest.raises(InvalidInputError, match=r"have no column 'nam'.*'name'"):
        copa.planner.distributed.plan(bank, named, id="nam")


def test_a_part_that_fails_on_a_worker_is_named(bank, people, client, tmp_path):
    words = r"(?s)part 0 of the plans: .*needs column 'debt'|part 0 of the plans: .*'debt'"
    with pytest.raises(DataError, match=words):
        plan_run(bank, people.drop(columns="debt"), tmp_path / "run", client=client)


def test_another_table_is_refused(bank, people):
    with pytest.raises(InvalidInputError, match=r"must be a Dask DataFrame, got DataFrame; planner\.plan takes"):
        copa.planner.distributed.plan(bank, people)


def test_wishes_go_to_the_workers_too(bank, people, applicants):
    wished = bank.with_wishes(copa.Wishes(fixed=["income"], weights={"debt": 3.0}, max_change={"grade": {"up": 2}}))
    same_rows(copa.planner.distributed.plan(wished, applicants).compute(scheduler="synchronous"), people, wished)
