"""`copa letter`, as the owner of a bank runs it."""

import csv
import json
import re

import pandas as pd
import pytest

from copa import PlanBatch
from copa._core.progress import Stage
from copa.planner.bundle import load_bundle
from e2e.command_runs import FIT, contents, copa, json_of, refused


@pytest.fixture(scope="module")
def people(bank):
    """Twenty of the applicants."""
    pd.read_csv(bank / "people.csv").head(20).to_csv(bank / "some.csv", index=False)
    return bank / "some.csv"


@pytest.fixture(scope="module")
def plans(bank, bundle, people):
    """Their plans, as a run."""
    copa("plan", bundle, people, "--id", "name", "-o", bank / "run")
    return bank / "run"


@pytest.fixture(scope="module")
def letters(bank, bundle, plans):
    """The letters of a whole run, and what it said."""
    told = ("--sender", "Example Bank, Street 12", "--valid-until", "2999-03-31", "--contact", "help@example.org")
    return bank / "letters", copa("letter", bundle, plans, "-o", bank / "letters", *told)


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


def test_the_owner_is_told_of_protected_reasons_and_can_leave_them_out(bundle, plans, letters, tmp_path):
    folder, result = letters
    aged = [path for path in folder.glob("*.txt") if "Age:" in path.read_text(encoding="utf-8")]
    assert aged
    note = f"note: {len(aged)} of {len(list(folder.glob('*.txt')))} letters give as a reason"
    assert note in result.stderr
    assert f"protected attribute: age ({len(aged)})" in result.stderr
    without = copa("letter", bundle, plans, "-o", tmp_path / "l", "--without-protected")
    assert "protected" not in without.stderr
    assert not any("Age:" in path.read_text(encoding="utf-8") for path in (tmp_path / "l").glob("*.txt"))


def test_saved_plans_give_the_letters_of_exactly_these_plans(bundle, people, letters, tmp_path):
    copa("plan", bundle, people, "--id", "name", "-o", tmp_path / "p.csv", "-o", tmp_path / "p.copa")
    told = ("--sender", "Example Bank, Street 12", "--valid-until", "2999-03-31", "--contact", "help@example.org")
    content = json_of("letter", bundle, tmp_path / "p.copa", "-o", tmp_path / "l", *told)
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


def test_letters_are_not_overwritten_unless_asked_for(bundle, plans, letters):
    folder, _ = letters
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    line = refused("letter", bundle, plans, "-o", folder, code=2)
    assert "holds letters already" in line
    assert "--force" in line
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_force_replaces_the_letters_of_the_run_before(bundle, plans, tmp_path):
    copa("letter", bundle, plans, "-o", tmp_path / "l")
    PlanBatch.load(plans)[:3].save(tmp_path / "few.copa")
    copa("letter", bundle, tmp_path / "few.copa", "-o", tmp_path / "l", "--force")
    rows = listed(tmp_path / "l")
    assert len(rows) == 3
    assert len(list((tmp_path / "l").iterdir())) == 1 + 2 * sum(bool(row["letter"]) for row in rows)


