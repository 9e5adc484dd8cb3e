import json

import pytest

from copa.cli import messages

EVIL = "[red]x[/red] :smile: \x1b[31m\u202e\x00"
SPELT_OUT = r"[red]x[/red] :smile: \x1b[31m\u202e\x00"


@pytest.mark.parametrize("tell", [messages.say, messages.show])
def test_what_is_told_is_shown_and_not_obeyed(capsys, tell):
    tell(f"{EVIL}\nnext")
    told = capsys.readouterr()
    assert (told.out + told.err) == f"{SPELT_OUT}\nnext\n"


def test_tables_show_names_and_cells_and_obey_none(capsys):
    messages.show_table([f"{EVIL}n"], [[f"{EVIL}\n"]])
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.strip() == f"{SPELT_OUT}n"
    assert row.strip() == rf"{SPELT_OUT}\n"


def test_json_is_the_same_content_without_a_character_that_steers(capsys):
    content = {"name": f"{EVIL}\x7f\x9b\U000e0041Zoë"}
    messages.show_json(content)
    text = capsys.readouterr().out
    assert text.rstrip("\n").isprintable()
    assert json.loads(text) == content
