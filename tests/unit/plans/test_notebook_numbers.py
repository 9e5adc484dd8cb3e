"""Every number in a notebook is the batch's own: cards, the page of a batch, sentences and tables are walked through.

What is expected is written here from the arrays of the batch alone, with its own rounding; nothing of `copa.plans` says
it. A number that no array, request, message or cell accounts for fails the walk.
"""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import copa
from copa.plans.wording import UNUSUAL
from unit.planner import loans
from unit.plans.plan_batches import german_batch

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?:e-?\d+)?")


class Box:
    """An element: its class, its attributes, its text, and the elements inside."""

    def __init__(self, tag, attrs, parent):
        self.tag, self.attrs, self.parent, self.inside, self.words = tag, dict(attrs), parent, [], []

    @property
    def text(self):
        return " ".join("".join(part if isinstance(part, str) else f" {part.text} " for part in self.words).split())

    def all(self, name):
        """Elements inside, at any depth, of a class or a tag."""
        for box in self.inside:
            if name in (box.tag, *box.attrs.get("class", "").split()):
                yield box
            yield from box.all(name)

    def one(self, name):
        (found,) = self.all(name)
        return found


class Tree(HTMLParser):
    """Reads a page as boxes."""

    def __init__(self, html):
        super().__init__()
        self.top = self.at = Box("top", [], None)
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        box = Box(tag, attrs, self.at)
        self.at.inside.append(box)
        self.at.words.append(box)
        if tag != "br":
            self.at = box

    def handle_endtag(self, tag):
        assert self.at.tag == tag
        self.at = self.at.parent

    def handle_data(self, data):
        if self.at.tag != "style":
            self.at.words.append(data)


def down(number):
    """Three digits, the last one cut off: never above the number."""
    return f"{np.floor(round(number * 1000, 9)) / 1000:.3f}"


def up(number):
    return f"{np.ceil(round(number * 1000, 9)) / 1000:.3f}"


def is_said(bound):
    return float(down(bound)) > 0.0


@pytest.fixture(scope="module")
def black_box():
    """Plans for a forest, with the rates of its held-out refits."""
    model = loans.fitted_pipeline(RandomForestClassifier(9, min_samples_leaf=5, random_state=0))
    table = loans.people(80, 7)
    planner = loans.planner(model, later_models=copa.LaterModels(n_refits=12), n_starts=6, guarantee=0.6)
    return planner.plan(table[~model.predict(table)].iloc[:5])


@pytest.fixture(scope="module")
def batches(loan_plans, black_box):
    """All statuses, efforts and plausibility by hand; plans of a linear model; plans of a black box."""
    german = german_batch()
    m, n = len(german.options), len(german)
    rates = {"n_held_out": 40, "expected_rate": np.linspace(0.8765, 1.0, m)}
    rates |= {"all_rate": np.full(n, 0.8765), "any_rate": np.ones(n)}
    flags = np.random.default_rng(0).random(german.options.shape)
    hard = replace(german, **rates, plausibility=np.linspace(0.05, 0.9999, m), change_effort=flags)
    none = replace(hard, lower=np.zeros(n), upper=np.full(n, 0.99999), option_lower=np.full(m, 1e-5))
    assert len(set(german.status)) == 6
    assert black_box.n_held_out
    assert len(black_box.options)
    return [german, hard, none, loan_plans[:10], black_box]


@pytest.fixture(scope="module")
def plans(batches):
    return [plan for batch in batches for plan in batch]


def test_cards_show_the_numbers_of_their_options(plans):
    for plan in plans:
        cards = list(Tree(plan._repr_html_()).top.all("copa-card"))
        assert len(cards) == len(plan.option_lower)
        for j, card in enumerate(cards):
            check_card(card, plan, j)


def check_card(card, plan, j):
    least = plan.option_lower[j]
    assert card.one("copa-head").text == f"Option {j + 1} effort {plan.effort[j]:.2f}"
    bar, *rate = [line.text for line in card.all("copa-line")]
    assert bar == f"guarantee {f'at least {down(least)}' if is_said(least) else 'none'}"
    assert rate == ([] if plan.n_held_out == 0 else [f"expected rate {down(plan.expected_rate[j])}"])
    assert 0.0 <= 100.0 * least - float(re.search(r"width:(.*)%", card.one("copa-fill").attrs["style"])[1]) < 0.1 + 1e-9
    status = next(box for box in card.inside if box.attrs.get("class") == "copa-small")
    assert ("✓ accepted today" in status.text) == bool(plan.accepted[j])
    assert ("breaks first" in status.text) == (plan.breaks_first == j + 1)
    told = re.search(r"plausibility ([\d.]+)", status.text)
    assert told is None or told[1] == down(plan.plausibility[j])
    assert (told is not None) == bool(plan.plausibility[j] < UNUSUAL)
    lines = list(card.one("copa-changes").all("li"))
    changes = plan.changes(j + 1)
    assert len(lines) == max(len(changes), 1)
    for line, change in zip(lines, changes, strict=False):
        assert f"{change.before_text} → {change.after_text}" in line.text
        own, new = plan.factual[change.column].iloc[0], plan.options[change.column].iloc[j]
        assert (change.before, change.after) == (own, new)


