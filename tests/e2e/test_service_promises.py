"""Promises of a real service: what was acknowledged outlives kill -9; a ledger that cannot be used ends it at once."""

import os
import random
import signal
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

pytest.importorskip("sqlalchemy", reason="sqlalchemy is not installed: pip install 'copa-recourse[ledger]'")

from copa.promises import Ledger
from e2e.command_runs import refused
from e2e.service_runs import serving
from unit.planner import loans
from unit.service import banks
from waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def bank():
    return loans.planner(loans.fitted_pipeline())


@pytest.fixture(scope="module")
def bundle(bank, tmp_path_factory):
    return banks.write_bundle(tmp_path_factory.mktemp("promised") / "bank.bundle", bank)


@pytest.fixture(scope="module")
def people(bank):
    table = loans.people(60, 7)
    return banks.rows_of(table[~bank.model.predict(table)])


class Recorders:
    """Clients that record one promise after the other, and remember what was acknowledged."""

    def __init__(self, url, people, run, n_clients=3):
        self.acknowledged, self.asked, self._url, self._people = {}, set(), url, people
        self._threads = [threading.Thread(target=self._record, args=(f"{run}.{k}",)) for k in range(n_clients)]
        for thread in self._threads:
            thread.start()

    def _record(self, client):
        """Until nobody answers."""
        with httpx.Client(base_url=self._url, timeout=PATIENCE) as service:
            for number in range(100_000):
                name = f"{client}.{number}"
                row = self._people[number % len(self._people)]
                body = {"applicant": row, "name": name, "valid_for": "12 months", "options": [1]}
                body |= {"n_options": 1, "recorded_by": client}
                self.asked.add(name)
                try:
                    answer = service.post("/v1/promises", json=body)
                    assert answer.status_code == 200, answer.text
                    self.acknowledged[name] = answer.json()["promises"][0]["promise"]
                except httpx.TransportError:
                    return

    def wait_for(self, number, server):
        """Wait until so many were acknowledged."""
        wait_until(lambda: len(self.acknowledged) >= number, lambda: server.said)

    def join(self):
        for thread in self._threads:
            thread.join(PATIENCE)


def kill_with_workers(process):
    """Kill a service and its workers at once."""
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for pid in (process.pid, *(int(word) for word in (workers.read_text().split() if workers.exists() else ()))):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(PATIENCE)


def killed_while_recording(bundle, people, folder, n_kills, *options):
    """Kill a service again and again; what was acknowledged, and what was asked for."""
    url, draw = f"sqlite:///{folder}/promises.db", random.Random(5)  # noqa: S311 - moments of the test
    acknowledged, asked = {}, set()
    Ledger.open(url, create=True).close()
    for run in range(n_kills):
        with serving(bundle, folder, "--ledger", url, *options) as server:
            recorders = Recorders(server.url, people, run)
            recorders.wait_for(draw.randrange(10, 30), server)
            kill_with_workers(server.process)
            recorders.join()
        acknowledged |= recorders.acknowledged
        asked |= recorders.asked
    return url, acknowledged, asked


def require_all_there(url, acknowledged, asked):
    with Ledger.open(url) as ledger:
        listed, check = ledger.promises(), ledger.verify()
    assert check.ok, check
    found = dict(zip(listed["promise_applicant"], listed.index, strict=True))
    assert len(found) == len(listed)  # nothing twice
    assert {name: found.get(name) for name in acknowledged} == acknowledged
    assert set(found) <= asked
    assert check.events == len(found)


@pytest.mark.extended
def test_killed_while_recording_it_loses_no_acknowledged_promise(bundle, people, tmp_path):
    url, acknowledged, asked = killed_while_recording(bundle, people, tmp_path, 1)
    require_all_there(url, acknowledged, asked)
    with serving(bundle, tmp_path, "--ledger", url) as server:
        summary = httpx.get(f"{server.url}/v1/promises/summary", timeout=PATIENCE).json()
        check = httpx.get(f"{server.url}/v1/promises/check", timeout=PATIENCE).json()
    assert summary["counts"]["open"] == check["events"] >= len(acknowledged) >= 10
    assert check["ok"]


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "n_kills"), [(1, 10), (2, 5)])
def test_killed_many_times_while_recording_it_loses_no_acknowledged_promise(bundle, people, tmp_path, workers, n_kills):
    url, acknowledged, asked = killed_while_recording(bundle, people, tmp_path, n_kills, "--workers", workers)
    assert len(acknowledged) >= 10 * n_kills
    require_all_there(url, acknowledged, asked)


def newer(path):
    Ledger.open(path, create=True).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE head SET version = 9999")
    database.close()


@pytest.mark.parametrize(
    ("place", "prepare", "code", "said"),
    [
        ("promises.db", newer, 1, "update COPA"),
        ("promises.db", lambda path: path.write_bytes(b"no ledger at all " * 100), 1, "not a database"),
        ("nowhere/promises.db", lambda _: None, 2, "nowhere"),
        ("", lambda _: None, 2, "ledger"),
        ("promises.db", lambda _: None, 2, "no ledger at"),
    ],
    ids=["newer", "damaged", "missing folder", "a folder", "none"],
)
def test_a_ledger_that_cannot_be_used_is_said_before_anything_is_served(bundle, tmp_path, place, prepare, code, said):
    prepare(tmp_path / place)
    line = refused("serve", bundle, "--port", 0, "--ledger", f"sqlite:///{tmp_path / place}", code=code)
    assert said in line
    assert "serving" not in line
