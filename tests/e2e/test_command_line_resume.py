"""Long runs: what is finished survives, and a run that goes on gives the bytes of one that was never stopped."""

import signal
import subprocess
import sys
from contextlib import contextmanager

import pandas as pd
import pytest

from e2e.command_runs import contents, copa, outputs, refused, stop_after
from unit.planner import loans
from waiting import wait_until

SLOW_ROWS = 4000
KILOBYTES = 1024.0  # in a megabyte; the system counts in the former


@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_run_goes_on_to_the_same_bytes(bank, bundle, tmp_path, monkeypatch):
    people = bank / "people.csv"
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    copa("plan", bundle, people, *outputs(whole))
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        result = copa("plan", bundle, people, *outputs(parts), code=130)
    assert "stopped. 2 of 4 parts of the plans are done, and kept in" in result.stderr
    assert "the same again goes on from there" in result.stderr
    assert [path.name for path in parts.iterdir()] == ["p.csv.partial"]
    with monkeypatch.context() as patch:
        asked = stop_after(patch, 9)
        result = copa("plan", bundle, people, *outputs(parts))
    assert asked == [16, 12]
    assert "2 of 4 parts were finished before" in result.stderr
    assert contents(parts) == contents(whole)


@pytest.mark.usefixtures("small_blocks")
def test_parts_of_another_run_are_not_mixed_in(bank, bundle, tmp_path, monkeypatch):
    people = tmp_path / "people.csv"
    people.write_bytes((bank / "people.csv").read_bytes())
    run = ("plan", bundle, people, "-o", tmp_path / "p.csv")
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        copa(*run, code=130)
    assert "is of another run: settings differ" in refused(*run, "--guarantee", "0.7", code=2)
    assert "is of another run: settings differ" in refused(*run, "--id", "name", code=2)
    people.write_text(people.read_text() + "\n")
    assert "is of another run: input differ" in refused(*run, code=2)
    people.write_bytes((bank / "people.csv").read_bytes())
    copa(*run, "--n-jobs", "2")  # which does not change the plans
    assert not (tmp_path / "p.csv.partial").exists()


@pytest.mark.usefixtures("small_blocks")
def test_a_damaged_part_is_named_and_can_be_made_again(bank, bundle, tmp_path, monkeypatch):
    run = ("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv")
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        copa(*run, code=130)
    part = tmp_path / "p.csv.partial" / "part-000001.copa"
    part.write_bytes(part.read_bytes()[:-50])
    line = refused(*run, code=1)
    assert "part-000001.copa" in line
    assert "remove this file and run the same again" in line
    assert not (tmp_path / "p.csv").exists()
    part.unlink()
    copa(*run)
    assert len(pd.read_csv(tmp_path / "p.csv")["applicant"].unique()) == 60


@pytest.mark.usefixtures("small_blocks")
def test_an_old_output_stays_until_the_new_one_is_whole(bank, bundle, tmp_path, monkeypatch):
    (tmp_path / "p.csv").write_text("old")
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        copa("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", code=130)
    assert (tmp_path / "p.csv").read_text() == "old"


@pytest.mark.usefixtures("small_blocks")
def test_the_size_of_parts_does_not_change_the_plans(bank, bundle, tmp_path, monkeypatch):
    copa("plan", bundle, bank / "people.csv", "-o", tmp_path / "small.json")
    monkeypatch.undo()
    copa("plan", bundle, bank / "people.csv", "-o", tmp_path / "large.json")
    assert (tmp_path / "small.json").read_bytes() == (tmp_path / "large.json").read_bytes()


@pytest.mark.usefixtures("small_blocks")
def test_a_time_limit_ends_the_run_with_a_status_for_everybody(bank, bundle, tmp_path):
    settings = ("--time-limit", "0.001")
    copa("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", *settings)
    found = pd.read_csv(tmp_path / "p.csv").groupby("applicant")["plan_status"].first().value_counts()
    assert found.sum() == 60
    assert found["time_limit"] > 20


# Ctrl-C means something to the process, also where the tests run in the background; its last line is its peak memory.
MAIN = """
import resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from copa.cli import main
code = main()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


@contextmanager
def running(bundle, people, folder, *more):
    """The command as a process of its own; what it says goes to `said.txt` beside the folder."""
    command = [sys.executable, "-c", MAIN, "plan", bundle, people, "-o", folder / "p.json", *more]
    with (
        folder.with_name("said.txt").open("w") as said,
        subprocess.Popen(list(map(str, command)), stdout=said, stderr=said) as process,  # noqa: S603 - our own command
    ):
        yield process


def finished(bundle, people, folder, *more):
    """Run the command to its end; returns what it said."""
    with running(bundle, people, folder, *more) as process:
        code = process.wait(timeout=600)
    said = folder.with_name("said.txt").read_text()
    assert code == 0, said
    return said


def wait_for_parts(folder, number):
    wait_until(lambda: len(list((folder / "p.json.partial").glob("part-*.copa"))) >= number, patience=600.0)


@pytest.fixture(scope="module")
def many(bank):
    """More people than go into a part."""
    path = bank / "many.csv"
    loans.people(900, 11).to_csv(path, index=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_goes_on_to_the_same_bytes(bundle, many, tmp_path, sign):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    with running(bundle, many, parts, "--n-options", "6") as process:
        wait_for_parts(parts, 1)
        process.send_signal(sign)
        assert process.wait(timeout=120) == (130 if sign == signal.SIGINT else -signal.SIGKILL)
    assert ("goes on from there" in (tmp_path / "said.txt").read_text()) == (sign == signal.SIGINT)
    assert (parts / "p.json.partial").exists()
    said = finished(bundle, many, parts, "--n-options", "6")
    assert "1 of 2 parts were finished before" in said
    finished(bundle, many, whole, "--n-options", "6")
    assert contents(parts) == contents(whole)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(bundle, tmp_path):
    peaks = []
    for rows in (SLOW_ROWS // 4, SLOW_ROWS):
        people = tmp_path / f"{rows}.csv"
        loans.people(rows, 5).to_csv(people, index=False)
        folder = tmp_path / str(rows)
        folder.mkdir()
        said = finished(bundle, people, folder, "-o", folder / "p.zip", "-o", folder / "p.html")
        peaks.append(int(said.splitlines()[-1]) / KILOBYTES)
    assert peaks[1] < 1024
    assert peaks[1] < peaks[0] + 80  # megabytes; the allocator keeps some of what it was given


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_the_report_of_an_interrupted_run_is_the_same_too(bank, bundle, tmp_path, monkeypatch):
    texts = []
    for blocks in (99, 2):
        run = ("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", "-o", tmp_path / "p.html")
        with monkeypatch.context() as patch:
            stop_after(patch, blocks) if blocks < 4 else None
            copa(*run, code=130 if blocks < 4 else 0)
        copa(*run)
        texts.append((tmp_path / "p.html").read_bytes())
    assert texts[0] == texts[1]
