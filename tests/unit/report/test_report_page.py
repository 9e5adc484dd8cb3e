import copy
import math
import re
import sys
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

import copa
from copa._core.html import environment
from copa._core.words import rounded_down
from copa.analysis.attribution import Attributor, attribute
from copa.analysis.frontier import frontier
from copa.plans import PlanBatch
from copa.report import ReportBuilder, builder
from copa.report.page import plotly_script
from unit.plans.plan_batches import german_batch, terms
from unit.report.pages import Page

EVIL = "</script><!--<script>alert('x')</script>\" onload='y' &amp; \u2028\u2029 ]]>"


def script_json(value):
    return environment().from_string("{{ value | tojson }}").render(value=value)


def page_of(batch, **settings):
    made = ReportBuilder(**settings)
    made.add(batch)
    return Page(made.html())


@pytest.fixture(scope="module")
def page(german):
    return page_of(german, group="age", title="Seven people")


@pytest.fixture(scope="module")
def unsure(bank, loan_plans):
    """Plans below a level that is hardly in reach."""
    asking = copy.copy(bank).set_params(guarantee=0.995)
    return asking.plan(loan_plans.applicants.iloc[:8])


@pytest.fixture(scope="module")
def fragile_page(unsure):
    return page_of(unsure)


@pytest.fixture(scope="module")
def bank_costs():
    """What a higher guarantee costs, as it was computed for `bank_page`."""
    return []


