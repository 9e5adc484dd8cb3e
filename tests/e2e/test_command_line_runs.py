"""`copa plan` into a run: here or on a Dask cluster, the same bytes whoever plans and whoever dies; and its uses."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pandas as pd
import pyarrow.parquet as pq
import pytest

from copa.planner.runs import LOCK
from copa.promises import Ledger
from e2e.command_runs import contents, copa, fit_bank, json_of, refused, write_bank
from unit.planner import loans
from waiting import wait_until

N_APPLICANTS, N_PARTS, PART_ROWS = 300, 12, 25
MANY = int(os.environ.get("COPA_MANY_APPLICANTS", "10000"))  # of the slow test
SMALL = f"import sys; from copa.planner import runs; runs.PART_ROWS = {PART_ROWS}; from copa.cli import main"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", PART_ROWS)


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
    return fit_bank(bank, "--n-starts", "64")  # so that there is time to kill somebody


@pytest.fixture(scope="module")
def here(bank, bundle):
    """The run that one process makes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("copa.planner.runs.PART_ROWS", PART_ROWS)
        copa("plan", bundle, bank / "many", "-o", bank / "here")
    return bank / "here"


@pytest.fixture(scope="module")
def cluster():
    """Two workers that are processes."""
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'copa-recourse[dask]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0"
    ) as cluster:
        yield cluster


@contextmanager
def running(*words, log, code=SMALL):
    """The command as a process of its own."""
    command = [sys.executable, "-c", f"{code}; sys.exit(main())", *map(str, words)]
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
        return len(list(folder.glob("part-*.copa"))) >= number

    wait_until(lambda: are_there() or process.poll() is not None, log.read_text, patience=600.0)
    assert are_there(), log.read_text()


# ------------------------------------------------------------------------------------------------------- what a run is


def test_a_run_has_the_plans_of_a_single_file(bank, bundle, here, tmp_path):
    again = ("plan", bundle, bank / "many", "-o", here)
    copa(*again, "-o", tmp_path / "of-run.parquet", "-o", tmp_path / "of-run.csv")
    for ending in ("parquet", "csv"):
        copa("plan", bundle, bank / "many.csv", "-o", tmp_path / f"single.{ending}")
        assert (tmp_path / f"of-run.{ending}").read_bytes() == (tmp_path / f"single.{ending}").read_bytes()
    assert sorted(path.name for path in here.iterdir()) == [
        *(f"part-{number:06d}.copa" for number in range(N_PARTS)), "parts.json", "run.json",
    ]  # fmt: skip
    failed = pq.read_table(tmp_path / "single.parquet").to_pandas().query("plan_status == 'error'")
    assert failed["applicant"].tolist() == [130, 171]


def test_a_finished_run_is_not_planned_again(bank, bundle, here):
    before = {path.name: path.stat().st_mtime_ns for path in here.glob("part-*")}
    found = json_of("plan", bundle, bank / "many", "-o", here, "--scheduler", "tcp://127.0.0.1:9")
    assert found["applicants"] == N_APPLICANTS
    assert found["statuses"]["error"] == 2
    assert {path.name: path.stat().st_mtime_ns for path in here.glob("part-*")} == before


def test_plans_of_another_run_are_not_mixed_in(bank, bundle, here):
    run = ("plan", bundle, bank / "many", "-o", here)
    assert "settings differ" in refused(*run, "--guarantee", "0.7", code=2)
    assert "settings differ" in refused(*run, "--fixed", "debt", code=2)
    assert "input differ" in refused("plan", bundle, bank / "many.csv", "-o", here, code=2)
    copa(*run, "--n-jobs", "1")  # which does not change the plans


def test_the_plans_of_a_run_become_letters_proofs_reports_and_promises(bank, bundle, tmp_path):
    run, ledger = tmp_path / "run", ("--ledger", tmp_path / "promises.db")
    copa("plan", bundle, bank / "people.csv", "--id", "name", "-o", run, "-o", tmp_path / "report.html")
    assert len(list(run.glob("part-*"))) == 3
    n_options = json_of("verify", run, "--bundle", bundle)["options"]
    assert json_of("audit", bundle, run)["totals"]["n_options"] == n_options
    assert json_of("letter", bundle, run, "-o", tmp_path / "letters")["letters"] > 20
    copa("promises", "create", *ledger)
    terms = ("--model-version", "2026-01", "--valid-for", "12 months", "--made", "2026-01-15")
    record = ("promises", "record", run, *terms, *ledger)
    ids = json_of(*record)["promises"]
    assert len(ids) == n_options
    assert json_of(*record)["promises"] == ids  # recorded once
    with Ledger.open(tmp_path / "promises.db") as opened:
        rows = opened.promises(as_of="2026-06-30")
    assert rows["promise_applicant"].nunique() == len(rows) / 2
    loans_model = tmp_path / "model.skops"
    copa("keep", bundle, bank / "bank.csv", "--target", "paid", "--promises", run, "-o", loans_model)
    day = ("--as-of", "2026-06-30")
    by_run = json_of("gate", loans_model, "--promises", run, *day)
    by_ledger = json_of("gate", loans_model, "--promises", tmp_path / "promises.db", *day)
    assert by_run["n_promises"] == by_ledger["n_promises"] == n_options
    assert by_run["n_broken"] == by_ledger["n_broken"] == 0


