"""Options are made lighter as long as they stay as sure as they should be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import copa
from copa.planner.strategies.exploration import Easing
from copa.planner.strategies.samples import Rows, Samples
from unit.planner import loans


@pytest.fixture(scope="module")
def space():
    return loans.planner(
        loans.fitted_pipeline(RandomForestClassifier(3, random_state=0)), later_models=copa.LaterModels(n_refits=2)
    ).strategy_


class Judge:
    """Guarantees as a function of the changes; accepts what is guaranteed at all, and counts what it is asked."""

    def __init__(self, applicants, guarantee):
        self.own, self.guarantee, self.asked = applicants.regions.own, guarantee, []

    def score_today(self, rows):
        return np.array([self.guarantee(row) for row in rows.values - self.own[rows.owner]]) - 0.1

    def evaluate_accepted(self, rows):
        self.asked += [(i, *row) for i, row in zip(rows.owner.tolist(), rows.values.tolist(), strict=True)]
        scores = self.score_today(rows)
        points = np.ones((len(scores), 1))
        return Samples(rows.owner, rows.values, points, scores, scores + 0.1).take(scores >= 0.0)


def _ease(fitted, guarantee, changes, level=0.9):
    """Ease an option, {column: change}, of one applicant; return the changes of the rows that keep the level."""
    applicants = fitted.read_applicants(loans.people(1, 3))
    own = applicants.regions.own
    names = [feature.name for feature in fitted.space.columns]
    values = own.copy()
    for name, change in changes.items():
        values[0, names.index(name)] += change
    judge = Judge(applicants, lambda row: guarantee(dict(zip(names, row.tolist(), strict=True))))
    easing = Easing(fitted.space, applicants, judge, Rows(np.zeros(1, int), values), np.array([level]))
    easing.ease()
    kept = [dict(zip(names, row, strict=True)) for met in easing.met for row in (met.values - own[met.owner]).tolist()]
    sure = [row for row in kept if guarantee(row) >= level]
    return [{name: change for name, change in row.items() if change} for row in sure], judge


def test_changes_that_are_not_needed_are_taken_back_and_the_others_halved(space):
    def guarantee(row):
        return 0.95 if row["income"] >= 4.0 else 0.0

    kept, _ = _ease(space, guarantee, {"income": 8.0, "debt": -3.0})
    assert {"income": 8.0} in kept
    assert {"income": 4.0} in kept


def test_where_either_change_would_do_both_ways_are_offered(space):
    """What counts least goes first on one way, what asks for most on the other."""

    def guarantee(row):
        return 0.92 * (row["income"] >= 8.0) or 0.91 * (row["debt"] <= -3.0)

    kept, _ = _ease(space, guarantee, {"income": 8.0, "debt": -3.0})
    assert {frozenset(row) for row in kept} >= {frozenset({"income"}), frozenset({"debt"})}


def test_an_option_keeps_its_level_and_no_row_is_asked_about_twice(space):
    def guarantee(row):
        return 0.5 + 0.25 * (row["income"] >= 8.0) + 0.25 * (row["debt"] <= -3.0)

    kept, judge = _ease(space, guarantee, {"income": 8.0, "debt": -3.0}, level=1.0)
    assert kept == []
    assert len(judge.asked) == len(set(judge.asked)) > 0


def test_options_of_black_boxes_leave_alone_what_does_not_count():
    """Two columns of ten decide."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 10)).round(1), columns=list("abcdefghij"))
    model = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
    model.fit(table, (table["a"] + table["b"] > 0.5).to_numpy())
    settings = {
        "later_models": copa.LaterModels(n_refits=8),
        "n_starts": 4,
        "guarantee": 0.7,
        "random_state": 0,
        "n_jobs": 1,
    }
    schema = copa.FeatureSchema.infer(table)
    planner = copa.RecoursePlanner(model, schema=schema, **settings).fit(table, table["a"] + table["b"] > 0.5)
    declined = table[~model.predict(table)].head(10)
    batch = planner.plan(declined)
    changed = batch.options.to_numpy() != declined.iloc[batch.owner].to_numpy()
    assert len(batch.owner) >= 10
    assert np.median(changed.sum(axis=1)) <= 2.0
    assert changed[:, 2:].mean() < 0.1