@pytest.fixture(scope="module")
def bank_page(bank, loan_plans, bank_costs):
    def recorded(*given, **settings):
        bank_costs.append(frontier(*given, **settings))
        return bank_costs[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builder, "frontier", recorded)
        return page_of(loan_plans, planner=bank)


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(page):
    assert not set(page.tags) & {"link", "img", "iframe", "object", "embed", "form", "base"}
    assert not {"src", "href", "action", "srcset"} & {name for name, value in page.attributes if value != "#overview"}
    policy = next(value for name, value in page.attributes if name == "content" and value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_the_drawing_library_is_there_once_and_complete(page):
    library = plotly_script()
    assert [text == library for _, text in page.scripts].count(True) == 1
    assert len(page.scripts) == 5  # data, figures, cards, the page, the library


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
    assert page.tags.count("script") == 5
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count("alert('x')") > 10
    assert sum("alert('x')" in text for text in page.data["cards"]["texts"]) > 5
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
    labels = [value for name, value in bank_page.attributes if name == "aria-label"]
    assert len([label for label in labels if len(label.split()) > 8]) == len(keys)


def test_the_first_screen_is_a_promise_in_plain_words_and_a_person_with_a_plan(page):
    head = page.text.partition("Option 2")[0]
    assert head.startswith("Seven people")
    assert "on average at least 60 of 100 later models that are trained like this one accept the option" in head
    assert "Applicant 10 ✓ options found" in head
    assert "Option 1 effort 0.50 guarantee at least" in head


def test_what_was_asked_stands_with_the_totals_and_what_it_rests_on_in_the_section_for_validators(page):
    _, totals = page.text.split("All applicants")
    totals, validators = totals.split("For validators")
    assert "Guarantee asked for at least 0.6 for each option" in totals
    assert "Favourable answer 'good' at the threshold 0.5" in totals
    for words in (
        "Radius of the ambiguity set: 0.05 (calibrated by resampling",
        "if the next models' mean and covariance stay within radius 0.05 of the estimated ones",
        "about models outside it nothing is promised",
    ):
        assert words in validators


@pytest.mark.parametrize("word", ["radius", "ball", "ambiguity", "drift", "covariance", "distribution", "family"])
def test_words_of_the_theory_stand_only_in_the_section_for_validators(bank_page, fragile_page, word):
    for page in (bank_page, fragile_page):
        shown, validators = page.text.split("For validators")
        assert word not in shown.lower()
        cards = page.data["cards"]
        private = {cards["texts"][k] for k in cards["views"]["entry"]["technical"]["texts"]}
        assert not [text for text in cards["texts"] if word in text.lower() and text not in private]
        assert word in validators.lower() or word in {"ball", "family"}


def test_what_radius_or_family_keep_out_of_reach_is_told_to_validators(fragile_page, unsure):
    plan = next(plan for plan in unsure if "What stands in the way is the " in plan.message)
    cards = fragile_page.data["cards"]
    texts = [cards["texts"][k] for k in cards["views"]["entry"]["technical"]["texts"]]
    assert [text for text in texts if text.startswith("What stands in the way is the ") and text.endswith(".")]
    assert "What stands in the way" in plan._repr_html_()


def test_statuses_are_told_by_sign_and_words(page):
    for words in ("✓ options found", "! below the guarantee asked for", "✕ no option", "◷ time limit", "✕ error"):
        assert words in page.text


def test_the_cards_of_the_first_person_are_those_of_the_notebook(german):
    html = german[0]._repr_html_()
    cards = re.findall(r'<div class="copa-card">.*?</ul>', html, re.DOTALL)
    assert len(cards) == 3
    builder = ReportBuilder()
    builder.add(german)
    report = builder.html()
    assert all(card in report for card in cards)


def test_the_slider_starts_at_the_bounds_of_the_plans_and_never_promises_more(page, german):
    slider = page.data["slider"]
    for i, row in enumerate((0, 5, 2)):  # in the order of the list
        plan = german[row]
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


def test_small_groups_are_listed_and_marked_but_not_ranked(german):
    many = PlanBatch.concat([german.select(np.tile([0, 5], 10)), german.select(np.repeat([2], 20)), german[3:4]])
    homes = np.array(["A"] * 20 + ["B"] * 20 + ["C"], dtype=object)
    tables = {"applicants": many.applicants.assign(home=homes), "options": many.options.assign(home="A")}
    page = page_of(replace(many, **tables, change_effort=None, at_least=None, at_most=None), group="home")
    assert "A 20 20 20 (100.0 %)" in page.text
    assert "C (too few to compare) 1 0 0 - - -" in page.text
    assert "The median effort is lowest for 'A' (1.12) and highest for 'B' (1.25)" in page.text
    assert "too few" not in page.data["figures"]["groups"]["layout"]["yaxis"]["ticktext"]
    few = page_of(german, group="housing")
    assert "groups" not in few.data["figures"]
    assert "lowest for" not in few.text


def test_bounds_that_say_nothing_are_left_out(german):
    nothing = replace(german, lower=np.zeros(7), any_lower=np.zeros(7))
    shown = page_of(nothing).text.partition("For validators")[0]
    assert "at least 0.000" not in shown
    assert "all options hold" not in shown
    assert "median guarantee for all" not in shown
    assert "at most" not in page_of(german).text.partition("For validators")[2].replace("at most 0.", "")


def test_an_option_without_a_guarantee_says_so(german):
    none = replace(german, option_lower=np.zeros(6))
    assert "guarantee none" in page_of(none).text


def test_effort_is_explained_by_columns_that_change(page, bank_page):
    assert "Effort 1 is, for example, about " in bank_page.text
    assert "of duration" in page.text.partition("Effort 1 is, for example, ")[2][:90]


def test_a_cost_that_nobody_knows_is_not_explained(german):
    own = replace(german, request=replace(german.request, cost="mine"))
    assert "Effort 1 is" not in page_of(own).text


def test_without_a_planner_there_is_no_frontier_and_no_attribution(page, bank_page):
    assert not [key for key in page.figures() if key.startswith(("frontier", "attribution"))]
    assert "frontier" in bank_page.figures()
    assert {key.partition("-")[0] for key in bank_page.figures()} >= {"frontier", "attribution", "radius"}


def test_the_frontier_shows_the_plan_at_hand(bank_page, loan_plans):
    i = int(np.flatnonzero(loan_plans.status == "ok")[0])
    own = bank_page.data["figures"]["frontier-0"]["data"][1]
    assert own["x"] == [float(rounded_down(loan_plans[i].option_lower.min()))]
    assert own["y"] == pytest.approx([loan_plans[i].effort.min()], abs=1e-3)


def test_the_cost_curve_follows_the_same_people_and_never_falls(bank_page, bank_costs):
    (line,) = bank_page.data["figures"]["frontier"]["data"]
    assert len(line["y"]) > 1
    assert (np.diff(line["y"]) >= 0.0).all()
    told = re.search(r"(\d+) applicants with a menu, from all over the list.*? the same (\d+) at every", bank_page.text)
    assert int(told[1]) >= int(told[2]) >= 0.5 * int(told[1])
    assert line["customdata"][-1] == f"{told[2]} of {told[1]}"
    (cost,) = bank_costs
    highest = cost.levels.tolist().index(line["x"][-1])
    people = [own for own in cost.effort.tolist() if math.isfinite(own[highest])]
    assert len(people) == int(told[2])
    assert line["x"] == cost.levels[: highest + 1].tolist()
    assert line["y"] == pytest.approx([median(own[k] for own in people) for k in range(highest + 1)], abs=5e-4)


def test_what_breaks_first_is_said_in_words(bank_page, bank, loan_plans):
    said = [found.in_words() for plan in loan_plans if (found := attribute(plan, bank.strategy_))]
    assert len(said) > 3
    assert all(words in bank_page.text for words in said)
    assert bank_page.text.count(Attributor(bank.strategy_).comparison) == 1


def test_the_papers_objective_has_no_level_and_no_shelf_life():
    page = page_of(german_batch(objective="paper"))
    assert "Guarantee asked for none" in page.text
    assert "guarantee asked for" not in page.text
    assert "! below a guarantee of 0.6" in page.text
    assert "accepted today, but below a guarantee of 0.6, which was not asked for" in page.text
    assert "3 of 6 declined (50.0 %) have a menu 0." in page.text
    assert "Shelf life" not in page.text
    assert not [f for key, f in page.data["figures"].items() if key.startswith("radius") and f["layout"]["shapes"]]


def test_a_missing_drawing_library_is_named_with_its_installation(german, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(copa.CopaError, match="pip install plotly"):
        page_of(german)
