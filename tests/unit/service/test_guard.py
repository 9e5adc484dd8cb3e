"""What a request meets before it is read: the token, its size, room, time; and a log without anyone's data."""

import asyncio
import inspect
import json
import logging
import threading
from datetime import datetime

import pytest

import copa
from copa._core.threads import for_each_chunk, stop_if_interrupted
from copa.service import ServiceSettings, create_app, guard
from copa.service.state import PlanRequest
from unit.service import banks
from unit.service.test_problems import problem


@pytest.fixture(scope="module")
def guarded(bundle):
    """A service that asks for a token, and a client that brings none."""
    app = create_app(bundle, ServiceSettings(token_digest=banks.digest_of(banks.TOKEN)))
    with banks.Client(app) as client:
        yield client


WRONG = [
    "",
    banks.TOKEN,
    "Bearer",
    "Bearer ",
    f"Bearer {banks.TOKEN}x",
    f"Bearer {banks.TOKEN[:-1]}",
    f"Bearer {banks.TOKEN.upper()}",
    f"Basic {banks.TOKEN}",
    f"Bearer {banks.TOKEN} {banks.TOKEN}",
    "Bearer " + "\xff" * 20,
]


@pytest.mark.parametrize("header", WRONG)
def test_a_wrong_token_gets_401(guarded, header):
    answer = guarded.get("/v1/model", headers={"authorization": header.encode("latin-1")})
    problem(answer, 401)
    assert answer.headers["www-authenticate"] == 'Bearer realm="copa"'
    assert banks.TOKEN not in answer.text


def test_without_a_token_only_health_and_the_page_are_open(guarded):
    for path in ("/v1/schema", "/v1/model", "/openapi.json", "/v1/nothing", "/explorer/validators"):
        problem(guarded.get(path), 401)
    for path in ("/v1/plan", "/v1/audit", "/v1/correct", "/v1/verify", "/v1/letter"):
        problem(guarded.post(path, json={}), 401)
    assert guarded.get("/healthz").status_code == guarded.get("/").status_code == 200


def test_the_right_token_is_heard(guarded):
    for scheme in ("Bearer", "bearer"):
        assert guarded.get("/v1/model", headers={"authorization": f"{scheme} {banks.TOKEN}"}).status_code == 200


def test_tokens_are_compared_by_digests_of_equal_length_in_constant_time(guarded, monkeypatch):
    """Every comparison is that of two SHA-256, whatever came; and nothing else in the guard looks at a token."""
    compared = []
    same = guard.hmac.compare_digest
    monkeypatch.setattr(guard.hmac, "compare_digest", lambda a, b: (compared.append((a, b)), same(a, b))[1])
    for header in WRONG:
        guarded.get("/v1/model", headers={"authorization": header.encode("latin-1")})
    assert len(compared) == len(WRONG)
    assert {(len(a), len(b)) for a, b in compared} == {(32, 32)}
    source = inspect.getsource(guard.Guard._require_token)
    assert "==" not in source.replace('== "bearer"', "")


async def refused(client, headers, messages, method="POST", path="/v1/plan"):
    """Ask with a body that comes in pieces; returns the answer, and how many of them were taken."""
    sent, taken = [], 0

    async def receive():
        nonlocal taken
        taken += 1
        return next(messages)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "root_path": ""}
    named = [(b"host", b"localhost"), (b"content-type", b"application/json"), *headers]
    await client.app(scope | {"headers": named, "http_version": "1.1", "scheme": "http"}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), taken


def pieces(size):
    while True:
        yield {"type": "http.request", "body": bytes(size), "more_body": True}


def test_a_large_body_is_refused_before_it_is_read(client):
    for length in (b"1000000000", b"2000001", b"9" * 400, b"-1", b"1_0", b""):
        status, headers, taken = asyncio.run(refused(client, [(b"content-length", length)], pieces(10)))
        assert (status, taken, headers[b"connection"]) == (413, 0, b"close")


def test_a_large_body_that_says_nothing_of_its_size_is_refused_when_it_is_too_large(client):
    for headers in ([(b"transfer-encoding", b"chunked")], [(b"content-length", b"5")]):
        status, answered, taken = asyncio.run(refused(client, headers, pieces(500_000)))
        assert (status, taken, answered[b"connection"]) == (413, 5, b"close")


