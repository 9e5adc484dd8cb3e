"""The recipe for Spark, on Spark itself where it and Java are installed: `make test-spark` sees to the former."""

import os
import shutil
import sys

import pandas as pd
import pytest

from copa.planner.bundle import save_bundle
from copa.plans.writers import typed_table
from e2e.page_blocks import blocks_under
from unit.planner import loans

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("default"),  # Spark's own
]


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark: make test-spark")
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers' interpreter: the one that has copa
    builder = sql.SparkSession.builder.master("local[2]").appName("copa")
    for name, value in {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]


@pytest.fixture(scope="module")
def bank():
    return loans.planner(loans.fitted_pipeline())


@pytest.fixture(scope="module")
def bundle(bank, tmp_path_factory):
    path = tmp_path_factory.mktemp("spark") / "loans.bundle"
    save_bundle(path, bank, loans.people(3, 0), {})
    return path


def test_the_recipe_of_the_page_makes_the_plans_of_the_planner(spark, bank, bundle, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loans.bundle").write_bytes(bundle.read_bytes())
    people = loans.people(60, 5).astype({"debt": "Int64"})
    people.loc["person 7", "debt"] = pd.NA
    people.reset_index(names="name").to_parquet(tmp_path / "people.parquet")
    applicants = spark.read.parquet(str(tmp_path / "people.parquet")).repartition(3)
    applicants.write.parquet(str(tmp_path / "applicants"))
    (snippet,) = blocks_under("docs/operations.md", "With Spark", "python")
    snippet = snippet.replace('"applicants"', repr(str(tmp_path / "applicants")))
    exec(compile(snippet.replace('"plans"', repr(str(tmp_path / "plans"))), "docs/operations.md", "exec"), {})  # noqa: S102 - running the documentation is the test
    found = pd.read_parquet(tmp_path / "plans").sort_values(["applicant", "option"], ignore_index=True)
    expected = typed_table(bank.plan(people)).sort_values(["applicant", "option"], ignore_index=True)
    assert found.loc[found["plan_status"] == "error", "applicant"].tolist() == ["person 7"]
    found = found.astype(expected.dtypes)
    for table in (found, expected):  # how a missing number is written
        table["plan_message"] = table["plan_message"].str.replace(r"got (<NA>|nan)", "got None", regex=True)
    pd.testing.assert_frame_equal(found, expected)
