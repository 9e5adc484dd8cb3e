"""A folder of plans holds whole files of one run."""

import json
import subprocess
import sys

import pandas as pd
import pytest

from copa.exceptions import DataError, InvalidInputError
from copa.planner.distributed.folder import LOCK, RUN, SUCCESS, PartFolder
from copa.planner.distributed.work import plan_part
from unit.planner import loans

MADE_FROM = {"bundle": "b", "input": "i", "settings": {"n_options": 3}}


@pytest.fixture(scope="module")
def parts(bank):
    table = loans.people(8, 5)
    return [plan_part(bank, table.iloc[:5]), plan_part(bank, table.iloc[5:])]


def filled(path, parts):
    folder = PartFolder(path, MADE_FROM, len(parts))
    with folder.begun():
        for number, part in enumerate(parts):
            folder.keep(number, part)
        return folder.finish()


def test_a_finished_folder_lists_its_files_and_is_read_as_one_table(tmp_path, parts):
    made = filled(tmp_path / "plans", parts)
    listed = json.loads((tmp_path / "plans" / SUCCESS).read_text())
    assert made.n_applicants == listed["applicants"] == 8
    assert sum(made.statuses.values()) == 8
    assert [part["name"] for part in listed["files"]] == list(made.files)
    assert {path.name for path in made.path.iterdir()} == {RUN, SUCCESS, *made.files}
    assert pd.read_parquet(made.path)["applicant"].nunique() == 8


def test_the_same_run_takes_up_what_is_there(tmp_path, parts):
    folder = PartFolder(tmp_path / "plans", MADE_FROM, 2)
    with folder.begun():
        folder.keep(1, parts[1])
    again = PartFolder(tmp_path / "plans", MADE_FROM, 2)
    with again.begun():
        assert again.finished == [1]
        again.keep(0, parts[0])
        again.finish()
    filled(tmp_path / "whole", parts)
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "plans" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("other", "named"),
    [({"bundle": "x"}, "bundle"), ({"settings": {"n_options": 2}}, "settings"), ({"more": 1}, "more")],
)
def test_plans_of_another_run_are_not_mixed_in(tmp_path, parts, other, named):
    filled(tmp_path / "plans", parts)
    with (
        pytest.raises(InvalidInputError, match=f"holds plans of another run: {named} differ"),
        PartFolder(tmp_path / "plans", MADE_FROM | other, 2).begun(),
    ):
        pass
    assert not (tmp_path / "plans" / LOCK).exists()


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"holds 'notes.txt'"), PartFolder(tmp_path, MADE_FROM, 1).begun():
        pass


def test_a_damaged_file_is_named(tmp_path, parts):
    made = filled(tmp_path / "plans", parts)
    path = made.path / made.files[1]
    path.write_bytes(path.read_bytes()[:-9])
    with (
        pytest.raises(DataError, match=f"{made.files[1]} is damaged .*remove this file and run again"),
        PartFolder(made.path, MADE_FROM, 2).begun(),
    ):
        pass


def test_a_parquet_file_of_others_is_none_of_ours(tmp_path, parts):
    made = filled(tmp_path / "plans", parts)
    pd.DataFrame({"a": [1]}).to_parquet(made.path / made.files[0])
    with pytest.raises(DataError, match="is damaged"), PartFolder(made.path, MADE_FROM, 2).begun():
        pass


def test_what_a_killed_run_had_half_written_is_removed(tmp_path, parts):
    folder = PartFolder(tmp_path / "plans", MADE_FROM, 2)
    with folder.begun():
        folder.keep(0, parts[0])
    half = folder.path / f".{folder.names[1]}.0123abcd.part"
    half.write_bytes(b"half")
    with PartFolder(tmp_path / "plans", MADE_FROM, 2).begun():
        assert not half.exists()


def test_two_runs_do_not_work_in_one_folder(tmp_path):
    folder = PartFolder(tmp_path / "plans", MADE_FROM, 1)
    code = (
        "import sys; from pathlib import Path; from copa.planner.distributed.folder import PartFolder\n"
        f"with PartFolder(Path({str(folder.path)!r}), {MADE_FROM!r}, 1).begun(): pass"
    )
    with folder.begun():
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert "another run of copa is at work in" in other.stderr


def test_the_same_applicants_give_the_same_bytes(bank, parts):
    assert plan_part(bank, loans.people(8, 5).iloc[:5]) == parts[0]
