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


def test_an_error_is_one_line_whatever_is_in_it(capsys):
    messages.fail(f"bad {EVIL}\u2028\n end", 1)
    assert capsys.readouterr().err == f"error: bad {SPELT_OUT}\\u2028 end\n"


def test_an_error_that_nobody_foresaw_does_not_print_whole_tables(capsys):
    def fails():
        raise RuntimeError("cell " * 10_000)

    assert messages._attempt(fails, (), {}) == messages.FAILED
    line = capsys.readouterr().err
    assert line.startswith("error: unexpected RuntimeError: cell cell")
    assert line.endswith("...; rerun with --debug for the traceback\n")
    assert len(line) < 400


def test_a_traceback_is_shown_and_not_obeyed(capsys):
    def fails():
        raise RuntimeError(EVIL)

    token = messages.debugging.set(True)
    try:
        messages._attempt(fails, (), {})
    finally:
        messages.debugging.reset(token)
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert not set(told) & set("\x1b\u202e\x00")
