"""The compact JSON of cards against the views that notebooks show, and against the plans themselves."""

import json
from dataclasses import replace

import numpy as np
import pytest

from copa.plans.card import plan_view
from copa.report.builder import card_data
from unit.plans.plan_batches import german_batch


def unpacked(column, texts):
    """What cards.js reads of a packed column, as a function of the place."""
    if "texts" in column:
        return lambda i: texts[column["texts"][i]]
    if "counts" in column:
        first = np.concatenate([[0], np.cumsum(column["counts"])]).tolist()
        return lambda i: [unpacked(column["items"], texts)(k) for k in range(first[i], first[i + 1])]
    if "entry" in column:
        fields = {name: unpacked(it, texts) for name, it in column["entry"].items()}
        return lambda i: {name: read(i) for name, read in fields.items()}
    return lambda i: column["values"][i] if "values" in column else column["same"]


def read_views(batch):
    data = json.loads(json.dumps(card_data(batch), allow_nan=False))
    return [unpacked(data["views"], data["texts"])(i) for i in range(len(batch))]


def require_same(batch):
    views = read_views(batch)
    assert views == [plan_view(plan) for plan in batch]
    for plan, view in zip(batch, views, strict=True):
        for number, card in enumerate(view["cards"], 1):
            told = [tuple(change.values()) for change in card["changes"]]
            assert told == [(it.title, it.before_text, it.after_text, it.range_text) for it in plan.changes(number)]


def test_the_data_say_of_every_plan_what_the_notebook_says(german):
    require_same(german)
    require_same(replace(german, upper=np.full(7, 0.87651), plausibility=np.linspace(0.0, 0.2, 6)))
    require_same(german_batch(guarantee_for="all", expected=True))
    require_same(german[:0])


def test_plans_of_a_planner_with_intervals_and_rates_are_said_alike(loan_plans):
    assert loan_plans.n_held_out
    assert not np.isnan(loan_plans.at_least).all()
    require_same(loan_plans)


@pytest.mark.parametrize("values", [[1, 1.0, True], [0.0, -0.0, False], ["1", 1, None]])
def test_cells_that_are_equal_and_not_the_same_keep_their_own_words(german, values):
    mixed = np.array([*values, *values, "x"], dtype=object)
    options = german.options.assign(town="somewhere")
    cells = {"change_effort": None, "at_least": None, "at_most": None}
    batch = replace(german, applicants=german.applicants.assign(town=mixed), options=options, **cells)
    require_same(batch)


def test_the_row_of_today_is_there_in_words(german):
    data = card_data(german)
    rows = {data["texts"][title]: cells for title, cells in zip(*data["today"].values(), strict=True)}
    assert [data["texts"][cell] for cell in rows["duration (months)"]] == german.applicants["duration"].astype(
        str
    ).tolist()
    assert data["texts"][rows["housing"][0]] == "own"
