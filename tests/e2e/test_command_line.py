"""What a user does with the command, from data to report."""

import hashlib
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import LinearSVC

from copa import FeatureSchema, LaterModels, RecoursePlanner
from copa._core.words import rounded_up
from copa.planner.bundle import load_bundle
from copa.plans import PlanBatch
from e2e.command_runs import FIT, copa, json_of, misused, process, refused
from unit.planner import loans


@pytest.fixture(scope="module")
def plans(bank, bundle):
    """Plans as a table, as JSON and with their proofs."""
    saved = {ending: bank / f"plans.{ending}" for ending in ("csv", "json", "copa")}
    copa("plan", bundle, bank / "people.csv", "--id", "name", "-o", saved["csv"], "-o", saved["copa"])
    copa("plan", bundle, bank / "people.csv", "--id", "name", "-o", saved["json"])
    return saved


@pytest.fixture(scope="module")
def expected(bundle):
    """What the library itself makes of the same applicants."""
    people = loans.people(60, 7)
    return load_bundle(bundle).planner.plan(people)


def test_fit_says_how_good_the_model_is_and_what_it_assumes(bank, tmp_path):
    schema = ("--schema", bank / "schema.yaml")
    result = copa("fit", bank / "bank.csv", "--target", "paid", *schema, "-o", tmp_path / "b", *FIT)
    assert "cross-validated accuracy 0." in result.stdout
    assert "Favourable answer: 'True'" in result.stdout
    assert "radius" in result.stdout


def test_fit_tells_the_kinds_of_the_columns(bank, tmp_path):
    schema = ("--schema", bank / "schema.yaml")
    content = json_of("fit", bank / "bank.csv", "--target", "paid", *schema, "-o", tmp_path / "b", *FIT)
    assert content["columns"] == {
        "income": "number", "debt": "integer", "age": "integer", "job": "text", "grade": "integer", "married": "truth",
    }  # fmt: skip


def test_a_bundle_holds_a_planner_and_a_model_with_their_digests(bundle):
    with zipfile.ZipFile(bundle) as archive:
        assert set(archive.namelist()) == {"planner.json", "arrays.npz", "model.skops"}
        members = json.loads(archive.read("planner.json"))["members"]
        assert set(members) == {"model.skops"}
        for name, sha256 in members.items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == sha256


def test_plan_delivers_what_the_library_does(plans, expected):
    table = pd.read_csv(plans["csv"])
    options = table[table["option"].notna()].reset_index(drop=True)
    assert table.groupby("applicant", sort=False)["plan_status"].first().tolist() == expected.status.tolist()
    np.testing.assert_array_equal(options["option_guarantee"], expected.option_lower)
    pd.testing.assert_frame_equal(
        options[list(expected.options.columns)].astype(expected.options.dtypes.to_dict()), expected.options
    )


def test_json_and_proofs_say_the_same_as_the_table(plans, expected):
    assert plans["json"].read_text(encoding="utf-8") == expected.to_json(certificates=True)
    assert PlanBatch.load(plans["copa"]).to_json() == expected.to_json()


def as_told(table):
    """The cells of a table as objects; empty text is a missing cell, as it is in a CSV file."""
    cells = table.astype(object)
    return cells.where(table.notna() & (cells != ""), None)


def test_parquet_in_and_out_holds_the_same_as_csv(bank, bundle, plans, tmp_path):
    copa("plan", bundle, bank / "people.parquet", "--id", "name", "-o", tmp_path / "plans.parquet")
    table = pd.read_parquet(tmp_path / "plans.parquet")
    assert [str(dtype) for dtype in table[["debt", "married", "option"]].dtypes] == ["Int64", "boolean", "Int64"]
    pd.testing.assert_frame_equal(as_told(table), as_told(pd.read_csv(plans["csv"])), check_exact=True)


def test_plan_writes_a_report_with_groups(bank, bundle, tmp_path):
    report = tmp_path / "report.html"
    content = json_of(
        "plan",
        bundle,
        bank / "people.csv",
        "-o",
        tmp_path / "p.csv",
        "-o",
        report,
        "--group",
        "town",
        "--totals-only",
    )
    assert content["applicants"] == 60
    assert content["written"] == [str(tmp_path / "p.csv"), str(report)]
    assert "north" in report.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "report.html"]


