"""Signs of life of the commands, on a terminal and in a log."""

import json
import subprocess
import sys

import pytest

from benchmarks import progress
from copa.data.datasets import load_german

SOON, OFTEN = "FIRST_LINE = progress.FIRST_DRAWING = 0.01", "EVERY = progress.REDRAW = 0.02"
HASTY = f"import sys; from copa._core import progress; progress.{SOON}; progress.{OFTEN}"
RUN = f"{HASTY}; from copa.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bank")
    progress.write_loans(folder, 400)
    return folder


def hasty(folder, *arguments):
    """A command whose lines come fast."""
    command = [sys.executable, "-c", RUN, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603 - our own command


def test_a_log_says_what_is_done_and_holds_no_data(bank):
    said = hasty(bank, *["schema", "infer", "loans.csv", "--target", "paid", "-o", "inferred.yaml", "--json"])
    assert json.loads(said.stdout)["written"] == "inferred.yaml"
    lines = said.stderr.splitlines()
    assert lines[0] == "copa schema infer [0:00] starting"
    assert all(line.startswith("copa schema infer [") for line in lines)
    data = {str(cell) for name in ("purpose", "housing") for cell in load_german().features[name].unique()}
    assert not any(cell in said.stderr for cell in data | {"loans.csv"})


@pytest.mark.parametrize("quiet", ["--quiet", pytest.param("-q", marks=pytest.mark.extended)])
def test_quiet_silences_progress_and_not_errors(bank, quiet):
    said = hasty(bank, *f"schema validate loans.yaml loans.csv {quiet}".split())
    assert said.stderr == ""
    assert "400 rows" in said.stdout
    with pytest.raises(subprocess.CalledProcessError) as failed:
        hasty(bank, "schema", "validate", "nowhere.yaml", quiet)
    assert failed.value.stderr.startswith("error: the schema nowhere.yaml does not exist")


@pytest.mark.extended
def test_help_and_the_version_say_nothing_else(bank):
    for option in ("--help", "--version"):
        assert hasty(bank, option).stderr == ""


@pytest.mark.extended
def test_a_terminal_is_left_with_messages_only(bank):
    seen = progress.watch(["schema", "infer", "loans.csv", "--target", "paid", "-o", "again.yaml"], bank, terminal=True)
    assert seen.code == 0
    left = [line.split("\r")[-1] if not line.endswith("\r") else "" for line in seen.said.split("\n")]
    assert not any("copa" in line for line in left)


@pytest.mark.slow
@pytest.mark.parametrize("name", progress.COMMANDS)
def test_every_command_on_a_large_file_shows_signs_of_life(name, large_bank):
    for seen in progress.measure(large_bank, name):
        assert seen.code == 0, seen.said
        assert seen.first <= progress.FIRST
        assert seen.gap <= progress.GAP


@pytest.fixture(scope="module")
def large_bank(tmp_path_factory):
    """Fifty thousand rows; the commands follow each other, as each reads what the one before has written."""
    folder = tmp_path_factory.mktemp("large")
    progress.write_loans(folder, progress.ROWS)
    return folder
