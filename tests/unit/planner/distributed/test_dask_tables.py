"""`copa.planner.distributed.plan`: the plans of a Dask DataFrame are those of the same rows on one machine."""

import pandas as pd
import pytest

import copa
from copa.exceptions import DataError, InvalidInputError
from copa.planner import persistence
from copa.planner.distributed.work import PackedPlanner
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
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
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


def test_a_folder_holds_the_same_rows_and_a_second_call_only_reads_it(bank, people, applicants, client, tmp_path):
    made = copa.planner.distributed.plan(bank, applicants, tmp_path / "plans", client=client)
    assert made.n_applicants == 12
    assert len(made.files) == applicants.npartitions
    same_rows(pd.concat([pd.read_parquet(made.path / name) for name in made.files]), people, bank)
    before = {path.name: path.stat().st_mtime_ns for path in made.path.glob("part-*")}
    assert copa.planner.distributed.plan(bank, applicants, tmp_path / "plans") == made
    assert {path.name: path.stat().st_mtime_ns for path in made.path.glob("part-*")} == before


def test_other_applicants_or_another_planner_are_not_mixed_in(bank, people, applicants, client, tmp_path):
    copa.planner.distributed.plan(bank, applicants, tmp_path / "plans", client=client)
    wishes = bank.with_wishes(copa.Wishes(n_options=1))
    with pytest.raises(InvalidInputError, match="planner differ"):
        copa.planner.distributed.plan(wishes, applicants, tmp_path / "plans", client=client)
    others = dd.from_pandas(people.iloc[:8], npartitions=3, sort=False)
    with pytest.raises(InvalidInputError, match="applicants differ"):
        copa.planner.distributed.plan(bank, others, tmp_path / "plans", client=client)


def test_a_column_names_the_applicants(bank, people, applicants):
    named = dd.from_pandas(people.reset_index(names="name"), npartitions=2)
    same_rows(copa.planner.distributed.plan(bank, named, id="name").compute(scheduler="synchronous"), people, bank)
    with pytest.raises(InvalidInputError, match=r"have no column 'nam'.*'name'"):
        copa.planner.distributed.plan(bank, named, id="nam")
    assert "name" not in applicants.columns


def test_a_partition_that_fails_is_named(bank, applicants, client, tmp_path):
    without = applicants.map_partitions(_without_debt, meta=applicants._meta)
    with pytest.raises(DataError, match=r"(?s)partition 0 \(partition 0 of the Dask DataFrame\).*Missing: .'debt'"):
        copa.planner.distributed.plan(bank, without, tmp_path / "plans", client=client)


def _without_debt(table):
    return table.drop(columns="debt")


def test_another_table_is_refused(bank, people):
    with pytest.raises(InvalidInputError, match=r"must be a Dask DataFrame, got DataFrame; planner\.plan takes"):
        copa.planner.distributed.plan(bank, people)


def test_a_folder_without_a_cluster_is_refused(bank, applicants, tmp_path, monkeypatch):
    def none():
        raise ValueError("no client")

    monkeypatch.setattr(distributed, "default_client", none)
    with pytest.raises(InvalidInputError, match="there is none; start one first"):
        copa.planner.distributed.plan(bank, applicants, tmp_path / "plans")


def test_a_planner_is_sent_as_a_bundle_and_opened_once(bank, people):
    packed = PackedPlanner.of(bank)
    assert not packed.pickled
    opened = packed.opened()
    assert opened is PackedPlanner.of(bank).opened()
    assert opened.n_jobs == 1
    pd.testing.assert_frame_equal(typed_table(opened.plan(people)), typed_table(bank.plan(people)))


def test_wishes_go_to_the_workers_too(bank, people, applicants):
    wished = bank.with_wishes(copa.Wishes(fixed=["income"], weights={"debt": 3.0}, max_change={"grade": {"up": 2}}))
    same_rows(copa.planner.distributed.plan(wished, applicants).compute(scheduler="synchronous"), people, wished)


def test_a_model_of_another_package_goes_to_the_workers_too(people, applicants):
    planner = loans.planner(loans.fitted_pipeline(Foreign()), later_models=copa.LaterModels(n_refits=20))
    assert PackedPlanner.of(planner).pickled
    same_rows(copa.planner.distributed.plan(planner, applicants).compute(scheduler="synchronous"), people, planner)


def test_a_planner_that_cannot_be_packed_for_another_reason_is_not_pickled(bank, monkeypatch):
    def refuse(*_, **__):
        raise InvalidInputError("fit it again")

    monkeypatch.setattr(persistence, "pack_planner", refuse)
    with pytest.raises(InvalidInputError, match="fit it again"):
        PackedPlanner.of(bank)


class Foreign(loans.LogisticRegression):
    """A class that no bundle may hold."""
