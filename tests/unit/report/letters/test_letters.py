"""What letters say, to whom they are written, and to whom not."""

import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import copa
from copa import DataError, InvalidInputError
from copa.analysis.reasons import Reason
from copa.data.schema import Feature, FeatureSchema
from copa.exceptions import FragilePlanWarning, ProtectedReasonWarning
from copa.plans import Change
from copa.plans.request import PlanBasis
from copa.report.letters import Letter, LetterSettings, LetterWriter, write_letter
from copa.report.letters.facts import cell_words, chance, letter_facts, out_of, target_words, tenths
from copa.report.letters.template import Template
from unit.planner import loans

JARGON = ("radius", "ambiguity", "ball", "moments", "distribution", "score", "guarantee", "effort", "nan", "None")
EVIL = ["{{ 7*7 }}", "<script>alert(1)</script>", "\x1b[31mred", "\u202eright", "[end]", "# Big", "a\n## Promise"]


class Said(HTMLParser):
    """The words of a page, without its style."""

    def __init__(self, html):
        super().__init__()
        self.words, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.lasttag != "style":
            self.words += data.split()


def said(letter):
    """The text of a letter, without lines under headings and marks of lists, in single blanks."""
    lines = [line for line in letter.text.splitlines() if not re.fullmatch(r"[=-]+", line)]
    return " ".join(" ".join(lines).replace(" - ", " ").split())


def test_every_declined_applicant_gets_a_letter_with_reasons_and_options(letters, loan_plans):
    assert all(isinstance(letter, Letter) for letter in letters)
    for letter, plan in zip(letters, loan_plans, strict=True):
        assert 1 <= len(letter.told) <= 4
        assert letter.text.count("Option ") == plan.n_options
        for option in range(1, plan.n_options + 1):
            assert f"Option {option}" in letter.text
        for change in (c for k in range(1, plan.n_options + 1) for c in plan.changes(k)):
            assert target_words(change) in said(letter)


def test_page_and_text_say_the_same_words(letters):
    for letter in letters[:5]:
        page = Said(letter.html).words
        title = ["Our", "decision", "on", "your", "application"]
        assert page[: len(title)] == title
        assert " ".join(page[len(title) :]) == said(letter)


def test_a_letter_has_no_jargon(letters):
    for letter in letters:
        words = re.findall(r"[A-Za-z]+", letter.text)
        assert not set(JARGON) & set(words)
        assert "guarantee" not in letter.text.lower()


def test_what_is_promised_and_until_when(written, full_plan):
    bare = said(written(full_plan))
    assert (
        "If you apply before this model is next updated, and meet every line of one option, its answer is yes." in bare
    )
    dated = said(written(full_plan, valid_until="2999-03-31"))
    assert "Until 31 March 2999 we stand by these options" in dated
    assert "After that day the answer can be no" in dated
    for text in (bare, dated):
        assert "we expect each of these options to be accepted by at least 8 of 10 updated models" in text
        assert "This letter is not an offer or a contract." in text


def test_chances_are_rounded_down_and_never_certain():
    assert [out_of(p) for p in (0.8, 0.801, 0.29, 0.859, 0.9999, 1.0)] == [
        (8, 10), (8, 10), (29, 100), (85, 100), (99, 100), (99, 100),
    ]  # fmt: skip
    assert [tenths(p) for p in (0.7, 0.799999, 0.3)] == [7, 7, 3]


def test_a_chance_holds_everywhere_in_the_ranges(full_plan):
    for option in (1, 2, 3):
        told = chance(full_plan, option)
        assert told <= full_plan.option_lower[option - 1]
        assert told <= full_plan.interval_level[option - 1]


def test_the_lowest_chance_is_told_of_all_options(full_plan, settings):
    own = full_plan.batch[full_plan.row : full_plan.row + 1]
    alone = replace(own, interval_level=np.array([0.83, 0.81, 0.89]), option_lower=np.full(3, 0.95))
    facts = letter_facts(alone[0], [1, 2, 3], [], left_out=False, settings=settings)
    assert facts["chance"] == "at least 81 of 100"
    apart = replace(alone, interval_level=np.array([0.83, 0.5, 0.89]))
    facts = letter_facts(apart[0], [1, 2, 3], [], left_out=False, settings=settings)
    assert (facts["chance"], [option["chance"] for option in facts["options"]]) == (
        "", ["at least 83 of 100", "at least 5 of 10", "at least 89 of 100"],
    )  # fmt: skip


