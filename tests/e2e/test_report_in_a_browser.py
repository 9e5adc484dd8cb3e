"""The report as a person uses it: opened in a real browser, at the width of a desk and of a hand."""

import base64
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa._core.words import rounded_down
from copa.plans.wording import rounded_radius
from copa.report import write_report
from copa.schema import FeatureSchema

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
pytest.importorskip("plotly", reason="plotly is not installed: pip install plotly")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="there is no chromium with a chromedriver on this machine (Debian: apt-get install chromium-driver)",
)

DESK, HAND = (1280, 900), (390, 844)
EVIL = "<b>&amp;</b><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def plans():
    """A planner that allows few changes, and six applicants: promised, fragile, without an option, accepted already."""
    data = copa.datasets.load_german()
    table, numbers = data.features, data.features.select_dtypes("number").columns
    encoder = make_column_transformer((OneHotEncoder(), table.columns.difference(numbers)), (StandardScaler(), numbers))
    model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(table, data.favourable)
    schema = FeatureSchema(data.schema.features, rules=data.schema.rules, max_changes=3).replace(
        {"telephone": {"title": EVIL}}
    )
    planner = copa.RecoursePlanner(model, schema=schema, guarantee=0.6, n_options=3, n_models=50, n_starts=8, n_jobs=1)
    planner.fit(table, data.favourable)
    everybody = planner.plan(table)
    some = {status: np.flatnonzero(everybody.status == status) for status in np.unique(everybody.status)}
    full = some["ok"][everybody.counts[some["ok"]] == 3]
    chosen = [*full[:2], *some["fragile"][:2], some["infeasible"][0], some["already_valid"][0]]
    return planner, planner.plan(table.iloc[chosen])


@pytest.fixture(scope="module")
def report(plans, tmp_path_factory):
    planner, batch = plans
    path = tmp_path_factory.mktemp("report") / "report.html"
    with_options = batch.counts > 0
    corrected = planner.correct(
        [plan.options for plan in batch if plan.n_options], batch.applicants[with_options], method="ascent", budget=0.5
    )
    write_report(batch, path, planner=planner, corrected=corrected, group="housing", title=f"Six people {EVIL}")
    return path


def open_page(report, size):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(report.as_uri())
    return browser


@pytest.fixture(scope="module", params=[DESK, HAND], ids=["desk", "hand"])
def browser(report, request):
    browser = open_page(report, request.param)
    yield browser
    browser.quit()


def find(browser, selector):
    return browser.find_elements("css selector", selector)


def choose(browser, k):
    """Click an applicant of the list, and return the page of that applicant."""
    browser.execute_script("arguments[0].click()", find(browser, ".choose")[k])
    (shown,) = [article for article in find(browser, ".applicant") if article.is_displayed()]
    assert shown.get_attribute("id") == f"applicant-{k}"
    return shown


def slide(browser, article, position):
    """Move the slider of an applicant the way a hand or a key does: a new value, and the event of it."""
    (slider,) = article.find_elements("css selector", ".slider input")
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
    browser.execute_script(script, slider, str(position))


def radii(browser):
    return browser.execute_script("return JSON.parse(document.getElementById('copa-data').textContent).slider.radii")


def shown_bounds(article):
    """Numbers of the table of bounds, and those on the cards."""
    table = [cell.text for cell in article.find_elements("css selector", ".bounds .least")]
    cards = [cell.text for cell in article.find_elements("css selector", ".copa-card .copa-line b")]
    return table, cards


def test_nothing_is_asked_of_the_network_and_nothing_goes_wrong(report):
    page = open_page(report, DESK)
    try:
        for k in range(6):
            choose(page, k)
        complaints = page.get_log("browser")
        messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    finally:
        page.quit()
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert complaints == []
    assert {url for url in asked if not url.startswith("data:")} == {report.as_uri()}


def test_the_page_fits_its_window_whoever_is_chosen(browser):
    for k in range(6):
        choose(browser, k)
        width, room = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= room


