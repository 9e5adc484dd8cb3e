"""However a run ends, nothing of the applicants stays behind but what was asked for, once the run is repeated."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

from copa.cli.messages import TerminatedError
from copa.planner.runs import LOCK, locked_folder
from e2e.command_runs import contents, copa, json_of, outputs, refused, stop_after
from unit.planner import loans
from waiting import wait_until

# The command, which a signal hits while it writes its n-th file.
MAIN = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sync, written = os.fsync, []
def hit(descriptor):
    written.append(descriptor)
    if len(written) == int(os.environ.get("HIT_AT", "0")):
        os.kill(os.getpid(), int(os.environ["HIT_WITH"]))
    sync(descriptor)
os.fsync = hit
from copa.cli import main
sys.exit(main())
"""


def begun(*arguments, **environment):
    """The command as a process of its own."""
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    words = os.environ | {name: str(value) for name, value in environment.items()}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=words)  # noqa: S603 - our own


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


RUN = ["p.csv.partial", "p.csv.partial/lock.json", "p.csv.partial/run.json"]


# Files in their order: the run, its part, the list of parts, proofs, plans.
@pytest.mark.parametrize(
    ("at", "left"),
    [
        pytest.param(2, [*RUN, "p.csv.partial/.part-000000.copa.part"], marks=pytest.mark.slow),
        (4, [*RUN, "p.csv.partial/part-000000.copa", "p.csv.partial/parts.json", ".p.copa.part", ".p.csv.part"]),
    ],
)
def test_what_a_killed_run_leaves_is_gone_after_the_next(bank, bundle, tmp_path, at, left):
    run = ("plan", bundle, bank / "people.csv", *outputs(tmp_path))
    with begun(*run, HIT_AT=at, HIT_WITH=int(signal.SIGKILL)) as process:
        assert process.wait(timeout=300) == -signal.SIGKILL
    assert [re.sub(r"\.[0-9a-f]{8}\.part", ".part", name) for name in names(tmp_path)] == sorted(left)
    # Parts of all that the killed run was to write go, also of what the next one does not write.
    copa("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", "--id", "name")
    assert names(tmp_path) == ["p.csv"]


@pytest.mark.slow
def test_a_run_that_is_asked_to_end_cleans_up_and_keeps_what_is_finished(bank, bundle, tmp_path):
    run = ("plan", bundle, bank / "people.csv", *outputs(tmp_path))
    with begun(*run, HIT_AT=5, HIT_WITH=int(signal.SIGTERM)) as process:
        said, _ = process.communicate(timeout=300)
    assert process.returncode == 143
    assert "stopped. 1 of 1 part of the plans are done, and kept in" in said
    kept = [f"p.csv.partial{name}" for name in ("", "/part-000000.copa", "/parts.json", "/run.json")]
    assert [name for name in names(tmp_path) if name != "p.copa"] == kept
    copa(*run)
    assert names(tmp_path) == ["p.copa", "p.csv"]


def test_a_run_that_is_stopped_before_its_first_part_leaves_nothing(bank, bundle, tmp_path, monkeypatch):
    stop_after(monkeypatch, 0)
    result = copa("plan", bundle, bank / "people.csv", *outputs(tmp_path), code=130)
    assert "stopped. No part was finished, and nothing is kept." in result.stderr
    assert names(tmp_path) == []


@pytest.mark.usefixtures("small_blocks")
def test_a_run_that_is_terminated_keeps_what_is_finished(bank, bundle, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 2, TerminatedError(signal.SIGTERM))
        result = copa("plan", bundle, bank / "people.csv", *outputs(tmp_path), code=143)
    assert "stopped. 2 of 4 parts of the plans are done, and kept in" in result.stderr
    parts = ["p.csv.partial/part-000000.copa", "p.csv.partial/part-000001.copa"]
    assert names(tmp_path) == ["p.csv.partial", *parts, "p.csv.partial/run.json"]