def test_settings_of_plan_replace_those_of_the_bundle(bank, bundle, tmp_path):
    copa(
        "plan",
        bundle,
        bank / "people.csv",
        "-o",
        tmp_path / "p.json",
        "--guarantee",
        0.6,
        "--guarantee-for",
        "any",
    )
    asked = json.loads((tmp_path / "p.json").read_text())["asked"]
    assert (asked["guarantee"], asked["guarantee_for"], asked["n_options"]) == (0.6, "any", 2)


def test_nothing_planned_is_a_failure_but_says_so_in_the_file(bundle, tmp_path):
    (tmp_path / "bad.csv").write_text("income,debt,age,job,grade,married\nmuch,10,30,clerk,2,True\n")
    content = json_of("plan", bundle, tmp_path / "bad.csv", "-o", tmp_path / "p.csv", code=1)
    assert content["statuses"] == {"error": 1}
    assert "column 'income' must be a number, got 'much'" in pd.read_csv(tmp_path / "p.csv")["plan_message"][0]


def test_one_bad_cell_does_not_change_the_plans_of_the_others(bank, bundle, plans, tmp_path):
    lines = (bank / "people.csv").read_text().splitlines()
    spoilt = lines[-1].split(",")
    spoilt[1] = "much"
    (tmp_path / "people.csv").write_text("\n".join([*lines[:-1], ",".join(spoilt)]))
    copa("plan", bundle, tmp_path / "people.csv", "--id", "name", "-o", tmp_path / "p.csv")
    before, after = pd.read_csv(plans["csv"]), pd.read_csv(tmp_path / "p.csv")
    assert after["plan_status"].iloc[-1] == "error"
    others = ["applicant", "option", "plan_status", "option_guarantee", "option_effort", "debt", "income"]
    last = before["applicant"].iloc[-1]
    pd.testing.assert_frame_equal(
        before.loc[before["applicant"] != last, others], after.loc[after["applicant"] != last, others]
    )


def test_verify_proves_plans_from_the_file_alone_and_against_the_bundle(bundle, plans):
    told = copa("verify", plans["copa"]).stdout
    assert "every bound holds" in told
    assert "recomputed with the formula of their set, which is no independent proof" in told
    assert "Covered by the digest only: rows, acceptance today, efforts, plausibility" in told
    against = copa("verify", plans["copa"], "--bundle", bundle).stdout
    terms = "favourable label, threshold, source of the radius"
    assert f"the bundle gives the same efforts, plausibility, expected rates, intervals, {terms}." in against
    assert f"intervals, {terms}, names of applicants, statuses other than ok, what was asked for, messages" in told
    assert (
        "Covered by the digest only: names of applicants, statuses other than ok, what was asked for, messages, words "
        "of the assumptions, highest levels, numbers before rounding, fidelity of surrogates, times." in against
    )
    content = json_of("verify", plans["copa"], "--bundle", bundle)
    assert content["proven"] is True
    assert content["options"] == len(PlanBatch.load(plans["copa"]).options)


@pytest.mark.parametrize("ending", ["csv", "json", "copa"])
def test_audit_finds_the_numbers_of_plans_again(bank, bundle, plans, expected, ending):
    given = ("--applicants", bank / "people.csv", "--id", "name") if ending == "csv" else ()
    entries = json_of("audit", bundle, plans[ending], *given)["applicants"]
    assert [entry["applicant"] for entry in entries] == expected.applicants.index.tolist()
    found = [each for entry in entries for each in entry["each"]]
    np.testing.assert_allclose(found, expected.option_lower, rtol=0, atol=1e-12)


def test_audit_tells_in_words_what_breaks_first(bank, bundle, plans):
    given = (bundle, plans["csv"], "--applicants", bank / "people.csv", "--id", "name")
    text = " ".join(copa("audit", *given).stdout.split())
    content = json_of("audit", *given)
    totals, entries = content["totals"], content["applicants"]
    assert text.startswith(f"{totals['n_options']} options for {totals['n_applicants']} applicants")
    assert f"{totals['accepted']} accepted by today's model" in text
    assert (
        totals["n_options"] == totals["allowed"] == totals["accepted"] == sum(len(entry["each"]) for entry in entries)
    )
    told = [
        entry["breaks_first"] for entry in [entry for entry in entries if entry["each"]][:10] if entry["breaks_first"]
    ]
    assert told
    for found in told:
        most = rounded_up(found["probability"])
        assert (
            f"Option {found['option']} fails first: the next model refuses it with probability at most {most}." in text
        )
        assert " - ".join(found["causes"]) in text
    assert text.count(content["comparison"]) == 1
    assert "Assumption: the parameters of the next model" in text


