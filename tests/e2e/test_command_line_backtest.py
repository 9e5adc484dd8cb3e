"""`copa backtest`: dated data in, verdict, table, JSON and page out."""

import json

import numpy as np
import pandas as pd
import pytest

from copa.data.datasets import make_dated
from e2e.command_runs import SEARCH, copa, json_of, refused

QUICK = ("--n-applicants", "25", "--horizon", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Loans of five quarters, the last of which is after a break, with dates beside the quarters."""
    folder = tmp_path_factory.mktemp("dated")
    loans = make_dated(5, break_at=4, break_size=1.5)
    table = loans.table(250)
    numbers = table["quarter"].str[-1].astype(int) * 3 - 1
    dates = table["quarter"].str[:4] + "-" + numbers.map("{:02d}".format) + "-15"
    table.assign(approved=dates).to_csv(folder / "loans.csv", index=False)
    loans.schema.save(folder / "loans.yaml")
    return folder


@pytest.fixture(scope="module")
def bundle(folder):
    """A planner for the model of the last quarter before the break."""
    newest = pd.read_csv(folder / "loans.csv").query("quarter == '2015Q4'").drop(columns=["quarter", "approved"])
    newest.to_csv(folder / "newest.csv", index=False)
    said = ("--target", "paid", "--favourable", "yes", "--schema", folder / "loans.yaml")
    settings = ("--guarantee", "0.7", "--n-refits", "64", "--random-state", "0", *SEARCH)
    copa("fit", folder / "newest.csv", *said, *settings, "-o", folder / "bundle")
    return folder / "bundle"


@pytest.fixture(scope="module")
def given(folder, bundle):
    return bundle, folder / "loans.csv", *QUICK


def test_a_break_is_named_on_the_terminal_and_on_the_page(folder, given):
    page = folder / "page.html"
    result = copa(
        "backtest", *given, "--by", "quarter", "--guarantee", "0.9", "-o", page
    )  # exit code 0 whatever the verdict is
    assert "(by 2016Q1), in 3 transitions" in result.stdout
    assert result.stdout.count("There are too few transitions to say whether promises were kept.") == 1
    assert "verdict" in result.stdout
    assert "No history shows a break that has not happened yet" in result.stdout
    assert "There are too few transitions to say whether promises were kept." in page.read_text(encoding="utf-8")


def test_a_weak_model_is_said_once_and_without_a_source_path(folder, given):
    table = pd.read_csv(folder / "loans.csv")
    newest = table["quarter"] == "2016Q1"
    table.loc[newest, "paid"] = np.where(np.arange(newest.sum()) % 20 == 0, "no", "yes")  # whoever it is
    table.to_csv(folder / "noise.csv", index=False)
    result = copa(
        "backtest", given[0], folder / "noise.csv", *given[2:], "--by", "quarter", "-o", folder / "noise.html"
    )
    assert result.stdout.count("Weak model: on its own rows it is no better") == 1
    assert "Warning" not in result.stderr
    assert ".py" not in result.stderr
    assert (folder / "noise.html").read_text(encoding="utf-8").count("Weak model: on its own rows") == 1


def test_json_is_the_whole_record_and_dates_are_put_into_periods(folder, given):
    out = folder / "backtest.json"
    content = json_of("backtest", *given, "--by", "approved", "--every", "quarter", "-o", out)
    assert json.loads(out.read_text()) == content
    assert content["versions"] == ["2015Q1", "2015Q2", "2015Q3", "2015Q4", "2016Q1"]
    assert content["format"] == "copa-backtest"
    assert content["horizons"][0]["lowest_at"] == "2016Q1"
    assert [t["later"] for t in content["transitions"]] == ["2015Q3", "2015Q4", "2016Q1"]


def test_the_bundle_brings_its_model_its_schema_and_its_settings(folder, bundle):
    early = pd.read_csv(folder / "loans.csv").query("quarter < '2016Q1'")
    early.to_csv(folder / "early.csv", index=False)
    small = ("--n-applicants", "5", "--horizon", "2")
    content = json_of("backtest", bundle, folder / "early.csv", "--by", "quarter", *small)
    assert content["guarantee"] == 0.7
    assert [h["horizon"] for h in content["horizons"]] == [1, 2]
    assert content["starts"][0]["n_older"] == 1
    assert "older version" in content["starts"][0]["radius_source"]


@pytest.mark.slow
def test_without_dates_the_rows_are_split_and_nothing_is_certified(folder, given):
    one = pd.read_csv(folder / "loans.csv").query("quarter == '2015Q1'").drop(columns="quarter")
    one.to_csv(folder / "one.csv", index=False)
    result = copa("backtest", given[0], folder / "one.csv", *given[2:], "--guarantee", "0.6")
    assert "forecast only" in result.stdout
    assert "cannot certify one sample" in result.stdout
    assert "the rows are split" in result.stderr


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--by", "qarter"], 2, "has no column 'qarter'; did you mean 'quarter'?"),
        (["--by", "income"], 1, "versions must be 2 to 100"),
        (["--by", "job", "--every", "year"], 1, "column 'job' must hold dates such as 2024-03-31"),
        (["--every", "year"], 2, "--every is about the dates in --by"),
        (["--by", "paid"], 2, "--by and --target are the same column, 'paid'"),
        (["--by", "quarter", "-o", "page.txt"], 2, "must end in .html or .json"),
        (["--by", "quarter", "--horizon", "0"], 2, "horizon must be a whole number of at least 1"),
    ],
)
def test_wrong_use_is_one_line(given, more, code, message):
    assert message in refused("backtest", *given, *more, code=code)


def test_a_version_with_one_outcome_only_is_named(folder, given):
    table = pd.read_csv(folder / "loans.csv")
    table[(table["quarter"] != "2015Q2") | (table["paid"] == "yes")].to_csv(folder / "odd.csv", index=False)
    message = refused("backtest", given[0], folder / "odd.csv", *given[2:], "--by", "quarter", code=1)
    assert "version '2015Q2' has" in message
    assert "all of them with the same 'paid'" in message


def test_help_says_what_it_does():
    text = copa("backtest", "--help").stdout
    assert "ask the later ones" in " ".join(text.split())
    assert all(option in text for option in ("--by", "--every", "--horizon", "-o", "--json"))
