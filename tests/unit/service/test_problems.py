"""Problems as RFC 9457 has them, that name field, value and what is allowed; and no request is one of the service."""

import pytest

from unit.service import banks


def problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    content = answer.json()
    assert content["status"] == status
    assert content["type"].startswith("urn:copa:problem:")
    assert set(content) <= {"type", "title", "status", "detail", "errors"}
    return content


@pytest.mark.parametrize(
    ("asked", "field", "value", "allowed"),
    [
        ({"fixed": ["incme"]}, "/fixed", "['incme']", "there is no column 'incme'; did you mean 'income'?"),
        ({"fixed": "income"}, "/fixed", "'income'", "valid list"),
        ({"weights": {"debt": 0}}, "/weights/debt", "0", "greater than or equal to 0.01"),
        ({"weights": {"age": 1}}, "/weights", "{'age': 1", "is immutable"),
        ({"max_change": {"income": -1}}, "/max_change/income", "-1", "greater than 0"),
        ({"max_change": {"job": 0.5}}, "/max_change", "{'job': 0.5}", "means nothing for kind 'categorical'"),
        ({"guarantee": 1}, "/guarantee", "1", "less than 1"),
        ({"guarantee": "sure"}, "/guarantee", "'sure'", "valid number"),
        ({"guarantee_for": "none"}, "/guarantee_for", "'none'", "each|all|any"),
        ({"n_options": 21}, "/n_options", "21", "from 1 to 20"),
        ({"n_options": True}, "/n_options", "True", "valid integer"),
        ({"horizon": 0}, "/horizon", "0", "greater than or equal to 1"),
        ({"applicants": []}, "/applicants", "[]", "at least 1 item"),
        ({"applicants": [3]}, "/applicants/0", "3", "valid dictionary"),
        ({"applicants": 201 * [{}]}, "/applicants", "201 of them", "at most 200"),
        ({"guaranty": 0.9}, "/guaranty", "0.9", "not permitted"),
        ({"cards": "yes"}, "/cards", "'yes'", "valid boolean"),
    ],
)
def test_what_is_wrong_is_named(client, people, asked, field, value, allowed):
    found = problem(client.post("/v1/plan", json={"applicants": people[:1]} | asked), 422)
    error = next(error for error in found["errors"] if error["field"] == field)
    assert value in error["value"]
    assert allowed in error["allowed"]
    assert field in found["detail"]


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"", "JSON"),
        (b"{", "Expecting"),
        (b'{"applicants": [{"a": NaN}]}', "NaN is no number of JSON"),
        (b'{"applicants": [{"a": -Infinity}]}', "-Infinity is no number of JSON"),
        (b'{"applicants": [{"a": 1e999}]}', "too large"),
        (b'{"a": 1, "a": 2}', "'a' is there twice"),
        (b'{"applicants": [{"b": 1, "b": 1}]}', "'b' is there twice"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"applicants": [{"a": ' + b"9" * 5000 + b"}]}", "digits"),
        (b"\xff\xfe{}", "utf-8"),
    ],
)
def test_what_is_no_json_is_refused(client, raw, detail):
    answer = client.post("/v1/plan", content=raw, headers={"content-type": "application/json"})
    if raw == b"":
        problem(answer, 422)
        return
    assert detail in problem(answer, 400)["detail"]


def test_other_types_methods_paths_and_hosts(client):
    assert "application/json" in problem(client.post("/v1/plan", content=b"{}"), 415)["detail"]
    assert problem(client.post("/v1/plan", data={"a": "b"}), 415)
    answer = client.get("/v1/plan")
    problem(answer, 405)
    assert answer.headers["allow"] == "POST"
    problem(client.get("/v1/nothing"), 404)
    problem(client.get("/v1/schema/"), 404)
    problem(client.get("/v1/schema", headers={"host": "evil.example"}), 421)
    problem(client.get("/v1/schema", headers={"host": "localhost.evil.example:8000"}), 421)
    for good in ("localhost", "localhost:8000", "127.0.0.1:1", "[::1]", "[::1]:8000", "LOCALHOST"):
        assert client.get("/v1/schema", headers={"host": good}).status_code == 200
    problem(client.get("/docs"), 404)  # its page would load scripts from elsewhere


def test_a_failure_inside_says_nothing_of_the_request(bundle, people, caplog):
    with banks.client_of(bundle) as client:
        client.service._plan = lambda *_: 1 / 0
        answer = client.post("/v1/plan", json={"applicants": [{**people[0], "job": "SECRET"}]})
    found = problem(answer, 500)
    assert answer.headers["x-request-id"] in found["detail"]
    assert "ZeroDivisionError" in caplog.text
    assert "SECRET" not in caplog.text + answer.text


def test_a_message_that_holds_data_is_not_logged(bundle, people, caplog):
    message = f"{people[0]['income']} of somebody"

    def fail(*_):
        raise RuntimeError(message)

    with banks.client_of(bundle) as client:
        client.service._plan = fail
        problem(client.post("/v1/plan", json={"applicants": people[:1]}), 500)
    assert "RuntimeError" in caplog.text
    assert message not in caplog.text
