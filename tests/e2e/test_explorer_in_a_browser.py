"""The explorer as people use it: in a real browser, at the width of a desk and of a hand, with every number checked."""

import base64
import json

import pytest

from e2e.browser_pages import DESK, HAND, accessibility_findings, enter, find, in_a_browser, opened, show_at
from e2e.explorer_pages import (
    EVIL,
    NAMES,
    ODD,
    PERSON,
    SHOWN,
    Asker,
    bank_settings,
    click,
    give_token,
    odd_bank,
    served,
    settled,
    until,
)

pytestmark = in_a_browser
BOTH = pytest.mark.parametrize("size", [DESK, HAND], ids=["desk", "hand"])


@pytest.fixture(scope="module")
def bank():
    return odd_bank()


@pytest.fixture(scope="module")
def url(bank):
    with served(bank, **bank_settings(bank)) as url:
        yield url


@pytest.fixture(scope="module")
def asker(url, bank):
    with Asker(url, bank) as asker:
        yield asker


@pytest.fixture(scope="module")
def browser(url):
    with opened(url) as browser:
        give_token(browser)
        yield browser


@pytest.fixture
def page(browser, url):
    """The page as it is when one comes back to it; the token is known to the tab."""
    show_at(browser, DESK)
    browser.get("about:blank")
    browser.get(url)
    until(browser, "document.querySelector('.copa-card')")
    return browser


def choose(page, name):
    """Search an applicant and choose them; return what was asked for."""
    enter(page, "#search", name)
    until(page, f"document.querySelector('#names button')?.textContent === {json.dumps(name)}")
    return settled(page, lambda: click(page, "#names button"))


def named(column):
    """A wish of the form for a column."""
    return f'#form [data-wish="{column}"]'


@BOTH
def test_each_wish_changes_the_plan_and_every_number_is_the_services(page, asker, size):
    show_at(page, size)
    name = PERSON
    row = asker.get(f"v1/applicants/{name}")["row"]
    asked = {"applicants": [row], "guarantee": 0.8, "horizon": 1, "n_options": 3}
    steps = [
        ({}, lambda: choose(page, name)),
        ({"horizon": 3}, lambda: settled(page, lambda: enter(page, "#horizon", "3"))),
        ({"guarantee": 0.6}, lambda: settled(page, lambda: enter(page, "#level", "0.6"))),
        ({"n_options": 1}, lambda: settled(page, lambda: enter(page, "#options", "1"))),
        ({"weights": {"debt": 0.25}}, lambda: settled(page, lambda: click(page, f"{named('debt')} .rather button"))),
        ({"max_change": {"income": {"up": 16, "down": 16}}}, lambda: at_most(page, "income", 16)),
        ({"fixed": ["job"]}, lambda: settled(page, lambda: click(page, f"{named('job')} > button"))),
    ]
    seen = []
    for wish, act in steps:
        asked = {key: value for key, value in (asked | wish).items() if value is not None}
        assert act() == asked
        expected, shown = asker.expected(asked), page.execute_script(SHOWN)
        assert shown == expected
        assert shown["cards"]
        seen.append(json.dumps(expected["cards"]))
    assert len(set(seen)) == len(steps)  # each wish changed what is shown
    assert find(page, "#name")[0].text == f"Applicant {name}"
    said = ["job: stays as it is", "income: by at most 16", f"{EVIL} debt: rather this"]
    assert [chip.text for chip in find(page, ".chip")] == said
    taken = settled(page, lambda: click(page, "#forget"))
    assert taken == {key: value for key, value in asked.items() if key not in ("fixed", "max_change", "weights")}
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def at_most(page, column, most):
    enter(page, f"{named(column)} .limit input", str(most))
    return settled(page, lambda: click(page, f"{named(column)} .limit button"))


