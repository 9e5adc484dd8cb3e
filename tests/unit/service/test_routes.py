"""Every route answers what the library itself says."""

import json
from typing import get_args

import numpy as np
import pytest

import copa
from copa._core.words import GUARANTEE_FOR, METHODS, STATUSES
from copa.analysis.attribution import Attributor
from copa.promises._storage.tables import STATUSES as PROMISE_STATUSES
from copa.report.letters import LetterSettings, LetterWriter
from copa.service.answers import Asked, PlanEntry
from copa.service.plans import CorrectBody
from copa.service.promises import Status
from unit.planner import loans
from unit.service import banks


def asked(client, path, body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def offered(bank, declined, people):
    """Three applicants with the options of the planner, as someone else's plans, in both forms."""
    some = declined.iloc[:3].reset_index(drop=True)
    batch = bank.plan(some)
    options = [batch.options.iloc[batch.owner == i] for i in range(3)]
    given = [{"applicant": people[i], "options": banks.rows_of(options[i])} for i in range(3)]
    return some, options, given


def test_health_needs_nothing_and_tells_nothing(client):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_the_schema_is_the_planners(bank, client):
    answer = client.get("/v1/schema").json()
    assert [column["name"] for column in answer["columns"]] == list(bank.model.feature_names_in_)
    assert answer["rules"] == ["debt <= income + 40"]
    assert answer["max_changes"] == 3
    columns = {column["name"]: column for column in answer["columns"]}
    for feature in bank.schema_.features:
        column = columns[feature.name]
        told = (column["kind"], column["immutable"], column["direction"], column["lower"], column["upper"])
        assert told == (feature.kind, feature.immutable, feature.direction, feature.lower, feature.upper)
    assert [level["value"] for level in columns["job"]["values"]] == loans.JOBS
    assert columns["grade"]["type"] == "integer"
    assert columns["married"]["type"] == "boolean"
    assert not any(level["offered"] for level in columns["married"]["values"])


def test_the_model_is_the_planners(bank, client, bundle):
    import hashlib

    answer = client.get("/v1/model").json()
    assert answer["kind"] == bank.strategy_.kind == "linear"
    assert answer["radius"] == bank.strategy_.ambiguity(3).radius
    assert answer["settings"]["guarantee"] == bank.guarantee
    assert answer["settings"]["n_options"] == 3
    assert answer["facts"]["label"] == "paid"
    assert answer["bundle"] == hashlib.sha256(bundle.read_bytes()).hexdigest()
    assert answer["version"] == copa.__version__
    assert answer["applicants"] is None
    assert not answer["backtest"]


def test_an_audit_is_the_planners(bank, client, offered):
    some, options, given = offered
    batch = bank.audit(options, some)
    answer = asked(client, "/v1/audit", {"plans": given})
    rows = [option for entry in answer["plans"] for option in entry["options"]]
    assert [row["row"] for row in rows] == banks.rows_of(batch.options)
    np.testing.assert_array_equal([row["guarantee"] for row in rows], batch.option_lower)
    np.testing.assert_array_equal([row["effort"] for row in rows], batch.effort)
    attributor = Attributor(bank.strategy_)
    first = [attributor.attribute(batch[i]) for i in range(3) if batch.counts[i]]
    told = [entry["breaks_first"] for entry in answer["plans"] if entry["options"]]
    assert told == [json.loads(json.dumps(attribution.to_dict())) for attribution in first]
    assert answer["asked"]["guarantee"] == bank.guarantee


def test_an_audit_says_of_whom_it_cannot_read_what(client, offered):
    given = offered[2]
    broken = {"applicant": {**given[0]["applicant"], "debt": "much"}, "options": given[0]["options"]}
    unread = {"applicant": given[1]["applicant"], "options": [{"income": 3}]}
    answer = asked(client, "/v1/audit", {"plans": [given[0], broken, unread, {**given[2], "options": []}]})
    alone = asked(client, "/v1/audit", {"plans": given[:1]})
    assert answer["plans"][0]["options"] == alone["plans"][0]["options"]
    assert [entry["status"] for entry in answer["plans"][1:3]] == ["error", "error"]
    assert "debt" in answer["plans"][1]["message"]
    assert "an option cannot be read: column 'debt' is missing" in answer["plans"][2]["message"]
    assert answer["plans"][3]["options"] == []
    assert answer["plans"][3]["breaks_first"] is None


@pytest.mark.parametrize("how", [{"method": "level"}, {"method": "mahalanobis", "budget": 0.3, "n_corrections": 2.0}])
def test_a_correction_is_the_planners(bank, client, offered, how):
    some, options, given = offered
    wished = bank.with_wishes(copa.Wishes(guarantee=0.85))
    corrected = wished.correct(options, some, **{name: int(v) if v == 2.0 else v for name, v in how.items()})
    answer = asked(client, "/v1/correct", {"plans": given, "guarantee": 0.85, **how})
    for name, batch in (("before", corrected.before), ("plans", corrected.after)):
        rows = [option for entry in answer[name] for option in entry["options"]]
        assert [row["row"] for row in rows] == banks.rows_of(batch.options)
        np.testing.assert_array_equal([row["guarantee"] for row in rows], batch.option_lower)


def test_a_letter_is_the_librarys(bank, client, declined, people):
    batch = bank.plan(declined.iloc[:2].set_axis(["Ann", ""]))
    letters = list(LetterWriter(bank.strategy_, LetterSettings(sender="The Bank", contact="desk 4")).write(batch))
    body = {"applicants": [*people[:2], {}], "names": ["Ann"], "sender": "The Bank", "contact": "desk 4"}
    answer = asked(client, "/v1/letter", body)["letters"]
    assert [entry["html"] for entry in answer[:2]] == [letter.html for letter in letters]
    assert [entry["text"] for entry in answer[:2]] == [letter.text for letter in letters]
    assert [reason["column"] for reason in answer[0]["reasons"]] == [reason.column for reason in letters[0].told]
    assert answer[2]["html"] is None
    assert "column 'income' is missing" in answer[2]["message"]


@pytest.mark.parametrize(
    ("said", "field", "allowed"),
    [
        ({"date": "2027-02-30"}, "/date", "must be a day such as 2027-03-31"),
        ({"valid_until": "soon"}, "/valid_until", "pattern"),
        ({"date": "2027-02-03", "valid_until": "2027-01-01"}, "/valid_until", "2027-01-01"),
        ({"sender": 501 * "x"}, "/sender", "at most 500"),
    ],
)
def test_what_a_letter_cannot_say_is_refused(client, people, said, field, allowed):
    answer = client.post("/v1/letter", json={"applicants": people[:1], **said})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert allowed in json.dumps(answer.json()["errors"])


@pytest.mark.parametrize(
    "document",
    [{}, {"applicants": 3}, {"applicants": [{"options": [{"guarantee": 1}]}]}, {"format": "copa-plans", "version": 9}],
)
def test_what_is_no_document_of_plans_is_not_proven(client, document):
    answer = asked(client, "/v1/verify", {"document": document})
    assert not answer["proven"]
    assert answer["faults"]


@pytest.fixture(scope="module")
def office(bundle, declined):
    """A service that knows people, one of them by a name that looks like a path."""
    known = declined.rename(index={declined.index[5]: "A/17 ?x"})
    with banks.with_token(bundle, applicants=known) as made:
        yield made


def test_known_applicants_are_found_by_name(office, declined, people):
    assert office.get("/v1/model").json()["applicants"] == 12
    found = office.get("/v1/applicants", params={"search": "PERSON 1", "limit": 2}).json()
    names = [name for name in declined.index if "person 1" in name]
    assert found == {"applicants": [{"id": name} for name in names[:2]], "total": len(names)}
    assert office.get(f"/v1/applicants/{declined.index[3]}").json() == {"id": declined.index[3], "row": people[3]}
    assert office.get("/v1/applicants/A%2F17%20%3Fx").json() == {"id": "A/17 ?x", "row": people[5]}
    assert office.get("/v1/applicants/nobody").status_code == 404
    wrong = office.get("/v1/applicants", params={"limit": "many"})
    assert wrong.status_code == 422
    assert wrong.json()["errors"][0]["field"] == "limit"


def test_nobody_is_known_where_nobody_was_given(client):
    assert client.get("/v1/applicants").status_code == 404
    assert client.get("/v1/backtest").status_code == 404


@pytest.mark.parametrize(
    ("described", "words"),
    [
        (PlanEntry.model_fields["status"].annotation, STATUSES),
        (Asked.model_fields["guarantee_for"].annotation, GUARANTEE_FOR),
        (CorrectBody.model_fields["method"].annotation, METHODS),
        (Status, PROMISE_STATUSES),
    ],
    ids=["status", "guarantee_for", "method", "promise"],
)
def test_words_of_the_description_are_those_of_the_library(described, words):
    assert set(get_args(described)) == set(words)