def with_levels(plan, levels):
    """A plan whose options have these guarantees."""
    own = plan.batch[plan.row : plan.row + 1]
    return replace(own, interval_level=np.array(levels), option_lower=np.array(levels))[0]


@pytest.mark.parametrize(
    ("levels", "all_unknown", "some_unknown"),
    [((0.93, 0.93, 0.93), False, False), ((0.93, 0.0, 0.5), False, True), ((0.0, 0.0, 0.0), True, False)],
)
def test_what_cannot_be_said_is_said_of_the_options_without_a_chance_only(
    written, full_plan, levels, all_unknown, some_unknown
):
    text = said(written(with_levels(full_plan, levels)))
    assert ("How likely an updated model is to accept these options we cannot say." in text) == all_unknown
    assert ("For the options without such a number we cannot say how likely" in text) == some_unknown
    assert ("at least 93 of 100" in text) == (not all_unknown)


def test_a_small_expected_rate_is_said_to_be_small_and_a_small_bound_says_nothing(written, full_plan):
    small = with_levels(full_plan, (0.03, 0.06, 0.0))
    assert "we cannot say" in said(written(small))
    request = replace(full_plan.request, guarantee=0.03, expected=True)
    text = said(written(replace(small.batch, request=request)[0]))
    assert "we expect each of these options to be accepted by fewer than 1 of 10 updated models" in text
    assert "we cannot say" not in text


@pytest.mark.parametrize("subject", ["surrogate", "assumed"])
def test_no_chance_is_told_that_is_not_about_the_model(full_plan, subject):
    basis = PlanBasis(**vars(full_plan.basis) | {"subject": subject})
    assert chance(replace(full_plan.batch, basis=basis)[full_plan.row], 1) is None


def test_no_chance_is_told_that_rests_on_too_few_data(full_plan):
    unreliable = np.full(len(full_plan.batch), 0.01)
    assert chance(replace(full_plan.batch, reliability=unreliable)[full_plan.row], 1) is None


def test_an_expected_rate_is_told_as_an_average(bank, written):
    planner = loans.planner(
        bank.model, guarantee=0.8, later_models=copa.Expected(ambiguity=loans.same_ball(bank)["later_models"])
    )
    table = loans.people(150, 7)
    plans = planner.plan(table[~bank.model.predict(table)].iloc[:8])
    text = said(written(plans[int(np.flatnonzero(plans.status == "ok")[0])], planner))
    assert "accepted by about 8" in text
    assert "This is an average, and can turn out lower." in text
    assert "at least 8 of 10" not in text


def test_a_person_without_options_gets_an_honest_letter(bank, written):
    stuck = bank.schema_.replace({name: {"immutable": True} for name in ("income", "debt", "job")})
    planner = loans.planner(bank.model, schema=stuck, **loans.same_ball(bank))
    table = loans.people(150, 7)
    batch = planner.plan(table[~bank.model.predict(table)].iloc[:10])
    letter = written(batch[int(np.flatnonzero(batch.counts == 0)[0])], planner)
    assert "We have no option to offer you that we could stand by today." in said(letter)
    assert letter.told
    for words in ("rely on", "Option", "updated", "search", "found"):
        assert words not in letter.text


def test_who_is_accepted_cannot_be_read_or_was_not_reached_gets_none(bank):
    table = loans.people(150, 7)
    people = pd.concat([table[bank.model.predict(table)].head(1), table[~bank.model.predict(table)].head(2)])
    people["income"] = people["income"].astype(object)
    people.iloc[1, 0] = "much"
    batch = bank.plan(people)
    assert [type(found).__name__ for found in LetterWriter(bank.strategy_).write(batch)] == ["str", "str", "Letter"]
    assert list(LetterWriter(bank.strategy_).write(batch))[:2] == ["accepted", "unreadable"]
    with pytest.raises(InvalidInputError, match="the model accepts this applicant"):
        write_letter(bank, batch[0])
    with pytest.raises(InvalidInputError, match=r"cannot be used: .*income.*much"):
        write_letter(bank, batch[1])
    late = replace(batch[2:], status=np.array(["time_limit"]))
    assert list(LetterWriter(bank.strategy_).write(late)) == ["unfinished"]


def test_options_made_elsewhere_are_offered_only_where_model_and_schema_allow(bank, full_plan, written):
    rows = full_plan.options.copy()
    rows.iloc[1] = full_plan.factual.iloc[0].to_numpy()  # refused: the applicant as is
    rows.loc[3, "age"] += 1  # not allowed
    rows = rows.assign(applicant=full_plan.label)
    audited = bank.audit(rows, full_plan.factual)[0]
    assert audited.status == "infeasible"
    text = written(audited).text
    assert re.findall(r"Option \d", text) == ["Option 1"]
    for words in ("search", "found", "looked for"):
        assert words not in text