def test_an_interruption_leaves_no_letters(bundle, plans, tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("copa.report.letters.folder.LetterFolder._kept", stopped)
    assert copa("letter", bundle, plans, "-o", tmp_path / "l", code=130).stderr.endswith("stopped.\n")
    assert list((tmp_path / "l").iterdir()) == []


def test_letters_do_not_depend_on_how_the_run_is_cut(bundle, people, letters, tmp_path, monkeypatch):
    monkeypatch.setattr("copa.planner.runs.PART_ROWS", 8)
    told = ("--sender", "Example Bank, Street 12", "--valid-until", "2999-03-31", "--contact", "help@example.org")
    copa("plan", bundle, people, "--id", "name", "-o", tmp_path / "run")
    copa("letter", bundle, tmp_path / "run", "-o", tmp_path / "l", *told)
    assert len(list((tmp_path / "run").glob("part-*"))) == 3
    assert contents(tmp_path / "l") == contents(letters[0])


def test_a_template_is_written_edited_and_checked(bundle, plans, tmp_path):
    copa("letter", "--write-template", tmp_path / "mine")
    sentences = tmp_path / "mine" / "sentences.j2"
    text = sentences.read_text(encoding="utf-8")
    sentences.write_text(text.replace("Please contact us.", "Please call {{ fields.phone }}."), encoding="utf-8")
    given = ("letter", bundle, plans, "--template", tmp_path / "mine", "-o", tmp_path / "l")
    assert "'dict object' has no attribute 'phone'" in refused(*given, code=1)
    assert list((tmp_path / "l").iterdir()) == []
    copa(*given, "--field", "phone=0800 12 34")
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
        (("--force",), "give BUNDLE, PLANS and -o DIR"),
    ],
)
def test_wrong_use_is_said_in_one_line(bundle, plans, tmp_path, more, message):
    given = (bundle,) if more == ("--force",) else (bundle, plans)
    assert message in refused("letter", *given, "-o", tmp_path / "l", *more, code=2)


def test_letters_of_plans_with_wishes_go_by_these(bundle, people, bank, tmp_path):
    wished = ("--max-change", "debt=0.5", "--fixed", "grade")
    copa("plan", bundle, people, "-o", tmp_path / "p.copa", *wished)
    result = copa("letter", bundle, tmp_path / "p.copa", "-o", tmp_path / "l")
    assert "note: these plans were made with limits, weights or fixed columns of their own: 'debt', 'grade'" in (
        " ".join(result.stderr.split())
    )
    assert not any("Grade" in line for path in (tmp_path / "l").glob("*.txt") for line in _options(path))
    assert ".copa or .zip" in refused("letter", bundle, bank / "bank.csv", "-o", tmp_path / "m", code=2)


def _options(path):
    """Lines of a letter from its first option on."""
    text = path.read_text(encoding="utf-8")
    return text[text.find("Option 1") :].splitlines() if "Option 1" in text else []


def test_plans_of_another_bundle_are_refused(bundle, people, bank, tmp_path):
    pd.read_csv(bank / "bank.csv").head(200).to_csv(tmp_path / "fewer.csv", index=False)
    trained = (tmp_path / "fewer.csv", "--target", "paid", "--schema", bank / "schema.yaml")
    copa("fit", *trained, "-o", tmp_path / "other.bundle", *FIT)
    copa("plan", tmp_path / "other.bundle", people, "-o", tmp_path / "p.zip")
    saved = ("letter", bundle, tmp_path / "p.zip", "-o", tmp_path / "l")
    assert "these plans are not of this planner" in refused(*saved, code=1)


def test_the_count_of_planning_is_part_of_what_the_command_shows(bundle, people, tmp_path, monkeypatch):
    counts = []
    monkeypatch.setattr(Stage, "advance", lambda self, n: counts.append((self.what, n)))
    copa("plan", bundle, people, "--id", "name", "-o", tmp_path / "run")
    assert sum(n for what, n in counts if what == "planning") == 20


def test_applicants_without_an_answer_are_counted(bundle, people, tmp_path):
    table = pd.read_csv(people).astype({"debt": object})
    table.loc[0, "debt"] = "much"
    table.head(2).to_csv(tmp_path / "few.csv", index=False)
    copa("plan", bundle, tmp_path / "few.csv", "--id", "name", "-o", tmp_path / "run")
    result = copa("letter", bundle, tmp_path / "run", "-o", tmp_path / "l", "--json")
    assert json.loads(result.stdout)["without_letter"]["unreadable"] == 1


def test_options_of_fragile_plans_are_mailed_only_when_they_are_asked_for(bundle, people, tmp_path):
    copa("plan", bundle, people, "--id", "name", "--guarantee", "0.99999", "-o", tmp_path / "run")
    run = ("letter", bundle, tmp_path / "run", "--json")
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