def test_a_form_made_from_the_schema_plans_for_anyone(page, asker):
    columns = asker.get("v1/schema")["columns"]
    fields = find(page, "#form .field")
    assert {field.get_attribute("data-column") for field in fields} == {column["name"] for column in columns}
    row = asker.get("explorer/example")["row"]
    assert find(page, "#name")[0].text == "An example"
    body = settled(page, lambda: enter(page, '[data-column="income"] input', str(row["income"] + 2)))
    assert body["applicants"] == [row | {"income": row["income"] + 2}]
    other = "1" if row["job"] == "clerk" else "0"
    body = settled(page, lambda: enter(page, '[data-column="job"] select', other, "change"))
    assert body["applicants"][0]["job"] == ["clerk", "driver"][int(other)]
    assert page.execute_script(SHOWN) == asker.expected(body)
    assert find(page, "#name")[0].text == "Your plan"
    body = settled(page, lambda: enter(page, '[data-column="debt"] input', "12.5"))
    assert find(page, "#sign")[0].text == "✕ error"
    (error,) = [it for it in find(page, ".field .error") if it.is_displayed()]
    assert error.text.startswith(f"{EVIL} debt")
    assert "must be a whole number, got 12.5" in error.text
    assert "must be a whole number, got 12.5" in find(page, ".copa-note")[0].text
    assert not find(page, "#letter-button")[0].is_enabled()
    settled(page, lambda: enter(page, '[data-column="debt"] input', "12"))
    assert [it for it in find(page, ".field .error") if it.is_displayed()] == []


def test_names_that_look_like_markup_are_shown_as_they_are(page, asker):
    names = [person["id"] for person in asker.get("v1/applicants", limit=len(ODD))["applicants"]]
    assert names[:4] == ODD[:4]
    for name in names:
        choose(page, name)
        assert find(page, "#name")[0].get_attribute("textContent") == f"Applicant {name}"
    settled(page, lambda: click(page, f"{named('debt')} > button"))
    settled(page, lambda: enter(page, "#level", "0.7"))
    click(page, "#tab-validators")
    until(page, "document.querySelector('table.texts')")
    click(page, "#compare-groups")
    until(page, "document.querySelector('#panels [role=status] table')")
    words = page.execute_script("return document.body.textContent")
    for text in (f"{EVIL} debt", f"clerk{EVIL}", "<i>nurse</i> & co", "<b>DM</b>", "1 <b>"):
        assert text in words
    assert find(page, "img, b b, i, #panels b, main script") == []
    assert page.get_log("browser") == []


def test_an_answer_that_comes_too_late_is_not_shown(page, asker):
    page.execute_script("""
        const plain = window.fetch;
        let first = true;
        window.signals = [];
        window.fetch = (path, options) => {
          if (path !== "v1/plan") { return plain(path, options); }
          window.signals.push(options.signal);
          const { signal, ...rest } = options; // as of a network that does not hear
          const answer = plain(path, rest);
          if (!first) { return answer; }
          first = false;
          return new Promise((give) => {
            window.giveFirst = async () => {
              const content = await (await answer).json();
              give({ ok: true, json: async () => content });
            };
          });
        };
    """)
    enter(page, "#level", "0.6")
    until(page, "!document.getElementById('spinner').hidden")  # a sign of waiting
    assert find(page, "#result")[0].get_attribute("aria-busy") == "true"
    enter(page, "#level", "0.7")
    until(page, "document.getElementById('spinner').hidden")
    page.execute_async_script("window.giveFirst().then(() => setTimeout(arguments[0], 0))")
    row = asker.get("explorer/example")["row"]
    asked = {"applicants": [row], "guarantee": 0.7, "horizon": 1, "n_options": 3}
    assert page.execute_script(SHOWN) == asker.expected(asked)
    assert page.execute_script("return window.signals.map((it) => it.aborted)") == [True, False]


def test_the_letter_is_the_services_and_is_printed(page, asker):
    body = choose(page, PERSON)
    click(page, "#letter-button")
    until(page, "!document.getElementById('print-letter').disabled")
    letter = asker.post("v1/letter", body | {"names": [PERSON]})["letters"][0]["html"]
    assert page.execute_script("return document.getElementById('letter').srcdoc") == letter
    enter(page, "#letter-sender", f"Bank {EVIL}")
    until(page, "document.getElementById('letter').srcdoc.includes('Bank')")
    until(page, "document.getElementById('letter').contentDocument.querySelector('h1')")
    letter = asker.post("v1/letter", body | {"names": [PERSON], "sender": f"Bank {EVIL}"})["letters"][0]["html"]
    assert page.execute_script("return document.getElementById('letter').srcdoc") == letter
    inside = page.execute_script("""
        const frame = document.getElementById("letter"), inside = frame.contentWindow;
        window.printed = 0;
        inside.print = () => { window.printed += 1; };
        document.getElementById("print-letter").click();
        return [window.printed, inside.getComputedStyle(inside.document.body).maxWidth, inside.document.images.length];
    """)
    assert inside[0] == 1
    assert inside[1] != "none"  # its own style is let in
    assert inside[2] == 0
    click(page, "#close-letter")
    assert page.get_log("browser") == []