def test_a_body_that_is_not_waited_for_ends_the_connection(guarded):
    status, headers, taken = asyncio.run(refused(guarded, [(b"content-length", b"1000")], pieces(10)))
    assert (status, taken, headers[b"connection"]) == (401, 0, b"close")
    assert "connection" not in guarded.get("/v1/model").headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/healthz", 405),
        ("POST", "/", 405),
        ("PUT", "/v1/plan", 405),
        ("POST", "/v1/model", 405),
        ("POST", "/v1/nothing", 404),
        ("POST", "/v1/gate", 404),
        ("GET", "/healthz", 200),
        ("GET", "/v1/model", 200),
    ],
)
def test_a_body_is_read_only_by_a_route_that_takes_one(client, method, path, status):
    chunked = [(b"transfer-encoding", b"chunked")]
    found, headers, taken = asyncio.run(refused(client, chunked, pieces(10), method, path))
    assert (found, taken, headers[b"connection"]) == (status, 0, b"close")


def test_bodies_that_stall_without_a_token_take_nobodys_place(bundle):
    settings = ServiceSettings(token_digest=banks.digest_of(banks.TOKEN), max_requests=2)
    paths = 3 * ["/v1/plan", "/healthz", "/", "/v1/nothing"]

    async def ask(client):
        stalled = [asyncio.create_task(stalling(client, path, b"")) for path in paths]
        for _ in range(100):  # until each waits for its body, or is answered
            await asyncio.sleep(0)
        right = f"Bearer {banks.TOKEN}".encode()
        found, _, _ = await refused(client, [(b"authorization", right)], pieces(0), "GET", "/v1/model")
        answered = [task.result() if task.done() else None for task in stalled]
        for task in stalled:
            task.cancel()
        return found, answered

    with banks.Client(create_app(bundle, settings)) as client:
        found, answered = asyncio.run(ask(client))
    assert found == 200
    assert answered == 3 * [401, 405, 405, 401]


async def stalling(client, path, authorization):
    """Status of the answer to a request whose body never comes."""
    never, sent = asyncio.Event(), []

    async def receive():
        await never.wait()

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-length", b"10"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "root_path": ""}
    headers.append((b"authorization", authorization))
    await client.app(scope | {"headers": headers, "http_version": "1.1", "scheme": "http"}, receive, send)
    return sent[0]["status"]


def test_a_body_that_does_not_come_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.02)
    assert asyncio.run(stalling(client, "/v1/plan", b"")) == 408


@pytest.fixture
def stuck(bundle):
    """A service with room for two that has one second, and plans nothing before it is let go."""
    free, begun = threading.Event(), threading.Semaphore(0)
    with banks.client_of(bundle, max_requests=2, time_limit=1.0) as client:
        work = client.service._plan

        def slowly(*asked):
            begun.release()
            free.wait(10)
            return work(*asked)

        client.service._plan = slowly
        yield client, free, begun
        free.set()


def test_one_request_too_many_is_told_to_come_again(stuck, people):
    client, free, begun = stuck
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.post("/v1/plan", json={"applicants": people[:1]})))
        for _ in range(2)
    ]
    threads[0].start()
    begun.acquire()
    threads[1].start()
    while client_running(client) < 2:
        threading.Event().wait(0.005)
    busy = client.post("/v1/plan", json={"applicants": people[:1]})
    assert "2 requests are under way" in problem(busy, 503)["detail"]
    assert busy.headers["retry-after"] == "1"
    assert client.get("/healthz").status_code == 200  # a busy service is not a dead one
    free.set()
    for thread in threads:
        thread.join(10)
    assert [answer.status_code for answer in answers] == [200, 200]
    assert client.post("/v1/plan", json={"applicants": people[:1]}).status_code == 200
    assert client_running(client) == 0


def client_running(client):
    """How many requests the guard of an application counts."""
    layer = client.app.middleware_stack
    while not isinstance(layer, guard.Guard):
        layer = getattr(layer, "app", None) or layer._app
    return layer._running


