"""The report as a person uses it: opened in a real browser, at the width of a desk and of a hand."""

import base64
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from copa._core.words import STATUSES, rounded_down, rounded_up
from copa.data.schema import FeatureSchema
from copa.data.tables.cells import cells_of
from copa.plans.card import STATUS_SIGNS, plan_view
from copa.plans.units import heading, value_text
from copa.plans.wording import MEANINGS, percent, ranges_words, rates_words, rounded_radius
from copa.report import write_report
from copa.report.builder import list_order
from e2e.browser_pages import DESK, HAND, accessibility_findings, enter, find, in_a_browser, opened
from waiting import wait_until

pytestmark = in_a_browser

EVIL = "<b>&amp;</b><img src=x onerror=alert(1)>"
ODD = [EVIL, "</script>", 'Müller, "Jürgen"', "名前", "O'Neil \u202e", "  two  spaces ", "42"]


@pytest.fixture(scope="module")
def plans():
    """A planner that allows few changes, and about fifty applicants of every status, some with odd names."""
    data = copa.datasets.load_german()
    table, numbers = data.features, data.features.select_dtypes("number").columns
    encoder = make_column_transformer((OneHotEncoder(), table.columns.difference(numbers)), (StandardScaler(), numbers))
    model = make_pipeline(encoder, LogisticRegression(C=0.1)).fit(table, data.favourable)
    schema = FeatureSchema(data.schema.features, rules=data.schema.rules, max_changes=4).replace(
        {"telephone": {"title": EVIL}, "savings": {"labels": {"A61": f"1{EVIL}", "A65": "<i>5</i>"}}}
    )
    planner = copa.RecoursePlanner(
        model,
        schema=schema,
        guarantee=0.6,
        n_options=3,
        later_models=copa.LaterModels(n_refits=50),
        n_starts=8,
        n_jobs=1,
    )
    planner.fit(table, data.favourable)
    declined = np.flatnonzero(~model.predict(table))
    people = table.iloc[[*declined[:46], *np.flatnonzero(model.predict(table))[:4]]]
    people = people.assign(age=people["age"].astype(float)).set_axis([*ODD, *map(str, range(100, 150 - len(ODD)))])
    people.iloc[9, people.columns.get_loc("age")] = np.nan
    batch = planner.plan(people)
    late = batch.counts == 0
    late &= batch.status == "infeasible"
    status = batch.status.astype(object)
    status[np.flatnonzero(late)[-1]] = "time_limit"
    return planner, replace(batch, status=status.astype(str))


@pytest.fixture(scope="module")
def report(plans, tmp_path_factory):
    planner, batch = plans
    path = tmp_path_factory.mktemp("report") / "report.html"
    some = batch.select(np.flatnonzero(batch.counts > 0)[:6])
    corrected = planner.correct([plan.options for plan in some], some.applicants, method="mahalanobis", budget=0.5)
    write_report(batch, path, planner=planner, corrected=corrected, group="housing", title=f"Fifty people {EVIL}")
    return path


@pytest.fixture(scope="module")
def in_order(plans):
    _, batch = plans
    return batch.select(list_order(batch.status))


@pytest.fixture(scope="module", params=[DESK, HAND], ids=["desk", "hand"])
def browser(report, request):
    with opened(report, request.param) as browser:
        yield browser


def choose(browser, place):
    """Choose an applicant with the keys of the list."""
    script = """
        const list = document.getElementById("people");
        const press = (key) => list.dispatchEvent(new KeyboardEvent("keydown", {key: key}));
        press("Home");
        for (let k = 0; k < arguments[0]; k += 1) { press("ArrowDown"); }
    """
    browser.execute_script(script, place)


