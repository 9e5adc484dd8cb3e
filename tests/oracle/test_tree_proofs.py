"""Proofs about tree ensembles against exhaustive search, on tables of few whole numbers and levels."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import copa
from copa.data.schema import Feature, FeatureSchema, LinearRule
from copa.data.schema.columns import ReadTable
from copa.plans.cost import CHANGE_PENALTY

LEVEL = 0.6
GRADES = ("low", "middle", "high")


def table(n, seed):
    rng = np.random.default_rng(seed)
    columns = {"a": rng.integers(0, 8, n), "b": rng.integers(0, 8, n), "c": rng.integers(0, 5, n)}
    return pd.DataFrame(columns | {"grade": rng.choice(GRADES, n)})


def schema(cost_rule, cap):
    numbers = [Feature(name, "integer", lower=0, upper=top, spread=2.0) for name, top in (("a", 7), ("b", 7), ("c", 4))]
    rules = (LinearRule({"a": 1.0, "b": 1.0}, upper=8.0),) if cost_rule else ()
    return FeatureSchema((*numbers, Feature("grade", "ordinal", values=GRADES, spread=1.0)), rules, cap)


@pytest.fixture(scope="module", params=["forest", "boosting, l2", "forest, capped", "boosting, rule"])
def case(request):
    kind, _, special = request.param.partition(", ")
    X = table(500, 0)
    noise = np.random.default_rng(1).normal(0, 1, len(X))
    score = X["a"] - X["b"] - 2 * X["c"] + 3 * (X["grade"] == "high") + 18.0 + noise
    classifier = (
        RandomForestClassifier(12, max_depth=5, random_state=0)
        if kind == "forest"
        else HistGradientBoostingClassifier(max_iter=15, max_depth=3)
    )
    encoder = make_column_transformer((OrdinalEncoder(categories=[GRADES]), ["grade"]), remainder="passthrough")
    model = make_pipeline(encoder, classifier).fit(X, score > 14.0)
    planner = copa.RecoursePlanner(
        model,
        schema(special == "rule", 1 if special == "capped" else None),
        guarantee=LEVEL,
        cost="l2" if special == "l2" else "l1",
        n_options=1,
        plausibility=0.0,
        later_models=copa.LaterModels(n_refits=12),
    ).fit(X, score > 14.0)
    return planner, X[~model.predict(X)].head(8).reset_index(drop=True)


def everything():
    return pd.DataFrame(list(product(range(8), range(8), range(5), GRADES)), columns=["a", "b", "c", "grade"])


def true_costs(planner, rows, own):
    places = [rows[c].to_numpy(dtype=float) - float(own[c]) for c in ("a", "b", "c")]
    ranks = np.array([GRADES.index(value) for value in rows["grade"]]) - GRADES.index(own["grade"])
    changes = np.abs(np.stack([*(place / 2.0 for place in places), ranks], axis=1))
    power = planner.strategy_.space.prices.power
    n_changed = (changes > 0.0).sum(axis=1)
    costs = (changes**power).sum(axis=1) ** (1.0 / power) + CHANGE_PENALTY * n_changed
    cap = planner.strategy_.space.cap
    return np.where(n_changed <= cap, costs, np.inf)


@pytest.mark.parametrize("level", [-1.0, LEVEL])
def test_the_bound_is_the_cost_of_the_cheapest_row(case, level):
    planner, declined = case
    strategy = planner.strategy_
    rows = everything()
    rows = rows[planner.model.predict(rows)].reset_index(drop=True)
    if level > 0.0:
        scores = strategy.held_out_scores(rows, 1)
        rows = rows[strategy.ambiguity(1).option_guarantees(np.ascontiguousarray(scores.T)) >= level]
    read = ReadTable(declined)
    applicants = strategy.read_applicants(read, strategy.encode(read))
    found = 0
    for i in range(len(declined)):
        costs = true_costs(planner, rows, declined.iloc[i])
        bound = strategy.cheapest_row(applicants.take([i]), level, np.inf, np.zeros((0, 1)), 60.0)
        faults = planner.schema_.violations(declined.iloc[[i] * len(rows)], rows)
        obeys = np.array([not words for words in faults], dtype=bool)
        least = costs.min(initial=np.inf)
        assert bound.cost == pytest.approx(least, rel=1e-9)  # rules can only rule rows out
        assert bound.cost <= costs[obeys].min(initial=np.inf) * (1.0 + 1e-9)
        found += bound.row is not None
    assert found >= 3


def test_a_row_that_is_known_is_proven_to_be_the_cheapest(case):
    planner, declined = case
    strategy, read = planner.strategy_, ReadTable(declined)
    applicants = strategy.read_applicants(read, strategy.encode(read))
    for i in range(len(declined)):
        free = strategy.cheapest_row(applicants.take([i]), LEVEL, np.inf, np.zeros((0, 1)), 60.0)
        again = strategy.cheapest_row(applicants.take([i]), LEVEL, free.cost, np.zeros((0, 1)), 60.0)
        assert again.cost == free.cost
        assert again.row is None


def test_verdicts_of_a_batch(case):
    planner, declined = case
    batch = planner.plan(declined)
    proofs = planner.prove(batch)
    frame = proofs.to_frame()
    assert (frame["bound"] <= frame["cost"]).all()
    assert frame["verdict"].isin(["optimal", "bounded"]).eq(batch.status == "ok").all()


def test_time_that_is_up_leaves_a_bound(case):
    planner, declined = case
    strategy, read = planner.strategy_, ReadTable(declined)
    applicants = strategy.read_applicants(read, strategy.encode(read))
    bound = strategy.cheapest_row(applicants.take([0]), LEVEL, np.inf, np.zeros((0, 1)), 1e-9)
    whole = strategy.cheapest_row(applicants.take([0]), LEVEL, np.inf, np.zeros((0, 1)), 60.0)
    assert bound.cost <= whole.cost