def test_an_unfinished_run_makes_no_promises(bank, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.planner.runs.Run._list", lambda _: 1 / 0)
    copa("plan", bundle, bank / "people.csv", "-o", tmp_path / "run", code=1)
    terms = ("--model-version", "1", "--valid-for", "12 months", "--ledger", tmp_path / "promises.db")
    copa("promises", "create", "--ledger", tmp_path / "promises.db")
    before = (tmp_path / "promises.db").read_bytes()
    line = refused("promises", "record", tmp_path / "run", *terms, code=1)
    assert "holds no finished run: it has no parts.json" in line
    assert (tmp_path / "promises.db").read_bytes() == before


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("-o", "one", "-o", "other"), "the plans go into one folder, got one and other"),
        (
            ("-o", "plans", "--time-limit", "5", "--scheduler", "tcp://x:1"),
            "--time-limit is not there with --scheduler",
        ),
        (("-o", "plans", "--totals-only"), "--totals-only is about a report"),
        (("-o", "nowhere/plans"), "does not exist; make it first"),
        (("-o", "plans", "-o", "plans.txt"), "must end in"),
    ],
)
def test_what_does_not_go_together_is_said_before_any_work(bank, bundle, more, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in refused("plan", bundle, bank / "many.csv", *more, code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_refused(bank, bundle, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    line = refused("plan", bundle, bank / "people.csv", "-o", tmp_path / "notes", code=2)
    assert "holds 'mine.txt', and no run; give another folder" in line


@pytest.mark.extended
def test_a_scheduler_that_does_not_answer_is_named(bank, bundle, tmp_path):
    dask = pytest.importorskip("dask", reason="needs Dask: pip install 'copa-recourse[dask]'")
    # Imported before its settings change: to undo a change of what was not there yet would remove them all.
    pytest.importorskip("distributed", reason="needs Dask: pip install 'copa-recourse[dask]'")
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):
        run = ("plan", bundle, bank / "people.parquet", "-o", tmp_path / "plans")
        line = refused(*run, "--scheduler", "tcp://127.0.0.1:9", code=1)
    assert "the scheduler tcp://127.0.0.1:9 does not answer" in line
    assert dask.config.get("distributed.comm.timeouts.connect") != "0.2s"  # all settings are there again, for others


# ------------------------------------------------------------------------------------------------------------ who dies


@pytest.mark.extended
def test_a_killed_worker_loses_and_doubles_nothing(bank, bundle, here, cluster, tmp_path):
    log, plans = tmp_path / "log.txt", tmp_path / "plans"
    words = ("plan", bundle, bank / "many", "-o", plans, "--scheduler", cluster.scheduler_address)
    with running(*words, log=log) as process:
        wait_for_parts(plans, 1, process, log)
        done = len(list(plans.glob("part-*.copa")))
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert process.wait(timeout=300) == 0, log.read_text()
    assert done < N_PARTS
    assert contents(plans) == contents(here)
    assert "Traceback" not in log.read_text()


@pytest.mark.slow
def test_a_killed_client_leaves_whole_parts_and_a_rerun_plans_for_the_rest(bank, bundle, here, cluster, tmp_path):
    log, plans = tmp_path / "log.txt", tmp_path / "plans"
    words = ("plan", bundle, bank / "many", "-o", plans, "--scheduler", cluster.scheduler_address)
    with running(*words, log=log) as process:
        wait_for_parts(plans, 1, process, log)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    kept = {path.name: path.stat().st_mtime_ns for path in plans.glob("part-*.copa")}
    assert 1 <= len(kept) < N_PARTS
    assert not (plans / "parts.json").exists()
    assert (plans / LOCK).exists()
    result = copa("plan", bundle, bank / "many", "-o", plans)
    assert f"{len(kept)} of {N_PARTS} parts were finished before" in result.stderr
    assert {name: (plans / name).stat().st_mtime_ns for name in kept} == kept
    assert contents(plans) == contents(here)


@pytest.mark.slow
def test_an_interrupted_run_says_what_is_done(bank, bundle, cluster, tmp_path):
    log, plans = tmp_path / "log.txt", tmp_path / "plans"
    words = ("plan", bundle, bank / "many", "-o", plans, "--scheduler", cluster.scheduler_address)
    with running(*words, log=log) as process:
        wait_for_parts(plans, 1, process, log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
    assert "parts of the plans are done, and kept in" in log.read_text()
    assert "the same again goes on from there" in log.read_text()


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
        running("plan", bundle, bank / "many", "-o", plans, "--scheduler", address, log=log) as process,
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
    copa("plan", bundle, bank / "many", "-o", plans)
    assert contents(plans) == contents(here)


@pytest.mark.slow
def test_many_applicants_with_a_worker_killed_half_way_are_the_bytes_of_one_process(
    bank, cluster, tmp_path, monkeypatch
):
    rows = MANY // 20
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", rows)
    bundle = fit_bank(bank)
    loans.people(MANY, 9).to_parquet(tmp_path / "people.parquet")
    log, plans = tmp_path / "log.txt", tmp_path / "plans"
    command = ("plan", bundle, tmp_path / "people.parquet")
    copa(*command, "-o", tmp_path / "here", "-o", tmp_path / "plans.parquet")
    words = (*command, "-o", plans, "--scheduler", cluster.scheduler_address)
    with running(*words, log=log, code=SMALL.replace(str(PART_ROWS), str(rows))) as process:
        wait_for_parts(plans, 10, process, log)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        assert process.wait(timeout=3000) == 0, log.read_text()
    assert contents(plans) == contents(tmp_path / "here")
    assert pd.read_parquet(tmp_path / "plans.parquet")["applicant"].nunique() == MANY
