"""What an option's words allow is what the ledger accepts, and today's model accepts all of it."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, PolynomialFeatures, StandardScaler

import copa
from copa.promises import gate
from unit.promises.ledgers import IN_TIME, TERMS, query

LIMIT = 40.0
ENCODERS = {
    "bins": lambda: KBinsDiscretizer(8, encode="onehot-dense", strategy="uniform"),
    "polynomial": lambda: make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler()),
    "line": StandardScaler,
}


@cache
def office(encoder):
    """A planner whose model likes about 35, or more in a straight line, and two whom it declines."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(10, 81, 3000), "income": rng.integers(0, 21, 3000)})
    liking = 6.0 - ((table["age"] - 35.0) / 8.0) ** 2 if encoder != "line" else (table["age"] - 30.0) / 4.0
    labels = (liking + 0.3 * table["income"] + rng.logistic(size=3000)) > 3.0
    model = make_pipeline(ENCODERS[encoder](), LogisticRegression(max_iter=5000)).fit(table, labels)
    schema = copa.FeatureSchema(
        [
            copa.Feature("age", "integer", lower=10, upper=LIMIT, direction="increase"),
            copa.Feature("income", "integer", lower=0, upper=20),
        ]
    )
    planner = copa.RecoursePlanner(model, schema=schema, guarantee=0.5, n_options=2, random_state=0, progress=False)
    planner.fit(table, labels)
    people = pd.DataFrame({"age": [14, 18], "income": [2, 3]}, index=["ann", "bob"])
    return planner, planner.plan(people[~model.predict(people)])


@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_oldest_who_fulfils_an_option_is_accepted_on_the_same_day(small, encoder):
    planner, batch = office(encoder)
    ids = small.record(batch, **TERMS)
    assert len(ids) == len(batch.owner) > 0
    for k, promise in enumerate(ids):
        row = batch.options.iloc[[k]]
        for age in range(80, 9, -1):
            came = small.redeem(promise, row.assign(age=age), planner.model, as_of=IN_TIME)
            if came.fulfilled:
                assert came.outcome == "kept", (age, [str(c.range_text) for plan in batch for c in plan.changes(1)])
                break
        assert came.fulfilled


@pytest.mark.parametrize("encoder", ENCODERS)
def test_both_ends_of_a_range_are_said_and_recorded(small, encoder):
    _, batch = office(encoder)
    small.record(batch, **TERMS)
    said = [json.loads(row.content)["region"] for row in query(small, "SELECT content FROM personal ORDER BY seq")]
    words = [change.range_text for plan in batch for j in range(plan.n_options) for change in plan.changes(j + 1)]
    assert not [text for text in words if text.startswith("at ")]
    assert said == [_ends(plan, option) for plan in batch for option in range(1, plan.n_options + 1)]


def _ends(plan, option):
    return {change.column: list(change.interval) for change in plan.changes(option) if change.interval is not None}


def test_the_gate_says_that_promises_are_tried_at_their_rows_only():
    planner, batch = office("line")
    said = " ".join(gate(planner.model, batch, favourable=True).in_words())
    assert "tried at its promised row; the other values that its ranges accept are not tried" in said