def test_a_run_that_fails_before_its_first_part_leaves_nothing(bank, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.planner.runs.Run.fill", lambda *_: 1 / 0)
    refused("plan", bundle, bank / "people.csv", *outputs(tmp_path), code=1)
    assert names(tmp_path) == []


@pytest.mark.usefixtures("small_blocks")
def test_a_second_run_at_the_same_time_is_refused_and_harms_nothing(bank, bundle, tmp_path, monkeypatch):
    run = ("plan", bundle, bank / "people.csv", *outputs(tmp_path))
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        copa(*run, code=130)
    folder = tmp_path / "p.csv.partial"
    with locked_folder(folder):
        before = contents(folder)
        line = refused(*run, code=2)
        assert f"{folder} is in use by another run of copa (process {os.getpid()} on " in line
        assert contents(folder) == before
        assert LOCK in before
    copa(*run)
    assert names(tmp_path) == ["p.copa", "p.csv"]


def test_outputs_that_are_one_file_are_refused_before_any_work(bank, bundle, tmp_path):
    people, path = bank / "people.csv", tmp_path / "s.json"
    line = refused("plan", tmp_path / "none", people, "-o", path, "-o", path, code=2)
    assert f"two outputs are the same file, {path}" in line
    path.write_text("old")
    os.link(path, tmp_path / "t.json")
    line = refused("plan", bundle, people, "-o", path, "-o", tmp_path / "t.json", code=2)
    assert "are the same file" in line
    (tmp_path / "r.html").hardlink_to(path)
    for command in (("audit", bundle, people), ("correct", bundle, people)):
        assert "are the same file" in refused(*command, "-o", path, "-o", tmp_path / "r.html", code=2)
    assert path.read_text() == "old"


def test_no_command_writes_over_what_it_reads(bank, bundle, tmp_path):
    data, link = tmp_path / "data.csv", tmp_path / "link.csv"
    data.write_bytes((bank / "bank.csv").read_bytes())
    link.hardlink_to(data)
    schema = tmp_path / "s.yaml"
    schema.write_bytes((bank / "schema.yaml").read_bytes())
    for command in (
        ("plan", bundle, data, "-o", link),
        ("audit", bundle, data, "-o", link),
        ("correct", bundle, tmp_path / "p.copa", "--applicants", data, "-o", link),
        ("fit", data, "--target", "paid", "-o", link),
        ("fit", data, "--target", "paid", "--schema", schema, "-o", schema),
        ("schema", "infer", schema, "-o", schema),
    ):
        assert "is both read and written" in refused(*command, code=2)


def test_names_that_are_formulas_are_quoted_in_the_file_and_found_again_by_an_audit(bundle, tmp_path):
    people = loans.people(12, 7).assign(name=[f"=HYPERLINK({k})" for k in range(12)])
    people.to_csv(tmp_path / "people.csv", index=False)
    files = (tmp_path / "people.csv", "--id", "name")
    copa("plan", bundle, *files, "-o", tmp_path / "p.csv")
    copa("plan", bundle, *files, "-o", tmp_path / "raw.csv", "--raw-cells")
    assert "\n'=HYPERLINK(0)," in (tmp_path / "p.csv").read_text()
    assert (tmp_path / "p.csv").read_text().replace("'=", "=") == (tmp_path / "raw.csv").read_text()
    applicants = ("--applicants", tmp_path / "people.csv", "--id", "name")
    told = json_of("audit", bundle, tmp_path / "p.csv", *applicants)
    assert told == json_of("audit", bundle, tmp_path / "raw.csv", *applicants, "--raw-cells")
    assert [entry["applicant"] for entry in told["applicants"]] == people["name"].tolist()
    assert "ok" in {entry["status"] for entry in told["applicants"]}


@pytest.mark.slow
def test_twenty_runs_hit_at_any_moment_leave_nothing_once_they_are_repeated(bank, bundle, tmp_path):
    people = bank / "many.csv"
    loans.people(600, 11).to_csv(people, index=False)
    rng = np.random.default_rng(0)
    run = ("plan", bundle, people, "-o", "p.json", "-o", "p.copa", "-o", "p.html")
    before, whole = os.times(), tmp_path / "whole"
    whole.mkdir()
    with begun(*_inside(run, whole)) as process:
        assert process.wait(timeout=600) == 0
    after = os.times()
    longest = after.children_user + after.children_system - before.children_user - before.children_system
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    hits = 0
    for k in range(20):
        folder = tmp_path / str(k)
        folder.mkdir()
        with begun(*_inside(run, folder)) as process:
            goal = rng.uniform(0.3, 1.0) * longest
            wait_until(lambda: _processor_seconds(process) >= goal)  # noqa: B023 - called here and now
            process.send_signal(signals[k % 3])
            hits += process.wait(timeout=600) != 0
        if k % 3 and process.returncode:  # it could clean up by itself
            assert not [name for name in names(folder) if name.endswith((".part", LOCK))]
        with begun(*_inside(run, folder)) as process:
            said, _ = process.communicate(timeout=600)
        assert process.returncode == 0, said
        assert contents(folder) == contents(whole)
    assert hits >= 10


def _processor_seconds(process):
    """Processor time that a process has used so far; any goal is reached by one that has ended."""
    try:
        used = psutil.Process(process.pid).cpu_times()
    except psutil.NoSuchProcess:
        return np.inf
    return np.inf if process.poll() is not None else used.user + used.system


def _inside(run, folder):
    """The command with its outputs in a folder."""
    return [folder / word if str(word).startswith("p.") else word for word in run]


@pytest.mark.slow
def test_of_two_that_go_on_at_once_one_ends_well_and_one_is_refused(bank, bundle, tmp_path):
    people = bank / "many.csv"
    loans.people(600, 11).to_csv(people, index=False)
    run = ("plan", bundle, people, *outputs(tmp_path)[:-2])
    with begun(*run, HIT_AT=3, HIT_WITH=int(signal.SIGKILL)) as process:
        process.wait(timeout=300)
    with begun(*run) as one, begun(*run) as other:
        said = [process.communicate(timeout=600)[0] for process in (one, other)]
    codes = sorted([one.returncode, other.returncode])
    assert codes in ([0, 2], [0, 0]), said  # the second may come when the first is done
    if codes == [0, 2]:
        assert "is in use by another run of copa" in said[0] + said[1]
    assert names(tmp_path) == ["p.copa", "p.csv"]
