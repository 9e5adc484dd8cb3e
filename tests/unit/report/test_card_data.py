"""The compact JSON of cards against the views that notebooks show."""

import json
from dataclasses import replace

import numpy as np
import pytest

from copa.plans.card import plan_view
from copa.report.card_data import card_data
from unit.plans.plan_batches import german_batch


def proven(thousandths):
    return f"{thousandths / 1000:.3f}"


def starts(counts):
    return np.concatenate([[0], np.cumsum(counts)]).tolist()


def read_views(data):
    """What cards.js makes of the data, without a browser."""
    data = json.loads(json.dumps(data, allow_nan=False))
    texts, people, options = data["strings"], data["applicants"], data["options"]
    first_option, first_change = starts(people["counts"]), starts(options["counts"])
    for i, count in enumerate(people["counts"]):
        status = data["statuses"][people["status"][i]]
        cards = [
            {
                "effort": texts[options["effort"][j]],
                "accepted": options["accepted"][j] == 1,
                "breaks_first": j - first_option[i] + 1 == people["first"][i],
                "expected": proven(options["expected"][j]) if options["expected"] else "",
                "unusual": texts[options["unusual"][j]],
                "least": options["lower"][j],
                "changes": [
                    {name: texts[data["changes"][name][k]] for name in ("title", "before", "after", "range")}
                    for k in range(first_change[j], first_change[j + 1])
                ],
            }
            for j in range(first_option[i], first_option[i] + count)
        ]
        notes = [texts[people[name][i]] for name in ("headline", "reason") if people[name][i]]
        bounds = {name: people[name][i] for name in ("any", "all", "upper")}
        words = {name: texts[people[name][i]] for name in ("label", "technical", "ranges", "rates")}
        yield words | bounds | {"status": status["name"], "sign": status["sign"], "notes": notes, "cards": cards}


def require_same(batch):
    for plan, read in zip(batch, read_views(card_data(batch)), strict=True):
        view = plan_view(plan)
        for name in ("label", "status", "sign", "notes", "technical", "ranges", "rates"):
            assert read[name] == view[name]
        for ours, theirs in zip(view["cards"], read["cards"], strict=True):
            least = theirs.pop("least")
            assert ours.pop("bar")["value"] == (f"at least {proven(least)}" if least else "none")
            assert ours == theirs
        bars = [f"at least {proven(read[whom])}" for whom in ("any", "all") if read[whom]]
        bars += [f"at most {proven(read['upper'])}"] if read["upper"] < 1000 else []
        assert [bar["value"] for bar in view["whole"]] == (bars if plan.n_options > 1 else [])


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
    rows = {data["strings"][title]: cells for title, cells in zip(*data["today"].values(), strict=True)}
    assert [data["strings"][cell] for cell in rows["duration (months)"]] == german.applicants["duration"].astype(
        str
    ).tolist()
    assert data["strings"][rows["housing"][0]] == "own"
