"""Bad input: one clear line, the right exit code, and no output file."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from copa import FeatureSchema
from copa.cli import messages
from copa.planner.bundle import load_bundle
from e2e.command_runs import FIT, copa, misused, process, refused
from e2e.foreign_models import Spy, numbers_only
from unit.planner import loans


def fit_refused(data, *more, code=1, out="b"):
    label = () if "--target" in more else ("--target", "paid")
    line = refused("fit", data, *label, "-o", data.parent / out, *more, *FIT, code=code)
    assert not (data.parent / out).exists()
    return line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,paid\n1,2,3\n", "line 2 has 3 cells, the header 2"),
        (b"a;paid\n1;2\n", "--target|single column"),
        (b"\x00\x01\x02\xff\xfe", "is not text in UTF-8"),
        (b"", "is empty"),
        (b"a,paid\n", "has no rows"),
    ],
)
def test_a_malformed_table_is_named(tmp_path, content, words):
    (tmp_path / "t.csv").write_bytes(content)
    line = fit_refused(tmp_path / "t.csv")
    assert any(part in line for part in words.split("|"))


def test_a_wrong_label_column_is_misuse_and_the_nearest_is_named(bank):
    assert "no column 'payd'; did you mean 'paid'?" in fit_refused(bank / "bank.csv", "--target", "payd", code=2)


def test_a_label_of_many_values_is_refused(bank):
    assert "the label 'grade' must have 2 different values, it has 5" in fit_refused(
        bank / "bank.csv", "--target", "grade"
    )


def test_an_unknown_favourable_label_is_misuse(bank):
    line = fit_refused(bank / "bank.csv", "--favourable", "yes", "--schema", bank / "schema.yaml", code=2)
    assert "--favourable must be a value of the label 'paid', 'False', 'True', got 'yes'" in line


def test_a_label_that_the_model_does_not_know_is_refused(bank, tmp_path):
    skops.io.dump(loans.fitted_pipeline(), tmp_path / "m.skops")
    table = pd.read_csv(bank / "bank.csv")
    table.assign(paid=np.where(table["paid"], "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    more = ("--favourable", "yes", "--schema", bank / "schema.yaml")
    line = fit_refused(tmp_path / "t.csv", "--model", tmp_path / "m.skops", *more)
    assert "the label 'paid' has the value 'no', and the model knows False, True only" in line


def test_the_favourable_value_is_asked_for_before_the_model_is_read(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv")
    table.assign(paid=np.where(table["paid"], " yes", " no")).to_csv(tmp_path / "t.csv", index=False)
    line = fit_refused(tmp_path / "t.csv", "--model", tmp_path / "none.skops", code=2)
    assert "which value of 'paid' an applicant wants, 'no' (" in line
    assert "add --favourable yes or --favourable no, or write `favourable:`" in line
    schema = (bank / "schema.yaml").read_text(encoding="utf-8")
    (tmp_path / "named.yaml").write_text(f"{schema}\nfavourable: 'maybe'\n", encoding="utf-8")
    line = fit_refused(tmp_path / "t.csv", "--schema", tmp_path / "named.yaml", code=2)
    assert "favourable of the schema must be a value of the label 'paid', 'no', 'yes', got 'maybe'" in line


def test_a_table_as_spreadsheets_leave_it_is_fitted_with_notes(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv").rename(columns={"debt": " debt"})
    table[" debt"] = table[" debt"].astype(float).where(np.arange(300) % 50 != 0)
    table["paid"] = np.where(table["paid"], " yes", " no")
    table.insert(1, "again", table["income"])
    table.columns = [name if name != "again" else "income" for name in table.columns]
    table.to_csv(tmp_path / "t.csv")  # with its index
    more = ("--favourable", "yes", "--schema", bank / "schema.yaml")
    line = fit_refused(tmp_path / "t.csv", *more)
    assert "more than one column 'income', numbers 2 and 3 of 9; rename one of them" in line
    assert 'leave one out of `copa fit`: --drop "#3"' in line
    told = copa("fit", tmp_path / "t.csv", "--target", "paid", *more, "--drop", "#3", "-o", tmp_path / "b", *FIT).stderr
    words = " ".join(told.split())
    assert "note: blanks around the names of columns are left out: ' debt'" in words
    assert "note: blanks around the values of 'paid' are left out" in words
    assert "note: column '' (#1) counts the rows, as an index does that was saved with them; it is left out" in words
    assert "note: 6 rows with an empty cell kept: the model reads them" in words
    assert load_bundle(tmp_path / "b").planner.strategy_.n_rows == 300


def test_a_model_no_better_than_the_majority_is_warned_of(tmp_path):
    noise = pd.DataFrame({"a": np.arange(60) % 7, "paid": np.where(np.arange(60) % 3 == 0, "no", "yes")})
    noise.to_csv(tmp_path / "t.csv", index=False)
    told = copa("fit", tmp_path / "t.csv", "--target", "paid", "--favourable", "yes", "-o", tmp_path / "b", *FIT).stderr
    assert "warning: the model is no better than always answering 'yes': it is right on 66.7% of the rows" in " ".join(
        told.split()
    )


def test_a_column_of_names_is_no_choice(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv")
    table.assign(who=[f"person {k}" for k in range(len(table))]).to_csv(tmp_path / "t.csv", index=False)
    line = fit_refused(tmp_path / "t.csv")
    assert "column 'who' holds 300 different texts in 300 rows" in line
    assert "leave it out with --drop who, or mark it immutable" in line
    copa("fit", tmp_path / "t.csv", "--target", "paid", "--drop", "who", "-o", tmp_path / "b", *FIT)


def test_an_inferred_schema_leaves_out_a_column_of_names(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv")
    table.assign(who=[f"person {k}" for k in range(len(table))]).to_csv(tmp_path / "t.csv", index=False)
    infer = ("schema", "infer", tmp_path / "t.csv", "--target", "paid", "-o", tmp_path / "s.yaml")
    told = " ".join(copa(*infer).stderr.split())
    assert "note: column 'who' holds 300 different texts in 300 rows, which is no choice between values; it is" in told
    assert FeatureSchema.load(tmp_path / "s.yaml").names == tuple(table.columns.drop("paid"))
    copa(*infer, "--immutable", "who")
    assert FeatureSchema.load(tmp_path / "s.yaml")["who"].immutable


def test_text_in_a_column_of_numbers_is_named(bank, tmp_path):
    table = pd.read_csv(bank / "bank.csv").astype({"debt": object})
    table.loc[7, "debt"] = "?"
    table.to_csv(tmp_path / "t.csv", index=False)
    line = fit_refused(tmp_path / "t.csv", "--schema", bank / "schema.yaml")
    assert "column 'debt' must hold numbers, got '?' in row 7" in line


def test_rows_with_empty_cells_that_the_model_cannot_read_are_left_out_and_counted(bank, tmp_path):
    skops.io.dump(loans.fitted_pipeline(), tmp_path / "m.skops")
    table = pd.read_csv(bank / "bank.csv")
    table.loc[[3, 5], "income"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    data = (tmp_path / "t.csv", "--target", "paid", "--schema", bank / "schema.yaml", "--model", tmp_path / "m.skops")
    assert "2 rows with an empty cell left out of 300" in copa("fit", *data, "-o", tmp_path / "b", *FIT).stderr
    table["debt"] = np.nan
    table.to_csv(tmp_path / "t.csv", index=False)
    assert "300 of 300 rows have an empty cell, most of them in 'debt', 'income'" in refused(
        "fit", *data, "-o", tmp_path / "c", *FIT, code=1
    )


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/copa-was-here",)


def test_a_pickle_needs_trust_and_is_not_opened_without(bank, tmp_path, monkeypatch):
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(Bomb()))
    monkeypatch.setattr(os, "system", lambda _: pytest.fail("the pickle was opened"))
    line = fit_refused(bank / "bank.csv", "--model", tmp_path / "m.pkl", code=2, out="none")
    assert "is a pickle, and loading a pickle runs whatever code is in it" in line
    assert "--trust-pickle" in line


def test_a_damaged_pickle_is_named(bank, tmp_path):
    (tmp_path / "m.pkl").write_bytes(b"no pickle")
    line = fit_refused(bank / "bank.csv", "--model", tmp_path / "m.pkl", "--trust-pickle", out="none")
    assert "cannot be loaded" in line


def test_a_skops_file_with_untrusted_types_is_refused_by_their_names(bank, tmp_path):
    skops.io.dump(numbers_only(Spy()), tmp_path / "m.skops")
    line = fit_refused(bank / "bank.csv", "--model", tmp_path / "m.skops", code=2, out="none")
    assert "holds types that are not trusted" in line
    assert "Spy" in line


def test_a_model_that_no_bundle_can_hold_is_refused_at_fit_time(bank, tmp_path):
    import joblib

    joblib.dump(numbers_only(Spy()), tmp_path / "m.joblib")
    more = ("--model", tmp_path / "m.joblib", "--trust-pickle")
    line = fit_refused(bank / "bank.csv", *more, code=2, out="none")
    assert "cannot be put into a bundle: loading its parts" in line
    assert "Spy" in line


def test_a_model_without_parameters_or_probabilities_is_refused(bank, tmp_path):
    table = loans.people(300, 0)
    machine = SVC().fit(table[loans.NUMBERS], loans.outcomes(table))
    skops.io.dump(machine, tmp_path / "m.skops")
    line = fit_refused(bank / "bank.csv", "--model", tmp_path / "m.skops", out="none")
    assert "SVC is neither; fit it with probabilities" in line


def test_a_model_of_other_columns_is_refused(bank, tmp_path):
    table = loans.people(300, 0)
    model = LogisticRegression().fit(table[loans.NUMBERS].to_numpy(), loans.outcomes(table))
    skops.io.dump(model, tmp_path / "m.skops")
    line = fit_refused(bank / "bank.csv", "--model", tmp_path / "m.skops", out="none")
    assert "the model refuses these data" in line
    assert "--drop" in line


def test_other_files_are_no_models(bank, tmp_path):
    (tmp_path / "m.skops").write_bytes(b"PK no")
    assert "is not a skops file" in fit_refused(bank / "bank.csv", "--model", tmp_path / "m.skops", out="none")
    (tmp_path / "m.onnx").write_bytes(b"")
    assert "must be a .skops file" in fit_refused(bank / "bank.csv", "--model", tmp_path / "m.onnx", code=2, out="none")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--guarantee", "1.5"), "guarantee must be a probability, above 0 and below 1, got 1.5"),
        (("--n-options", "0"), "n_options must be a whole number of at least 1, got 0"),
        (("--n-options", "10000"), "n_options must be at most 79, got 10000"),
        (("--time-limit", "-1"), "time_limit must be a number of seconds above 0"),
        (("--n-jobs", "0"), "n_jobs must be"),
        (("--delimiter", "ab"), "--delimiter must be one character"),
    ],
)
def test_a_wrong_setting_is_misuse(bank, bundle, tmp_path, option, words):
    assert words in refused("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", *option, code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_radius_or_threshold_is_misuse(bank):
    assert "Invalid value for '--moment-ball'" in misused("fit", bank / "bank.csv", "--moment-ball", "big")
    assert "--threshold must be a probability" in fit_refused(bank / "bank.csv", "--threshold", "2", code=2)
    negative = fit_refused(bank / "bank.csv", "--moment-ball", "-1", code=2)
    assert "radius must be a finite number of at least 0" in negative


def test_unknown_options_commands_and_words_are_misuse(bundle, bank):
    assert "No such option" in misused("plan", bundle, bank / "people.csv", "-o", "p.csv", "--garantee", "0.9")
    assert "No such command" in misused("paln")
    assert "--guarantee-for" in misused("plan", bundle, bank / "people.csv", "-o", "p.csv", "--guarantee-for", "most")
    assert "Missing option" in misused("plan", bundle, bank / "people.csv")


def test_missing_files_are_misuse(bank, bundle, tmp_path):
    none = tmp_path / "none"
    assert "none.csv does not exist" in refused("plan", bundle, f"{none}.csv", "-o", tmp_path / "p.csv", code=2)
    assert "the bundle" in refused("plan", none, bank / "people.csv", "-o", tmp_path / "p.csv", code=2)
    assert "the plans" in refused("audit", bundle, f"{none}.csv", code=2)
    assert "does not exist" in refused("verify", none, code=2)
    assert "the schema" in refused("schema", "validate", none, code=2)
    assert "the model" in fit_refused(bank / "bank.csv", "--model", none, code=2, out="none")
    line = fit_refused(bank / "bank.csv", "--schema", tmp_path / "none.yaml", out="none")
    assert "none.yaml cannot be read" in line


def test_outputs_that_cannot_be_written_are_misuse(bank, bundle, tmp_path):
    people = bank / "people.csv"
    line = refused("plan", bundle, people, "-o", tmp_path / "none" / "p.csv", code=2)
    assert f"the folder {tmp_path / 'none'} for p.csv does not exist" in line
    assert "must end in .csv or .parquet or .json or .zip or .copa or .html, got p.txt" in refused(
        "plan", bundle, people, "-o", "p.txt", code=2
    )
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder" in refused("plan", bundle, people, "-o", tmp_path / "folder.csv", code=2)
    assert "is both read and written" in refused("plan", bundle, people, "-o", people, code=2)


def test_a_folder_without_permission_is_misuse(bank, bundle, tmp_path, monkeypatch):
    # Root may write anywhere.
    monkeypatch.setattr(os, "access", lambda path, _: tmp_path not in (Path(path), Path(path).parent))
    line = refused("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", code=2)
    assert "no permission in" in line


def test_a_missing_column_of_the_applicants_is_named(bundle, tmp_path):
    (tmp_path / "t.csv").write_text("incom,debt,age,job,grade,married\n1,2,3,clerk,5,True\n")
    line = refused("plan", bundle, tmp_path / "t.csv", "-o", tmp_path / "p.csv", code=1)
    assert "lacks the column 'income'; did you mean 'incom'?" in line
    assert not (tmp_path / "p.csv.partial").exists()


def test_columns_that_a_table_of_plans_needs_are_refused(bank, bundle, tmp_path):
    table = pd.read_csv(bank / "people.csv").assign(option=1)
    table.to_csv(tmp_path / "t.csv", index=False)
    line = refused("plan", bundle, tmp_path / "t.csv", "-o", tmp_path / "p.csv", "--group", "option", code=1)
    assert "the applicants have the columns 'option', which a table of plans needs for itself" in line


def test_plans_without_applicants_or_options_are_refused(bank, bundle, tmp_path):
    (tmp_path / "p.csv").write_text("applicant,income\n1,2\n")
    assert "--applicants is needed" in refused("audit", bundle, tmp_path / "p.csv", code=2)
    (tmp_path / "e.csv").write_text("applicant,income\n")
    assert "has no options" in refused("audit", bundle, tmp_path / "e.csv", "--applicants", bank / "people.csv", code=1)
    (tmp_path / "j.json").write_text("[1]")
    assert "must be a JSON object" in refused("audit", bundle, tmp_path / "j.json", code=1)
    (tmp_path / "k.json").write_text('{"cake": 1}')
    assert "is not from DiCE" in refused("audit", bundle, tmp_path / "k.json", code=1)
    assert "--budget and --margin must be at least 0" in refused(
        "correct", bundle, tmp_path / "p.csv", "-o", tmp_path / "c.csv", "--budget", "-1", code=2
    )


def test_an_unexpected_error_is_one_line_and_a_traceback_only_with_debug(bank, bundle, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.cli.plan.read_applicants", lambda *_, **__: 1 / 0)
    arguments = ("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv")
    line = refused(*arguments, code=1)
    assert line == "error: unexpected ZeroDivisionError: division by zero; rerun with --debug for the traceback"
    assert "Traceback" in copa("--debug", *arguments, code=1).stderr


def test_a_full_disk_is_one_line(bank, bundle, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    line = refused("plan", bundle, bank / "people.csv", "-o", tmp_path / "p.csv", code=1)
    assert "No space left on device" in line
    assert not (tmp_path / "p.csv").exists()


def test_debug_may_stand_anywhere(tmp_path):
    run = process("verify", tmp_path / "none", "--debug", check=False)
    assert run.returncode == 2
    assert "Traceback" in run.stderr
    assert run.stderr.splitlines()[-1].startswith("error: the file")


def test_without_its_parts_the_command_says_how_to_install_them(monkeypatch, capsys):
    import importlib.util

    from copa.cli import main

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "typer" else found(name))
    assert main() == 2
    assert capsys.readouterr().err.splitlines() == [
        "copa: the command needs typer; install with: pip install 'copa-recourse[cli]'"
    ]


def test_messages_are_plain_whatever_is_in_them(capsys):
    messages.say("[bold]not markup[/bold]")
    assert capsys.readouterr().err == "[bold]not markup[/bold]\n"
