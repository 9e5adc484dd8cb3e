"""Files of commands: outputs that would overwrite something are refused, and wishes are read."""

import os
import re
from pathlib import Path

import pytest

from copa import Feature, FeatureSchema
from copa.cli.files import read_wishes, require_outputs, require_report
from copa.cli.messages import MisuseError
from copa.cli.options import ApplicantOptions, WishOptions
from unit.planner import loans


def read(max_change=None, fixed=None, weight=None, schema=loans.SCHEMA):
    return read_wishes(WishOptions(max_change=max_change, fixed=fixed, weight=weight), schema)


def test_different_files_are_fine(tmp_path):
    require_outputs([tmp_path / "p.json", tmp_path / "q.json"], (".json",), tmp_path / "input.csv", None)
    require_outputs(tmp_path / "p.json", ())
    require_outputs(None, (), tmp_path / "input.csv")


def test_one_file_for_two_outputs_is_misuse_whether_it_exists_or_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    path = tmp_path / "p.json"
    for other in (path, path.relative_to(tmp_path), tmp_path / "folder" / ".." / "p.json"):
        with pytest.raises(MisuseError, match="two outputs are the same file"):
            require_outputs([path, other], ())


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_to_one_file_are_the_same_file(tmp_path, link):
    path, other = tmp_path / "p.json", tmp_path / "q.json"
    path.write_text("old")
    link(path, other)
    with pytest.raises(MisuseError, match="are the same file"):
        require_outputs([path, other], ())
    with pytest.raises(MisuseError, match="both read and written"):
        require_outputs(other, (), path)


def test_a_link_to_a_file_that_is_not_there_yet_is_the_same_file(tmp_path):
    (tmp_path / "q.json").symlink_to(tmp_path / "p.json")
    with pytest.raises(MisuseError, match="are the same file"):
        require_outputs([tmp_path / "p.json", tmp_path / "q.json"], ())


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("income=0.3", 0.3),
        ("debt=+12/-6", {"up": 12.0, "down": 6.0}),
        ("debt=-6/+12.5", {"up": 12.5, "down": 6.0}),
        ("debt=+0", {"up": 0.0}),
        ("grade=-1", {"down": 1.0}),
    ],
)
def test_largest_changes_are_shares_or_units_up_and_down(text, change):
    assert list(read([text]).max_change.values()) == [change]


def test_columns_with_an_equals_sign_are_read():
    odd = FeatureSchema([Feature("a=b", "numeric")])
    assert read(["a=b=0.5"], schema=odd).max_change == {"a=b": 0.5}
    assert read(schema=odd).to_dict() == {}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["incme=0.3"],
            "there is no column 'incme'; did you mean 'income'.*write COLUMN=SHARE, such as amount=0.3, or C",
        ),
        (["income"], "there is no column ''.*write COLUMN=SHARE"),
        (
            ["income=much"],
            "--max-change income=much: cannot be read; write COLUMN=SHARE, such as amount=0.3, or COLUMN=+",
        ),
        (["income=+3/+4"], "cannot be read"),
        (["income=+3/4"], "cannot be read"),
        (["income=+"], "cannot be read"),
        (["income=0.3", "income=0.4"], "column 'income' is there twice"),
        (["age=0.3"], "column 'age' is immutable"),
        (["job=+1"], "column 'job': max_change means nothing for kind 'categorical'"),
        (["grade=0.3"], "column 'grade': max_change of an ordinal counts levels"),
        (["income=0"], "column 'income': max_change .* must be a positive number, got 0"),
        (["income=nan"], "column 'income': max_change .* must be a positive number"),
    ],
)
def test_a_largest_change_that_cannot_be_is_misuse_that_says_what_can(texts, message):
    with pytest.raises(MisuseError, match=message):
        read(texts)


def test_what_only_a_report_can_do_takes_one():
    with pytest.raises(MisuseError, match=r"give its name with -o FILE.html"):
        require_report(ApplicantOptions(totals_only=True), [Path("p.csv")])
    require_report(ApplicantOptions(totals_only=True), [Path("r.html")])
    require_report(ApplicantOptions(), [])


@pytest.mark.parametrize(
    ("fixed", "weight", "message"),
    [
        (["jbo"], None, "--fixed jbo: there is no column 'jbo'; did you mean 'job'"),
        (None, ["debt"], "--weight debt: there is no column ''"),
        (None, ["debt=much"], "--weight debt=much: cannot be read; write COLUMN=FACTOR, such as savings=0.5"),
        (None, ["debt=0"], "the factor of column 'debt' must be a number from 0.01 to 100, got 0.0"),
        (None, ["debt=2", "debt=3"], "--weight: column 'debt' is there twice"),
        (None, ["age=2"], "--weight age=2: column 'age' is immutable"),
    ],
)
def test_wishes_that_cannot_be_are_misuse(fixed, weight, message):
    with pytest.raises(MisuseError, match=re.escape(message)):
        read(None, fixed, weight)


def test_wishes_of_the_command_line_are_read():
    wishes = read(["income=0.5"], ["job"], ["debt=0.5"])
    assert wishes.to_dict() == {"fixed": ["job"], "max_change": {"income": 0.5}, "weights": {"debt": 0.5}}
