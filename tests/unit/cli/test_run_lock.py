"""A run's folder has one owner at a time."""

import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from copa.cli import runs as run_lock
from copa.cli.messages import MisuseError
from copa.cli.runs import LOCK, locked_folder


def test_a_second_run_is_told_who_is_at_work(tmp_path):
    folder = tmp_path / "p.csv.partial"
    with locked_folder(folder):
        with (
            pytest.raises(MisuseError, match=rf"in use by another run of copa \(process {os.getpid()} on .*, since 20"),
            locked_folder(folder),
        ):
            pytest.fail("two runs in one folder")
        assert (folder / LOCK).exists()
    assert not folder.exists()


def test_a_folder_with_something_in_it_stays_without_its_lock(tmp_path):
    with locked_folder(tmp_path / "run"):
        (tmp_path / "run" / "block").write_text("")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["block"]


@pytest.mark.parametrize("content", ["", "not JSON", "[]", '{"process": 1, "host": "h", "since": "s"}', "[1]" * 99])
def test_the_lock_of_a_dead_run_is_taken_over(tmp_path, content):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).write_text(content)
    with locked_folder(tmp_path / "run"):
        assert json.loads((tmp_path / "run" / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / "run").exists()


def test_a_lock_that_was_removed_before_it_was_taken_is_none(tmp_path, monkeypatch):
    lock, ended = run_lock.try_lock, []

    def too_late(file):
        if not ended:
            ended.append(True)
            (tmp_path / "run" / LOCK).unlink()  # as the run does that had it until now
        return lock(file)

    monkeypatch.setattr(run_lock, "try_lock", too_late)
    with locked_folder(tmp_path / "run"):
        assert ended
        with pytest.raises(MisuseError, match="in use by another run"), locked_folder(tmp_path / "run"):
            pytest.fail("two runs in one folder")


def test_a_lock_that_says_nothing_still_holds(tmp_path):
    with locked_folder(tmp_path / "run"):
        (tmp_path / "run" / LOCK).write_text("{")
        with pytest.raises(MisuseError, match="in use by another run of copa; wait"), locked_folder(tmp_path / "run"):
            pytest.fail("two runs in one folder")


@pytest.mark.skipif(sys.platform == "win32", reason="there folders have no mode")
def test_a_folder_that_was_there_before_is_closed_to_others(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o755)
    with locked_folder(tmp_path / "run"):
        assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_closed_to_others_is_mentioned(tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)
    with locked_folder(tmp_path / "run"):
        assert "cannot be closed to other users" in capsys.readouterr().err


def test_a_file_system_without_locks_is_mentioned(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run_lock, "try_lock", lambda _: None)
    with locked_folder(tmp_path / "run"):
        assert "has no locks" in capsys.readouterr().err


def test_many_runs_at_once_never_share_a_folder(tmp_path):
    folder, inside, shared = tmp_path / "run", [], []

    def work(_):
        turns = 0
        while turns < 10:  # tries until it has had its turns, however busy the machine is
            try:
                with locked_folder(folder):
                    inside.append(1)
                    shared.append(len(inside))
                    inside.pop()
                    turns += 1
            except MisuseError:
                continue

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(shared) == 80
    assert set(shared) == {1}
    assert not folder.exists()