def test_plans_of_another_planner_are_refused(bank, full_plan):
    other = loans.planner(bank.model, later_models=copa.LaterModels(ambiguity=copa.MomentBall(radius=0.5), n_refits=20))
    with pytest.raises(InvalidInputError, match="these plans are not of this planner"):
        write_letter(other, full_plan)


def test_an_option_that_the_model_refuses_now_stops_the_letter(bank, full_plan):
    options = full_plan.batch.options.copy()
    options.iloc[full_plan.own_rows.start] = full_plan.factual.iloc[0].to_numpy()
    forged = replace(full_plan.batch, options=options)[full_plan.row]
    with pytest.raises(InvalidInputError, match="options that the model or the schema refuses"):
        write_letter(bank, forged)


def test_protected_reasons_are_never_given_silently(bank, letters, loan_plans):
    found = [letter.protected for letter in letters]
    aged = next(i for i, columns in enumerate(found) if columns == ("age",))
    assert set(found) <= {(), ("age",)}
    for letter in letters:
        assert ("age" in letter.protected) == ("Age:" in letter.text)
    with pytest.warns(ProtectedReasonWarning, match="protected attribute: 'age'"):
        write_letter(bank, loan_plans[aged])
    quiet = write_letter(bank, loan_plans[aged], without_protected=True)
    assert "Age:" not in quiet.text
    assert quiet.protected == ()
    assert [r.column for r in quiet.told] == [r.column for r in letters[aged].told if r.column != "age"]  # no others
    assert "These facts counted against your application; not all that counted are listed here." in said(quiet)
    assert "most important first" not in said(quiet)
    assert "most important first" in said(letters[aged])
    assert "listed here" not in said(letters[aged])


def test_where_all_reasons_are_left_out_the_letter_says_so(full_plan, settings):
    facts = letter_facts(full_plan, [], [], left_out=True, settings=settings)
    words = " ".join(block.text for block in Template().blocks(facts))
    assert "Why The facts that counted most against your application are not listed here." in words


def test_hostile_cells_labels_titles_and_fields_stay_text():
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"income": draw.integers(10, 90, 300), "why": draw.choice(EVIL, 300)})
    y = (table["income"] + draw.normal(0, 5, 300) + 4.0 * table["why"].map(EVIL.index) > 60.0).to_numpy()
    encoder = make_column_transformer((OneHotEncoder(), ["why"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=2000)).fit(table, y)
    schema = FeatureSchema(
        [Feature("income", "integer", title=EVIL[1]), Feature("why", "categorical", values=EVIL, title=EVIL[0])]
    )
    planner = copa.RecoursePlanner(
        model,
        schema=schema,
        guarantee=0.6,
        later_models=copa.LaterModels(ambiguity=copa.MomentBall(radius=0.1), n_refits=20),
        n_options=3,
        n_jobs=1,
    )
    planner.fit(table, y)
    people = table[~model.predict(table)].drop_duplicates("why").set_axis([f"p{k}{e}" for k, e in enumerate(EVIL)])
    plans = planner.plan(people)
    assert any("{{ 7*7 }}: " in write_letter(planner, plan, include_fragile=True).text for plan in plans)
    for plan in plans:
        said = {"sender": "\u202e[option 1] <b>", "contact": "# x\n- y"}
        letter = write_letter(planner, plan, **said, include_fragile=True)
        page = Said(letter.html)
        assert not {"script", "b"} & {tag for tag, _ in page.tags}
        assert sum("data-option" in attributes for _, attributes in page.tags) == plan.n_options
        for text in (letter.text, letter.html):
            assert not set("\x1b\u202e\x02\x03") & set(text)
        assert "<script>alert(1)</script>: " in letter.text
        assert letter.text.count("\n=") == 1  # one title
        assert len(re.findall(r"\n-{3,}\n", letter.text)) == 4  # four headings


@pytest.mark.parametrize(
    ("feature", "value", "expected"),
    [
        (Feature("a", "numeric", title="Income (EUR)"), 2400.0, "2,400 EUR"),
        (Feature("a", "integer", title="Income (EUR)"), np.int64(12), "12 EUR"),
        (Feature("a", "numeric", title="Income (EUR)"), np.nan, "not stated"),
        (Feature("a", "numeric", special=[-9]), -9.0, "no amount (-9)"),
        (Feature("a", "binary", values=[False, True]), True, "yes"),
        (Feature("a", "binary", values=[0, 1], labels={0: "never", 1: "once"}), 1, "once"),
        (Feature("a", "categorical", values=["x y", "z"]), "x y", "x y"),
        (None, None, "not stated"),
    ],
)
def test_cells_are_said_as_people_say_them(feature, value, expected):
    assert cell_words(feature, value) == expected


def test_ranges_are_said_with_their_unit():
    months = Feature("months", "integer", lower=4, upper=72, title="duration (months)")
    assert target_words(Change("months", 48, 18, months, (4.0, 21.0))) == "between 4 and 21 months"
    assert target_words(Change("months", 48, 18, months, (18.0, 18.0))) == "18 months"
    assert target_words(Change("months", 48, 18, months)) == "18 months"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"valid_until": "soon"}, "valid_until must be a day such as 2027-03-31, got 'soon'"),
        ({"valid_until": "2020-01-01"}, "valid_until must not be before the day of the letter"),
        ({"date": "2999-02-01", "valid_until": "2999-01-01"}, "2999-02-01, got 2999-01-01"),
        ({"sender": 3}, "sender must be text"),
        ({"fields": {"Phone": "1"}}, "fields must have names"),
        ({"fields": {"items": "1"}}, "fields must have names"),
        ({"template": "no/such/folder"}, "must be a folder with sentences.j2"),
        ({"sendr": "x"}, "did you mean 'sender'"),
    ],
)
def test_bad_settings_are_refused(bank, full_plan, given, message):
    with pytest.raises(InvalidInputError, match=message):
        write_letter(bank, full_plan, **given)


