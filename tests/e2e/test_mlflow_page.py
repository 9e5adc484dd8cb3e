"""The snippets and commands on MLflow of docs/operations.md run, where MLflow is installed."""

import pytest

from e2e.page_blocks import BLOCK, blocks_under, chapter, run_in_shell, run_snippets

pytest.importorskip("mlflow", reason="needs MLflow: pip install mlflow")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # MLflow's own

PAGE = "docs/operations.md"


def test_snippets_and_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_snippets(PAGE, BLOCK.findall(chapter(PAGE, "With MLflow")))
    data = names["data"]
    data.features.assign(paid=data.favourable).to_csv(tmp_path / "loans.csv", index=False)
    data.features.head(20).to_csv(tmp_path / "applicants.csv", index=False)
    data.schema.save(tmp_path / "loans.yaml")
    make, use = blocks_under(PAGE, "A bundle in MLflow", "console")
    place = {"MLFLOW_TRACKING_URI": f"sqlite:///{names['folder'] / 'mlflow.db'}", "RUN": names["champion_run"]}
    run_in_shell(make, tmp_path, **place)
    run_in_shell(use, tmp_path, **place)
    assert (tmp_path / "fetched" / "loans.bundle").read_bytes() == (tmp_path / "loans.bundle").read_bytes()
    assert (tmp_path / "plans.csv").stat().st_size > 0
