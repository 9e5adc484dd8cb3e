"""Promises in the explorer, in a real browser: recorded from a card, and seen by validators as the service has them."""

import pytest

from copa._core.words import rounded_down
from copa.promises import Ledger
from e2e.browser_pages import DESK, HAND, accessibility_findings, enter, find, in_a_browser, opened, show_at
from e2e.explorer_pages import EVIL, Asker, bank_settings, click, give_token, odd_bank, served, until

pytestmark = in_a_browser
READ = "document.querySelector('#panels > section') && !document.querySelector('#panels > [aria-busy]')"


@pytest.fixture(scope="module")
def bank():
    return odd_bank()


@pytest.fixture(scope="module")
def browser():
    with opened("about:blank") as browser:
        yield browser


@pytest.fixture
def url(bank, tmp_path):
    """A service with a token and an empty ledger."""
    Ledger.open(tmp_path / "promises.db", create=True).close()
    with served(bank, ledger=f"sqlite:///{tmp_path}/promises.db", **bank_settings(bank)) as url:
        yield url


@pytest.fixture
def asker(url, bank):
    with Asker(url, bank) as asker:
        yield asker


@pytest.fixture
def page(browser, url):
    show_at(browser, DESK)
    browser.get("about:blank")
    browser.get(url)
    give_token(browser)
    browser.get_log("browser")
    return browser


def promise(asker, n_people):
    """Promise all options of some people, one of whom has an odd name."""
    for k in range(n_people):
        row = asker.get(f"v1/applicants/person {k}")["row"]
        body = {"applicant": row, "name": f"person {k}" if k else EVIL, "valid_for": "12 months"}
        asker.post("v1/promises", body | {"recorded_by": "desk 4"})


def show_validators(page):
    """Open the view, and wait until all panels are there; their texts by title."""
    click(page, "#tab-plan")
    click(page, "#tab-validators")
    until(page, READ)
    until(page, "document.querySelector('#chain')?.className !== 'note'")
    return {section.text.split("\n")[0]: section for section in find(page, "#panels > section")}


CELLS = """
    const [section, caption] = arguments, all = (it, selector) => Array.from(it.querySelectorAll(selector));
    const tables = all(section, "table").filter((it) => it.caption.textContent.startsWith(caption));
    return tables.map((it) => all(it, "tbody tr").map((row) => Array.from(row.children).map((cell) => cell.innerText)));
"""


def cells(section, caption):
    """Rows of a table."""
    (rows,) = section.parent.execute_script(CELLS, section, caption)
    return rows


def test_an_option_is_promised_from_its_card(page, asker):
    from selenium.webdriver.common.keys import Keys

    sections = show_validators(page)
    assert "Nothing is promised yet" in sections["Promises"].text
    assert "No promise is open" in sections["What the next model may break"].text
    click(page, "#tab-plan")
    page.execute_script("document.querySelectorAll('.promise-option')[1].focus()")
    page.switch_to.active_element.send_keys(Keys.ENTER)
    until(page, "document.getElementById('promise-dialog')?.open")
    assert page.execute_script("return document.activeElement.id") == "promise-name"
    assert accessibility_findings(page) == []
    enter(page, "#promise-until", "2020-01-31")
    enter(page, "#promise-by", "desk 4")
    page.execute_script("document.getElementById('promise-form').noValidate = true")
    page.switch_to.active_element.send_keys(EVIL, Keys.ENTER)
    until(page, "document.querySelector('#promise-status.error')")
    assert find(page, "#promise-status")[0].text.startswith("The promise would end on 2020-01-31")
    page.get_log("browser")  # which says that an answer was 422
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    until(page, "!document.getElementById('promise-dialog')")
    assert "promise-option" in page.execute_script("return document.activeElement.className")  # where one was before
    assert asker.get("v1/promises")["promises"] == []

    page.switch_to.active_element.send_keys(Keys.ENTER)
    until(page, "document.getElementById('promise-dialog')?.open")
    assert len(find(page, "#promise-form:invalid #promise-by:invalid")) == 1  # nobody is named yet
    enter(page, "#promise-by", "desk 4")
    page.switch_to.active_element.send_keys(EVIL, Keys.ENTER)
    until(page, "document.activeElement.className === 'promised'")  # once the dialog has closed
    (listed,) = asker.get("v1/promises")["promises"]
    row = asker.get("explorer/example")["row"]
    options = asker.post("v1/plan", {"applicants": [row]})["plans"][0]["options"]
    assert (listed["applicant"], listed["option"], listed["row"]) == (EVIL, 2, options[1]["row"])
    assert listed["recorded_by"] == "desk 4"
    said = find(page, ".promised")[0].text
    assert (listed["promise"] in said, listed["valid_until"] in said) == (True, True)
    assert len(find(page, ".promise-option")) == len(options) - 1
    click(page, ".promise-option")
    assert find(page, "#promise-by")[0].get_attribute("value") == "desk 4"  # for the session
    assert find(page, "#promise-fragile") == []
    click(page, "#promise-form [type=button]")
    until(page, "!document.getElementById('promise-dialog')")
    sections = show_validators(page)  # read again
    assert EVIL in sections["Promises"].text
    assert page.get_log("browser") == []


