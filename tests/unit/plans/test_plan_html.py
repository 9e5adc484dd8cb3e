import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from copa._core.words import rounded_down
from copa.plans import PlanBatch
from unit.plans.plan_batches import german_batch, terms

EVIL = "<script>alert('x')</script>\" onload='y' &"


class Page(HTMLParser):
    """Reads a page, and raises where its tags do not match."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.words = [], [], []
        self.attributes = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += [] if self.open[-1:] == ["style"] else [data]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def batch():
    return german_batch()


def pages(batch):
    return [batch._repr_html_(), *(plan._repr_html_() for plan in batch)]


def test_pages_are_well_formed_and_stand_alone(batch):
    for html in pages(batch):
        page = Page(html)
        assert not set(page.tags) & {"script", "link", "img", "iframe", "object", "form"}
        assert set(page.attributes) <= {"class", "style", "title", "aria-hidden", "scope"}
        assert not re.search(r"https?:|url\(|@import", html)


def test_every_string_of_a_user_is_escaped(batch):
    evil = {
        "applicants": batch.applicants.rename(columns={"duration": EVIL}).set_axis([EVIL] * 7),
        "options": batch.options.rename(columns={"duration": EVIL}).assign(savings=EVIL),
        "message": np.full(7, EVIL),
        **terms(batch.basis.schema, favourable=EVIL, radius_source=EVIL),
    }
    for html in pages(replace(batch, **evil)):
        page = Page(html)  # a stray tag or attribute would not get through the next two lines
        assert "script" not in page.tags
        assert set(page.attributes) <= {"class", "style", "title", "aria-hidden", "scope"}
        assert EVIL in page.text


def test_titles_and_labels_are_escaped(batch):
    evil = {"duration": {"title": EVIL}, "savings": {"labels": {"A61": f"1{EVIL}", "A63": f"3{EVIL}"}}}
    plan = replace(batch, **terms(batch.basis.schema.replace(evil)))[0]
    page = Page(plan._repr_html_())
    assert "script" not in page.tags
    assert set(page.attributes) <= {"class", "style", "title", "aria-hidden", "scope"}
    assert f"{EVIL} 48 → 18" in page.text
    assert f"1{EVIL} → 3{EVIL}" in page.text


def test_each_option_is_a_card_with_changes_effort_and_guarantee(batch):
    html = batch[0]._repr_html_()
    text = Page(html).text
    assert html.count('class="copa-card"') == 3
    changes = "credit amount (DM) 5951 → 2000 time in present job 1 to 4 years → 4 to 7 years"
    assert re.search(rf"Option 2 effort 0.75 guarantee at least 0.607 ✓ accepted today [^>]*{re.escape(changes)}", text)
    assert "at least one option holds at least 0.942 all options hold at least 0.557" in text
    assert text.count("breaks first") == 1
    assert "Assumption: the parameters of the next model" in text


def test_bars_are_not_longer_than_the_guarantee(batch):
    widths = [float(w) for w in re.findall(r"copa-fill\" style=\"width:([\d.]+)%", batch[0]._repr_html_())]
    bounds = [*batch[0].option_lower, batch[0].any_lower, batch[0].lower]
    assert len(widths) == 5
    assert all(100 * bound - 0.1 < width <= 100 * bound for width, bound in zip(widths, bounds, strict=True))


@pytest.mark.parametrize(("whom", "marks"), [("each", 3), ("all", 1), ("any", 1)])
def test_the_level_asked_for_is_marked_where_it_was_asked(whom, marks):
    html = german_batch(guarantee_for=whom)[0]._repr_html_()
    assert html.count('style="left:calc(60.0% - 1px)"') == marks


def test_the_papers_objective_marks_nothing():
    html = german_batch(objective="paper")[0]._repr_html_()
    assert 'class="copa-mark"' not in html
    assert "No guarantee was asked for" in html


def test_a_single_option_has_no_bars_for_the_menu(batch):
    assert "at least one option holds" not in Page(batch[5]._repr_html_()).text


def test_statuses_can_be_told_apart_without_colour(batch):
    titles = [Page(plan._repr_html_()).words[0] for plan in batch]
    assert titles[1] == "Applicant 40 · ✓ accepted already"
    assert titles[2] == "Applicant 180 · ! below the guarantee asked for"
    assert titles[3] == "Applicant 100 · ✕ no option"
    assert len({title.partition("· ")[2] for title in titles}) == 6


def test_a_plan_without_options_shows_its_reason(batch):
    assert "Blocking constraints: age." in Page(batch[3]._repr_html_()).text


def test_an_option_that_is_not_accepted_is_marked(batch):
    refused = replace(batch, accepted=np.zeros(6, dtype=bool))
    assert Page(refused[0]._repr_html_()).text.count("! not accepted today") == 3


def test_an_upper_bound_below_one_is_shown(batch):
    upper = np.full(7, 0.87651)
    assert "all options hold at most 0.877" in Page(replace(batch, upper=upper)[0]._repr_html_()).text


def test_a_batch_counts_statuses_and_shows_guarantees(batch):
    text = Page(batch._repr_html_()).text
    assert "Plans for 7 applicants, 6 options" in text
    assert "✓ options found 2 28.6 %" in text
    lowest, median, highest = np.sort([plan.option_lower.min() for plan in batch if plan.n_options])
    assert f"each option {rounded_down(lowest)} {rounded_down(median)} {rounded_down(highest)}" in text
    assert "number of menus by guarantee for each option" in text


def test_the_histogram_counts_every_menu_once(batch):
    titles = re.findall(r'title="(\d+) menus? from ([\d.]+) to', batch._repr_html_())
    lowest = [plan.option_lower.min() for plan in batch if plan.n_options]
    expected = np.histogram(lowest, bins=10, range=(0, 1))[0]
    assert [int(count) for count, _ in titles] == expected.tolist()


def test_a_batch_shows_the_first_ten_menus_and_says_how_many_follow(batch):
    html = PlanBatch.concat([batch, batch])._repr_html_()
    assert html.count("<details>") == 10
    assert "and 4 more: batch[i]" in html
    assert html.count("Assumption:") == 1
    assert "more: batch[i]" not in batch._repr_html_()


def test_batches_with_nobody_or_without_options_render(batch):
    assert "Plans for 0 applicants, 0 options" in Page(batch[:0]._repr_html_()).text
    assert "Plans for 1 applicant, 0 options" in Page(batch[1:2]._repr_html_()).text