def test_the_day_of_a_letter_is_that_of_promises_in_any_time_zone(monkeypatch):
    class LateEvening(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 6, 30, 22, 30, tzinfo=UTC).astimezone(tz)

    monkeypatch.setenv("TZ", "Asia/Kolkata")  # where the next day has begun
    time.tzset()
    try:
        monkeypatch.setattr("copa.report.letters.letter.datetime", LateEvening)
        assert LetterSettings(valid_until="2026-06-30").day("valid_until") == "30 June 2026"
        with pytest.raises(InvalidInputError, match="the day of the letter, 2026-06-30, got 2026-06-29"):
            LetterSettings(valid_until="2026-06-29")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_options_of_a_fragile_plan_are_offered_only_when_they_are_asked_for(bank, full_plan):
    alone = full_plan.batch[full_plan.row : full_plan.row + 1]
    fragile = replace(alone, status=np.array(["fragile"]))[0]
    with pytest.warns(FragilePlanWarning, match="3 options left out of the letter"):
        letter = write_letter(bank, fragile, without_protected=True)
    assert letter.fragile_left_out == 3
    assert "no option to offer you that we could stand by" in said(letter)
    assert "Option 1" not in letter.text
    letter = write_letter(bank, fragile, without_protected=True, include_fragile=True)
    assert (letter.fragile_left_out, "Option 3" in letter.text) == (0, True)


def test_a_letter_saves_both_files_and_shows_itself(written, full_plan, tmp_path):
    letter = written(full_plan)
    html, text = letter.save(tmp_path / "letters")
    assert (html.name, text.name) == ("letter.html", "letter.txt")
    assert html.read_text(encoding="utf-8") == letter.html
    assert text.read_text(encoding="utf-8") == letter.text == str(letter)
    assert "&lt;!DOCTYPE html&gt;" in letter._repr_html_()
    assert full_plan.label in repr(letter)


def test_the_same_plan_gives_the_same_letter(written, full_plan):
    assert written(full_plan).html == written(full_plan).html
    assert LetterSettings().texts == ["", "", "", ""]


def test_who_is_compared_with_neighbours_is_told_so(full_plan, settings):
    told = [Reason("income", 20.0, 35.0, 1.0)]
    for near in (False, True):
        facts = letter_facts(full_plan, [], told, left_out=False, settings=settings, neighbours=near)
        words = " ".join(block.text for block in Template().blocks(facts))
        assert ("typical of similar applications that the model accepts: 35" in words) == near
        assert ("typical of applications that the model accepts: 35" in words) == (not near)


def test_a_number_that_is_not_in_the_plan_never_leaves(written, full_plan, tmp_path):
    (tmp_path / "sentences.j2").write_text("# Letter\n\nPay 4711 today.\n")
    with pytest.raises(DataError, match=r"the number 4711 in 'Pay 4711 today\.' is not in the plan"):
        written(full_plan, template=tmp_path)
