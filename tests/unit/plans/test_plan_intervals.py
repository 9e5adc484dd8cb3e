"""Intervals of options: their columns, and all that shows them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from copa.data.schema import Feature
from copa.exceptions import InvalidInputError
from copa.plans import Change, PlanBatch
from copa.plans.wording import change_words, ranges_words
from copa.plans.writers import written_table
from unit.plans.plan_batches import german_batch

NAN = np.nan
MONTHS = Feature("months", "integer", lower=4, upper=72)
PRICE = Feature("price", "numeric", lower=0.0, upper=1000.0, step=250.0, special=(-9.0,), missing="may_change")


LOWER = np.array([[10, NAN], [NAN, 1500], [20, NAN], [20, 10000], [12, 11000], [18, 2000]], dtype=float)
UPPER = np.array([[18, NAN], [NAN, 2000], [24, NAN], [22, 10500], [12, 12000], [18, 3000]], dtype=float)
COLUMNS = ("at_least", "at_most", "interval_level")


def ranged_batch(lower=LOWER, upper=UPPER, levels=(0.6,) * 6, **changes):
    """The German batch with intervals of the durations and amounts of its six options."""
    batch = german_batch(**changes)
    ends = np.full((2, *batch.options.shape), NAN)
    ends[..., [batch.options.columns.get_loc(name) for name in ("duration", "amount")]] = lower, upper
    return replace(batch, at_least=ends[0], at_most=ends[1], interval_level=np.array(levels))


@pytest.fixture(scope="module")
def batch():
    return ranged_batch()


@pytest.mark.parametrize(
    ("feature", "interval", "ends", "words"),
    [
        (MONTHS, (4.0, 21.0), (4, 21), "between 4 and 21"),  # also where an end is the last value allowed
        (MONTHS, (18.0, 72.0), (18, 72), "between 18 and 72"),
        (MONTHS, (4.0, 4.0), (4, 4), "exactly 4"),
        (PRICE, (500.0, 1000.0), (500.0, 1000.0), "between 500 and 1000"),
        (None, (0.125, 0.5), (0.125, 0.5), "between 0.125 and 0.5"),
        (MONTHS, None, (None, None), ""),
    ],
)
def test_both_ends_are_said(feature, interval, ends, words):
    change = Change("column", 48, 18, feature, interval)
    assert (change.at_least, change.at_most) == ends
    assert [type(end) for end in (change.at_least, change.at_most)] == [type(end) for end in ends]
    assert change.range_text == words


def test_a_sentence_ends_with_the_range():
    assert (
        change_words(Change("months", 48, 18, MONTHS, (4.0, 21.0))) == "Lower months from 48 to 18 (between 4 and 21)."
    )
    missing = Change("price", None, 500.0, PRICE, (500.0, 500.0))
    assert change_words(missing) == "Set price to 500 (it is missing today; exactly 500)."
    assert change_words(Change("months", 48, 18, MONTHS)) == "Lower months from 48 to 18."


def test_changes_of_a_plan_have_their_intervals(batch):
    first, second = batch[0].changes(1), batch[0].changes(2)
    assert [change.interval for change in first] == [(10.0, 18.0)]
    assert {change.column: change.range_text for change in second} == {
        "amount": "between 1500 and 2000",
        "employment": "",
    }


def test_a_plan_says_what_holds_in_its_ranges(batch):
    words = batch[0].explain()
    assert "Lower duration (months) from 48 to 18 (between 10 and 18)." in words
    said = "an option is accepted today and keeps a guarantee of at least 0.6"
    assert words.count(said) == 1
    assert "Effort, guarantee and plausibility are those of the values shown." in words
    assert said in batch[0].explain(1)


@pytest.mark.parametrize(
    ("levels", "changes", "words"),
    [
        ([0.6, 0.5, 0.4, 0.6, 0.6, 0.6], {}, "keeps a guarantee of at least 0.6, or its own if lower"),
        ([0.5, 0.5, 0.4, 0.6, 0.6, 0.6], {}, "keeps the guarantee that it has by itself"),
        ([0.6] * 6, {"guarantee_for": "all"}, "keeps the guarantee that it has by itself"),
        ([0.6] * 6, {"expected": True}, "keeps an expected rate of at least 0.6"),
    ],
)
def test_the_level_that_is_kept_is_said(levels, changes, words):
    some = ranged_batch(levels=levels, **changes)
    assert f"accepted today and {words}." in ranges_words(some[0])


def test_without_intervals_nothing_is_said():
    plan = german_batch()[0]
    assert np.isnan(plan.at_least).all()
    assert ranges_words(plan) == ""
    assert plan.changes(1)[0].interval is None
    assert "→" in plan._repr_html_()
    assert "between 10" not in plan._repr_html_()


def test_an_option_without_intervals_is_not_spoken_of():
    nothing = np.full((6, 2), NAN)
    plan = ranged_batch(nothing, nothing)[0]
    assert ranges_words(plan) == ranges_words(plan, 1) == ""


def test_cards_show_the_ranges(batch):
    card = batch[0]._repr_html_()
    assert '<span class="copa-name">between 10 and 18</span>' in card
    assert "keeps a guarantee of at least 0.6" in card


def test_the_table_of_changes_has_both_ends(batch):
    table = batch.to_frame()
    first = table.iloc[0]
    assert (first["column"], first["at_least"], first["at_most"]) == ("duration", 10.0, 18.0)
    employment = table[table["column"] == "employment"]
    assert employment[["at_least", "at_most"]].isna().all(axis=None)
    assert german_batch().to_frame()[["at_least", "at_most"]].isna().all(axis=None)


def test_json_has_both_ends_as_numbers_and_what_holds_between_them(batch):
    option = json.loads(batch.to_json())["applicants"][0]["options"][0]
    change = {"column": "duration", "from": 48, "to": 18, "effort": None}
    assert option["changes"] == [change | {"at_least": 10, "at_most": 18}]
    assert option["ranges"] == {"guarantee": 0.6}
    bare = json.loads(german_batch().to_json())["applicants"][0]["options"][0]
    assert bare["ranges"] is None
    assert bare["changes"] == [change | {"at_least": None, "at_most": None}]


def test_the_table_of_options_words_the_ranges(batch):
    words = written_table(batch)["option_changes"]
    assert words[0] == "duration: 48 -> 18 (between 10 and 18)"
    assert written_table(german_batch())["option_changes"][0] == "duration: 48 -> 18"


def test_parts_of_a_batch_keep_their_intervals(batch):
    chosen = batch.select([2, 0])
    duration = batch.options.columns.get_loc("duration")
    assert chosen.interval(2, duration) == batch.interval(0, duration) == (10.0, 18.0)
    again = PlanBatch.concat([batch[:2], batch[2:]])
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(again, name), getattr(batch, name))


def test_a_batch_without_intervals_beside_one_with_them(batch):
    both = PlanBatch.concat([german_batch(), batch])
    assert both[0].changes(1)[0].interval is None
    assert both[len(batch)].changes(1)[0].interval == (10.0, 18.0)


def test_a_file_holds_the_intervals(tmp_path, batch):
    batch.save(tmp_path / "plans.copa")
    read = PlanBatch.load(tmp_path / "plans.copa")
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(read, name), getattr(batch, name))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"at_least": np.zeros((6, 3))}, "at_least must hold one number per option and column of the table"),
        ({"at_most": np.zeros(6)}, "at_most must hold one number per option and column of the table"),
        ({"at_least": np.full((6, 20), 1e9)}, "must not be above"),
        ({"at_least": np.full((6, 20), NAN)}, "missing alone"),
        ({"interval_level": np.zeros(5)}, r"interval_level must hold one number per option, shape \(6,\)"),
    ],
)
def test_what_is_no_interval_is_refused(batch, changes, words):
    with pytest.raises(InvalidInputError, match=words):
        replace(batch, **changes)
