import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from copa import LaterModels, RecoursePlanner
from copa.models.storage import pack_estimator
from copa.planner.bundle import save_bundle
from copa.promises import Ledger
from e2e.command_runs import copa, json_of, misused, refused
from unit.planner import loans


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A ledger with the promises of a small bank, its model, a harsher candidate, a bundle, and tables."""
    folder = tmp_path_factory.mktemp("gate")
    model = loans.fitted_pipeline()
    bank = loans.planner(model)
    table, declined = loans.people(300, 0), loans.people(60, 7)
    harsher = loans.pipeline().fit(table, loans.outcomes(table) & (table["income"] > 38).to_numpy())
    (folder / "current.skops").write_bytes(pack_estimator(model))
    (folder / "candidate.skops").write_bytes(pack_estimator(harsher))
    save_bundle(folder / "bank.copa", bank, table.head(0), {})
    batch = bank.plan(declined[~model.predict(declined)].head(12))
    with Ledger.open(folder / "promises.db", create=True) as ledger:
        ledger.record(batch, model_version="2026-01", valid_for="24 months", made="2026-01-15")
        ledger.promises(as_of="2026-11-18").to_csv(folder / "promises.csv")
    batch.save(folder / "plans.zip")
    loans.people(100, 3).to_csv(folder / "reference.csv", index=False)
    return folder


def on(files, *more):
    return ("gate", files / "candidate.skops", "--promises", files / "promises.db", "--as-of", "2026-11-18", *more)


def test_a_candidate_that_breaks_promises_fails_with_exit_code_1(files):
    page = files / "page.html"
    words = copa(
        *on(files, "--max-broken", "0.02", "--current", files / "bank.copa", "--group", "job", "-o", page), code=1
    ).stdout
    assert "The candidate fails: it would break" in words
    assert "broken: " in words
    assert "The candidate is outside the forecast" in words
    assert "is expected to break" not in words
    text = page.read_text(encoding="utf-8")
    assert "Failed." in text
    assert "All promises together" in text


def test_a_candidate_within_the_limit_passes_with_exit_code_0(files):
    assert json_of(*on(files, "--max-broken", "100%"))["passed"] is True
    same = ("gate", files / "current.skops", "--promises", files / "promises.db", "--as-of", "2026-11-18")
    assert json_of(*same)["n_broken"] == 0


def test_a_ledger_a_table_and_plans_in_a_file_give_the_same_answer(files):
    by_ledger = json_of(*on(files), code=1)
    others = [
        json_of("gate", files / "candidate.skops", "--promises", files / name, "--as-of", "2026-11-18", code=1)
        for name in ("promises.csv", "plans.zip")
    ]
    assert {found["n_promises"] for found in [by_ledger, *others]} == {by_ledger["n_promises"]}
    assert {found["n_broken"] for found in [by_ledger, *others]} == {by_ledger["n_broken"]}
    assert by_ledger["parts"]["model version"][0]["name"] == "2026-01"
    assert by_ledger["parts"]["age of the promise"][0]["name"] == "6 to 11 months"


def test_the_json_file_and_the_reference_say_who_loses(files):
    out = files / "gate.json"
    current = ("--current", files / "current.skops", "--reference", files / "reference.csv")
    copa(*on(files, *current, "-o", out), code=1)
    content = json.loads(out.read_text())
    assert content["swap"]["lost"] == content["n_broken"]
    assert content["reference"]["n_rows"] == 100
    assert content["reference"]["lost"] > 0


def test_what_cannot_be_tried_is_one_line_and_exit_code_2(files):
    candidate, ledger = files / "candidate.skops", files / "promises.db"
    say = lambda *arguments: refused("gate", *arguments, code=2)  # noqa: E731 - a word for many lines
    assert "say which promises, by --promises or the ledger of $COPA_LEDGER" in say(candidate)
    assert "must be a .skops file" in say(files / "bank.copa", "--promises", ledger)
    assert "does not exist" in say(files / "none.skops", "--promises", ledger)
    assert "none.db" in say(candidate, "--promises", files / "none.db")
    assert "is no column of the rows" in say(
        candidate, "--promises", ledger, "--group", "town", "--as-of", "2026-11-18"
    )
    assert "no outstanding promise" in say(candidate, "--promises", ledger, "--as-of", "2031-01-01")
    assert "max_broken must be a whole number" in say(candidate, "--promises", ledger, "--max-broken", "1.0")
    assert "No such option" in misused("gate", candidate, "--limit", "3")


def test_files_that_cannot_be_read_are_no_verdict_but_exit_code_2(files, tmp_path):
    junk = {name: tmp_path / name for name in ("junk.skops", "junk.db", "empty.csv", "junk.copa")}
    for name, path in junk.items():
        path.write_bytes(b"" if name == "empty.csv" else b"no such file at all" * 100)
    candidate, ledger = files / "candidate.skops", ("--promises", files / "promises.db", "--as-of", "2026-11-18")
    for arguments in (
        (junk["junk.skops"], *ledger),
        (candidate, "--promises", junk["junk.db"]),
        (candidate, "--promises", junk["empty.csv"]),
        (candidate, *ledger, "--current", junk["junk.copa"]),
        (candidate, *ledger, "-o", tmp_path / "no" / "folder" / "page.html"),
    ):
        refused("gate", *arguments, code=2)


def test_only_promises_of_a_model_version_are_tried(files):
    assert json_of(*on(files, "--model-version", "2026-01"), code=1)["n_broken"] > 0
    line = refused(*on(files, "--model-version", "2025-12"), code=2)
    assert "no outstanding promise of model version '2025-12'" in line


def test_candidates_with_other_columns_or_labels_are_one_line(files, tmp_path):
    table = loans.people(300, 0)
    ledger = ("--promises", files / "promises.db", "--as-of", "2026-11-18")
    for columns, labels, words in (
        ({"income": "salary"}, loans.outcomes(table), "needs column 'salary'"),
        ({}, loans.outcomes(table).astype(int) + 5, "chooses between 5, 6"),
    ):
        other = LogisticRegression().fit(table[["income"]].rename(columns=columns), labels)
        (tmp_path / "other.skops").write_bytes(pack_estimator(other))
        assert words in refused("gate", tmp_path / "other.skops", *ledger, code=2)


@pytest.mark.extended
def test_a_closed_pipe_leaves_the_exit_code_of_the_verdict(files):
    # Without a buffer the first line fails, with one the last flush.
    for name, merged, unbuffered, code in (
        ("candidate", False, "", 1),
        ("current", False, "", 0),
        ("current", True, "1", 0),
    ):
        reader, writer = os.pipe()
        os.close(reader)  # nobody reads
        arguments = ("--promises", files / "promises.db", "--as-of", "2026-11-18", "--group", "job", "--quiet")
        ended = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "copa.cli", "gate", str(files / f"{name}.skops"), *map(str, arguments)],
            stdout=writer,
            stderr=writer if merged else subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
        os.close(writer)
        assert (ended.returncode, ended.stderr or b"") == (code, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("how", [(), pytest.param(("--json",), marks=pytest.mark.extended)])
def test_a_verdict_that_cannot_be_written_is_not_that_the_candidate_breaks_too_much(files, how):
    arguments = ("--promises", files / "promises.db", "--as-of", "2026-11-18", "--quiet", *how)
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "copa.cli", "gate", str(files / "current.skops"), *map(str, arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (2, b"error: No space left on device\n")


def test_a_listed_file_is_read_in_the_types_of_the_model(tmp_path):
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"branch": draw.choice(["1", "2", "03"], 200), "income": draw.integers(10, 60, 200)})
    y = X["income"] + 5 * (X["branch"] == "1") + draw.normal(0, 5, 200) > 35
    encoder = make_column_transformer((OneHotEncoder(), ["branch"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(X, y)
    planner = RecoursePlanner(
        model, n_options=1, later_models=LaterModels(n_refits=50), n_starts=2, random_state=0, progress=False
    )
    planner.fit(X, y)
    batch = planner.plan(X[~model.predict(X)].head(5))
    with Ledger.open(tmp_path / "promises.db", create=True) as ledger:
        ids = ledger.record(batch, model_version="1", valid_for="24 months", made="2026-01-15")
    (tmp_path / "model.skops").write_bytes(pack_estimator(model))
    save_bundle(tmp_path / "bank.copa", planner, X.head(0), {})
    listed, on_day = tmp_path / "listed.csv", ("--as-of", "2026-11-18")
    copa("promises", "list", "--ledger", tmp_path / "promises.db", *on_day, "-o", listed)
    for more in ((), ("--model-version", "1"), ("--current", tmp_path / "bank.copa")):
        found = json_of("gate", tmp_path / "model.skops", "--promises", listed, *on_day, *more)
        assert (found["n_promises"], found["n_broken"]) == (len(ids), 0)
