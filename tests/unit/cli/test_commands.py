"""How commands are declared and run: flags, options of groups, dataclasses of options, errors in one line."""

import json
import re
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from copa import Feature, FeatureSchema
from copa.cli import commands as commands_of
from copa.cli.app import app
from copa.cli.commands import Command, guarded

EVIL = "[red]x[/red] :smile: \x1b[31m\u202e\x00"
SPELT_OUT = r"[red]x[/red] :smile: \x1b[31m\u202e\x00"


def commands(group, path=()):
    """All commands with the words that call them, groups included."""
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))
CALLED = [path for path, command in COMMANDS.items() if not hasattr(command, "commands")]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_flags_as_flags(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    result = CliRunner().invoke(app, [*path, "--help"])
    assert result.exit_code == 0
    lines = [re.split(r"\s{2,}", line.strip("│* \n")) for line in result.stdout.splitlines() if " --" in line]
    shown = {word for words in lines for word in words if word.startswith("--")}
    flags = {name for param in COMMANDS[path].params if getattr(param, "is_flag", False) for name in param.opts}
    hidden = {name for param in COMMANDS[path].params if getattr(param, "hidden", False) for name in param.opts}
    assert {name for name in flags - hidden if name.startswith("--")} <= shown
    assert "--help" in shown
    assert "bool" not in result.stdout.lower()
    assert "--no-" not in result.stdout


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_that_is_true_or_false_is_a_plain_flag(path):
    flags = [param for param in COMMANDS[path].params if getattr(param, "is_flag", False)]
    assert all(flag.secondary_opts == [] for flag in flags)


@pytest.mark.parametrize("path", CALLED, ids=" ".join)
def test_every_command_shows_the_options_of_its_groups(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = CliRunner().invoke(app, [*path, "--help"]).stdout
    for option in ("--quiet", "-q", "--json", "--debug", "--n-jobs", "--delimiter", "--raw-cells"):
        assert option in text
    assert ("--ledger" in text) == (path[0] in ("promises", "serve"))


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "--delimiter", ";", "schema", "validate", "SCHEMA", "DATA"],
        ["schema", "--json", "validate", "--delimiter=;", "SCHEMA", "DATA"],
        ["--delimiter", ",", "schema", "validate", "SCHEMA", "--delimiter", ";", "DATA", "--json"],
    ],
)
def test_options_of_a_group_may_stand_anywhere_and_the_last_counts(words, tmp_path):
    files = {"SCHEMA": tmp_path / "s.yaml", "DATA": tmp_path / "t.csv"}
    FeatureSchema([Feature("a", "integer"), Feature("b", "integer")]).save(files["SCHEMA"])
    files["DATA"].write_text("a;b\n1;2\n")
    result = CliRunner().invoke(app, [str(files.get(word, word)) for word in words])
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["rows"] == 1


def test_an_option_that_is_given_once_does_not_last(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    infer = ["schema", "infer", str(tmp_path / "t.csv"), "-o", str(tmp_path / "s.yaml")]
    assert CliRunner().invoke(app, [*infer, "--json"]).stdout.startswith("{")
    assert not CliRunner().invoke(app, infer).stdout.startswith("{")


@dataclass(frozen=True, kw_only=True)
class Sizes:
    width: Annotated[int, typer.Option(help="Width.")] = 1
    height: Annotated[int, typer.Option(help="Height.")] = 2


def test_fields_of_a_dataclass_become_options():
    seen = []

    def draw(name: Annotated[str, typer.Argument()], sizes: Sizes, *, colour: str = "red") -> None:
        seen.append((name, sizes, colour))

    other = typer.Typer()
    other.command(cls=Command)(guarded(draw))
    result = CliRunner().invoke(other, ["box", "--height", "5", "--colour", "blue"])
    assert result.exit_code == 0, result.stderr
    assert seen == [("box", Sizes(width=1, height=5), "blue")]


def test_an_error_is_one_line_whatever_is_in_it(capsys):
    commands_of.fail(f"bad {EVIL}\u2028\n end", 1)
    assert capsys.readouterr().err == f"error: bad {SPELT_OUT}\\u2028 end\n"


def test_an_error_that_nobody_foresaw_does_not_print_whole_tables(capsys):
    def fails():
        raise RuntimeError("cell " * 10_000)

    assert commands_of._attempt(fails, {}, 7) == 7
    line = capsys.readouterr().err
    assert line.startswith("error: unexpected RuntimeError: cell cell")
    assert line.endswith("...; rerun with --debug for the traceback\n")
    assert len(line) < 400


def test_a_traceback_is_shown_and_not_obeyed(capsys):
    def fails():
        raise RuntimeError(EVIL)

    token = commands_of._given.set({"copa.debug": True})
    try:
        commands_of._attempt(fails, {}, 1)
    finally:
        commands_of._given.reset(token)
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert not set(told) & set("\x1b\u202e\x00")
