"""The explorer's page and files, and what it shows beyond the other routes."""

import re

import pytest

from copa.service import explorer
from unit.analysis import backtests
from unit.planner import loans
from unit.service import banks


@pytest.fixture(scope="module")
def rich(bundle):
    """A service with a token, applicants and a backtest."""
    with banks.with_token(bundle, applicants=loans.people(60, 7), backtest=backtests.broken()) as made:
        yield made


def test_the_page_runs_its_own_scripts_only_and_nothing_inline(client):
    answer = client.get("/")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "http" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-cache"
    assert not re.search(r"<style|<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=", answer.text)
    used = re.findall(r'(?:src|href)="([^"#]+)"', answer.text)
    assert len(used) > 5
    assert not [it for it in used if it.startswith(("http", "//"))]
    for path in used:
        if not path.startswith(("data:", "openapi")):
            assert client.get(f"/{path}").status_code == 200, path


def test_files_are_kept_for_ever_under_a_path_that_changes_with_them(client):
    folder = explorer.asset_folder()
    for name in explorer.assets():
        answer = client.get(f"/{folder}/{name}")
        assert answer.headers["cache-control"].endswith("immutable")
        assert answer.headers["content-type"].startswith(("text/javascript", "text/css"))
    for path in (f"/{folder}/no.js", "/explorer/0000000000000000/main.js", f"/{folder}/..%2fexplorer.py"):
        assert client.get(path).status_code == 404


def test_every_module_that_is_imported_is_there():
    found = explorer.assets()
    for name, content in found.items():
        for imported in re.findall(r'from "\./([^"]+)"', content.decode()):
            assert imported in found, f"{name} imports {imported}"


def test_the_page_needs_no_token_and_says_whether_answers_do(client, rich):
    assert "data-token" not in client.get("/").text
    anyone = {"authorization": ""}
    assert "data-token" in rich.get("/", headers=anyone).text
    assert rich.get(f"/{explorer.asset_folder()}/main.js", headers=anyone).status_code == 200
    for path in ("/explorer/example", "/explorer/validators", "/explorer/groups?column=age", "/v1/schema"):
        assert rich.get(path, headers=anyone).status_code == 401


def test_the_example_is_declined_and_has_a_plan(client):
    row = client.get("/explorer/example").json()["row"]
    assert list(row) == [column["name"] for column in client.get("/v1/schema").json()["columns"]]
    (plan,) = client.post("/v1/plan", json={"applicants": [row]}).json()["plans"]
    assert plan["status"] == "ok"
    assert plan["options"]


def test_validators_are_told_what_is_assumed_what_became_of_promises_and_what_the_bundle_holds(client, rich):
    told, model = rich.get("/explorer/validators").json(), rich.get("/v1/model").json()
    assert model["radius_source"] in told["assumed"]["sentences"][-1]
    assert told["backtest"]["headline"] == backtests.broken().headline
    facts = {name: (value, words) for name, value, words in told["bundle"]["facts"]}
    assert facts["File"] == (model["bundle"][:12], f"SHA-256 {model['bundle']}")
    columns = {row[0]: row[1:] for row in told["bundle"]["columns"]}
    assert columns["age"][:2] == ["integer", "no"]
    assert columns["income"] == ["numeric", "upwards", "0 to 90", "-"]
    assert columns["job"][2] == "clerk; driver; nurse"
    assert told["bundle"]["rules"] == ["Rule: debt <= income + 40"]
    plain = client.get("/explorer/validators").json()
    assert plain["backtest"] is None
    assert "--backtest" in plain["no_backtest"]
    assert plain["groups"]["columns"] == []


def test_groups_are_those_of_the_table(bank, rich):
    table = loans.people(60, 7)
    refused = table[~bank.model.predict(table)]
    told = rich.get("/explorer/groups", params={"column": "job"}).json()
    assert {row[0].removesuffix(" (too few to compare)"): int(row[1]) for row in told["rows"]} == dict(
        refused["job"].value_counts()
    )
    wrong = rich.get("/explorer/groups", params={"column": "jop"})
    assert wrong.status_code == 422
    assert "did you mean 'job'" in wrong.json()["detail"]


def test_as_many_are_compared_as_there_is_time_for(bundle, monkeypatch):
    monkeypatch.setattr(explorer, "SHARE_OF_TIME", 0.0)
    with banks.with_token(bundle, applicants=loans.people(60, 7)) as slow:
        told = slow.get("/explorer/groups", params={"column": "job"}).json()
    assert told["notes"][-1] == "Planned for 20 of the 60 applicants, from all over the table."


def test_names_of_applicants_are_as_they_were_given(bundle):
    names = ["Anna Abt", "a/b", "<b>", *map(str, range(7))]
    with banks.with_token(bundle, applicants=loans.people(10, 7).set_axis(names)) as client:
        found = client.get("/v1/applicants", params={"limit": 10}).json()["applicants"]
        assert [person["id"] for person in found] == names
        assert client.get("/v1/applicants/Anna%20Abt").json()["id"] == "Anna Abt"
        assert client.get("/v1/applicants/a%2Fb").json()["id"] == "a/b"


def test_a_letter_to_nobody_in_particular_has_no_reference(client, people):
    (letter,) = client.post("/v1/letter", json={"applicants": people[:1]}).json()["letters"]
    assert "Reference" not in letter["text"]
    (letter,) = client.post("/v1/letter", json={"applicants": people[:1], "names": ["A 1"]}).json()["letters"]
    assert "Reference: A 1" in letter["text"]