def test_validators_see_what_the_service_says(page, asker):
    click(page, "#tab-validators")
    until(
        page, "document.querySelectorAll('#panels > section h2').length === 4 && document.querySelector('table.texts')"
    )
    model, backtest = asker.get("v1/model"), asker.get("v1/backtest")
    sections = {section.text.split("\n")[0]: section.text for section in find(page, "#panels > section")}
    assert list(sections) == ["What is assumed", "Backtest", "Groups", "The bundle"]
    assert model["radius_source"] in sections["What is assumed"]
    assert "0.8\nfor each option" in sections["What is assumed"]
    assert backtest["headline"] in sections["Backtest"]
    assert all(horizon["in_words"] in sections["Backtest"] for horizon in backtest["horizons"])
    assert f"SHA-256 {model['bundle']}" in sections["The bundle"]
    assert len(find(page, "table.texts tbody tr")) == len(asker.get("v1/schema")["columns"])
    enter(page, "#group", "married", "change")
    click(page, "#compare-groups")
    until(page, "document.querySelector('#panels [role=status] table')")
    told = asker.get("explorer/groups", column="married")
    rows = [
        [cell.text for cell in row.find_elements("css selector", "th, td")]
        for row in find(page, "#panels [role=status] tbody tr")
    ]
    assert rows == told["rows"]
    declined = sum(int(row[1]) for row in rows)
    assert 20 < declined < len(NAMES)


def test_everything_can_be_done_from_the_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    def press(*keys):
        page.switch_to.active_element.send_keys(*keys)

    def tab_to(condition, most=80):
        for _ in range(most):
            if page.execute_script(f"const it = document.activeElement; return Boolean({condition})"):
                return
            press(Keys.TAB)
        pytest.fail(f"{condition} is not reached with the tab key")

    find(page, "body")[0].send_keys(Keys.TAB)
    tab_to("it.className === 'skip'")
    tab_to("it.id === 'search'")
    settled(page, lambda: press(PERSON, Keys.ENTER))
    assert find(page, "#name")[0].text == f"Applicant {PERSON}"
    press(Keys.ARROW_DOWN)
    assert page.execute_script("return document.activeElement.textContent") == PERSON
    tab_to("it.id === 'level'")
    assert settled(page, lambda: press(Keys.ARROW_LEFT))["guarantee"] == 0.79
    tab_to("it.id === 'horizon'")
    assert settled(page, lambda: press(Keys.ARROW_RIGHT))["horizon"] == 2
    assert settled(page, lambda: press(Keys.ARROW_LEFT))["horizon"] == 1
    tab_to("it.closest('.copa-card [data-wish=job]') && it.tagName === 'BUTTON'")
    assert settled(page, lambda: press(Keys.SPACE))["fixed"] == ["job"]
    assert page.execute_script("return document.activeElement.id") == "name"
    tab_to("it.tagName === 'SUMMARY' && it.closest('.copa-card') && it.nextElementSibling.matches('.limit')")
    press(Keys.ENTER)
    press(Keys.TAB)
    assert "max_change" in settled(page, lambda: press(Keys.ENTER))
    page.execute_script("document.getElementById('name').focus()")
    tab_to("it.id === 'letter-button'")
    press(Keys.ENTER)
    until(page, "!document.getElementById('print-letter').disabled")
    press(Keys.ESCAPE)
    until(page, "!document.getElementById('letter-dialog').open")
    assert page.execute_script("return document.activeElement.id") == "letter-button"
    page.execute_script("document.getElementById('tab-plan').focus()")
    press(Keys.ARROW_RIGHT)
    until(page, "document.querySelector('table.texts')")
    assert page.execute_script("return document.activeElement.id") == "tab-validators"


