"""The OpenAPI description says what is answered: by name here, and by requests that nobody thought of."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from copa.promises import Ledger
from copa.service import ServiceSettings, create_app
from unit.service import banks

schemathesis = pytest.importorskip("schemathesis")
jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.extended

CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]


@pytest.fixture(scope="module")
def described(client):
    return client.get("/openapi.json").json()


def validate(described, method, path, answer):
    """Look an answer up in the description: its status must be there, and its body of that schema."""
    told = described["paths"][path][method]["responses"][str(answer.status_code)]["content"]
    kind = answer.headers["content-type"].partition(";")[0]
    schema = told[kind]["schema"] | {"components": described["components"]}
    jsonschema.Draft202012Validator(schema).validate(answer.json())


def test_answers_are_as_described(client, described, people):
    some = [*people[:2], {}, {**people[2], "debt": None}]
    offered = client.post("/v1/plan", json={"applicants": people[:2]}).json()["plans"]
    plans = [
        {"applicant": person, "options": [option["row"] for option in plan["options"]]}
        for person, plan in zip(people, offered, strict=False)
    ]
    proofs = client.post("/v1/plan", json={"applicants": some, "cards": True, "certificates": True})
    validate(described, "post", "/v1/plan", proofs)
    bodies = {
        "/v1/plan": {"applicants": some},
        "/v1/audit": {"plans": [*plans, {"applicant": {}, "options": []}]},
        "/v1/correct": {"plans": plans},
        "/v1/verify": {"document": proofs.json()["document"]},
        "/v1/letter": {"applicants": some},
    }
    for path, body in bodies.items():
        answer = client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        validate(described, "post", path, answer)
        for wrong in ({}, {**body, "x": 1}):
            answer = client.post(path, json=wrong)
            assert answer.status_code == 422
            validate(described, "post", path, answer)
        validate(described, "post", path, client.post(path, content=b"x"))
    for path in ("/healthz", "/v1/schema", "/v1/model"):
        validate(described, "get", path, client.get(path))
    assert set(described["paths"]) == {*bodies, "/healthz", "/v1/schema", "/v1/model"}


def test_the_description_names_columns_and_limits(described, bank):
    body = described["components"]["schemas"]["PlanBody"]["properties"]
    assert body["fixed"]["items"]["enum"] == list(bank.schema_.names)
    assert set(body["weights"]["properties"]) == {"income", "debt", "job", "grade"}
    assert set(body["max_change"]["properties"]) == {"income", "debt", "grade"}
    assert body["applicants"]["maxItems"] == 200


def test_the_example_of_the_description_can_be_asked(client, described):
    example = described["components"]["schemas"]["PlanBody"]["properties"]["applicants"]["examples"][0]
    answer = client.post("/v1/plan", json={"applicants": example})
    assert answer.json()["plans"][0]["status"] != "error"


def test_a_token_is_described_where_one_is_asked_for(bundle, described, declined):
    with banks.with_token(bundle, applicants=declined) as client:
        found = client.get("/openapi.json").json()
        validate(found, "get", "/v1/applicants", client.get("/v1/applicants"))
        validate(found, "get", "/v1/applicants/{name}", client.get("/v1/applicants/nobody"))
    assert found["paths"]["/v1/plan"]["post"]["security"] == [{"token": []}]
    assert "401" in found["paths"]["/v1/plan"]["post"]["responses"]
    assert "security" not in found["paths"]["/healthz"]["get"]
    assert "401" not in described["paths"]["/v1/plan"]["post"]["responses"]


def ask_at_random(bundle, people, n_cases, of=("/",), **more):
    """Ask whatever the description allows, and half of the time applicants who can be read."""
    app = create_app(bundle, ServiceSettings(hosts=(), **more))  # it calls the host by a name of its own
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    readable = st.lists(st.sampled_from(people), min_size=1, max_size=3)
    asked = [found.ok() for found in schema.get_all_operations() if found.ok().path.startswith(tuple(of))]
    operations = st.one_of([operation.as_strategy() for operation in asked])
    statuses = []

    @settings(
        max_examples=n_cases,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operations, some=readable, seen=st.booleans())
    def ask(case, some, seen):
        if seen and isinstance(case.body, dict):
            if "applicants" in case.body:
                case.body["applicants"] = some
            if "plans" in case.body:
                case.body["plans"] = [{"applicant": person, "options": some} for person in some]
            if "applicant" in case.body:
                case.body |= {"applicant": some[0], "valid_for": "12 months"}
                case.body.pop("rows", None)  # which nobody guesses
            if "row" in case.body:
                case.body["row"] = some[0]
                case.path_parameters["promise"] = app.state.service.ledger.promises().index[0]
        answer = case.call()
        statuses.append(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    try:
        ask()
    finally:
        app.state.service.close()
    return statuses


def test_nothing_that_is_asked_at_random_breaks_the_service(bundle, people):
    statuses = ask_at_random(bundle, people, 100)
    assert len(statuses) >= 100
    assert statuses.count(200) > 30


@pytest.mark.slow
def test_nothing_in_two_thousand_cases_breaks_the_service(bundle, people):
    statuses = ask_at_random(bundle, people, 2000)
    assert len(statuses) >= 2000
    assert statuses.count(200) > 600


PROMISES = ("/v1/promises",)


def with_a_promise(bundle, people, folder):
    """A ledger with a promise in it."""
    url = f"sqlite:///{folder}/promises.db"
    Ledger.open(url, create=True).close()
    with banks.client_of(bundle, ledger=url) as client:
        body = {"applicant": people[0], "name": "ann", "valid_for": "12 months", "recorded_by": "desk 4"}
        assert client.post("/v1/promises", json=body).status_code == 200
    return url


def test_nothing_that_is_asked_of_promises_at_random_breaks_the_service(bundle, people, tmp_path):
    url = with_a_promise(bundle, people, tmp_path)
    statuses = ask_at_random(bundle, people, 40, PROMISES, ledger=url)
    assert {200, 422} <= set(statuses)


@pytest.mark.slow
def test_nothing_in_two_thousand_cases_of_promises_breaks_the_service(bundle, people, tmp_path):
    url = with_a_promise(bundle, people, tmp_path)
    statuses = ask_at_random(bundle, people, 2000, PROMISES, ledger=url)
    assert statuses.count(200) > 500
    with Ledger.open(url) as ledger:
        assert ledger.verify().ok
        assert len(ledger.promises("all")) > 20