def test_every_figure_of_the_page_is_drawn_within_its_box(browser):
    for k in range(6):
        choose(browser, k)
        boxes = [box for box in find(browser, ".plot") if box.is_displayed()]
        assert len(boxes) >= 5
        for box in boxes:
            (drawing,) = box.find_elements("css selector", ".main-svg:first-child")
            assert 0 < drawing.size["width"] <= box.size["width"] + 1


def test_the_menu_of_a_chosen_applicant_is_shown_in_words(browser, plans):
    _, batch = plans
    for k, plan in enumerate(batch):
        article = choose(browser, k)
        cards = article.find_elements("css selector", ".copa-card")
        assert len(cards) == plan.n_options
        for number, card in enumerate(cards, start=1):
            for change in plan.changes(number):
                assert change.title in card.text
                assert change.after_text in card.text


def test_the_slider_shows_at_each_radius_what_python_computes_there(browser, plans):
    _, batch = plans
    plan, around = batch[0], batch.ambiguity
    article = choose(browser, 0)
    before, _ = shown_bounds(article)
    assert before == [rounded_down(bound) for bound in (*plan.option_lower, plan.any_lower, plan.lower)]
    known = radii(browser)
    for position in (0, len(known) // 3, len(known) - 1):  # the radius that is assumed is none of these
        slide(browser, article, position)
        bounds = copa.validity_bounds(plan.points, ambiguity=replace(around, radius=known[position]))
        expected = [float(bound) for bound in (*bounds.option_lower, bounds.any_lower, bounds.lower)]
        table, cards = shown_bounds(article)
        shown = np.array([float(text) for text in table])
        assert (shown <= np.array(expected) + 1e-6).all()  # the page knows its radii to six digits
        assert (shown > np.array(expected) - 1.001e-3).all()  # three decimals, rounded down
        assert cards == [f"at least {text}" for text in table[: plan.n_options]]
        assert table != before
        assert f"within radius {rounded_radius(known[position])} of" in article.text
    (reset,) = article.find_elements("css selector", ".reset")
    browser.execute_script("arguments[0].click()", reset)
    assert shown_bounds(article)[0] == before


def test_the_list_is_searched_by_words_and_by_status(browser):
    (search,), (status,) = find(browser, "#search"), find(browser, "#status")
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event(arguments[2]))"

    def listed():
        return len([button for button in find(browser, ".choose") if button.is_displayed()])

    assert listed() == 6
    browser.execute_script(script, status, "infeasible", "change")
    assert listed() == 1
    browser.execute_script(script, status, "", "change")
    browser.execute_script(script, search, "Accepted ALREADY", "input")
    assert listed() == 1
    browser.execute_script(script, search, "no such word", "input")
    assert (listed(), find(browser, "#found")[0].text) == (0, "0 applicants")
    browser.execute_script(script, search, "", "input")
    assert listed() == 6


def test_the_page_works_from_the_keyboard(report):
    from selenium.webdriver.common.keys import Keys

    page = open_page(report, DESK)
    try:
        page.execute_script("document.querySelectorAll('.choose')[1].focus()")
        page.switch_to.active_element.send_keys(Keys.ENTER)
        (shown,) = [article for article in find(page, ".applicant") if article.is_displayed()]
        before, _ = shown_bounds(shown)
        (slider,) = shown.find_elements("css selector", ".slider input")
        page.execute_script("arguments[0].focus()", slider)
        page.switch_to.active_element.send_keys(Keys.END)
        after, _ = shown_bounds(shown)
    finally:
        page.quit()
    assert len(after) == 5
    steps = [float(late) - float(early) for early, late in zip(before, after, strict=True)]
    assert max(steps) <= 0.0 > min(steps)  # one that is 0 already stays so


def test_names_that_look_like_markup_are_shown_as_they_are(browser):
    assert find(browser, "h1")[0].text == f"Six people {EVIL}"
    assert find(browser, "img") == []
    ticks = browser.execute_script("return [...document.querySelectorAll('.ytick text')].map(t => t.textContent)")
    assert [tick for tick in ticks if tick.startswith("<b>&amp;</b>")]


def test_the_page_prints_on_sheets(report):
    page = open_page(report, DESK)
    try:
        pdf = base64.b64decode(page.print_page())
    finally:
        page.quit()
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") >= 3