def test_audit_reads_what_dice_writes(bundle, tmp_path):
    names = list(loans.people(1, 0).columns)
    dice = {
        "test_data": [[[30.0, 40, 30, "clerk", 2, "1"]]],
        "cfs_list": [[[60.0, 10, 30, "clerk", 4, "1"]]],
        "feature_names_including_target": names,
    }
    (tmp_path / "dice.json").write_text(json.dumps(dice))
    (tmp_path / "one.csv").write_text("income,debt,age,job,grade,married\n30.0,40,30,clerk,2,True\n")
    entry = json_of("audit", bundle, tmp_path / "dice.json", "--applicants", tmp_path / "one.csv")["applicants"][0]
    assert entry["status"] == "ok"
    assert entry["each"][0] > 0.8


@pytest.mark.parametrize(
    ("method", "size"),
    [
        ("level", ()),
        ("requirement", ("--margin", 3.0)),
        ("mahalanobis", ("--budget", 1.0)),
    ],
)
def test_correct_raises_what_can_be_promised(bank, bundle, plans, tmp_path, method, size):
    given = ("--applicants", bank / "people.csv", "--id", "name", "--method", method, "--guarantee", "0.85")
    content = json_of("correct", bundle, plans["csv"], *given, *size, "-o", tmp_path / "c.copa")
    before = np.array([entry["all_before"] for entry in content["applicants"]])
    after = np.array([entry["all_after"] for entry in content["applicants"]])
    assert (after >= before - 1e-12).all()
    assert after.sum() > before.sum()
    assert json_of("verify", tmp_path / "c.copa", "--bundle", bundle)["proven"] is True


def test_correct_writes_a_report(bank, bundle, plans, tmp_path):
    given = ("--applicants", bank / "people.csv", "--id", "name", "-o", tmp_path / "c.html")
    text = copa("correct", bundle, plans["csv"], *given, "-o", tmp_path / "c.csv").stdout
    assert "All options together hold more surely for" in text
    assert (tmp_path / "c.html").stat().st_size > 10_000


def test_correct_writes_no_option_that_is_refused_and_says_which(bank, bundle, plans, tmp_path):
    table = pd.read_csv(plans["csv"])
    table["age"] += 10  # which is immutable; one option of each plan may move
    table.to_csv(tmp_path / "given.csv", index=False)
    people = ("--applicants", bank / "people.csv", "--id", "name", "--n-corrections", 1)
    report = ("-o", tmp_path / "c.html")
    text = copa("correct", bundle, tmp_path / "given.csv", *people, *report, "-o", tmp_path / "c.csv").stdout
    n_left_out = len(table) - len(pd.read_csv(tmp_path / "c.csv"))
    assert n_left_out >= 1
    assert f"Left out: {n_left_out} option" in text
    assert "is left out: age: is immutable" in text
    assert f"Left out: {n_left_out} option" in (tmp_path / "c.html").read_text(encoding="utf-8")
    audited = json_of("audit", bundle, tmp_path / "c.csv", "--applicants", bank / "people.csv", "--id", "name")
    messages = [entry["message"] for entry in audited["applicants"]]
    assert not any("violates the schema" in message or "does not accept" in message for message in messages)


def test_a_schema_is_inferred_and_validated(bank, tmp_path):
    path = tmp_path / "s.yaml"
    content = json_of("schema", "infer", bank / "bank.csv", "--target", "paid", "--immutable", "age", "-o", path)
    assert content["columns"]["job"] == "categorical"
    assert "paid" not in content["columns"]
    assert "20 columns" not in copa("schema", "validate", path, bank / "bank.csv").stdout
    (tmp_path / "odd.csv").write_text("income,debt,age,job,grade,married\n30,40,30,pilot,2,True\n")
    checked = json_of("schema", "validate", path, tmp_path / "odd.csv", code=1)
    assert len(checked["bad_rows"]) == 1
    assert "column 'job' must be one of 'clerk', 'driver', 'nurse', got 'pilot'" in checked["bad_rows"][0]


