"""`copa letter`, as the owner of a bank runs it."""

import csv
import json
import re

import pandas as pd
import pytest

from copa import PlanBatch
from copa._core.progress import Stage
from copa.planner import RecoursePlanner
from copa.planner.bundle import load_bundle
from e2e.command_runs import FIT, copa, fit_bank, json_of, refused, write_bank


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    return write_bank(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def bundle(bank):
    return fit_bank(bank)


@pytest.fixture(scope="module")
def people(bank):
    """Twenty of the applicants."""
    pd.read_csv(bank / "people.csv").head(20).to_csv(bank / "some.csv", index=False)
    return bank / "some.csv"


@pytest.fixture(scope="module")
def letters(bank, bundle, people):
    """The letters of a whole run, and what it said."""
    told = ("--sender", "Example Bank, Street 12", "--valid-until", "2999-03-31", "--contact", "help@example.org")
    return bank / "letters", copa("letter", bundle, people, "--id", "name", "-o", bank / "letters", *told)


def listed(folder):
    """The list of a folder of letters."""
    return list(csv.DictReader((folder / "index.csv").read_text(encoding="utf-8").splitlines()))


def test_every_declined_applicant_gets_two_files_and_the_accepted_none(bundle, people, letters):
    folder, result = letters
    table = pd.read_csv(people)
    declined = table[~load_bundle(bundle).planner.strategy_.model.accepts(table)]
    names = {f"letter-{k + 1:06d}" for k in declined.index}
    assert {path.name for path in folder.iterdir()} == {
        "index.csv", *(f"{name}{ending}" for name in names for ending in (".html", ".txt"))
    }  # fmt: skip
    assert f"{len(names)} letters in" in result.stdout
    assert f"{20 - len(names)} applicants accepted by the model: no letter." in result.stdout
    rows = listed(folder)
    assert [row["applicant"] for row in rows] == table["name"].tolist()
    assert {row["without_letter"] for row in rows if not row["letter"]} == {"accepted"}
    for path in folder.glob("*.txt"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert text.startswith("Example Bank, Street 12 Reference: person")
        assert "until 31 march 2999" in text.lower() or "no option to offer" in text


def test_the_owner_is_told_of_protected_reasons_and_can_leave_them_out(bundle, people, letters, tmp_path):
    folder, result = letters
    aged = [path for path in folder.glob("*.txt") if "Age:" in path.read_text(encoding="utf-8")]
    assert aged
    note = f"note: {len(aged)} of {len(list(folder.glob('*.txt')))} letters give as a reason"
    assert note in result.stderr
    assert f"protected attribute: age ({len(aged)})" in result.stderr
    without = copa("letter", bundle, people, "--id", "name", "-o", tmp_path / "l", "--without-protected")
    assert "protected" not in without.stderr
    assert not any("Age:" in path.read_text(encoding="utf-8") for path in (tmp_path / "l").glob("*.txt"))


def test_saved_plans_give_the_letters_of_exactly_these_plans(bundle, people, letters, tmp_path):
    copa("plan", bundle, people, "--id", "name", "-o", tmp_path / "p.csv", "--certificates", tmp_path / "p.copa")
    told = ("--sender", "Example Bank, Street 12", "--valid-until", "2999-03-31", "--contact", "help@example.org")
    content = json_of("letter", bundle, "--plans", tmp_path / "p.copa", "-o", tmp_path / "l", *told)
    assert content["letters"] == len(list((tmp_path / "l").glob("*.html")))
    assert content["without_letter"]["accepted"] == 20 - content["letters"]
    for path in letters[0].iterdir():
        assert (tmp_path / "l" / path.name).read_bytes() == path.read_bytes()
    batch = PlanBatch.load(tmp_path / "p.copa")
    for plan in batch:
        path = tmp_path / "l" / f"letter-{plan.row + 1:06d}.txt"
        if plan.status == "already_valid":
            assert not path.exists()
        else:
            assert len(re.findall(r"^  Option \d", path.read_text(encoding="utf-8"), re.MULTILINE)) == plan.n_options


def test_letters_are_not_overwritten_unless_asked_for(bundle, people, letters):
    folder, _ = letters
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    line = refused("letter", bundle, people, "--id", "name", "-o", folder, code=2)
    assert "holds letters already" in line
    assert "--force" in line
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not folder.with_name("letters.partial").exists()


def test_force_replaces_the_letters_of_the_run_before(bundle, people, tmp_path):
    copa("letter", bundle, people, "-o", tmp_path / "l", "--id", "name")
    pd.read_csv(people).head(3).to_csv(tmp_path / "few.csv", index=False)
    copa("letter", bundle, tmp_path / "few.csv", "-o", tmp_path / "l", "--id", "name", "--force")
    rows = listed(tmp_path / "l")
    assert len(rows) == 3
    assert len(list((tmp_path / "l").iterdir())) == 1 + 2 * sum(bool(row["letter"]) for row in rows)


def test_an_interrupted_run_leaves_no_letters_and_goes_on(bundle, people, letters, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.cli.plan.BLOCK", 8)
    given = ("letter", bundle, people, "--id", "name", "-o", tmp_path / "l")
    told = ("--sender", "Example Bank, Street 12", "--valid-until", "2999-03-31", "--contact", "help@example.org")
    plan, asked = RecoursePlanner.plan, []

    def plan_some(self, table):
        asked.append(len(table))
        if len(asked) > 1:
            raise KeyboardInterrupt
        return plan(self, table)

    with monkeypatch.context() as stopped:
        stopped.setattr(RecoursePlanner, "plan", plan_some)
        result = copa(*given, *told, code=130)
    assert "go on with the same command and --resume" in result.stderr
    assert list((tmp_path / "l").iterdir()) == []
    copa(*given, *told, "--resume")
    assert {p.name: p.read_bytes() for p in (tmp_path / "l").iterdir()} == {
        p.name: p.read_bytes() for p in letters[0].iterdir()
    }
    assert not (tmp_path / "l.partial").exists()


def test_a_template_is_written_edited_and_checked(bundle, people, tmp_path):
    copa("letter", "--write-template", tmp_path / "mine")
    sentences = tmp_path / "mine" / "sentences.j2"
    text = sentences.read_text(encoding="utf-8")
    sentences.write_text(text.replace("Please contact us.", "Please call {{ fields.phone }}."), encoding="utf-8")
    given = ("letter", bundle, people, "--id", "name", "--template", tmp_path / "mine", "-o", tmp_path / "l")
    assert "'dict object' has no attribute 'phone'" in refused(*given, code=1)
    assert list((tmp_path / "l").iterdir()) == []
    copa(*given, "--field", "phone=0800 12 34", "--resume")  # the plans are kept
    assert all("0800 12 34" in path.read_text(encoding="utf-8") for path in (tmp_path / "l").glob("*.txt"))
    sentences.write_text(text.replace("Please contact us.", "Please call 0800 12 34."), encoding="utf-8")
    assert "the number 0800 in" in refused(*given, "--force", code=1)
    assert "exists" in refused("letter", "--write-template", tmp_path / "mine", code=2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--valid-until", "tomorrow"), "valid_until must be a day such as 2027-03-31, got 'tomorrow'"),
        (("--valid-until", "2001-01-01"), "must not be before the day of the letter"),
        (("--template", "no-such-folder"), "must be a folder with sentences.j2"),
        (("--field", "phone"), "write NAME=TEXT"),
        (("--plans", "p.copa"), "APPLICANTS (or --plans FILE in their place)"),
    ],
)
def test_wrong_use_is_said_in_one_line(bundle, people, tmp_path, more, message):
    assert message in refused("letter", bundle, people, "-o", tmp_path / "l", *more, code=2)


def test_plans_take_no_options_of_planning_and_must_be_of_the_bundle(bundle, people, bank, tmp_path):
    copa(
        "plan",
        bundle,
        people,
        "-o",
        tmp_path / "p.csv",
        "--certificates",
        tmp_path / "p.copa",
        "--max-change",
        "debt=0.5",
        "--fixed",
        "grade",
    )
    saved = ("letter", bundle, "--plans", tmp_path / "p.copa", "-o", tmp_path / "l")
    assert "--n-options has no effect" in refused(*saved, "--n-options", "2", code=2)
    same = "made with another --max-change of 'debt'; give exactly the --max-change that they were made with"
    assert "another --max-change and --fixed of 'debt', 'grade'" in refused(*saved, code=2)
    assert same in refused(*saved, "--max-change", "debt=0.4", "--fixed", "grade", code=2)
    copa(*saved, "--max-change", "debt=0.5", "--fixed", "grade")
    assert ".copa or .zip" in refused("letter", bundle, "--plans", bank / "bank.csv", "-o", tmp_path / "m", code=2)


def test_plans_of_another_bundle_are_refused(bundle, people, bank, tmp_path):
    pd.read_csv(bank / "bank.csv").head(200).to_csv(tmp_path / "fewer.csv", index=False)
    trained = (tmp_path / "fewer.csv", "--target", "paid", "--schema", bank / "schema.yaml")
    copa("fit", *trained, "-o", tmp_path / "other.bundle", *FIT)
    copa("plan", tmp_path / "other.bundle", people, "-o", tmp_path / "p.csv", "--certificates", tmp_path / "p.zip")
    saved = ("letter", bundle, "--plans", tmp_path / "p.zip", "-o", tmp_path / "l")
    assert "these plans are not of this planner" in refused(*saved, code=1)


def test_the_count_of_planning_is_part_of_what_the_command_shows(bundle, people, tmp_path, monkeypatch):
    counts = []
    monkeypatch.setattr(Stage, "advance", lambda self, n: counts.append((self.what, n)))
    copa("letter", bundle, people, "--id", "name", "-o", tmp_path / "l")
    assert sum(n for what, n in counts if what == "planning") == 20


def test_applicants_without_an_answer_are_counted(bundle, people, tmp_path):
    table = pd.read_csv(people).astype({"debt": object})
    table.loc[0, "debt"] = "much"
    table.head(2).to_csv(tmp_path / "few.csv", index=False)
    result = copa("letter", bundle, tmp_path / "few.csv", "--id", "name", "-o", tmp_path / "l", "--json")
    assert json.loads(result.stdout)["without_letter"]["unreadable"] == 1


def test_options_of_fragile_plans_are_mailed_only_when_they_are_asked_for(bundle, people, tmp_path):
    run = ("letter", bundle, people, "--id", "name", "--guarantee", "0.99999", "--json")
    result = copa(*run, "-o", tmp_path / "without")
    n_fragile = json.loads(result.stdout)["fragile_left_out"]
    assert n_fragile > 0
    assert (
        f"note: {n_fragile} options of fragile plans left out of the letters; `copa letter --include" in result.stderr
    )
    fragile = [row for row in listed(tmp_path / "without") if row["status"] == "fragile"]
    assert {row["options"] for row in fragile} == {"0"}
    text = (tmp_path / "without" / f"{fragile[0]['letter']}.txt").read_text(encoding="utf-8")
    assert "Option 1" not in text
    result = copa(*run, "-o", tmp_path / "with", "--include-fragile")
    assert json.loads(result.stdout)["fragile_left_out"] == 0
    offered = [int(row["options"]) for row in listed(tmp_path / "with") if row["status"] == "fragile"]
    assert sum(offered) == n_fragile