def test_nothing_is_asked_of_elsewhere_and_the_console_stays_empty(browser, page, url):
    page.get_log("performance")
    settled(page, lambda: click(page, "#example"))
    page.get("about:blank")
    page.get(url)
    until(page, "document.querySelector('.copa-card')")
    asked = {
        message["params"]["request"]["url"]
        for message in (json.loads(entry["message"])["message"] for entry in page.get_log("performance"))
        if message["method"] == "Network.requestWillBeSent"
    }
    assert len(asked) > 15
    assert {it for it in asked if not it.startswith((url, "data:", "about:"))} == set()
    loaded = page.execute_script("return performance.getEntriesByType('resource').map((it) => it.name)")
    assert len(loaded) > 15
    assert all(it.startswith((url, "data:")) for it in loaded)
    assert browser.get_log("browser") == []


def _states(page):
    """The page in one state after the other, by name."""
    yield "plan"
    click(page, "#unfold")
    choose(page, PERSON)
    if find(page, "#unfold")[0].get_attribute("aria-expanded") == "false":
        click(page, "#unfold")
    page.execute_script("document.querySelectorAll('.wish details').forEach((it) => { it.open = true; })")
    yield "people and wishes"
    settled(page, lambda: click(page, ".copa-card .wish > button"))
    page.execute_script("document.getElementById('rests').open = true")
    yield "a wish"
    click(page, "#letter-button")
    until(page, "!document.getElementById('print-letter').disabled")
    yield "letter"
    click(page, "#close-letter")
    for column in ("income", "debt", "job", "grade"):
        if page.execute_script(f"return document.querySelector('{named(column)} > button').ariaPressed") == "false":
            settled(page, lambda column=column: click(page, f"{named(column)} > button"))
    assert find(page, ".copa-card") == []
    yield "no option"
    settled(page, lambda: enter(page, '[data-column="debt"] input', "12.5"))
    yield "error"
    click(page, "#tab-validators")
    until(page, "document.querySelector('table.texts')")
    click(page, "#compare-groups")
    until(page, "document.querySelector('#panels [role=status] table')")
    yield "validators"


