"""`copa plan` into a folder: partitions here or on a Dask cluster, the same bytes whoever plans and whoever dies."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from e2e.command_runs import copa, fit_bank, json_of, refused, write_bank
from unit.planner import loans
from waiting import wait_until

dask = pytest.importorskip("dask", reason="needs Dask: pip install 'copa-recourse[dask]'")
# Imported before a test changes its settings: to undo a change of what was not there yet would remove them all.
pytest.importorskip("distributed", reason="needs Dask: pip install 'copa-recourse[dask]'")
psutil = pytest.importorskip("psutil", reason="comes with Dask: pip install 'copa-recourse[dask]'")
pytestmark = pytest.mark.extended
N_APPLICANTS = 300
MANY = int(
    os.environ.get("COPA_MANY_APPLICANTS", "10000")
)  # of the slow test; python -m benchmarks.distributed takes 100,000
SLOW = ("--n-starts", "64")  # so that there is time to kill somebody


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A folder of three files, in the second of which one row has no debt and another has text for it."""
    folder = write_bank(tmp_path_factory.mktemp("bank"))
    people = loans.people(N_APPLICANTS, 3).reset_index(names="name").astype({"debt": object})
    people.loc[130, "debt"] = None
    people["debt"] = people["debt"].map(lambda debt: None if debt is None else str(debt))
    people.loc[171, "debt"] = "much"
    people.to_csv(folder / "many.csv", index=False)
    (folder / "many").mkdir()
    for first in range(0, N_APPLICANTS, 100):
        people.iloc[first : first + 100].to_parquet(folder / "many" / f"{first}.parquet", row_group_size=32)
    return folder


@pytest.fixture(scope="module")
def bundle(bank):
    return fit_bank(bank)


@pytest.fixture(scope="module")
def here(bank, bundle):
    """The folder that one process makes."""
    copa("plan", bundle, bank / "many", "-o", bank / "here", "--partition-rows", "25", *SLOW)
    return bank / "here"


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def table_of(folder):
    return pa.concat_tables([pq.read_table(path) for path in sorted(folder.glob("part-*.parquet"))])


@contextmanager
def running(bundle, people, output, *more, log):
    """The command on a cluster of two workers, as a process of its own."""
    words = ["plan", bundle, people, "-o", output, "--partition-rows", "25", *SLOW, "--engine", "dask", *more]
    command = [sys.executable, "-m", "copa.cli", *map(str, words)]
    with (
        log.open("w") as said,
        subprocess.Popen(command, stdout=said, stderr=said) as process,  # noqa: S603 - our own command
    ):
        try:
            yield process
        finally:
            process.kill()


def wait_for_parts(folder, number, process, log):
    def are_there():
        return len(list(folder.glob("part-*.parquet"))) >= number

    wait_until(lambda: are_there() or process.poll() is not None, log.read_text, patience=600.0)
    assert are_there(), log.read_text()


