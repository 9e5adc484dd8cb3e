import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import copa
from copa._core.html import environment
from copa._core.words import rounded_down
from copa.report import ReportBuilder
from copa.report.builder import plotly_script
from unit.plans.plan_batches import german_batch, terms
from unit.report.pages import Page

EVIL = "</script><!--<script>alert('x')</script>\" onload='y' &amp; \u2028\u2029 ]]>"


def script_json(value):
    return environment().from_string("{{ value | tojson }}").render(value=value)


def page_of(batch, **settings):
    builder = ReportBuilder(**settings)
    builder.add(batch)
    return Page(builder.html())


@pytest.fixture(scope="module")
def page(german):
    return page_of(german, group="age", title="Seven people")


@pytest.fixture(scope="module")
def bank_page(bank, loan_plans):
    return page_of(loan_plans, planner=bank)


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(page):
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed", "form", "base"}
    assert not {"src", "href", "action", "srcset"} & {name for name, value in page.attributes if value != "#applicants"}
    policy = next(value for name, value in page.attributes if name == "content" and value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_drawing_library_is_there_once_and_complete(page):
    library = plotly_script()
    assert [text == library for _, text in page.scripts].count(True) == 1
    assert len(page.scripts) == 3


def test_every_string_of_a_user_is_escaped(german):
    home = f"{EVIL} home"
    names = {"duration": EVIL, "savings": f"{EVIL} 2", "amount": f"{EVIL} 3", "housing": home}
    towns = [f"{EVIL} {k % 2}" for k in range(7)]
    evil = {
        "applicants": german.applicants.rename(columns=names).set_axis([EVIL] * 7).assign(**{home: towns}),
        "options": german.options.rename(columns=names).assign(**{home: EVIL}, telephone=EVIL),
        "message": np.full(7, EVIL),
        **terms(german.basis.schema, favourable=EVIL, radius_source=EVIL),
    }
    page = page_of(replace(german, **evil), title=EVIL, group=home)
    assert page.tags.count("script") == 3
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count("alert('x')") > 10
    ticks = page.data["figures"]["features"]["layout"]["yaxis"]["ticktext"]
    assert any(tick.startswith("&lt;/script&gt;") for tick in ticks)
    assert not [tick for tick in ticks if "<" in tick]


def test_json_for_a_script_is_read_back_and_holds_nothing_that_ends_a_script():
    value = {EVIL: [EVIL, 1.5, None, True]}
    text = script_json(value)
    assert not re.search("[<>&\u2028\u2029]", text)
    import json

    assert json.loads(text) == value


def test_numbers_that_are_none_are_not_written_as_json():
    with pytest.raises(ValueError, match="JSON compliant"):
        script_json([math.nan])


def test_every_figure_has_its_data_and_a_text_alternative(bank_page):
    keys = bank_page.figures()
    assert sorted(keys) == sorted(bank_page.data["figures"])
    labels = [value for name, value in bank_page.attributes if name == "aria-label" and value != "Applicants"]
    assert len(labels) == len(keys)
    assert all(len(label.split()) > 8 for label in labels)


def test_what_was_asked_and_what_it_rests_on_stand_at_the_top(page):
    head = page.text.partition("All applicants")[0]
    for words in (
        "Seven people",
        "Guarantee asked for at least 0.6 for each option",
        "Favourable answer 'good' at the threshold 0.5",
        "Radius of the ambiguity set 0.05 calibrated by resampling",
        "if the next models' mean and covariance stay within radius 0.05 of the estimated ones",
        "about models outside it nothing is promised",
    ):
        assert words in head


def test_statuses_are_told_by_sign_and_words(page):
    for words in ("✓ options found", "! below the guarantee asked for", "✕ no option", "◷ time limit", "✕ error"):
        assert words in page.text


def test_cards_are_those_of_the_notebook(german):
    html = german[0]._repr_html_()
    cards = re.findall(r'<div class="copa-card">.*?</ul>', html, re.DOTALL)
    assert len(cards) == 3
    builder = ReportBuilder()
    builder.add(german)
    report = builder.html()
    assert all(card in report for card in cards)


def test_the_slider_starts_at_the_bounds_of_the_plans_and_never_promises_more(page, german):
    slider = page.data["slider"]
    for i in np.flatnonzero(german.counts).tolist():
        plan = german[i]
        bounds = [*plan.option_lower, plan.any_lower, plan.lower] if plan.n_options > 1 else plan.option_lower
        shown = slider["lower"][i][slider["own"]]
        assert [f"{value / 1000:.3f}" for value in shown] == [rounded_down(bound) for bound in bounds]


def test_the_slider_shows_what_the_bounds_are_at_each_of_its_radii(page, german):
    slider, ball = page.data["slider"], german.ambiguity
    for position in (0, 10, len(slider["radii"]) - 1):
        bounds = copa.validity_bounds(german[0].points, ball.mean, ball.cov, slider["radii"][position])
        exact = np.array([*bounds.option_lower, bounds.any_lower, bounds.lower])
        shown = np.array(slider["lower"][0][position]) / 1000
        assert (shown <= exact + 1e-6).all()  # radii are written with six digits
        assert (shown > exact - 0.0011).all()


def test_groups_are_compared_by_quarters_of_a_number_and_by_values(german):
    assert "Groups compared: housing" in page_of(german, group="housing").text
    assert "A difference between groups is a fact about these menus" in page_of(german, group="age").text


def test_without_a_planner_there_is_no_frontier_and_no_attribution(page, bank_page):
    assert not [key for key in page.figures() if key.startswith(("frontier", "attribution"))]
    assert "frontier" in bank_page.figures()
    assert {key.partition("-")[0] for key in bank_page.figures()} >= {"frontier", "attribution", "radius"}


def test_the_frontier_shows_the_plan_at_hand(bank_page, loan_plans):
    i = int(np.flatnonzero(loan_plans.status == "ok")[0])
    own = bank_page.data["figures"][f"frontier-{i}"]["data"][1]
    assert own["x"] == [float(rounded_down(loan_plans[i].option_lower.min()))]
    assert own["y"] == pytest.approx([loan_plans[i].effort.min()], abs=1e-3)


def test_what_breaks_first_is_said_in_words_of_the_applicants_row(bank_page):
    assert re.search(
        r"Option \d breaks first\. In the worst case the model that refuses it, on average,", bank_page.text
    )


def test_the_papers_objective_has_no_level_and_no_shelf_life():
    page = page_of(german_batch(objective="paper"))
    assert "Guarantee asked for none" in page.text
    assert "Shelf life" not in page.text
    assert not [f for key, f in page.data["figures"].items() if key.startswith("radius") and f["layout"]["shapes"]]


def test_a_missing_drawing_library_is_named_with_its_installation(german, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(copa.CopaError, match="pip install plotly"):
        page_of(german)
