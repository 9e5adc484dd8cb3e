"""Promises over HTTP: recorded once, listed, redeemed and weighed."""

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.promises import Ledger, portfolio_risk
from unit.service import banks

BY = {"recorded_by": "desk 4"}
TERMS = {"valid_for": "12 months", **BY}


@pytest.fixture
def url(tmp_path):
    """An empty ledger."""
    url = f"sqlite:///{tmp_path}/promises.db"
    Ledger.open(url, create=True).close()
    return url


@pytest.fixture
def desk(bundle, url):
    with banks.client_of(bundle, ledger=url, model_version="2026-11") as made:
        yield made


def planned(client, people, **asked):
    return client.post("/v1/plan", json={"applicants": people, **asked}).json()["plans"]


def promise(client, row, name="ann", **told):
    body = {"applicant": row, "name": name, **TERMS, **told}
    answer = client.post("/v1/promises", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["promises"]


def test_what_is_promised_is_what_was_shown(desk, people, url):
    options = planned(desk, people[:1])[0]["options"]
    rows = [options[0]["row"]]
    (first,) = promise(desk, people[0], options=[1], rows=rows)
    assert promise(desk, people[0], options=[1], rows=rows) == [first]  # once
    (listed,) = desk.get("/v1/promises").json()["promises"]
    assert (listed["promise"], listed["applicant"], listed["model_version"]) == (first["promise"], "ann", "2026-11")
    assert (listed["row"], listed["option_guarantee"]) == (rows[0], options[0]["guarantee"])
    with Ledger.open(url) as ledger:
        assert ledger.promises().index.tolist() == [first["promise"]]
        assert ledger.verify().ok


def test_another_plan_than_the_one_that_was_shown_is_not_promised(desk, people):
    options = planned(desk, people[:1])[0]["options"]
    body = {"applicant": people[0], "name": "ann", "options": [1], **TERMS}
    answer = desk.post("/v1/promises", json=body | {"rows": [options[1]["row"]]})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:copa:problem:conflict")
    assert desk.get("/v1/promises").json() == {"promises": [], "more": False}


def test_wishes_are_part_of_what_is_promised(desk, people):
    options = planned(desk, people[:1], fixed=["income"])[0]["options"]
    promise(desk, people[0], fixed=["income"], options=[1], rows=[options[0]["row"]])
    (listed,) = desk.get("/v1/promises").json()["promises"]
    assert listed["row"]["income"] == people[0]["income"]


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"options": [79]}, "has no option 79"),
        ({"valid_for": "soon"}, "valid_for must be a span"),
        ({"valid_for": "2020-01-01"}, "before it is made"),
        ({"made": "2026-13-01"}, "made"),
        ({"may_differ": ["incme"]}, "there is no column 'incme'"),
        ({"name": "a\nb"}, "one line"),
        ({"recorded_by": ""}, "recorded_by"),
        ({"recorded_by": " "}, "recorded_by must be text"),
    ],
)
def test_what_cannot_be_recorded_is_said_and_nothing_is_written(desk, people, told, named):
    body = {"applicant": people[0], "name": "ann", **TERMS}
    answer = desk.post("/v1/promises", json=body | told)
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["detail"]
    assert desk.get("/v1/promises").json()["promises"] == []


def test_who_records_a_promise_or_a_return_must_be_named(desk, people):
    body = {"applicant": people[0], "name": "ann", "valid_for": "12 months"}
    answer = desk.post("/v1/promises", json=body)
    assert (answer.status_code, "recorded_by" in answer.text) == (422, True)
    (first, *_) = promise(desk, people[0])
    assert desk.get("/v1/promises").json()["promises"][0]["recorded_by"] == "desk 4"
    answer = desk.post(f"/v1/promises/{first['promise']}/redeem", json={"row": people[0]})
    assert (answer.status_code, "recorded_by" in answer.text) == (422, True)