def workers_of(process):
    """Processes of workers, without the one that only cleans up."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def test_a_folder_has_the_rows_of_a_single_file(bank, bundle, here):
    copa("plan", bundle, bank / "many.csv", "-o", bank / "single.parquet", *SLOW)
    single = pq.read_table(bank / "single.parquet")
    assert table_of(here).equals(single)
    assert len(list(here.glob("part-*.parquet"))) == 12
    failed = single.to_pandas().query("plan_status == 'error'")
    assert failed["applicant"].tolist() == [130, 171]
    copa("plan", bundle, bank / "many.csv", "-o", bank / "cut", "--partition-rows", "35", *SLOW)
    assert table_of(bank / "cut").equals(single)
    assert len(list((bank / "cut").glob("part-*.parquet"))) == 9


def test_a_killed_worker_loses_and_doubles_nothing(bank, bundle, here, tmp_path):
    log = tmp_path / "log.txt"
    with running(bundle, bank / "many", tmp_path / "plans", log=log) as process:
        wait_for_parts(tmp_path / "plans", 1, process, log)
        victim = workers_of(process)[0]
        done = len(list((tmp_path / "plans").glob("part-*.parquet")))
        victim.kill()
        assert process.wait(timeout=300) == 0, log.read_text()
    assert done < 12
    assert contents(tmp_path / "plans") == contents(here)
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_a_killed_client_leaves_no_worker_and_a_rerun_finishes_the_rest(bank, bundle, here, tmp_path):
    log, plans = tmp_path / "log.txt", tmp_path / "plans"
    with running(bundle, bank / "many", plans, log=log) as process:
        wait_for_parts(plans, 1, process, log)
        workers = workers_of(process)
        assert len(workers) == 2
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    _, alive = psutil.wait_procs(workers, timeout=60)
    assert alive == []
    kept = {path.name: path.stat().st_mtime_ns for path in plans.glob("part-*.parquet")}
    assert 1 <= len(kept) < 12
    assert not (plans / "_SUCCESS").exists()
    result = copa("plan", bundle, bank / "many", "-o", plans, "--partition-rows", "25", *SLOW)
    assert f"{len(kept)} of 12 partitions were finished before" in result.stderr
    assert {name: (plans / name).stat().st_mtime_ns for name in kept} == kept
    assert contents(plans) == contents(here)


@pytest.mark.slow
def test_an_interrupted_run_says_what_is_done(bank, bundle, tmp_path):
    log, plans = tmp_path / "log.txt", tmp_path / "plans"
    with running(bundle, bank / "many", plans, log=log) as process:
        wait_for_parts(plans, 1, process, log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert "partitions are done, and kept in" in log.read_text()
    assert "the same command goes on from there" in log.read_text()


def test_a_finished_folder_is_not_planned_again(bank, bundle, here):
    before = {path.name: path.stat().st_mtime_ns for path in here.glob("part-*.parquet")}
    found = json_of("plan", bundle, bank / "many", "-o", here, "--partition-rows", "25", *SLOW, "--engine", "dask")
    assert found["applicants"] == N_APPLICANTS
    assert found["statuses"]["error"] == 2
    assert {path.name: path.stat().st_mtime_ns for path in here.glob("part-*.parquet")} == before


def test_plans_of_another_run_are_not_mixed_in(bank, bundle, here):
    run = ("plan", bundle, bank / "many", "-o", here, "--partition-rows", "25")
    assert "settings differ" in refused(*run, code=2)
    assert "settings differ" in refused(*run, *SLOW, "--fixed", "debt", code=2)
    assert "partition_rows differ" in refused(*run[:-1], "30", *SLOW, code=2)
    copa(*run, *SLOW, "--n-jobs", "1")  # which does not change the plans


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("-o", "plans.csv", "--engine", "dask"), "with --engine dask the plans go into a folder"),
        (("-o", "plans.csv", "--partition-rows", "5"), "with --partition-rows the plans go into a folder"),
        (("-o", "plans", "--workers", "3"), "add --engine dask"),
        (("-o", "plans", "--engine", "dask", "--workers", "3", "--scheduler", "tcp://x:1"), "give one of them"),
        (("-o", "plans", "--certificates", "proofs.zip"), "--certificates is not there for a folder of plans"),
        (("-o", "plans", "--time-limit", "0"), "--time-limit is not there for a folder of plans"),
        (
            (
                "-o",
                "nowhere/plans",
            ),
            "does not exist; make it first",
        ),
    ],
)
def test_what_does_not_go_together_is_said_before_any_work(bank, bundle, more, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in refused("plan", bundle, bank / "many.csv", *more, code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_applicants_needs_a_folder_of_plans(bank, bundle, tmp_path):
    line = refused("plan", bundle, bank / "many", "-o", tmp_path / "plans.csv", code=2)
    assert "with a folder of applicants the plans go into a folder" in line


def test_a_scheduler_that_does_not_answer_is_named(bank, bundle, tmp_path):
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        run = ("plan", bundle, bank / "people.parquet", "-o", tmp_path / "plans", "--engine", "dask")
        line = refused(*run, "--scheduler", "tcp://127.0.0.1:9", code=1)
    assert "the scheduler tcp://127.0.0.1:9 does not answer" in line
    assert dask.config.get("distributed.comm.timeouts.connect") != "0.2s"  # all settings are there again, for others


@pytest.mark.slow
def test_a_killed_scheduler_is_said_and_a_rerun_finishes_the_rest(bank, bundle, here, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address, log, plans = f"tcp://127.0.0.1:{port}", tmp_path / "log.txt", tmp_path / "plans"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "dask"]
    options = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    with (
        subprocess.Popen([*command, "scheduler", *options], **quiet) as scheduler,  # noqa: S603 - Dask's own command
        subprocess.Popen([*command, "worker", address, "--nthreads", "1", "--no-dashboard"], **quiet) as worker,  # noqa: S603 - the same
        running(bundle, bank / "many", plans, "--scheduler", address, log=log) as process,
    ):
        try:
            wait_for_parts(plans, 1, process, log)
            scheduler.kill()
            assert process.wait(timeout=120) == 1
        finally:
            scheduler.kill()
            worker.terminate()
    assert "the connection to the scheduler was lost" in log.read_text()
    assert "Traceback" not in log.read_text()
    copa("plan", bundle, bank / "many", "-o", plans, "--partition-rows", "25", *SLOW)
    assert contents(plans) == contents(here)


@pytest.mark.slow
def test_many_applicants_with_a_worker_killed_half_way_are_the_bytes_of_one_process(bundle, tmp_path):
    loans.people(MANY, 9).to_parquet(tmp_path / "people.parquet")
    log, rows = tmp_path / "log.txt", MANY // 20
    command = ("plan", bundle, tmp_path / "people.parquet", "--partition-rows", str(rows))
    copa(*command, "-o", tmp_path / "here")
    words = [sys.executable, "-m", "copa.cli", *command, "-o", tmp_path / "plans", "--engine", "dask"]
    with log.open("w") as said, subprocess.Popen(list(map(str, words)), stdout=said, stderr=said) as process:  # noqa: S603 - our own command
        wait_for_parts(tmp_path / "plans", 10, process, log)
        victim = workers_of(process)[0]
        victim.kill()
        assert process.wait(timeout=3000) == 0, log.read_text()
    assert contents(tmp_path / "plans") == contents(tmp_path / "here")
    assert pd.read_parquet(tmp_path / "plans")["applicant"].nunique() == MANY
