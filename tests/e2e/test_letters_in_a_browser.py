"""Letters as they are printed: one page for each applicant of the demo, on A4 and on Letter."""

import base64
import re

import pytest

from copa.cli.demo import _prepare
from copa.report.letters import LetterSettings, LetterWriter
from e2e.browser_pages import HAND, in_a_browser, opened, show_at

pytestmark = in_a_browser

PAPER = {"A4": (8.27, 11.69), "Letter": (8.5, 11.0)}  # inches


@pytest.fixture(scope="module")
def letters():
    planner, declined = _prepare()
    told = {"sender": "Example Bank, Market Street 12", "contact": "loans@example.org", "valid_until": "2999-03-31"}
    return list(
        LetterWriter(planner.strategy_, LetterSettings(**told, date="2998-11-18")).write(planner.plan(declined))
    )


@pytest.fixture(scope="module")
def browser():
    with opened("about:blank") as browser:
        yield browser


def test_every_letter_of_the_demo_is_printed_on_one_page(browser, letters, tmp_path):
    assert len(letters) == 10
    for letter in letters:
        html, _ = letter.save(tmp_path)
        browser.get(html.as_uri())
        assert browser.find_elements("tag name", "h1")[0].text == "Our decision on your application"
        for name, (width, height) in PAPER.items():
            printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": width, "paperHeight": height})
            pages = re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed["data"]))
            assert len(pages) == 1, f"{letter.applicant} on {name}"
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_a_letter_fits_a_hand(browser, letters, tmp_path):
    html, _ = letters[0].save(tmp_path)
    show_at(browser, HAND)
    browser.get(html.as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= HAND[0]