def test_options_of_a_fragile_plan_are_promised_only_when_they_are_asked_for(desk, people):
    asked = {"guarantee": 0.99999}
    plans = planned(desk, people, **asked)
    k = next(k for k, plan in enumerate(plans) if plan["status"] == "fragile")
    body = {"applicant": people[k], "name": "ann", **TERMS, **asked}
    for told in ({}, {"options": [1]}):
        answer = desk.post("/v1/promises", json=body | told)
        assert (answer.status_code, "the plan is fragile" in answer.json()["detail"]) == (422, True)
    assert desk.get("/v1/promises").json()["promises"] == []
    assert len(promise(desk, people[k], include_fragile=True, **asked)) == len(plans[k]["options"])


def test_a_ledger_that_is_not_there_is_not_made(bundle, tmp_path):
    with pytest.raises(InvalidInputError, match="no ledger at"), banks.client_of(bundle, ledger=tmp_path / "none.db"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_person_comes_back(desk, people):
    (first, second) = promise(desk, people[0], options=[1, 2])
    row = desk.get("/v1/promises").json()["promises"][0]["row"]
    found = desk.post(f"/v1/promises/{second['promise']}/redeem", json={"row": people[0], **BY}).json()
    assert (found["fulfilled"], found["outcome"]) == (False, "not fulfilled")
    assert found["differences"]
    found = desk.post(f"/v1/promises/{first['promise']}/redeem", json={"row": row, **BY}).json()
    assert (found["fulfilled"], found["accepted"], found["outcome"]) == (True, True, "kept")
    again = desk.post(f"/v1/promises/{first['promise']}/redeem", json={"row": row, **BY})
    assert again.status_code == 422
    assert [entry["promise"] for entry in desk.get("/v1/promises?status=kept").json()["promises"]] == [first["promise"]]
    summary = desk.get("/v1/promises/summary").json()
    assert summary["counts"] == {"open": 1, "kept": 1, "broken": 0, "expired": 0, "waived": 0}
    events = 5  # two promises, two returns, and the end of one
    check = desk.get("/v1/promises/check").json()
    assert check.pop("checkpoint").startswith(f"{events}:")
    assert check == {"ok": True, "events": events, "first_bad": None, "message": ""}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"income": None}, "the model refuses a row"), ({"job": "king"}, "the model refuses a row")],
)
def test_a_row_that_the_model_cannot_read_is_said(desk, people, wrong, said):
    (first,) = promise(desk, people[0], options=[1])
    answer = desk.post(f"/v1/promises/{first['promise']}/redeem", json={"row": people[0] | wrong, **BY})
    assert (answer.status_code, said in answer.json()["detail"]) == (422, True)
    assert desk.get("/v1/promises/check").json()["events"] == 1


def test_lists_are_those_of_a_person_and_as_long_as_asked_for(desk, people):
    promise(desk, people[0], name="ann", options=[1, 2])
    promise(desk, people[1], name="bob", options=[1])
    found = desk.get("/v1/promises?limit=2").json()
    assert (len(found["promises"]), found["more"]) == (2, True)
    found = desk.get("/v1/promises?applicant=bob").json()
    assert ([entry["applicant"] for entry in found["promises"]], found["more"]) == (["bob"], False)


def test_the_portfolio_is_the_librarys_own(desk, people, bank, url):
    for k, person in enumerate(people[:4]):
        promise(desk, person, name=f"person {k}")
    with Ledger.open(url) as ledger:
        risk = portfolio_risk(bank, ledger)
    found = desk.get("/v1/promises/portfolio").json()
    np.testing.assert_array_equal(found["shares"], risk.shares)
    assert found["in_words"] == risk.in_words()


def test_no_model_can_be_uploaded(desk):
    assert desk.post("/v1/gate", content=b"PK", headers={"content-type": "application/octet-stream"}).status_code == 404
    assert not any("octet-stream" in str(path) for path in desk.get("/openapi.json").json()["paths"].values())


def test_without_a_ledger_there_are_no_promises(client):
    assert client.get("/v1/promises").status_code == 404
    assert client.get("/v1/model").json()["promises"] is False


def test_the_description_knows_the_answers(desk):
    paths = desk.get("/openapi.json").json()["paths"]
    assert {"/v1/promises", "/v1/promises/{promise}/redeem"} <= set(paths)
    assert "409" in paths["/v1/promises"]["post"]["responses"]
