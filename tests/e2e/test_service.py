"""`copa serve` as a process: it serves, finishes what is under way, and is the same after it was killed."""

import json
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pandas as pd
import pytest

import copa
from e2e.command_runs import process
from e2e.service_runs import serving
from unit.planner import loans
from unit.service import banks
from waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def bank():
    return loans.planner(loans.fitted_pipeline())


@pytest.fixture(scope="module")
def bundle(bank, tmp_path_factory):
    return banks.write_bundle(tmp_path_factory.mktemp("served") / "bank.bundle", bank)


@pytest.fixture(scope="module")
def people(bank):
    table = loans.people(60, 7)
    return banks.rows_of(table[~bank.model.predict(table)])


@pytest.fixture(scope="module")
def server(bundle, tmp_path_factory):
    """A service without a token, which tests share."""
    with serving(bundle, tmp_path_factory.mktemp("server")) as found:
        yield found


def test_it_serves_and_logs_lines_of_json(server, bank, people):
    answer = server.post("/v1/plan", {"applicants": people[:2], "fixed": ["job"]})
    assert answer.status_code == 200
    batch = bank.with_wishes(copa.Wishes(fixed=["job"])).plan(pd.DataFrame(people[:2]))
    rows = [option["row"] for plan in answer.json()["plans"] for option in plan["options"]]
    assert rows == banks.rows_of(batch.options)
    assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{server.url}/").status_code == 200
    expected = ["/v1/plan", "/healthz", "/"]
    wait_until(lambda: routes_of(server.said)[-3:] == expected, lambda: server.said)  # after an answer is sent


def routes_of(said):
    return [json.loads(line)["route"] for line in said.splitlines() if line.startswith("{") and line.endswith("}")]


LONG = 30.0  # seconds; what is done at once takes less on a busy machine
HEAD = b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def answered(connection):
    """Status and headers of an answer, and the seconds until it was there; the server must close the connection."""
    begun, got = time.perf_counter(), b""
    with connection:
        while piece := connection.recv(65536):
            got += piece
    return int(got.split()[1]), got, time.perf_counter() - begun


@pytest.mark.extended
def test_a_gigabyte_is_refused_at_once(server):
    server.post("/v1/plan", {})
    status, got, seconds = answered(server.raw(HEAD + b"Content-Length: 1000000000\r\n\r\n"))
    assert status == 413
    assert b"application/problem+json" in got
    assert seconds < LONG  # nothing of the body was sent


@pytest.mark.extended
def test_a_gigabyte_in_chunks_is_refused_after_two_megabytes(server):
    connection = server.raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"%x\r\n" % 100_000 + bytes(100_000) + b"\r\n"
    sent = 0
    try:
        while sent < 1_000_000_000:
            connection.sendall(chunk)
            sent += 100_000
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert sent < 50_000_000  # what the sockets hold, and little more
    connection.close()


@pytest.fixture(scope="module")
def guarded(bundle, tmp_path_factory):
    """A service with a token, which tests share."""
    folder = tmp_path_factory.mktemp("guarded")
    token = folder / "token"
    token.write_text(f"{banks.TOKEN}\n", encoding="utf-8")
    token.chmod(0o600)
    with serving(bundle, folder, "--token-file", token) as found:
        yield found


RIGHT = {"authorization": f"Bearer {banks.TOKEN}"}


@pytest.mark.extended
def test_260_bodies_that_stall_without_a_token_stop_nobody(guarded, people):
    stalled = HEAD + b"Content-Length: 1000\r\n\r\n{"
    paths = (b"/", b"/healthz", b"/v1/plan", b"/v1/nothing")
    connections = [guarded.raw(stalled.replace(b"/v1/plan", paths[k % 4])) for k in range(260)]
    answer = guarded.post("/v1/plan", {"applicants": people[:1]}, headers=RIGHT)
    statuses = [answered(connection)[0] for connection in connections]
    assert answer.status_code == 200
    assert statuses == 65 * [405, 405, 401, 401]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of a process is read from /proc")
@pytest.mark.extended
@pytest.mark.parametrize("path", [b"/v1/gate", b"/v1/nothing", b"/"])
def test_fifty_megabytes_to_a_path_that_is_not_served_are_not_held(guarded, people, path):
    guarded.post("/v1/plan", {"applicants": people[:1]}, headers=RIGHT)
    before = peak_megabytes(guarded)
    token = b"Authorization: Bearer %s\r\n" % banks.TOKEN.encode()
    connection = guarded.raw(HEAD.replace(b"/v1/plan", path) + token + b"Transfer-Encoding: chunked\r\n\r\n")
    with connection, suppress(BrokenPipeError, ConnectionResetError):
        for _ in range(500):
            connection.sendall(b"%x\r\n" % 100_000 + bytes(100_000) + b"\r\n")
    assert peak_megabytes(guarded) - before < 10.0