def test_a_request_has_a_time_limit(stuck, people):
    client, free, _ = stuck
    found = problem(client.post("/v1/plan", json={"applicants": people[:1]}), 504)
    assert "no answer within 1 s" in found["detail"]
    free.set()
    assert client.post("/v1/plan", json={"applicants": people[:1]}).status_code == 200


def test_work_ends_when_its_request_has_timed_out(bundle, people, monkeypatch):
    ended, over = threading.Event(), threading.Event()

    def endless(*_):
        try:
            while not over.is_set():
                for_each_chunk(lambda _: None, 1, 1, 1)
        finally:
            ended.set()

    with banks.client_of(bundle, time_limit=0.1) as client:
        monkeypatch.setattr(client.service, "_plan", endless)
        problem(client.post("/v1/plan", json={"applicants": people[:1]}), 504)
        in_time = ended.wait(10)
        over.set()
    assert in_time


def test_work_for_several_requests_ends_when_none_of_them_waits(bundle, people):
    """The first two requests wait for each other's company; then one of them goes, then the other."""
    free, begun, looked = threading.Event(), threading.Event(), threading.Event()

    def endless(_, requests):
        begun.set()
        assert free.wait(10)
        while len(requests) == 2:
            stop_if_interrupted()
            looked.set()
        return [b"alone"] * len(requests)

    with banks.client_of(bundle) as client:
        client.service._plan = endless
        wishes, asked = copa.Wishes(), PlanRequest(people[:1])
        client.service.plan(wishes, asked)
        assert begun.wait(10)
        first, second = (client.service.plan(wishes, asked) for _ in range(2))
        free.set()
        assert looked.wait(10)
        first.stop()
        for _ in range(3):  # it goes on for the other one, also after the look at the time of the stop
            looked.clear()
            assert looked.wait(10)
        second.stop()
        assert first.result.result(10) == second.result.result(10) == b"alone"


def test_work_that_waits_when_its_request_has_timed_out_never_begins(stuck, people):
    client, free, begun = stuck
    for _ in range(2):
        problem(client.post("/v1/plan", json={"applicants": people[:1]}), 504)
    free.set()
    client.service.close()
    assert begun.acquire(blocking=False)
    assert not begun.acquire(blocking=False)


def test_the_log_has_a_line_of_json_for_each_request_and_nobodys_data(bundle, people, caplog):
    secret = "Mallory-7391"  # noqa: S105 - a name
    person = {**people[0], "job": secret, "income": 7391.25}
    caplog.set_level(logging.INFO)
    with banks.with_token(bundle) as client:
        asked = [
            client.post("/v1/plan", json={"applicants": [person, people[1]]}),
            client.post("/v1/plan", json={"applicants": [person], "fixed": [secret]}),
            client.post("/v1/letter", json={"applicants": [person], "names": [secret], "sender": secret}),
            client.get(f"/v1/{secret}", params={"q": secret}, headers={"user-agent": secret}),
            client.get("/v1/schema", headers={"host": secret}),
            client.get("/v1/model", headers={"authorization": f"Bearer {secret}"}),
            client.request(secret.upper(), "/v1/model"),
            client.post("/v1/plan", content=f'{{"{secret}'.encode(), headers={"content-type": "application/json"}),
        ]
    lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "copa.service.access"]
    assert [line["status"] for line in lines] == [answer.status_code for answer in asked]
    assert [line["request"] for line in lines] == [answer.headers["x-request-id"] for answer in asked]
    assert lines[0].keys() == {"time", "request", "method", "route", "status", "milliseconds", "applicants"}
    assert (lines[0]["method"], lines[0]["route"], lines[0]["applicants"]) == ("POST", "/v1/plan", 2)
    assert (lines[3]["route"], lines[6]["method"]) == (None, "other")
    assert all(datetime.fromisoformat(line["time"]).tzinfo and line["milliseconds"] >= 0 for line in lines)
    logged = " ".join(record.getMessage() for record in caplog.records if not record.name.startswith("http"))
    assert not any(word in logged for word in (secret, secret.upper(), "7391.25", banks.TOKEN))


def test_answers_are_kept_by_nobody_and_framed_by_nobody(client):
    headers = client.get("/v1/model").headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers
