"""Help shows options that take no value without one, and every command has --quiet."""

import re
import typing

import pytest
import typer
from typer.testing import CliRunner

from copa.cli.app import app


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


@pytest.mark.parametrize("path", CALLED, ids=" ".join)
def test_every_option_that_is_true_or_false_is_a_plain_flag(path):
    command = COMMANDS[path]
    wanted = {name for name, hint in typing.get_type_hints(command.callback).items() if hint is bool}
    flags = {param.name: param for param in command.params if param.name in wanted}
    assert set(flags) == wanted
    assert all(flag.is_flag and flag.secondary_opts == [] for flag in flags.values())


@pytest.mark.parametrize("path", CALLED, ids=" ".join)
def test_every_command_can_be_quiet(path):
    assert ["--quiet", "-q"] in [param.opts for param in COMMANDS[path].params]
