"""Runs: a folder with one owner at a time, whole parts of one run, the same bytes however it came about."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import copa
from copa.exceptions import DataError, InvalidInputError
from copa.planner import runs
from copa.planner.runs import LOCK, Run, locked_folder, plan_here, plan_part, plan_run
from copa.plans import PlanBatch
from copa.plans.writers import typed_table
from unit.planner import loans

MADE_FROM = {"bundle": "b", "input": "i", "settings": {"n_options": 3}}
CODE = "0123abcd"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of five applicants."""
    monkeypatch.setattr(runs, "PART_ROWS", 5)


@pytest.fixture(scope="module")
def people():
    table = loans.people(8, 5)
    table.loc["person 7", "debt"] = 1000  # no row that the schema allows
    return table


@pytest.fixture(scope="module")
def parts(planner, people):
    return [plan_part(planner, people.iloc[:5]), plan_part(planner, people.iloc[5:])]


def ready(parts):
    """An engine that has the plans already."""
    return lambda rows: iter([(number, parts[number]) for number, _ in rows])


def filled(folder, parts, people):
    run = Run(folder, MADE_FROM, people)
    with run.begun():
        run.fill(ready(parts))
    return run


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# ------------------------------------------------------------------------------------------------------------ the parts


def test_a_finished_run_lists_its_parts_and_is_read_as_one_batch(tmp_path, planner, parts, people):
    run = filled(tmp_path / "run", parts, people)
    listed = json.loads((tmp_path / "run" / "parts.json").read_text())
    assert run.n_applicants == listed["applicants"] == 8
    assert sum(run.statuses.values()) == 8
    assert names(run.folder) == ["part-000000.copa", "part-000001.copa", "parts.json", "run.json"]
    found = PlanBatch.load(run.folder)
    assert typed_table(found).equals(typed_table(planner.plan(people)))
    assert [len(batch) for batch in run.batches()] == [5, 3]


def test_the_same_run_takes_up_what_is_there(tmp_path, parts, people):
    first = Run(tmp_path / "run", MADE_FROM, people)

    def stopped(rows):
        for number, _ in rows:
            if number == 1:
                raise KeyboardInterrupt
            yield number, parts[number]

    with pytest.raises(KeyboardInterrupt), first.begun():
        first.fill(stopped)
    assert first.finished == [0]
    assert "1 of 2 parts of the plans are done" in first.progress()
    with pytest.raises(DataError, match=r"holds no finished run: it has no parts.json; run the command that fills it"):
        PlanBatch.load(tmp_path / "run")
    asked = []
    again = Run(tmp_path / "run", MADE_FROM, people)
    with again.begun():
        again.fill(lambda rows: ((asked.append(number), (number, parts[number]))[1] for number, _ in rows))
    assert asked == [1]
    assert contents(tmp_path / "run") == contents(filled(tmp_path / "whole", parts, people).folder)
    assert again.statuses == filled(tmp_path / "whole", parts, people).statuses


@pytest.mark.parametrize(
    ("other", "named"),
    [({"bundle": "x"}, "bundle"), ({"settings": {"n_options": 2}}, "settings"), ({"more": 1}, "more")],
)
def test_plans_of_another_run_are_not_mixed_in(tmp_path, parts, people, other, named):
    filled(tmp_path / "run", parts, people)
    with (
        pytest.raises(InvalidInputError, match=f"is of another run: {named} differ"),
        Run(tmp_path / "run", MADE_FROM | other, people).begun(),
    ):
        pytest.fail("mixed two runs")
    assert not (tmp_path / "run" / LOCK).exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"outputs": 3}', '{"outputs": [3]}'])
def test_a_damaged_note_keeps_nobody_from_a_new_run_but_guards_finished_parts(tmp_path, parts, people, content):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text(content)
    run = filled(tmp_path / "run", parts, people)
    assert run.finished == [0, 1]
    (tmp_path / "run" / "run.json").write_text(content)
    with pytest.raises(InvalidInputError, match=r"is not what a run left|is of another run"), run.begun():
        pytest.fail("took parts of who knows what")


def test_a_folder_with_something_else_is_refused(tmp_path, people):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match=r"holds 'notes.txt', and no run"), Run(tmp_path, {}, people).begun():
        pytest.fail("took a folder of others")
    assert names(tmp_path) == ["notes.txt"]


