"""Changes that are limited by the applicant's own value, and schemas that a planner infers from its model."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from property.exact_judge import refusals
from unit.planner import loans

LIMITS = {"income": 0.2, "debt": {"down": 10}, "grade": {"up": 1}}


@pytest.fixture(scope="module")
def limited(planner):
    """The planner of the bank, in which options may not go far; what it learned is the same."""
    return with_limits(planner, LIMITS)


def with_limits(planner, limits):
    return planner.with_wishes(copa.Wishes(max_change=limits))


def test_options_go_no_further_than_the_largest_change(limited, planner, declined, batch):
    made = limited.plan(declined)
    owners = declined.iloc[made.owner]
    assert refusals(limited.schema_, owners, made.options) == []
    assert limited.schema_["income"].max_change == 0.2
    assert len(made.options) > 0
    before = declined.iloc[batch.owner]
    assert not limited.schema_.obeys(before, batch.options).all()  # without limits options go further
    assert planner.schema_["income"].max_change is None


def test_a_largest_change_that_blocks_is_named(planner, declined):
    tight = {"income": 0.01, "debt": {"up": 0, "down": 1}, "grade": {"up": 0}}
    made = with_limits(planner, tight).plan(declined)
    messages = [message for message in made.message.tolist() if "Blocking constraints" in message]
    assert any("income: may change by at most 1 % of " in message for message in messages)
    assert all("would have to be" in message for message in messages)


def test_codes_under_a_one_hot_encoder_are_offered_as_they_are():
    table = loans.people(300, 0)[["income", "debt", "grade"]]
    encoder = ColumnTransformer(
        [("codes", OneHotEncoder(), ["grade"]), ("numbers", StandardScaler(), ["income", "debt"])]
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(table, loans.outcomes(loans.people(300, 0)))
    planner = copa.RecoursePlanner(model, **loans.FAST).fit(table, loans.outcomes(loans.people(300, 0)))
    assert planner.schema_["grade"].kind == "categorical"
    assert planner.schema_["grade"].values == (1, 2, 3, 4, 5)
    made = planner.plan(table[~model.predict(table)].iloc[:10])
    assert np.isin(made.options["grade"], [1, 2, 3, 4, 5]).all()