# What the page shows of the chosen applicant, as a person reads it.
SHOWN = """
    const text = (it) => it.textContent;
    const all = (root, selector) => Array.from(root.querySelectorAll(selector));
    const plan = document.getElementById("plan");
    return {
      name: text(document.getElementById("name")),
      sign: text(document.getElementById("sign")),
      notes: all(plan, ".copa-note p").map(text),
      technical: text(document.getElementById("technical")),
      cards: all(plan, ".copa-card").map((card) => ({
        head: all(card, ".copa-head > *").map(text),
        lines: all(card, ".copa-line").map((line) => all(line, "*").map(text)),
        width: card.querySelector(".copa-fill").style.width,
        said: text(card.querySelector(":scope > .copa-small")),
        changes: all(card, "li").map((change) => change.innerText.split("\\n")),
      })),
      whole: all(plan, ".copa-whole .copa-line").map((line) => all(line, "*").map(text)),
      below: all(plan, ".copa > .copa-small").map(text),
      today: all(document, "#today .facts > div").map((fact) => all(fact, "*").map(text)),
    };
"""


def expected_card(plan, j):
    """What a card must show of an option, from the columns of the batch."""
    batch, row = plan.batch, plan.own_rows.start + j
    least = rounded_down(batch.option_lower[row])
    said = "✓ accepted today" if batch.accepted[row] else "! not accepted today"
    said += " · breaks first" if plan.breaks_first == j + 1 else ""
    if batch.plausibility[row] < 0.1:
        said += f"unusual combination: plausibility {rounded_down(batch.plausibility[row])}"
    changes = []
    for change in plan.changes(j + 1):
        lines = [change.title, f"{change.before_text} → {change.after_text}"]
        changes.append([*lines, change.range_text] if change.range_text else lines)
    return {
        "head": [f"Option {j + 1}", f"effort {batch.effort[row]:.2f}"],
        "lines": [
            ["guarantee", f"at least {least}" if float(least) else "none"],
            ["expected rate", rounded_down(batch.expected_rate[row])],
        ],
        "width": f"{100 * float(least):.1f}".removesuffix(".0") + "%",
        "said": said,
        "changes": [[" ".join(line.split()) for line in lines] for lines in changes] or [["nothing changes"]],
    }


def expected_whole(plan):
    lines = [
        [words, f"at least {rounded_down(bound)}"]
        for words, bound in (("at least one option holds", plan.any_lower), ("all options hold", plan.lower))
        if bound >= 0.001
    ]
    lines += [["all options hold", f"at most {rounded_up(plan.upper)}"]] if plan.upper <= 0.999 else []
    return lines if plan.n_options > 1 else []


def test_every_number_and_word_of_every_person_is_that_of_the_batch(browser, in_order):
    assert set(in_order.status) >= {"ok", "fragile", "infeasible", "already_valid", "error", "time_limit"}
    schema = in_order.basis.schema
    for place, plan in enumerate(in_order):
        choose(browser, place)
        shown = browser.execute_script(SHOWN)
        for card in shown["cards"]:
            card["changes"] = [[" ".join(line.split()) for line in lines if line] for lines in card["changes"]]
        view = plan_view(plan)
        assert shown["name"] == f"Applicant {view['label']}"
        assert shown["sign"] == STATUS_SIGNS[plan.status]
        assert shown["notes"] == view["notes"]
        said = plan.message[1:]
        assert all(note[1:-1] in said or note == view["notes"][0] for note in shown["notes"])
        assert shown["technical"].rstrip(".") in plan.message
        assert shown["cards"] == [expected_card(plan, j) for j in range(plan.n_options)]
        assert shown["whole"] == expected_whole(plan)
        assert shown["below"] == [words for words in (ranges_words(plan), rates_words(plan)) if words]
        assert shown["today"] == [
            [heading(schema, name), value_text(schema, name, cells_of(plan.factual[name])[0])] for name in plan.factual
        ]