def test_a_damaged_part_is_named_and_made_again_once_it_is_removed(tmp_path, parts, people):
    run = filled(tmp_path / "run", parts, people)
    whole = contents(run.folder)
    path = run.folder / run.names[1]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"part-000001.copa: it is not the file that parts.json lists"):
        list(run.batches())
    with pytest.raises(DataError, match=r"part-000001.copa .*remove this file and run the same again"):
        filled(tmp_path / "run", parts, people)
    path.unlink()
    filled(tmp_path / "run", parts, people)
    assert contents(run.folder) == whole


def test_a_run_that_lost_a_part_is_no_finished_one(tmp_path, parts, people):
    run = filled(tmp_path / "run", parts, people)
    (run.folder / run.names[0]).unlink()
    with run.begun():
        pass
    with pytest.raises(DataError, match="holds no finished run"):
        list(run.batches())


@pytest.mark.parametrize("forged", ['{"name": "../x", "sha256": ""}', '{"name": "part-000000.copa", "sha256": ""}'])
def test_a_list_of_parts_that_was_changed_is_refused(tmp_path, parts, people, forged):
    run = filled(tmp_path / "run", parts, people)
    path = run.folder / "parts.json"
    content = json.loads(path.read_text())
    content["parts"][0] = json.loads(forged)
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="it does not have its digest"):
        PlanBatch.load(run.folder)


def test_a_part_that_fails_is_named_and_the_others_are_kept(tmp_path, parts, people):
    run = Run(tmp_path / "run", MADE_FROM, people)
    words = r"part 1 of the plans: OSError: gone; 1 of 2 parts of the plans are done, and kept in .*run"
    with pytest.raises(DataError, match=words), run.begun():
        run.fill(lambda _: iter([(1, OSError("gone")), (0, parts[0])]))
    assert run.finished == [0]
    assert not (tmp_path / "run" / "parts.json").exists()


def test_the_same_applicants_give_the_same_bytes(planner, people, parts):
    assert plan_part(planner, people.iloc[:5]) == parts[0]


def test_a_deadline_ends_the_work_with_a_status_for_everybody(planner, people):
    late = dict(plan_here(planner, [(0, people)], deadline=0.0))
    assert late[0].statuses["time_limit"] > 0
    assert planner.time_limit is None


# ---------------------------------------------------------------------------------------------------------- from Python


def test_a_run_from_python_goes_on_and_tells_planners_and_applicants_apart(tmp_path, planner, people, monkeypatch):
    plan, asked = copa.RecoursePlanner.plan, []

    def plan_some(self, table):
        asked.append(len(table))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return plan(self, table)

    with monkeypatch.context() as patch:
        patch.setattr(copa.RecoursePlanner, "plan", plan_some)
        with pytest.raises(KeyboardInterrupt):
            plan_run(planner, people, tmp_path / "run")
        run = plan_run(planner, people, tmp_path / "run")
    assert asked == [5, 3, 3]
    assert typed_table(PlanBatch.load(run.folder)).equals(typed_table(planner.plan(people)))
    with pytest.raises(InvalidInputError, match="planner differ"):
        plan_run(planner.with_wishes(copa.Wishes(n_options=1)), people, tmp_path / "run")
    with pytest.raises(InvalidInputError, match="applicants differ"):
        plan_run(planner, people.iloc[::-1], tmp_path / "run")


def test_a_planner_of_another_package_makes_runs_too(tmp_path, people):
    planner = loans.planner(loans.fitted_pipeline(Foreign()), later_models=copa.LaterModels(n_refits=4))
    run = plan_run(planner, people, tmp_path / "run")
    assert plan_run(planner, people, tmp_path / "run").statuses == run.statuses


class Foreign(loans.LogisticRegression):
    """A class that no bundle may hold."""


# ----------------------------------------------------------------------------------------------- what killed runs leave


def left_by_a_killed_run(folder, outputs):
    """A run with half a part and a note, and half an output beside it."""
    run = folder / "p.csv.partial"
    run.mkdir()
    (run / f".part-000003.copa.{CODE}.part").write_bytes(b"half")
    (run / f".run.json.{CODE}.part").write_bytes(b"half")
    (run / "lock.json").write_text("{}")
    (run / "run.json").write_text(json.dumps({"outputs": [str(path) for path in outputs]}))
    for path in outputs:
        path.with_name(f".{path.name}.{CODE}.part").write_bytes(b"half")
    return run


def test_a_folder_is_there_while_a_run_works_and_gone_if_it_finished_nothing(tmp_path, people):
    run = Run(tmp_path / "p.csv.partial", {}, people, outputs=[tmp_path / "p.csv"])
    with run.begun():
        assert names(tmp_path) == ["p.csv.partial", "p.csv.partial/lock.json", "p.csv.partial/run.json"]
        assert (tmp_path / "p.csv.partial").stat().st_mode & 0o077 == 0  # for the user's eyes only
    assert names(tmp_path) == []
    assert run.finished == []