def test_an_inferred_schema_says_why_columns_are_immutable_and_what_looks_like_codes(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv").assign(client_id=range(300))
    table.loc[:9, "debt"] = -9
    table.loc[10:12, "debt"] = None
    table.to_csv(tmp_path / "bank.csv", index=False)
    path = tmp_path / "s.yaml"
    notes = json_of("schema", "infer", tmp_path / "bank.csv", "--target", "paid", "-o", path)["notes"]
    assert notes["age"] == "immutable: looks like an age"
    assert notes["client_id"] == "immutable: looks like an identifier: nearly every row has its own"
    assert notes["debt"] == "looks like it has special codes: -9"
    assert "  # immutable: looks like an age\n  age: {kind: integer, immutable: true" in path.read_text()
    assert FeatureSchema.load(path)["debt"].special == (-9,)
    text = copa("schema", "validate", path, tmp_path / "bank.csv").stdout
    assert "300 rows, 0 of them do not fit" in text
    assert "outside the range" in text
    cells = json_of("schema", "validate", path, tmp_path / "bank.csv")["cells"]
    assert cells["debt"] == {"missing": 3, "special": 10}
    assert cells["income"]["outside"] > 0
    assert "job" not in cells


def test_an_inferred_schema_takes_kinds_and_columns_from_a_model(bank, tmp_path):
    table = loans.people(300, 0)
    model = loans.pipeline().fit(table, loans.outcomes(table))
    skops.io.dump(model, tmp_path / "m.skops")
    data = pd.read_csv(bank / "bank.csv").assign(town="north")
    data.to_csv(tmp_path / "bank.csv", index=False)
    told = ("schema", "infer", tmp_path / "bank.csv", "--target", "paid", "-o", tmp_path / "s.yaml")
    alone, with_model = json_of(*told)["columns"], json_of(*told, "--model", tmp_path / "m.skops")["columns"]
    assert (alone["grade"], with_model["grade"]) == ("integer", "categorical")
    assert set(alone) - set(with_model) == {"town"}


def test_largest_changes_of_one_run_are_obeyed(bank, bundle, tmp_path):
    people = pd.read_csv(bank / "people.csv")
    told = ("--max-change", "income=0.1", "--max-change", "debt=-5", "--fixed", "job", "--weight", "grade=0.1")
    saved = ("-o", tmp_path / "p.json", "-o", tmp_path / "p.copa")
    copa("plan", bundle, bank / "people.csv", *told, *saved)
    made = PlanBatch.load(tmp_path / "p.copa")
    own = people.iloc[made.owner]
    assert ((made.options["income"].to_numpy() - own["income"]).abs() <= 0.1 * own["income"] + 1e-9).all()
    assert ((own["debt"] - made.options["debt"].to_numpy()) <= 5).all()
    assert (made.options["job"].to_numpy() == own["job"].to_numpy()).all()
    assert made.basis.schema["grade"].weight == pytest.approx(0.2)
    wrong = refused("plan", bundle, bank / "people.csv", "--max-change", "incme=1", "-o", tmp_path / "q.json", code=2)
    assert "--max-change incme=1: there is no column 'incme'; did you mean 'income'" in wrong


def test_values_with_few_rows_are_named_where_a_schema_meets_data_and_where_a_planner_is_fitted(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv")
    table.loc[:2, "job"] = "pilot"
    table.to_csv(tmp_path / "bank.csv", index=False)
    path, told = tmp_path / "s.yaml", "1 value with fewer than 15 training rows will not be offered"
    text = copa("schema", "infer", tmp_path / "bank.csv", "--target", "paid", "-o", path).stdout
    assert told in text
    assert "job 'pilot' (3)" in text
    assert told in copa("schema", "validate", path, tmp_path / "bank.csv").stdout
    assert json_of("schema", "validate", path, tmp_path / "bank.csv")["withheld"] == {"job": ["pilot"]}
    assert "will not be offered" not in copa("schema", "validate", path).stdout
    fit = ("fit", tmp_path / "bank.csv", "--target", "paid", "--schema", path, "-o", tmp_path / "b", *FIT)
    assert told in " ".join(copa(*fit).stderr.split())
    path.write_text(path.read_text().replace("kind: categorical", "kind: categorical\n    rare: offer"))
    assert told not in copa("schema", "validate", path, tmp_path / "bank.csv").stdout


def test_a_model_of_ones_own_goes_into_a_bundle_and_plans_alike(bank, tmp_path):
    model = loans.fitted_pipeline()
    skops.io.dump(model, tmp_path / "m.skops")
    data = ("--target", "paid", "--model", tmp_path / "m.skops", "--schema", bank / "schema.yaml")
    copa("fit", bank / "bank.csv", *data, "-o", tmp_path / "b", *FIT)
    people = loans.people(20, 3)
    settings = {
        "later_models": LaterModels(n_refits=50),
        "guarantee": 0.8,
        "random_state": 0,
        "n_starts": 4,
        "n_options": 2,
        "n_jobs": 1,
    }
    own = RecoursePlanner(model, schema=loans.SCHEMA, **settings).fit(
        loans.people(300, 0), loans.outcomes(loans.people(300, 0))
    )
    assert load_bundle(tmp_path / "b").planner.plan(people).to_json() == own.plan(people).to_json()


def test_a_calibrated_model_and_its_pickle_are_taken_too(bank, tmp_path):
    import joblib

    joblib.dump(loans.fitted_pipeline(CalibratedClassifierCV(LinearSVC(), ensemble=False)), tmp_path / "m.joblib")
    data = ("--target", "paid", "--model", tmp_path / "m.joblib", "--trust-pickle", "--schema", bank / "schema.yaml")
    content = json_of("fit", bank / "bank.csv", *data, "-o", tmp_path / "b", *FIT)
    assert content["accuracy_on_these_rows"] > 0.6
    assert load_bundle(tmp_path / "b").planner.plan(loans.people(5, 3)).status.size == 5


def test_codes_that_the_model_knows_as_text_are_read_as_text(bank, tmp_path):
    table = loans.people(300, 0).assign(grade=lambda t: t["grade"].astype(str))
    model = loans.pipeline().fit(table, loans.outcomes(table.assign(grade=table["grade"].astype(int))))
    skops.io.dump(model, tmp_path / "m.skops")
    data = ("--target", "paid", "--model", tmp_path / "m.skops", "--schema", bank / "schema.yaml")
    assert json_of("fit", bank / "bank.csv", *data, "-o", tmp_path / "b", *FIT)["columns"]["grade"] == "text"
    copa("plan", tmp_path / "b", bank / "people.csv", "-o", tmp_path / "p.csv")
    assert "error" not in pd.read_csv(tmp_path / "p.csv")["plan_status"].tolist()


def test_the_demo_shows_a_menu_and_writes_three_files_and_ten_letters(tmp_path):
    result = copa("demo", "--output", tmp_path / "demo", "--n-jobs", "1")
    for words in ("Option 1", "All ten", "10 letters to the applicants", "Check the bounds with: copa verify"):
        assert words in result.stdout
    written = ["letters", "plans.copa", "plans.csv", "report.html"]
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == written
    batch = PlanBatch.load(tmp_path / "demo" / "plans.copa")
    assert {path.name for path in (tmp_path / "demo" / "letters").iterdir()} == {
        "index.csv", *(f"letter-{k:06d}{ending}" for k in range(1, len(batch) + 1) for ending in (".html", ".txt"))
    }  # fmt: skip
    assert "protected attribute: personal_status (" in result.stderr
    assert "every bound holds" in copa("verify", tmp_path / "demo" / "plans.copa").stdout


def test_json_is_all_that_stdout_of_a_process_holds(bank, bundle, tmp_path):
    run = process("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", "--json")
    assert json.loads(run.stdout)["applicants"] == 60
    assert "Traceback" not in run.stderr


def test_help_and_version_are_there():
    assert process("--help").stdout.count("Plan") > 0
    assert process("--version").stdout.strip() == __import__("copa").__version__


def test_fit_asks_for_the_column_of_the_outcome(bank, tmp_path):
    data = (bank / "bank.csv", "--schema", bank / "schema.yaml", "-o", tmp_path / "b", *FIT)
    assert "Missing option '--target'" in misused("fit", *data)
