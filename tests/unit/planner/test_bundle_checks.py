"""Plans held against their bundle: a row that is not that of its certificate is found, whatever units columns have."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from copa import Feature, FeatureSchema, RecoursePlanner, WeightMoments
from copa.planner.bundle import Bundle, bundle_violations

OTHER_ROW = "its row is not the one that the certificate is about"
SCHEMA = FeatureSchema(
    [
        Feature("since", "integer", immutable=True),  # seconds since 1970, as the model gets them
        Feature("income", "numeric", lower=0.0, upper=20.0),
        Feature("debt", "numeric", lower=0.0, upper=20.0),
    ]
)


@pytest.fixture(scope="module")
def planner():
    rng = np.random.default_rng(0)
    since = 1_700_000_000 + rng.integers(0, 1000, 300)
    table = pd.DataFrame({"since": since, "income": rng.uniform(0, 10, 300), "debt": rng.uniform(0, 10, 300)})
    paid = table["income"] - table["debt"] + rng.normal(0, 1, 300) > 0
    model = LogisticRegression().fit(table.assign(since=0), paid)
    theta = np.concatenate([model.intercept_, model.coef_[0]])
    moments = WeightMoments(theta, np.diag([1e-2, 1e-24, 1e-2, 1e-2]))
    settings = {"n_options": 2, "n_starts": 4, "guarantee": 0.5, "random_state": 0, "n_jobs": 1, "progress": False}
    # Without labels nothing is refitted: the times beside an intercept leave a fit without a penalty undetermined.
    return RecoursePlanner(model, schema=SCHEMA, moments=moments, radius=0.0, **settings).fit(table)


@pytest.fixture(scope="module")
def batch(planner):
    people = pd.DataFrame({"since": [1_700_000_000] * 2, "income": [3.0, 4.0], "debt": [6.0, 5.0]})
    return planner.plan(people)


def faults(batch, planner):
    return list(bundle_violations(batch, Bundle(planner, pd.DataFrame(), {}, {}, "")))


def test_plans_of_the_bundle_have_no_faults(batch, planner):
    assert len(batch.options) >= 2
    assert faults(batch, planner) == []


@pytest.mark.parametrize(("name", "more"), [("income", 0.5), ("debt", -0.1), ("income", 1e-6)])
def test_a_column_of_large_numbers_does_not_hide_a_forged_one(batch, planner, name, more):
    forged = replace(batch, options=batch.options.assign(**{name: batch.options[name] + more}))
    found = [fault for fault in faults(forged, planner) if OTHER_ROW in fault]
    assert len(found) == len(batch.options)


def test_rounding_of_large_numbers_is_no_forgery(batch, planner):
    points = batch.points.copy()
    points[:, 1] *= 1.0 + 1e-12
    assert faults(replace(batch, points=points), planner) == []