def test_halves_of_a_killed_run_are_removed_in_the_folder_and_beside_its_outputs(tmp_path, people):
    (tmp_path / "proofs").mkdir()
    folder = left_by_a_killed_run(tmp_path, [tmp_path / "p.csv", tmp_path / "proofs" / "p.copa"])
    with Run(folder, {}, people).begun():
        pass
    assert names(tmp_path) == ["proofs"]


def test_files_of_others_in_the_folder_stay(tmp_path, people):
    folder = left_by_a_killed_run(tmp_path, [])
    (folder / f".notes.{CODE}.part").write_text("mine")
    with Run(folder, {}, people).begun():
        pass
    assert names(folder) == [f".notes.{CODE}.part"]


def test_a_run_is_removed_without_a_trace(tmp_path, parts, people):
    run = filled(tmp_path / "run", parts, people)
    with run.begun():
        run.remove()
    assert names(tmp_path) == []


# ------------------------------------------------------------------------------------------------------------- the lock


def test_a_second_run_is_told_who_is_at_work(tmp_path):
    folder = tmp_path / "p.csv.partial"
    with locked_folder(folder):
        words = rf"in use by another run of copa \(process {os.getpid()} on .*, since 20"
        with pytest.raises(InvalidInputError, match=words), locked_folder(folder):
            pytest.fail("two runs in one folder")
        assert (folder / LOCK).exists()
    assert not folder.exists()


def test_another_process_is_kept_out(tmp_path):
    code = (
        "import sys; from pathlib import Path; from copa.planner.runs import locked_folder\n"
        f"with locked_folder(Path({str(tmp_path / 'run')!r})): pass"
    )
    with locked_folder(tmp_path / "run"):
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    assert "in use by another run of copa" in other.stderr


def test_a_folder_with_something_in_it_stays_without_its_lock(tmp_path):
    with locked_folder(tmp_path / "run"):
        (tmp_path / "run" / "part").write_text("")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["part"]


@pytest.mark.parametrize("content", ["", "not JSON", "[]", '{"process": 1, "host": "h", "since": "s"}', "[1]" * 99])
def test_the_lock_of_a_dead_run_is_taken_over(tmp_path, content):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).write_text(content)
    with locked_folder(tmp_path / "run"):
        assert json.loads((tmp_path / "run" / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / "run").exists()


def test_a_lock_that_was_removed_before_it_was_taken_is_none(tmp_path, monkeypatch):
    lock, ended = runs.try_lock, []

    def too_late(file):
        if not ended:
            ended.append(True)
            (tmp_path / "run" / LOCK).unlink()  # as the run does that had it until now
        return lock(file)

    monkeypatch.setattr(runs, "try_lock", too_late)
    with locked_folder(tmp_path / "run"):
        assert ended
        with pytest.raises(InvalidInputError, match="in use by another run"), locked_folder(tmp_path / "run"):
            pytest.fail("two runs in one folder")


def test_a_lock_that_says_nothing_still_holds(tmp_path):
    with locked_folder(tmp_path / "run"):
        (tmp_path / "run" / LOCK).write_text("{")
        words = "in use by another run of copa; wait"
        with pytest.raises(InvalidInputError, match=words), locked_folder(tmp_path / "run"):
            pytest.fail("two runs in one folder")


@pytest.mark.skipif(sys.platform == "win32", reason="there folders have no mode")
@pytest.mark.parametrize(("private", "mode"), [(True, 0o700), (False, 0o755)])
def test_a_folder_that_was_there_before_is_closed_to_others_only_if_it_is_private(tmp_path, private, mode):
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o755)
    with locked_folder(tmp_path / "run", private=private):
        assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == mode


def test_a_folder_that_cannot_be_closed_to_others_is_mentioned(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    said = []
    monkeypatch.setattr(Path, "chmod", refuse)
    with locked_folder(tmp_path / "run", private=True, say=said.append):
        assert "cannot be closed to other users" in said[0]


def test_a_file_system_without_locks_is_mentioned(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(runs, "try_lock", lambda _: None)
    with locked_folder(tmp_path / "run", say=said.append):
        assert "has no locks" in said[0]


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
            except InvalidInputError:
                continue

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(shared) == 80
    assert set(shared) == {1}
    assert not folder.exists()
