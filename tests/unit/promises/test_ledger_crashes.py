import os
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.promises import Ledger
from unit.promises.ledgers import IN_TIME, TERMS, query, repeated
from waiting import wait_until

PER_STEP = 20  # promises


def write(url, batch, name, n_steps, acknowledged):
    """Record batch after batch, and note what was acknowledged; goes on where an earlier run was killed."""
    with Ledger.open(url) as ledger, acknowledged.open("a") as notes:
        for step in range(steps_of(acknowledged), n_steps):
            labels = [f"{name} {step} {k}" for k in range(len(batch))]
            ids = ledger.record(replace(batch, applicants=batch.applicants.set_axis(labels)), **TERMS)
            notes.write(" ".join(ids) + "\n")
            notes.flush()


def started(*arguments):
    """A process that writes; it shares the modules that are loaded here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in a process with threads
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            write(*arguments)
            code = 0
        finally:
            os._exit(code)
    return pid


def run_and_kill(url, batch, folder, *, n_writers, n_steps, n_kills):
    """Writers at work, some of which are killed at random points and begin again; returns how many were killed."""
    rng = np.random.default_rng(0)
    Ledger.open(url, create=True).close()
    tasks = [(url, batch, f"writer {k}", n_steps, folder / f"writer-{k}") for k in range(n_writers)]
    running = {started(*task): task for task in tasks}
    kills = 0
    while running:
        pid = int(rng.choice(list(running)))
        *_, acknowledged = task = running.pop(pid)
        if kills < n_kills:
            goal = min(steps_of(acknowledged) + int(rng.integers(3)), n_steps - 1)
            wait_until(lambda: steps_of(acknowledged) >= goal)  # noqa: B023 - called here and now
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            kills += 1
            running[started(*task)] = task
        else:
            assert os.waitstatus_to_exitcode(status) == 0
    return kills


def steps_of(acknowledged):
    return len(acknowledged.read_text().splitlines()) if acknowledged.exists() else 0


def nothing_is_lost_or_doubled(url, batch, folder, **how):
    single = batch[:4]
    exact = repeated(single, PER_STEP)
    exact = exact.select(np.arange(len(exact))[np.cumsum(exact.counts) <= PER_STEP])
    per_step = len(exact.options)
    kills = run_and_kill(url, exact, folder, **how)
    assert kills >= min(how["n_kills"], 1)
    with Ledger.open(url) as ledger:
        promises = ledger.promises(as_of=IN_TIME)
        acknowledged = [promise for file in sorted(folder.glob("writer-*")) for promise in file.read_text().split()]
        assert len(promises) == how["n_writers"] * how["n_steps"] * per_step
        assert len(set(acknowledged)) == len(acknowledged)
        assert set(acknowledged) <= set(promises.index)
        assert not promises.duplicated(["promise_applicant", "promise_option"]).any()
        check = ledger.verify()
        assert (check.ok, check.events) == (True, len(promises))
    return kills


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_writers_that_are_killed_lose_nothing_that_was_acknowledged(url, loan_plans, tmp_path):
    nothing_is_lost_or_doubled(url, loan_plans, tmp_path, n_writers=3, n_steps=40, n_kills=3)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_eight_writers_of_two_thousand_promises_are_killed_at_twenty_points(url, loan_plans, tmp_path):
    kills = nothing_is_lost_or_doubled(url, loan_plans, tmp_path, n_writers=8, n_steps=2_000 // 18 + 1, n_kills=20)
    assert kills >= 20


def test_a_batch_that_fails_in_the_middle_leaves_nothing(ledger, loan_plans, monkeypatch):
    from copa.promises._storage import chain

    ledger.record(loan_plans[:2], **TERMS)
    before = {name: query(ledger, f"SELECT * FROM {name}") for name in ("head", "terms", "events", "personal")}  # noqa: S608
    calls = []

    def failing(*arguments):
        calls.append(1)
        if len(calls) > 25:
            raise InvalidInputError("out of salt")
        return personal_digest(*arguments)

    personal_digest = chain.personal_digest
    with monkeypatch.context() as patch:
        patch.setattr(chain, "CHUNK", 10)
        patch.setattr(chain, "personal_digest", failing)
        with pytest.raises(InvalidInputError, match="out of salt"):
            ledger.record(loan_plans, **TERMS)
    assert {name: query(ledger, f"SELECT * FROM {name}") for name in before} == before  # noqa: S608
    assert ledger.verify().ok


def test_threads_share_a_ledger(ledger, loan_plans):
    barrier = threading.Barrier(4)

    def work(k):
        barrier.wait()
        return ledger.record(loan_plans[k : k + 6], **TERMS)  # overlapping

    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(work, range(4)))
    assert set(ids[0]) & set(ids[1])
    assert set().union(*ids) == set(ledger.promises(as_of=IN_TIME).index)
    assert ledger.verify().ok


def test_a_person_redeems_once_however_many_ask_at_once(ledger, loan_plans, bank):
    promise = ledger.record(loan_plans[:1], **TERMS)[0]
    row = loan_plans.options.iloc[[0]]
    barrier = threading.Barrier(3)

    def work(_):
        barrier.wait()
        try:
            return ledger.redeem(promise, row, bank.model, as_of=IN_TIME).outcome
        except InvalidInputError as error:
            return str(error)

    with ThreadPoolExecutor(3) as pool:
        answers = sorted(pool.map(work, range(3)))
    assert answers.count("kept") == 1
    assert all("is not open: it was kept" in answer for answer in answers if answer != "kept")
    assert ledger.verify().ok