def test_an_option_of_a_fragile_plan_is_promised_only_by_who_says_so(page, asker):
    asked = {"applicants": [asker.get("explorer/example")["row"]], "guarantee": 0.99}
    assert asker.post("v1/plan", asked)["plans"][0]["status"] == "fragile"
    enter(page, "#level", "0.99")
    until(page, "document.querySelector('#result').textContent.includes('below the guarantee asked for')")
    click(page, ".promise-option")
    enter(page, "#promise-name", "ann")
    enter(page, "#promise-by", "desk 4")
    click(page, "#promise-form [type=submit]")
    assert page.execute_script("return document.querySelector('#promise-fragile:invalid') !== null")
    assert asker.get("v1/promises")["promises"] == []
    click(page, "#promise-fragile")
    assert accessibility_findings(page) == []
    click(page, "#promise-form [type=submit]")
    until(page, "document.querySelector('.promised')")
    assert len(asker.get("v1/promises")["promises"]) == 1


def test_validators_see_ledger_and_portfolio_as_the_service_has_them(page, asker):
    promise(asker, 9)
    sections = show_validators(page)
    ledger, listed = sections["Promises"], asker.get("v1/promises", limit=20)
    counts = asker.get("v1/promises/summary")["counts"]
    assert listed["more"]
    assert f"Open\n{counts['open']}\nKept\n0" in ledger.text
    assert f"its {asker.get('v1/promises/check')['events']} events is whole" in ledger.text
    names = ("model_version", "made", "valid_until", "recorded_by", "promise")
    assert cells(ledger, f"Open promises, the first 20 of {counts['open']}") == [
        [it["applicant"], str(it["option"]), f"at least {rounded_down(it['option_guarantee'])}", *map(it.get, names)]
        for it in listed["promises"]
    ]
    portfolio, risk = sections["What the next model may break"], asker.get("v1/promises/portfolio")
    assert all(words in portfolio.text for words in risk["in_words"])
    label = find(page, ".histogram svg")[0].get_attribute("aria-label")
    bars = [int(number) for number in label.partition("bars of ")[2].removesuffix(" refits").split(", ")]
    assert (sum(bars), len(bars)) == (len(risk["shares"]), 20)
    most = max(*risk["shares"], 0.05)
    assert bars[0] == sum(share < most / 20 for share in risk["shares"])
    assert page.get_log("browser") == []
    for dark, size in ((False, DESK), (True, HAND)):
        show_at(page, size, dark=dark)
        assert accessibility_findings(page) == []
        assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert find(page, "img, #panels b") == []
