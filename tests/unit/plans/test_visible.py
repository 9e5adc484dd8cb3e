from dataclasses import replace

import numpy as np
import pytest

from copa._core.html import environment
from copa._core.words import visible
from copa.report.figures import plain_text
from unit.plans.plan_batches import german_batch

STEERING = "\x00\x07\x08\x1b[2J\r\x7f\x9b\u061c\u200b\u200e\u200f\u2028\ufeff"
STEERING += "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize(
    ("text", "spelt_out"),
    [
        ("\x00", r"\x00"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\r", r"\r"),
        ("\udc80", r"\udc80"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_characters_that_steer_are_spelt_out(text, spelt_out):
    assert visible(text) == spelt_out
    assert visible(visible(text)) == spelt_out


@pytest.mark.parametrize(
    "text", ["Zoë", "שלום", "\u0645\u06cc\u200c\u062e", "👩\u200d👧", "a\u00a0b", "C:\\u202e", "18", "日本"]
)
def test_words_of_any_language_stay_as_they_are(text):
    assert visible(text) == text
    assert visible(text, lines=False) == text


def test_ends_of_lines_stay_unless_text_must_keep_to_its_line():
    assert visible("a\n\tb") == "a\n\tb"
    assert visible("a\n\tb", lines=False) == r"a\n\tb"


def test_pages_and_figures_hold_no_character_that_steers():
    for shown in (environment().from_string("{{ text }}").render(text=STEERING), plain_text(STEERING)):
        assert not set(shown) & (set(STEERING) - set("[2J"))
        assert r"\u202e" in shown


def test_neither_cards_nor_sentences_obey_what_is_in_the_cells():
    batch = german_batch()
    evil = {
        "applicants": batch.applicants.rename(columns={"duration": STEERING}).set_axis([f"{STEERING}\nOption 9"] * 7),
        "options": batch.options.rename(columns={"duration": STEERING}).assign(savings=STEERING),
        "message": np.full(7, STEERING),
    }
    steered = replace(batch, **evil)
    for text in (steered[0].explain(), steered[0]._repr_html_(), steered._repr_html_(), repr(steered[0])):
        assert not set(text) & (set(STEERING) - set("[2J"))
        assert r"\u202e" in text
        assert "\nOption 9" not in text