def test_every_number_of_the_totals_is_that_of_the_batch(browser, in_order):
    declined = in_order.select(in_order.status != "already_valid")
    n, planned = len(declined), declined.select(declined.counts > 0)
    rows = [
        [cell.text for cell in row.find_elements("css selector", "th, td")]
        for row in find(browser, ".statuses tbody tr")
    ]
    expected = []
    for status in (*(status for status in STATUSES if status != "already_valid"), "already_valid"):
        count = int((in_order.status == status).sum())
        share = "" if status == "already_valid" else percent(count / n)
        expected.append([STATUS_SIGNS[status], str(count), share, "", MEANINGS[status]])
    assert rows == [row for row in expected if row[1] != "0"]
    summary = planned.summary()
    tiles = [tile.text.split("\n") for tile in find(browser, ".tile")]
    n_ok = int((declined.status == "ok").sum())
    assert tiles == [
        [str(n_ok), f"of {n} declined ({percent(n_ok / n)}) have a menu at the guarantee asked for"],
        [rounded_down(summary["lowest_option"].median()), "median guarantee for each option"],
        *(
            [[rounded_down(summary["all"].median()), "median guarantee for all options together"]]
            if summary["all"].median() >= 0.001
            else []
        ),
        [f"{summary['cheapest_effort'].median():.2f}", "median effort of the cheapest option"],
    ]
    quartiles = summary["cheapest_effort"].quantile([0.25, 0.75])
    text = " ".join(find(browser, "#overview")[0].text.split())
    assert f"between {quartiles.iloc[0]:.2f} and {quartiles.iloc[1]:.2f}" in text
    reached = {"each option": "lowest_option", "at least one option": "any", "all options together": "all"}
    for whom, column in reached.items():
        assert f"for {whom} in {percent((summary[column] >= 0.6).mean())} of the menus" in text
    frame = planned.to_frame()
    first = frame["column"].value_counts()
    share, people = (
        first.iloc[0] / len(planned.options),
        frame[frame["column"] == first.index[0]]["applicant"].nunique(),
    )
    assert f"changes most often: in {percent(share)} of the options, for {people} applicants" in text


def test_every_number_of_the_groups_is_that_of_the_batch(browser, in_order):
    declined = in_order.select(in_order.status != "already_valid")
    schema, homes = in_order.basis.schema, declined.applicants["housing"]
    head = [cell.text for cell in find(browser, "#groups thead th")]
    assert head[:4] == ["group", "declined", "with a menu", "status ok"]
    for row in find(browser, "#groups tbody tr"):
        name, *cells = (cell.text for cell in row.find_elements("css selector", "th, td"))
        members = declined.select(
            (
                homes.map(lambda home: value_text(schema, "housing", home))
                == name.removesuffix(" (too few to compare)")
            ).to_numpy()
        )
        planned, n_ok = members.summary().dropna(subset=["all"]), int((members.status == "ok").sum())
        assert (len(members) < 20) == name.endswith(" (too few to compare)")
        share = f"{n_ok}" if len(members) < 20 else f"{n_ok} ({percent(n_ok / len(members))})"
        assert cells[:3] == [str(len(members)), str(len(planned)), share]
        if len(planned) < 20:
            assert set(cells[3:]) <= {"-"}
        else:
            assert cells[-1] == f"{planned['cheapest_effort'].median():.2f}"
            assert cells[3] == rounded_down(planned["lowest_option"].median())


def test_the_cost_curve_never_falls(browser):
    script = "return JSON.parse(document.getElementById('copa-data').textContent).figures.frontier.data[0].y"
    efforts = browser.execute_script(script)
    assert len(efforts) > 1
    assert (np.diff(efforts) >= 0.0).all()


def test_the_first_screen_shows_a_person_with_a_plan(report, in_order):
    for size in (DESK, HAND):
        with opened(report, size) as page:
            (card, *_), (name,) = find(page, ".copa-card"), find(page, "#name")
            assert name.text == f"Applicant {plan_view(in_order[0])['label']}"
            assert card.rect["y"] + 120 < size[1]