def test_the_plan_and_the_validators_view_are_accessible(page):
    assert accessibility_findings(page) == []
    show_at(page, HAND, dark=True)
    click(page, "#tab-validators")
    until(page, "document.querySelector('table.texts')")
    assert accessibility_findings(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@BOTH
def test_every_state_fits_and_is_accessible(page, size, dark):
    show_at(page, size, dark=dark)
    for name in _states(page):
        assert accessibility_findings(page) == [], name
        width, room = page.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= room, name
    assert page.get_log("browser") == []


@pytest.mark.slow
def test_buttons_and_fields_are_large_enough_for_a_finger(page):
    show_at(page, HAND)
    click(page, "#unfold")
    page.execute_script("document.querySelectorAll('.wish details').forEach((it) => { it.open = true; })")
    targets = [it for it in find(page, "button, select, summary, input:not([type=range])") if it.is_displayed()]
    assert len(targets) > 20
    small = [it.text for it in targets if it.size["height"] < 40]
    assert small == []


@pytest.mark.slow
def test_a_plan_is_printed_on_a_page_with_what_it_rests_on(page):
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert find(page, "#assumption")[0].is_displayed()
    printed = base64.b64decode(page.print_page())
    assert 1 <= printed.count(b"/Type /Page\n") <= 2
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not any(it.is_displayed() for it in find(page, "#who, .asked, .wish, .steps, footer"))
        assert find(page, ".copa-card")[0].is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.slow
def test_a_wrong_token_is_asked_for_again_and_none_is_said(url):
    with opened(url, HAND) as page:
        give_token(page, "wrong")
        until(page, "!document.getElementById('token-wrong').hidden && document.getElementById('token-dialog').open")
        assert accessibility_findings(page) == []
        page.execute_script("document.getElementById('token-dialog').close()")
        until(page, "document.getElementById('loading').className === 'error'")
        assert "token" in find(page, "#loading")[0].text
        page.refresh()
        give_token(page)


@pytest.mark.slow
def test_a_service_that_has_gone_is_said_and_asked_again(bank):
    with served(bank) as url, opened(url) as page:  # without a token, and without applicants
        until(page, "document.querySelector('.copa-card')")
        assert not find(page, "#searching")[0].is_displayed()
        page.execute_script("window.real = window.fetch; window.fetch = () => Promise.reject(new TypeError('gone'))")
        enter(page, "#level", "0.7")
        until(page, "!document.getElementById('problem').hidden")
        assert "cannot be reached" in find(page, "#problem")[0].text
        assert find(page, ".copa-card") == []
        assert accessibility_findings(page) == []
        page.execute_script("window.fetch = window.real")
        click(page, "#retry")
        until(page, "document.querySelector('.copa-card')")
        assert not find(page, "#problem")[0].is_displayed()
        click(page, "#tab-validators")
        until(page, "document.querySelector('table.texts')")
        words = find(page, "#panels")[0].text
        assert "copa serve BUNDLE --backtest" in words
        assert "copa serve --applicants" in words
        assert page.get_log("browser") == []


@pytest.mark.slow
def test_a_bundle_that_aims_at_an_expected_rate_asks_for_one():
    from copa import Expected
    from unit.planner import loans

    planner = loans.planner(loans.fitted_pipeline(), guarantee=0.85, later_models=Expected())
    with served(planner) as url, opened(url) as page:
        until(page, "document.querySelector('.copa-card')")
        assert find(page, "#level-words")[0].text.startswith("about 85 of 100")
        assert not find(page, "#horizon-line")[0].is_displayed()
        body = settled(page, lambda: enter(page, "#level", "0.9"))
        assert body["guarantee"] == 0.9
        with Asker(url, planner) as asker:
            assert page.execute_script(SHOWN) == asker.expected(body)


@pytest.mark.slow
@BOTH
def test_german_credit_with_a_limit_where_the_schema_has_a_share(size):
    from copa.cli.demo import _prepare

    planner, _ = _prepare()
    with served(planner) as url, Asker(url, planner) as asker, opened(url, size) as page:
        until(page, "document.querySelector('.copa-card')")
        amount = asker.get("explorer/example")["row"]["amount"]
        for most in (950, 333, 50, 100_000):
            body = at_most(page, "amount", most)
            share = body["max_change"]["amount"]
            assert share == 0.4 or most <= share * amount < most + 25  # of the schema, or to the half of a step
            shown = page.execute_script(SHOWN)
            assert shown["cards"]
            assert shown == asker.expected(body)
            moved = [
                abs(change["to"] - change["from"])
                for option in asker.post("v1/plan", body)["plans"][0]["options"]
                for change in option["changes"]
                if change["column"] == "amount"
            ]
            assert all(far <= min(most, 0.4 * amount) for far in moved)
        assert at_most(page, "amount", 0)["fixed"] == ["amount"]
        assert page.get_log("browser") == []


ANOTHER = b"""
import { get } from "./api.js";
import { announce, button, make } from "./dom.js";
export const cardAction = (card, number, plan) => button(
  "Record " + number, () => announce("recorded " + plan.entry.options[number - 1].guarantee), { class: "record" },
);
export const panels = [
  { title: "Ledger", load: () => get("v1/model"), draw: (model) => [make("p", { text: model.model })] },
  { title: "Gate", load: () => get("v1/nothing"), draw: () => [] },
  { title: "Not here", offered: () => false },
];
"""


@pytest.mark.slow
def test_another_resource_is_a_module_and_a_line(bank, monkeypatch):
    from copa.service import explorer

    files = dict(explorer.assets())
    listed = files["resources.js"].replace(b"portfolio];", b"portfolio, another];")
    assert listed != files["resources.js"]
    files["resources.js"] = b'import * as another from "./another.js";\n' + listed
    monkeypatch.setattr(explorer, "assets", lambda: files | {"another.js": ANOTHER})
    with served(bank) as url, opened(url) as page:
        until(page, "document.querySelector('.copa-card')")
        assert [it.text for it in find(page, ".copa-card .record")] == ["Record 1", "Record 2", "Record 3"]
        click(page, ".copa-card .record", 1)
        body = settled(page, lambda: enter(page, "#level", "0.7"))
        with Asker(url, bank) as asker:
            (plan,) = asker.post("v1/plan", body)["plans"]
        click(page, ".copa-card .record", 1)
        assert find(page, "#status")[0].get_attribute("textContent") == f"recorded {plan['options'][1]['guarantee']}"
        click(page, "#tab-validators")
        until(page, "document.querySelector('#panels .error') && document.querySelector('table.texts')")
        sections = {it.text.split("\n")[0]: it.text for it in find(page, "#panels > section")}
        assert list(sections)[-2:] == ["Ledger", "Gate"]
        assert "Pipeline with LogisticRegression" in sections["Ledger"]
        assert "/openapi.json" in sections["Gate"]  # what the service says, and the other panels are there
