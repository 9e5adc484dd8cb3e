"""A small bank on disk, and the command run on it."""

import json
import re
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from copa.cli.app import app
from copa.planner import RecoursePlanner
from unit.planner import loans

SEARCH = ("--n-starts", "4", "--n-options", "2", "--n-jobs", "1")
FIT = ("--n-refits", "50", "--guarantee", "0.8", "--random-state", "0", *SEARCH)


def copa(*arguments, code=0):
    """Run the command in this process; fails if it ends with another exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (
        f"exit code {result.exit_code}\n{result.stdout}\n{result.stderr}\n{result.exception}"
    )
    return result


def refused(*arguments, code):
    """Run a command that must fail, with one line on stderr; returns the line."""
    result = copa(*arguments, code=code)
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    return lines[0]


def misused(*arguments):
    """Run a command that the parser itself refuses; returns what it says, without the box around it."""
    result = copa(*arguments, code=2)
    return re.sub(r"[│╭╮╰╯─\s]+", " ", result.stderr)


def process(*arguments, check=True, **more):
    """Run the command as a process of its own, in which a warning is an error unless the tests run with other rules."""
    rules = [f"-W{rule}" for rule in sys.warnoptions or ["error"]]
    command = [sys.executable, *rules, "-m", "copa.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=check, **more)  # noqa: S603 - our own command


def json_of(*arguments, code=0):
    """Run a command with --json; its stdout must be one JSON document."""
    return json.loads(copa(*arguments, "--json", code=code).stdout)


def write_bank(folder: Path) -> Path:
    """Training data, applicants and a schema as files."""
    table = loans.people(300, 0)
    table.assign(paid=loans.outcomes(table)).to_csv(folder / "bank.csv", index=False)
    people = loans.people(60, 7).reset_index(names="name")
    people.assign(town=["north", "south"] * 30).to_csv(folder / "people.csv", index=False)
    people.assign(town=["north", "south"] * 30).to_parquet(folder / "people.parquet")
    loans.SCHEMA.save(folder / "schema.yaml")
    return folder


def fit_bank(folder: Path, *more: str) -> Path:
    """The bundle of the bank."""
    bundle = folder / "bank.bundle"
    copa("fit", folder / "bank.csv", "--target", "paid", "--schema", folder / "schema.yaml", "-o", bundle, *FIT, *more)
    return bundle


def outputs(folder):
    """All files that a run is asked for."""
    return ("-o", folder / "p.csv", "-o", folder / "p.copa", "--id", "name")


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def stop_after(monkeypatch, parts, interruption=KeyboardInterrupt):
    """Let the planner be interrupted when it is asked for one part too many."""
    plan, asked = RecoursePlanner.plan, []

    def plan_some(self, table):
        asked.append(len(table))
        if len(asked) > parts:
            raise interruption
        return plan(self, table)

    monkeypatch.setattr(RecoursePlanner, "plan", plan_some)
    return asked
