from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from copa import LaterModels, RecoursePlanner
from copa.models.storage import pack_estimator
from copa.plans import PlanBatch
from copa.promises import Ledger
from e2e.command_runs import copa, fit_bank, json_of, refused, write_bank
from unit.planner import loans

TERMS = ("--model-version", "2026-01", "--valid-for", "12 months", "--made", "2026-01-15")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A bank on disk, plans with certificates, and a model."""
    folder = write_bank(tmp_path_factory.mktemp("promises"))
    bundle = fit_bank(folder)
    plans = ("-o", folder / "plans.copa", "--id", "name", "-o", folder / "plans.csv")
    copa("plan", bundle, folder / "people.csv", *plans)
    (folder / "model.skops").write_bytes(pack_estimator(loans.fitted_pipeline()))
    return folder


@pytest.fixture
def ledger(folder, tmp_path, monkeypatch):
    """A ledger with the promises of the bank, which the environment names."""
    file = tmp_path / "promises.db"
    monkeypatch.setenv("COPA_LEDGER", str(file))
    copa("promises", "create")
    copa("promises", "record", folder / "plans.copa", *TERMS)
    return file


def test_promises_are_recorded_listed_redeemed_verified_and_purged(folder, ledger, tmp_path, monkeypatch):
    ids = json_of("promises", "record", folder / "plans.copa", *TERMS)["promises"]
    assert len(ids) > 20
    said = copa("promises", "list", "--as-of", "2026-06-30", "-o", tmp_path / "list.csv").stdout
    assert f"{len(ids)} promises; the first 20 are shown." in said
    lines = (tmp_path / "list.csv").read_text().splitlines()
    assert len(lines) == 1 + len(ids)
    assert lines[0].startswith("promise,promise_applicant,promise_option,promise_status,promise_option_guarantee")
    with Ledger.open(ledger) as opened:
        table = opened.promises(as_of="2026-06-30")
        table.loc[[ids[0]], loans.SCHEMA.names].to_csv(tmp_path / "row.csv", index=False)
    redeem = ("promises", "redeem", ids[0], tmp_path / "row.csv", "--model", folder / "model.skops")
    assert json_of(*redeem, "--as-of", "2026-06-30")["outcome"] == "kept"
    assert "is not open: it was kept" in refused(*redeem, "--as-of", "2026-06-30", code=2)
    said, checkpoint = copa("promises", "verify").stdout.splitlines()
    assert said == f"{len(ids) + 2} events: all are as they were recorded."
    assert checkpoint.startswith(f"Checkpoint: {len(ids) + 2}:")
    check = ("--expect", checkpoint.removeprefix("Checkpoint: "))
    assert "which has not come" in refused("promises", "purge", "--before", "2099-06-30", code=2)
    monkeypatch.setattr("copa.promises.days.now", lambda: datetime(2099, 6, 30, tzinfo=UTC))
    assert "deleted" in copa("promises", "purge", "--before", "2099-06-30").stdout
    found = json_of("promises", "verify", *check)
    assert (found["ok"], found["events"], found["message"]) == (True, len(ids) + 3, "")
    assert "not those of the checkpoint" in refused("promises", "verify", "--expect", f"5:{'0' * 64}", code=1)
    assert json_of("promises", "list", "--status", "kept")["first"][0]["applicant"] == ""


@pytest.mark.usefixtures("ledger")
def test_promises_are_decided_and_waived(tmp_path):
    table = loans.people(50, 0)
    stern = DummyClassifier(strategy="constant", constant=False).fit(table, [True] + [False] * 49)
    (tmp_path / "stern.skops").write_bytes(pack_estimator(stern))
    copa("promises", "list", "--as-of", "2026-06-30", "-o", tmp_path / "list.csv")
    header, *lines = (tmp_path / "list.csv").read_text().splitlines()
    (tmp_path / "row.csv").write_text(f"{header}\n{lines[0]}\n")  # a line of the list is a row too
    first, second, third = (lines[k].split(",")[0] for k in (0, 2, 3))
    redeem = ("promises", "redeem", first, tmp_path / "row.csv", "--model", tmp_path / "stern.skops")
    assert json_of(*redeem, "--as-of", "2026-06-30", code=1)["outcome"] == "broken"
    assert "a refusal needs a reason" in refused("promises", "decide", first, "refuse", code=2)
    assert copa("promises", "decide", first, "honour").stdout == f"Promise {first}: decided: honour.\n"
    assert json_of("promises", "waive", second) == {"promise": second, "recorded": "waived"}
    assert copa("promises", "waive", third, "--reason", "moved").stdout == f"Promise {third}: waived.\n"
    assert json_of("promises", "verify")["ok"]


def test_cells_that_look_like_formulas_or_nothing_come_back_as_they_were(tmp_path, monkeypatch):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"income": draw.integers(10, 60, 300), "band": draw.choice(["-low", "=high", "NA"], 300)})
    y = X["income"] + draw.normal(0, 5, 300) > 35
    encode = make_column_transformer((OneHotEncoder(), ["band"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, y)
    planner = RecoursePlanner(
        model, later_models=LaterModels(n_refits=50), n_options=1, n_starts=4, random_state=0, progress=False
    ).fit(X, y)
    batch = planner.plan(X[~model.predict(X)].head(12))
    monkeypatch.setenv("COPA_LEDGER", str(tmp_path / "bands.db"))
    with Ledger.open(tmp_path / "bands.db", create=True) as opened:
        opened.record(batch, model_version="1", valid_for="12 months", made="2026-01-15")
        rows = opened.promises(as_of="2026-06-30")
    (tmp_path / "model.skops").write_bytes(pack_estimator(model))
    copa("promises", "list", "--as-of", "2026-06-30", "-o", tmp_path / "list.csv", "--model-version", "1")
    assert "'=high" in (tmp_path / "list.csv").read_text()
    gate = ("gate", tmp_path / "model.skops", "--promises", tmp_path / "list.csv", "--as-of", "2026-06-30")
    monkeypatch.delenv("COPA_LEDGER")
    assert json_of(*gate)["n_broken"] == 0
    with Ledger.open(tmp_path / "bands.db") as opened:
        for band in ("NA", "=high"):
            promise = rows.index[rows["band"] == band][0]
            rows.loc[[promise], ["income", "band"]].to_csv(tmp_path / "row.csv", index=False)
            redeem = ("promises", "redeem", promise, tmp_path / "row.csv", "--model", tmp_path / "model.skops")
            own = ("--ledger", tmp_path / "bands.db", "--as-of", "2026-06-30")
            assert json_of(*redeem, *own)["outcome"] == "kept"


def test_a_row_that_does_not_fulfil_the_promise_ends_with_1(folder, ledger, tmp_path):
    row = loans.people(60, 7).iloc[[0]]
    row.to_csv(tmp_path / "row.csv", index=False)
    with Ledger.open(ledger) as opened:
        promise = opened.promises(as_of="2026-06-30").index[0]
    redeem = ("promises", "redeem", promise, tmp_path / "row.csv", "--as-of", "2026-06-30")
    said = copa(*redeem, "--model", folder / "model.skops", code=1).stdout
    assert "not fulfilled" in said
    assert " is " in said.splitlines()[1]


def test_a_changed_ledger_ends_with_1_and_names_the_event(ledger):
    raw = bytearray(ledger.read_bytes())
    place = raw.find(b"2026-01-15")
    raw[place] ^= 1
    ledger.write_bytes(raw)
    line = refused("promises", "verify", code=1)
    assert line == "error: event 1 was changed, or the one before it was"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("record", "none.copa", *TERMS), 2, "do not exist"),
        (("record", "plans.csv", *TERMS), 2, "must be a run or a file of plans, .copa or .zip"),
        (("record", "plans.copa", *TERMS[:4], "--made", "2026-13-01"), 2, "made must be a date"),
        (("record", "plans.copa", *TERMS[:2], "--valid-for", "2025-01-01", "--made", "2026-01-15"), 2, "before it is"),
        (("list", "--status", "opened"), 2, "status must be one of"),
        (("redeem", "nobody", "people.csv", "--model", "model.skops"), 2, "no promise or applicant 'nobody'"),
        (("verify", "--expect", "12"), 2, "expect must be a checkpoint"),
        (("purge", "--before", "then"), 2, "before must be a date"),
    ],
)
def test_wrong_use_is_said_in_one_line(folder, ledger, monkeypatch, arguments, code, words):
    monkeypatch.chdir(folder)
    before = ledger.read_bytes()
    assert words in refused("promises", *arguments, code=code)
    assert ledger.read_bytes() == before


def test_a_ledger_that_is_not_there_is_not_made_by_looking(tmp_path):
    line = refused("promises", "list", "--ledger", tmp_path / "none.db", code=2)
    assert "no ledger at" in line
    assert not (tmp_path / "none.db").exists()


def test_a_ledger_is_not_made_by_a_typo(folder, tmp_path):
    record = ("promises", "record", folder / "plans.copa", "--ledger", tmp_path / "promsies.db", *TERMS)
    line = refused(*record, code=2)
    assert f"no ledger at {tmp_path / 'promsies.db'}; make it with `copa promises create`" in line
    assert not (tmp_path / "promsies.db").exists()
    assert copa("promises", "create", "--ledger", tmp_path / "promsies.db").stdout == "The ledger is ready.\n"
    assert "in the ledger" in copa(*record).stdout


def test_options_of_fragile_plans_are_recorded_only_when_they_are_asked_for(folder, tmp_path):
    batch = PlanBatch.load(folder / "plans.copa")
    status = batch.status.astype(object)
    status[batch.owner[0]] = "fragile"
    replace(batch, status=status).save(tmp_path / "plans.copa")
    n_fragile = int((batch.owner == batch.owner[0]).sum())
    copa("promises", "create", "--ledger", tmp_path / "new.db")
    record = ("promises", "record", tmp_path / "plans.copa", "--ledger", tmp_path / "new.db", *TERMS)
    said = copa(*record).stdout.splitlines()
    assert said[1:] == [f"{n_fragile} options of fragile plans left out; --include-fragile records them."]
    left = json_of(*record)
    assert left["fragile_left_out"] == n_fragile
    every = json_of(*record, "--include-fragile")
    assert (len(every["promises"]), every["fragile_left_out"]) == (len(left["promises"]) + n_fragile, 0)


@pytest.mark.parametrize("wrong", [("--valid-for", "x"), ("--made", "x"), ("--may-differ", "x"), ("--by", "\n")])
def test_wrong_terms_make_no_ledger(folder, tmp_path, wrong):
    new = ("--ledger", tmp_path / "new.db")
    refused("promises", "record", folder / "plans.copa", *new, *TERMS, *wrong, code=2)
    assert not (tmp_path / "new.db").exists()


def test_a_damaged_file_of_plans_leaves_nothing_in_the_ledger(folder, tmp_path):
    raw = bytearray((folder / "plans.copa").read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (tmp_path / "bad.copa").write_bytes(raw)
    new = ("--ledger", tmp_path / "new.db")
    refused("promises", "record", tmp_path / "bad.copa", *new, *TERMS, code=1)
    assert not (tmp_path / "new.db").exists()