def bounds_of(plan):
    """What is said of the options together: words, and the number with its side."""
    told = [("at least one option holds", f"at least {down(plan.any_lower)}", is_said(plan.any_lower))]
    told += [("all options hold", f"at least {down(plan.lower)}", is_said(plan.lower))]
    told += [("all options hold", f"at most {up(plan.upper)}", float(up(plan.upper)) < 1.0)]
    return [f"{words} {number}" for words, number, shown in told if shown]


def test_bars_show_what_holds_of_the_options_together(plans):
    for plan in plans:
        top = Tree(plan._repr_html_()).top
        whole = [line.text for part in top.all("copa-whole") for line in part.all("copa-line")]
        assert whole == (bounds_of(plan) if plan.n_options > 1 else [])
        assert "at most 1.000" not in top.text
        assert "at least 0.000" not in top.text


def test_the_page_of_a_batch_counts_what_is_in_it(batches):
    for batch in batches:
        top = Tree(batch._repr_html_()).top
        assert top.one("copa-title").text == f"Plans for {len(batch)} applicants, {len(batch.options)} options"
        tables = list(top.all("copa-table"))
        counts = [[cell.text for cell in row.all("td")] for row in tables[0].one("tbody").all("tr")]
        found = [int((batch.status == status).sum()) for status in STATUSES if (batch.status == status).any()]
        assert counts == [[str(count), f"{100 * count / len(batch):.1f} %"] for count in found]
        some = batch.counts > 0
        lowest = np.array([plan.option_lower.min() for plan in batch if plan.n_options])
        known = [lowest, batch.any_lower[some], batch.lower[some]]
        rows = [[cell.text for cell in row.all("td")] for row in tables[1].one("tbody").all("tr")]
        assert rows == [
            [down(v) for v in (np.sort(values)[0], np.sort(values)[(len(values) - 1) // 2], values.max())]
            for values in known
            if is_said(values.max())
        ]
        bins = [box.text for box in top.all("copa-bin")]
        whom = {"each": 0, "any": 1, "all": 2}[batch.request.guarantee_for]
        places = np.minimum((10 * known[whom]).astype(int), 9)
        assert [int(text or 0) for text in bins] == np.bincount(places, minlength=10).tolist()
        for box, plan in zip(top.all("details"), batch, strict=False):
            for j, card in enumerate(box.all("copa-card")):
                check_card(card, plan, j)


STATUSES = ("ok", "already_valid", "fragile", "infeasible", "time_limit", "error")


def test_sentences_say_the_numbers_of_the_plan(plans):
    for plan in plans:
        text = plan.explain()
        for j in range(plan.n_options):
            (block,) = re.findall(rf"^Option {j + 1} \(effort .*?(?=\n\n)", text, re.DOTALL | re.MULTILINE)
            assert block.startswith(f"Option {j + 1} (effort {plan.effort[j]:.2f})")
            said = re.search(r"with probability at least ([\d.]+) if", block)
            assert (said and said[1]) == (down(plan.option_lower[j]) if is_said(plan.option_lower[j]) else None)
            if plan.n_held_out:
                share = float(re.search(rf"([\d.]+)% accept option {j + 1}", text)[1])
                assert 0.0 <= 100.0 * plan.expected_rate[j] - share < 0.1
        if plan.n_options > 1:
            told = re.search(r"The next model accepts at least one option with probability at least ([\d.]+)", text)
            assert (told and told[1].rstrip(".")) == (down(plan.any_lower) if is_said(plan.any_lower) else None)
            both = re.search(r"all of them together with (?:probability )?at least ([\d.]+)", text)
            assert (both and both[1].rstrip(".")) == (down(plan.lower) if is_said(plan.lower) else None)


def accounted(plan):
    """Every number that a plan may show, as text: of its arrays, cells, messages, request and assumption."""
    known = {str(number) for number in range(plan.n_options + 1)}
    for numbers in (plan.option_lower, plan.plausibility, [plan.any_lower, plan.lower, plan.highest_level]):
        known |= {down(number) for number in numbers if not np.isnan(number)}
    known |= {f"{effort:.2f}" for effort in plan.effort} | {up(plan.upper), f"{plan.request.guarantee:g}"}
    known |= {f"{plan.reliability:.2f}"}
    if plan.n_held_out:
        shares = [*plan.expected_rate, plan.all_rate, plan.fidelity]
        known |= {str(plan.n_held_out), *(down(share) for share in shares if not np.isnan(share))}
        known |= {f"{100 * float(down(share)):.4g}" for share in shares if not np.isnan(share)}
    texts = [
        str(plan.label),
        plan.message,
        plan.ambiguity.in_words(),
        plan.basis.radius_source,
        str(plan.basis.threshold),
    ]
    for option in range(1, plan.n_options + 1):
        for change in plan.changes(option):
            texts += [change.title, str(change.before), str(change.after), change.before_text, change.after_text]
            texts += [f"{end:g}" for end in change.interval or ()]
    return known | {number for text in texts for number in NUMBER.findall(text)}


def test_no_number_is_shown_that_nothing_accounts_for(plans):
    """The sentence on how the rule was tested is about other data: it is the same for all plans."""
    for plan in plans:
        page = Tree(plan._repr_html_()).top.text
        for text in (page, plan.explain()):
            own = re.sub(r"What we expect: .*? fail together\.", "", text, flags=re.DOTALL)
            assert set(NUMBER.findall(own)) - accounted(plan) == set()


def test_the_table_of_changes_has_the_numbers_of_the_batch(batches):
    for batch in batches:
        frame, starts = batch.to_frame(), np.cumsum(batch.counts) - batch.counts
        own = {label: i for i, label in enumerate(batch.applicants.index)}
        seen = set()
        for row in frame.to_dict("records"):
            i = own[row["applicant"]]
            m = int(starts[i]) + row["option"] - 1
            k = batch.options.columns.get_loc(row["column"])
            seen.add((m, k))
            assert (row["from"], row["to"]) == (batch.applicants.iloc[i, k], batch.options.iloc[m, k])
            numbers = [row[name] for name in ("effort", "guarantee", "accepted", "plausibility")]
            arrays = [batch.change_effort[m, k], batch.option_lower[m], batch.accepted[m], batch.plausibility[m]]
            np.testing.assert_array_equal(numbers, arrays)
            ends = batch.interval(m, k)
            np.testing.assert_array_equal([row["at_least"], row["at_most"]], [np.nan, np.nan] if ends is None else ends)
        assert seen == {(int(m), int(k)) for m, k in zip(*np.nonzero(batch.changed), strict=True)}


def test_the_table_of_options_has_the_numbers_of_the_batch(batches):
    for batch in batches:
        frame = batch.options_frame()
        assert frame["applicant"].tolist() == batch.applicants.index[batch.owner].tolist()
        assert frame["status"].tolist() == batch.status[batch.owner].tolist()
        first = [plan.breaks_first == j + 1 for plan in batch for j in range(plan.n_options)]
        numbers = [j + 1 for plan in batch for j in range(plan.n_options)]
        expected = {
            "option": numbers,
            "guarantee": batch.option_lower,
            "expected_rate": batch.expected_rate,
            "effort": batch.effort,
        }
        expected |= {"n_changes": [len(plan.changes(j + 1)) for plan in batch for j in range(plan.n_options)]}
        expected |= {"accepted": batch.accepted, "plausibility": batch.plausibility, "breaks_first": first}
        for name, values in expected.items():
            np.testing.assert_array_equal(frame[name].to_numpy(), values, err_msg=name)
        assert list(frame.columns) == ["applicant", "option", "status", *[n for n in expected if n != "option"]]


def test_the_summary_has_the_numbers_of_the_batch(batches):
    for batch in batches:
        frame, some = batch.summary(), batch.counts > 0
        assert frame["applicant"].tolist() == batch.applicants.index.tolist()
        assert frame["status"].tolist() == batch.status.tolist()
        assert frame["n_options"].tolist() == batch.counts.tolist()
        for name, values in {"all": batch.lower, "any": batch.any_lower, "upper": batch.upper}.items():
            np.testing.assert_array_equal(frame[name], np.where(some, values, np.nan))
        for name, column in {"lowest_option": "option_lower", "cheapest_effort": "effort"}.items():
            least = [getattr(plan, column).min() if plan.n_options else np.nan for plan in batch]
            np.testing.assert_array_equal(frame[name], least)


@pytest.mark.parametrize("backend", [pytest.param("polars", marks=pytest.mark.extended), "pyarrow"])
def test_tables_come_out_in_the_library_of_the_applicants(batches, backend):
    pytest.importorskip(backend)
    for batch in batches:
        given = replace(batch, backend=backend)
        for name in ("options_frame", "summary"):
            frame = getattr(given, name)()
            assert type(frame).__module__.partition(".")[0] == backend
            back = frame.to_pandas()
            pd.testing.assert_frame_equal(back, getattr(batch, name)(), check_dtype=False)
