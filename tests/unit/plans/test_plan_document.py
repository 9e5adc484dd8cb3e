import json

import numpy as np
import pandas as pd
import pytest

import copa
from unit.plans.plan_batches import SOURCE, german_batch, wild_batch


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def read(text):
    return json.loads(text, parse_constant=refuse)


def test_the_document_names_its_format_what_was_asked_and_the_assumptions(batch):
    content = read(batch.to_json())
    assert list(content) == ["format", "version", "asked", "assumptions", "applicants", "digest"]
    assert (content["format"], content["version"]) == ("copa-plans", 1)
    assert content["asked"] == {
        "guarantee": 0.6,
        "expected_rate": None,
        "guarantee_for": "each",
        "n_options": 3,
        "objective": "level",
        "cost": "l1",
        "plausibility": 0.0,
    }
    assumptions = content["assumptions"]
    assert (assumptions["favourable"], assumptions["threshold"]) == ("good", 0.5)
    assert (assumptions["radius"], assumptions["radius_source"], assumptions["drift"]) == (0.05, SOURCE, False)
    assert "proven lower bound" in assumptions["guarantees_mean"]


def test_an_applicant_has_factual_options_and_bounds_in_full_precision(batch):
    first = read(batch.to_json())["applicants"][0]
    assert first["applicant"] == 10
    assert first["status"] == "ok"
    assert first["factual"] == batch.applicants.iloc[0].to_dict()
    assert (first["all"], first["any"], first["upper"]) == (batch.lower[0], batch.any_lower[0], batch.upper[0])
    option = first["options"][2]
    assert option["option"] == 3
    nothing = dict.fromkeys(("effort", "at_least", "at_most"))
    assert option["changes"] == [
        {"column": "duration", "from": 48, "to": 24, **nothing},
        {"column": "savings", "from": "A61", "to": "A63", **nothing},
    ]
    assert (option["effort"], option["guarantee"], option["accepted"]) == (1.0, batch.option_lower[2], True)


def test_an_applicant_without_options_has_nulls_and_a_reason(batch):
    third = read(batch.to_json())["applicants"][3]
    assert third["options"] == []
    assert (third["all"], third["any"], third["upper"], third["highest_level"]) == (None, None, None, None)
    assert third["message"].startswith("today's model accepts nothing")


def test_the_highest_level_is_there_where_it_applies(batch):
    assert read(batch.to_json())["applicants"][2]["highest_level"] == 0.55549


def test_every_dtype_becomes_json():
    content = read(wild_batch(pd.date_range("2020-01-01", periods=5)).to_json())
    first, second, third, fourth, fifth = (entry["factual"] for entry in content["applicants"])
    assert content["applicants"][0]["applicant"] == "2020-01-01T00:00:00"
    assert first["bool"] is True
    assert first["time"] == "2020-01-01T00:00:00"
    assert first["delta"] == "P1DT0H0M0S"
    assert first["strange"] == 1.1
    assert second["strange"] == "2020-01-02"
    missing = ("float", "object", "string", "category", "Int64", "boolean", "time", "missing")
    assert all(second[name] is None for name in missing)
    assert third["strange"] is None
    assert fourth["float"] is None  # JSON has no infinity
    assert fourth["strange"] == [1, "x"]
    assert fourth["mixed"] == 0.1  # in single precision
    assert fifth["object"] == "<b>&amp;"
    assert content["assumptions"]["favourable"] == 1


def test_a_document_is_the_same_every_time_and_has_a_line_per_applicant(batch):
    text = batch.to_json()
    assert text == german_batch().to_json()
    assert len(text.splitlines()) == len(batch) + 2
    assert read(text.splitlines()[1].rstrip(","))["applicant"] == 10


def test_an_empty_batch_is_a_document(batch):
    assert read(batch[:0].to_json())["applicants"] == []


def test_the_document_is_written_to_a_path_too(batch, tmp_path):
    text = batch.to_json(tmp_path / "plans.json")
    assert (tmp_path / "plans.json").read_text(encoding="utf-8") == text
    assert [p.name for p in tmp_path.iterdir()] == ["plans.json"]
    with pytest.raises(copa.DataError, match="cannot be written"):
        batch.to_json(tmp_path / "none" / "plans.json")


def test_text_beyond_ascii_is_readable(tmp_path):
    batch = wild_batch()
    batch.to_json(tmp_path / "plans.json")
    assert "ü" in (tmp_path / "plans.json").read_text(encoding="utf-8")


def test_the_papers_objective_has_no_level():
    assert read(german_batch(objective="paper").to_json())["asked"]["guarantee"] is None


def test_drift_is_told():
    assert read(german_batch(drift=np.eye(6)).to_json())["assumptions"]["drift"] is True
