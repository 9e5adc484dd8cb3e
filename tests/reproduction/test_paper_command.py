from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from reproduction import command
from reproduction.pages.about import about_section
from reproduction.settings import Settings

pytestmark = pytest.mark.extended


@pytest.fixture
def app(monkeypatch, tiny):
    monkeypatch.setattr(Settings, "quick", lambda: tiny)
    return command.app


def run(app, tmp_path, *arguments, out=None):
    folders = ["--out", str(out or tmp_path / "out"), "--cache", str(tmp_path / "cache"), "--data", str(tmp_path)]
    return CliRunner().invoke(app, [*arguments, "--quick", *folders])


def test_one_command_writes_tables_and_a_page_and_says_what_is_left_out(app, tmp_path):
    result = run(app, tmp_path, "table1", "--protocol", "both", "--docs", str(tmp_path / "docs.md"))
    assert result.exit_code == 0, result.output
    assert "left out: SBA loans: SBAcase.csv was not found" in result.output
    page = (tmp_path / "out" / "reproduction.html").read_text(encoding="utf-8")
    assert "Table 1, paper protocol" in page
    assert "Table 1, sound protocol" in page
    assert "0.916 ± 0.178" in page  # the printed number, beside ours
    assert "Left out" in page
    assert "| German Credit, correction | COPA (0.2, 2) |" in (tmp_path / "docs.md").read_text(encoding="utf-8")
    assert len(pd.read_csv(tmp_path / "out" / "table1_sound.csv")) == 6


def test_a_second_run_goes_on_from_the_first(app, tmp_path):
    run(app, tmp_path, "examples")
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cells").iterdir()}
    assert run(app, tmp_path, "examples").exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "cells").iterdir()} == cells


def test_an_unknown_experiment_is_refused_with_the_known_ones(app, tmp_path):
    result = run(app, tmp_path, "table3")
    assert result.exit_code == 1
    assert "'table1'" in result.output
    assert "'table3'" in result.output


def test_an_unknown_protocol_is_refused(app, tmp_path):
    result = run(app, tmp_path, "table1", "--protocol", "best")
    assert result.exit_code == 1
    assert "'sound'" in result.output


def test_the_number_of_applicants_for_dice_can_be_chosen(tmp_path):
    session, protocols = command.make_session(
        quick=False, protocol="both", output=tmp_path, cache=None, data=None, dice=7
    )
    assert session.settings.n_dice == 7
    assert session.settings.n_models == 1000
    assert protocols == ("paper", "sound")


def test_every_figure_is_on_the_page_and_beside_the_docs(app, tmp_path):
    result = run(app, tmp_path, "fig-radius", "fig-shift-correlated", "--docs", str(tmp_path / "docs.md"))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "out" / "reproduction.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert (tmp_path / "pictures" / "docs" / "fig_radius.png").is_file()
    assert "](pictures/docs/fig_shift_correlated.png)" in (tmp_path / "docs.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "fig_radius.pdf").is_file()


@pytest.mark.slow  # all experiments that no other test runs, small
def test_the_remaining_experiments_make_their_sections(app, tmp_path, shared):
    names = ("causes", "table2", "classifiers", "fig-mahalanobis", "benchmark")
    result = run(app, tmp_path, *names, out=shared.folder)
    assert result.exit_code == 0, result.output
    page = (shared.folder / "reproduction.html").read_text(encoding="utf-8")
    for title in ("Where Table 1 differs", "Experiments on the causes", "Table 2", "Performance of", "delivered rows"):
        assert f"{title}" in page


def test_the_page_in_the_docs_says_how_it_was_made_as_the_generator_does(session):
    page = Path(__file__).parents[2] / "reproduction" / "RESULTS.md"
    intro = about_section(session, ("paper",)).body[0]
    assert "`make reproduce`" in intro
    assert intro in page.read_text(encoding="utf-8").splitlines()