def peak_megabytes(server):
    """Largest memory that the process of a service has had."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) / 1000.0 for line in lines if line.startswith("VmHWM"))


def test_answers_come_on_connections_that_stay(server, people):
    with httpx.Client(base_url=server.url) as client:
        answers = [client.post("/v1/plan", json={"applicants": people[:1]}).content for _ in range(5)]
    assert len(set(answers)) == 1


def test_what_is_no_http_is_refused(server):
    status, _, _ = answered(server.raw(b"what?\r\n\r\n"))
    assert status == 400
    assert httpx.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.extended
def test_killed_and_begun_again_it_gives_the_same_bytes(server, bundle, people, tmp_path):
    body = {"applicants": people[:3], "certificates": True}
    before = server.post("/v1/plan", body).content
    with serving(bundle, tmp_path) as first:
        assert first.post("/v1/plan", body).content == before
        port = first.port
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
    with serving(bundle, tmp_path, "--port", port) as second:
        assert second.port == port
        assert second.post("/v1/plan", body).content == before


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_asked_to_end_it_finishes_what_is_under_way(bundle, people, tmp_path, workers):
    """Requests whose bodies are still coming are answered; then it ends, and says so."""
    with serving(bundle, tmp_path, "--workers", workers) as server:
        alone = server.post("/v1/plan", {"applicants": people[:1]}).json()["plans"]
        body = json.dumps({"applicants": people[:1]}).encode()
        head = HEAD + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
        under_way = [server.raw(head) for _ in range(4)]
        for connection in under_way:
            assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")  # the body is read from now on
        server.process.send_signal(signal.SIGTERM)
        if workers == 1:  # where there are more, the process that began them keeps the port
            wait_until(lambda: is_free(server.port))
        for connection in under_way:
            connection.sendall(body)
        answers = [answered(connection) for connection in under_way]
        assert server.process.wait(PATIENCE) == 0
    assert [status for status, _, _ in answers] == [200] * 4
    assert all(json.loads(got.partition(b"\r\n\r\n")[2])["plans"] == alone for _, got, _ in answers)
    assert server.said.rstrip().endswith("stopped.")
    assert "Traceback" not in server.said


@pytest.mark.slow
def test_workers_end_with_the_process_that_began_them_however_it_ends(bundle, people, tmp_path):
    with serving(bundle, tmp_path, "--workers", 2) as first:
        before = first.post("/v1/plan", {"applicants": people[:1]}).content
        port = first.port
        first.end(signal.SIGKILL)
        wait_until(lambda: is_free(port))  # the last worker gives the port back
    with serving(bundle, tmp_path, "--workers", 2, "--port", port) as second:
        assert second.post("/v1/plan", {"applicants": people[:1]}).content == before


def is_free(port):
    with socket.socket() as probe:
        return bool(probe.connect_ex(("127.0.0.1", port)))


@pytest.mark.parametrize("host", ["0.0.0.0", pytest.param("::", marks=pytest.mark.extended)])  # noqa: S104 - to be refused
def test_without_a_token_it_does_not_start_elsewhere(bundle, host):
    result = process("serve", bundle, "--host", host, "--port", 0, check=False, timeout=PATIENCE)
    assert result.returncode == 2
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith("copa serve [")]  # a slow machine
    assert line.startswith(f"error: the address '{host}' can be reached from other machines")
    assert "--token-file FILE" in line


@pytest.mark.slow
def test_with_a_token_it_starts_elsewhere_and_a_wrong_one_gets_401(bundle, people, tmp_path):
    token = tmp_path / "token"
    token.write_text(f"{banks.TOKEN}\n", encoding="utf-8")
    token.chmod(0o644)
    result = process("serve", bundle, "--token-file", token, check=False, timeout=PATIENCE)
    assert result.returncode == 2
    assert "chmod 600" in result.stderr
    token.chmod(0o600)
    anywhere = "0.0.0.0"  # noqa: S104 - with a token
    with serving(bundle, tmp_path, "--host", anywhere, "--token-file", token) as server:
        url = f"http://127.0.0.1:{server.port}"
        body = {"applicants": people[:1]}
        for wrong in ("", "Bearer x", f"Bearer {banks.TOKEN}x"):
            assert httpx.post(f"{url}/v1/plan", json=body, headers={"authorization": wrong}).status_code == 401
        right = httpx.post(f"{url}/v1/plan", json=body, headers={"authorization": f"Bearer {banks.TOKEN}"})
        assert right.status_code == 200
        assert server.end() == 0
    assert banks.TOKEN not in server.said