def test_nothing_is_asked_of_the_network_and_nothing_goes_wrong(report, in_order):
    with opened(report) as page:
        for place in range(len(in_order)):
            choose(page, place)
        page.execute_script("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
        complaints = page.get_log("browser")
        messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert complaints == []
    assert {url for url in asked if not url.startswith("data:")} == {report.as_uri()}


@pytest.mark.parametrize(("size", "dark"), [(DESK, False), (HAND, False), (HAND, True)], ids=["desk", "hand", "dark"])
def test_everything_opened_the_page_fits_draws_its_figures_and_is_accessible(report, in_order, size, dark):
    with opened(report, size, dark=dark) as page:
        page.execute_script("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
        if size == HAND:
            page.execute_script("document.getElementById('choose').click()")
        for place in (0, *np.unique(in_order.status, return_index=True)[1].tolist()):
            choose(page, place)
            width, room = page.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
            assert width <= room
        choose(page, 0)
        boxes = [box for box in find(page, ".plot") if box.is_displayed()]
        assert len(boxes) >= 6
        for box in boxes:
            page.execute_script("arguments[0].scrollIntoView()", box)
            drawings = wait_until(partial(box.find_elements, "css selector", ".main-svg:first-child"))
            assert 0 < drawings[0].size["width"] <= box.size["width"] + 1
        assert accessibility_findings(page) == []


def test_buttons_and_fields_are_large_enough_for_a_finger(report):
    with opened(report, HAND) as page:
        page.execute_script("document.getElementById('choose').click()")
        targets = [it for it in find(page, "button, input, select, .person-row") if it.is_displayed()]
        assert len(targets) > 8
        assert all(it.size["height"] >= 40 for it in targets)


def test_the_slider_shows_at_each_radius_what_python_computes_there(browser, in_order):
    place, around = int(np.argmax(in_order.counts > 1)), in_order.ambiguity
    plan = in_order[place]
    browser.execute_script("document.getElementById('for-validators').open = true")
    choose(browser, place)
    (proof,) = [proof for proof in find(browser, ".proof") if proof.is_displayed()]

    def least():
        return [cell.text for cell in proof.find_elements("css selector", ".bounds .least")]

    before = least()
    assert before == [rounded_down(bound) for bound in (*plan.option_lower, plan.any_lower, plan.lower)]
    known = browser.execute_script("return JSON.parse(document.getElementById('copa-data').textContent).slider.radii")
    for position in (0, len(known) // 3, len(known) - 1):  # the radius that is assumed is none of these
        enter(browser, ".proof:not([hidden]) .slider input", str(position))
        bounds = copa.validity_bounds(plan.points, ambiguity=replace(around, radius=known[position]))
        exact = np.array([float(bound) for bound in (*bounds.option_lower, bounds.any_lower, bounds.lower)])
        shown = np.array([float(text) for text in least()])
        assert (shown <= exact + 1e-6).all()  # the page knows its radii to six digits
        assert (shown > exact - 1.001e-3).all()  # three decimals, rounded down
        assert f"within radius {rounded_radius(known[position])} of" in proof.text
    browser.execute_script("arguments[0].click()", proof.find_elements("css selector", ".reset")[0])
    assert least() == before


def test_the_slider_of_options_that_are_certain_at_every_radius_still_names_the_radius(report):
    """The page has no bounds of such applicants: those of the table stay."""
    with opened(report, DESK) as browser:
        script = """
            const slider = CopaFigures.page.slider, proof = document.querySelector(".proof");
            const input = proof.querySelector(".slider input"), least = proof.querySelector(".least").textContent;
            const failed = [];
            window.addEventListener("error", (event) => failed.push(event.message));
            slider.lower[0] = slider.upper[0] = null;
            input.value = "0";
            input.dispatchEvent(new Event("input"));
            const now = [proof.querySelector(".at").textContent, proof.querySelector(".least").textContent];
            return {failed: failed, said: now, expected: [slider.names[0], least]};
        """
        found = browser.execute_script(script)
    assert found["failed"] == []
    assert found["said"] == found["expected"]


def test_the_list_is_searched_by_name_column_value_and_status(report, in_order):
    def rows_found(page, words, status=""):
        enter(page, "#status", status, "change")
        page.execute_script("document.getElementById('found').textContent = ''")
        enter(page, "#search", words)
        wait_until(lambda: find(page, "#found")[0].text)
        return int(page.execute_script("return document.querySelector('.person-row')?.ariaSetSize ?? 0"))

    frame = in_order.to_frame()
    with opened(report) as page:
        assert rows_found(page, "") == len(in_order)
        assert rows_found(page, "", "fragile") == (in_order.status == "fragile").sum()
        assert rows_found(page, "Accepted ALREADY") == (in_order.status == "already_valid").sum()
        assert rows_found(page, "onerror") >= 1
        assert rows_found(page, "jürgen") == 1
        assert rows_found(page, "credit amount") == frame[frame["column"] == "amount"]["applicant"].nunique()
        foreign = (in_order.applicants["foreign_worker"] == "A202").sum()
        words = value_text(in_order.basis.schema, "foreign_worker", "A202")
        assert rows_found(page, words) >= foreign
        assert rows_found(page, "no such word anywhere") == 0
        assert find(page, "#found")[0].text == f"0 of {len(in_order)} applicants"
        assert rows_found(page, "") == len(in_order)


def test_the_list_works_from_the_keyboard_and_says_where_one_is(report, in_order):
    from selenium.webdriver.common.keys import Keys

    def state(page):
        script = """
            const list = document.getElementById("people"), drawn = document.querySelectorAll(".person-row").length;
            const here = document.getElementById(list.getAttribute("aria-activedescendant"));
            return [Number(here.ariaPosInSet), Number(here.ariaSetSize), here.ariaSelected, drawn];
        """
        return page.execute_script(script)

    n = len(in_order)
    with opened(report) as page:
        page.execute_script("document.getElementById('people').focus()")
        places = []
        for key in (
            Keys.ARROW_DOWN,
            Keys.ARROW_DOWN,
            Keys.ARROW_UP,
            Keys.PAGE_DOWN,
            Keys.END,
            Keys.ARROW_DOWN,
            Keys.PAGE_UP,
            Keys.HOME,
        ):
            page.switch_to.active_element.send_keys(key)
            place, size, selected, drawn = state(page)
            assert (size, selected) == (n, "true")
            assert drawn < n  # only what is in sight
            places.append(place)
            label = plan_view(in_order[place - 1])["label"]
            assert find(page, "#name")[0].text == " ".join(f"Applicant {label}".split())
        assert places[:3] == [2, 3, 2]
        assert 2 < places[3] < n
        assert places[4:6] == [n, n]
        assert places[6] < n
        assert places[7] == 1


def test_names_that_look_like_markup_are_shown_as_they_are(browser):
    assert find(browser, "h1")[0].text == f"Fifty people {EVIL}"
    assert find(browser, "img") == []
    data = browser.execute_script("return JSON.parse(document.getElementById('copa-data').textContent).cards.texts")
    assert {EVIL, "</script>", "名前"} <= set(data)


def test_the_page_prints_and_one_person_prints_alone(report):
    with opened(report) as page:
        whole = base64.b64decode(page.print_page())
        page.execute_script("document.documentElement.classList.add('only-person')")
        alone = base64.b64decode(page.print_page())
    assert whole.startswith(b"%PDF")
    assert whole.count(b"/Type /Page\n") >= 3
    assert alone.count(b"/Type /Page\n") == 1


def test_without_scripts_the_first_person_and_the_totals_can_be_read(report, in_order):
    with opened(report, scripts=False) as page:
        shown = find(page, "main")[0].text
        assert [card for card in find(page, ".copa-card") if card.is_displayed()]
        assert f"at least {rounded_down(in_order[0].option_lower[0])}" in shown
        assert "This is the first of 50 applicants" in shown
        assert "What became of them" in shown


def test_a_table_of_every_size_opens(plans, tmp_path):
    _, batch = plans
    for rows in (batch[:0], batch.select(np.flatnonzero(batch.status == "error")), batch[:2]):
        path = tmp_path / f"{len(rows)}.html"
        write_report(rows, path)
        with opened(path) as page:
            assert page.get_log("browser") == []
            assert f"Plans for {len(rows)} applicant" in find(page, "h1")[0].text
