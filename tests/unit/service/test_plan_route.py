"""Plans over HTTP: those of the planner, whatever the company, and for what one person asks for."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import copa
from copa import Wishes
from copa.plans.card import plan_view
from copa.service.state import PlanRequest
from unit.planner import loans
from unit.service import banks


def plan(client, applicants, **asked):
    body = json.dumps({"applicants": applicants, **asked})  # in ASCII, also of half a character
    answer = client.post("/v1/plan", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_answer_is_the_planners_own_plan(bank, client, declined, people):
    batch = bank.plan(declined.reset_index(drop=True))
    answer = plan(client, people)
    assert [entry["status"] for entry in answer["plans"]] == batch.status.tolist()
    assert [entry["applicant"] for entry in answer["plans"]] == list(range(len(people)))
    options = [option for entry in answer["plans"] for option in entry["options"]]
    assert [option["row"] for option in options] == banks.rows_of(batch.options)
    for name, numbers in (("guarantee", batch.option_lower), ("effort", batch.effort)):
        np.testing.assert_array_equal([option[name] for option in options], numbers)
    np.testing.assert_array_equal([option["expected"] for option in options], batch.expected_rate)
    for i, entry in enumerate(answer["plans"]):
        if entry["options"]:
            assert (entry["any"], entry["all"], entry["upper"]) == (batch.any_lower[i], batch.lower[i], batch.upper[i])
    first = batch[int(batch.owner[0])].changes(1)
    told = [(change["column"], change["from"], change["to"]) for change in options[0]["changes"]]
    assert told == [tuple(change) for change in first]
    ends = {change["column"]: (change["at_least"], change["at_most"]) for change in options[0]["changes"]}
    assert ends == {change.column: (change.at_least, change.at_most) for change in first}
    assert answer["asked"]["guarantee"] == bank.guarantee
    assert answer["assumptions"]["in_words"].startswith("Assumption: ")


@pytest.mark.parametrize(
    "asked",
    [
        {"fixed": ["income"]},
        {"max_change": {"income": 0.2, "debt": {"down": 10}}},
        {"weights": {"debt": 0.1}},
        {"guarantee": 0.6, "guarantee_for": "any", "n_options": 1},
        {"horizon": 2},
    ],
)
def test_wishes_are_heard(bank, client, declined, people, asked):
    wished = plan(client, people[:6], **asked)
    batch = bank.with_wishes(Wishes(**asked)).plan(declined.iloc[:6])
    rows = [option["row"] for entry in wished["plans"] for option in entry["options"]]
    assert rows == banks.rows_of(batch.options)
    assert wished["wishes"] == Wishes(**asked).to_dict()


def test_what_is_fixed_stays(client, people):
    changed = {
        change["column"]
        for entry in plan(client, people, fixed=["income", "job"])["plans"]
        for option in entry["options"]
        for change in option["changes"]
    }
    assert changed
    assert changed.isdisjoint({"income", "job"})


def test_a_bad_applicant_fails_no_other(client, people):
    bad = [
        {**people[0], "incme": 3},
        {name: value for name, value in people[0].items() if name != "debt"},
        {**people[0], "debt": "much"},
        {**people[0], "debt": [1]},
        {**people[0], "debt": 10**30},
        {**people[0], "income": "\ud800"},
        {**people[0], "job": "pilot"},
        {},
    ]
    answer = plan(client, [people[0], *bad, people[1]])["plans"]
    alone = plan(client, people[:2])["plans"]
    assert answer[0] == alone[0]
    assert answer[-1]["options"] == alone[1]["options"]
    assert {entry["status"] for entry in answer[1:-1]} == {"error"}
    messages = [entry["message"] for entry in answer[1:-1]]
    assert "column 'incme' is not known; did you mean 'income'?" in messages[0]
    assert "column 'debt' is missing" in messages[1]
    assert "debt" in messages[2]
    assert "column 'debt': must be a whole number, or null, got [1]" in messages[3]
    assert "column 'debt': must be a whole number" in messages[4]
    assert "job" in messages[6]


def test_a_missing_value_changes_no_other_answer(client, people):
    """One column that is no longer of whole numbers must not write 1.0 where another applicant has 1."""
    together = client.post("/v1/plan", json={"applicants": [people[0], {**people[1], "debt": None}]}).json()["plans"]
    alone = client.post("/v1/plan", json={"applicants": [people[0]]}).json()["plans"]
    assert json.dumps(together[0]) == json.dumps(alone[0])


def test_company_changes_no_byte(bundle, people):
    """Requests at once are planned together, and each gets what it would have got alone."""
    odd = [[{**people[4], "debt": None}], [{"x": 1}], [{**people[5], "job": "pilot"}]]
    asked = [{"applicants": some} for some in [*[[person] for person in people], *odd, people[:3]]]
    asked += [{**body, "fixed": ["job"]} for body in asked[:4]]
    with banks.client_of(bundle) as client:
        alone = [client.post("/v1/plan", json=body).content for body in asked]
        sizes, work = [], client.service._plan
        client.service._plan = lambda wishes, requests: (sizes.append(len(requests)), work(wishes, requests))[1]
        with ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda body: client.post("/v1/plan", json=body).content, 3 * asked))
    assert together == 3 * alone
    assert max(sizes) > 1  # some were planned together


def test_a_request_that_fails_fails_no_other_that_is_planned_together_with_it(bundle, people):
    free, begun = threading.Event(), threading.Event()
    with banks.client_of(bundle) as client:
        work = client.service._plan

        def fail_for_a_card(wishes, requests):
            begun.set()
            assert free.wait(10)
            if any(request.cards for request in requests):
                raise ZeroDivisionError
            return work(wishes, requests)

        client.service._plan = fail_for_a_card
        wishes = Wishes()
        first = client.service.plan(wishes, PlanRequest(people[:1]))
        assert begun.wait(10)
        asked = [PlanRequest(people[:1]), PlanRequest(people[:1], cards=True), PlanRequest(people[:1])]
        jobs = [client.service.plan(wishes, request) for request in asked]
        free.set()
        assert jobs[0].result.result(10) == jobs[2].result.result(10) == first.result.result(10)
        with pytest.raises(ZeroDivisionError):
            jobs[1].result.result(10)


def test_cards_are_those_of_the_report(bank, client, declined, people):
    batch = bank.plan(declined.reset_index(drop=True))
    for k, entry in enumerate(plan(client, people[:3], cards=True)["plans"]):
        drawn = json.loads(json.dumps(plan_view(batch[k])))
        assert {name: entry["card"][name] for name in drawn} == drawn
    assert plan(client, [{}], cards=True)["plans"][0]["card"] is None
    assert "card" not in plan(client, people[:1])["plans"][0]


def test_proofs_come_if_asked_for_and_can_be_verified(client, people):
    document = plan(client, [*people[:3], {}], certificates=True)["document"]
    answer = client.post("/v1/verify", json={"document": document}).json()
    assert answer["proven"]
    assert answer["faults"] == []
    assert answer["options"] == sum(len(entry["options"]) for entry in document["applicants"])
    assert answer["proven_for"].startswith("every distribution")
    document["applicants"][0]["options"][0]["guarantee"] = 0.9999
    answer = client.post("/v1/verify", json={"document": document}).json()
    assert not answer["proven"]
    assert "does not have its digest" in answer["faults"][0]
    assert plan(client, [{}], certificates=True)["document"] is None


def test_many_applicants_are_planned_for_too(client, people):
    assert len(plan(client, people)["plans"]) == 12  # more than are planned together


def test_a_service_can_be_made_from_a_planner(bank, people, client):
    with banks.client_of(bank) as own:
        assert own.get("/v1/model").json()["bundle"] is None
        assert (
            own.post("/v1/plan", json={"applicants": people[:2]}).content
            == client.post("/v1/plan", json={"applicants": people[:2]}).content
        )
    assert bank.n_jobs == 1
    assert bank.time_limit is None  # the planner that was given stays as it is


def test_black_boxes_are_served_too(people, tmp_path):
    from sklearn.ensemble import RandomForestClassifier

    forest = loans.fitted_pipeline(RandomForestClassifier(8, min_samples_leaf=5, random_state=0))
    planner = loans.planner(forest, later_models=copa.LaterModels(n_refits=4), n_starts=2)
    with banks.client_of(banks.write_bundle(tmp_path / "f.bundle", planner)) as client:
        answer = plan(client, people[:2], fixed=["job"])
        given = [{"applicant": people[0], "options": people[1:2]}]
        refused = client.post("/v1/correct", json={"plans": given, "method": "mahalanobis"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "/method"
    assert "requires a model that is linear" in refused.json()["errors"][0]["allowed"]
    assert {entry["status"] for entry in answer["plans"]} <= {"ok", "fragile", "already_valid", "infeasible"}


def test_a_service_of_a_wish_never_exceeds_the_schema(bank, people):
    narrow = bank.with_wishes(copa.Wishes(max_change={"income": 0.1}))
    with banks.client_of(narrow) as client:
        wide = client.post("/v1/plan", json={"applicants": people[:1], "max_change": {"income": 0.5}})
        assert wide.status_code == 422
        assert wide.json()["errors"][0]["field"] == "/max_change"
        assert "within what the schema allows, a share of 0.1, got a share of 0.5" in wide.json()["detail"]
        plan(client, people[:1], max_change={"income": 0.05})
