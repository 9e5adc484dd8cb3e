"""One short way through everything that COPA needs: what `make test-lowest-quick` and `make test-pythons` try.

The planner's search is left out, whose kernels take a minute to compile; `make test-lowest` has it.
"""

import os

import pandas as pd
import pytest

import copa
from copa.planner.bundle import load_bundle
from copa.plans import PlanBatch
from copa.plans.writers import plans_into
from copa.report import write_report
from e2e import command_runs
from unit.planner import loans


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return command_runs.write_bank(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def planner(bank):
    """Fitted by the command, as it comes out of the bundle."""
    return load_bundle(command_runs.fit_bank(bank)).planner


@pytest.fixture(scope="module")
def audited(planner):
    """Two options for each of ten applicants: no debts and the best grade, or no debts and more income."""
    people = loans.people(10, 7)
    options = pd.concat([people.assign(debt=0, grade=5), people.assign(debt=0, income=people["income"] + 5.0)])
    return planner.audit(options.rename_axis("applicant").reset_index(), people)


def test_a_bound_is_proven():
    bounds = copa.validity_bounds([[1.0, 2.0], [1.0, 3.0]], [0.0, 1.0], [[1.0, 0.2], [0.2, 1.0]], 0.1)
    assert 0.0 < bounds.lower < bounds.upper <= 1.0
    assert bounds.certificate.verify().lower == pytest.approx(bounds.lower, abs=1e-9)


def test_a_schema_is_inferred_from_parquet_and_read_again(bank, tmp_path):
    table = bank / "people.parquet"
    content = command_runs.json_of("schema", "infer", table, "-o", tmp_path / "schema.yaml")
    assert content["columns"]["job"] == "categorical"
    command_runs.copa("schema", "validate", tmp_path / "schema.yaml", table)


def test_the_model_in_a_bundle_answers_as_the_planner_read_it(planner):
    people = loans.people(50, 3)
    favourable = planner.model.predict(people) == planner.model.classes_[1]
    assert 0 < favourable.sum() < 50
    assert planner.strategy_.model.accepts(people).tolist() == favourable.tolist()


def test_audited_options_are_bounded_and_come_back_from_their_file(audited, tmp_path):
    assert set(audited.status) <= {"ok", "fragile", "infeasible"}
    assert audited.option_lower.max() > 0.5
    audited.save(tmp_path / "plans.copa")
    assert PlanBatch.load(tmp_path / "plans.copa").to_json() == audited.to_json()


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_plans_are_written(audited, tmp_path, ending):
    with plans_into(tmp_path / f"plans.{ending}") as writer:
        writer.add(audited)
    assert (tmp_path / f"plans.{ending}").stat().st_size > 0


def test_the_report_holds_its_figures(audited, tmp_path):
    write_report(audited, tmp_path / "report.html")
    assert "Plotly" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_command_starts_as_a_process_of_its_own():
    assert command_runs.process("--version").stdout.strip() == copa.__version__
    assert "--n-options" in command_runs.process("plan", "--help", env=os.environ | {"COLUMNS": "200"}).stdout


def test_a_wrong_option_and_a_missing_one_are_explained():
    message = command_runs.misused("plan", "bundle", "people.csv", "--n-jobs", "many")
    assert "Invalid value for '--n-jobs'" in message
    assert "valid integer" in message
    assert "Missing option" in command_runs.misused("plan", "bundle", "people.csv")
