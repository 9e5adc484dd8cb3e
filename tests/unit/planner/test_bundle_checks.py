"""Plans held against their bundle: a row that is not that of its certificate is found, whatever units columns have."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import copa
from copa import Feature, FeatureSchema, RecoursePlanner, WeightMoments
from copa._core.formats import Archive
from copa.exceptions import DataError
from copa.planner.bundle_checks import bundle_violations
from copa.planner.persistence import FORMAT
from unit.planner import loans

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
    return RecoursePlanner(
        model, schema=SCHEMA, **settings | {"later_models": copa.MomentBall(moments.mean, moments.cov, 0.0)}
    ).fit(table)


@pytest.fixture(scope="module")
def batch(planner):
    people = pd.DataFrame({"since": [1_700_000_000] * 2, "income": [3.0, 4.0], "debt": [6.0, 5.0]})
    return planner.plan(people)


def faults(batch, planner):
    return list(bundle_violations(batch, planner))


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


def with_other(batch, part, change):
    """The batch with one column changed."""
    return replace(batch, **{part: change(getattr(batch, part))})


@pytest.mark.parametrize(
    ("part", "change", "what"),
    [
        ("effort", lambda effort: 0.5 * effort, "effort"),
        ("change_effort", lambda effort: effort + 1e-6, "effort"),
        ("plausibility", lambda share: np.minimum(share + 0.1, 1.0), "plausibility"),
        ("at_most", lambda ends: ends + 0.5, "interval"),
        ("at_least", lambda ends: ends - 0.5, "interval"),
        ("interval_level", lambda levels: levels + 0.05, "interval"),
    ],
)
def test_a_forged_number_beside_the_bounds_is_found(batch, planner, part, change, what):
    found = faults(with_other(batch, part, change), planner)
    assert len(found) == len(batch.options)
    assert all(fault.endswith(f": the bundle gives another {what}") for fault in found)


@pytest.fixture(scope="module")
def forest():
    settings = {"later_models": copa.LaterModels(n_refits=4), "n_options": 2, "n_starts": 8}
    return loans.planner(loans.fitted_pipeline(RandomForestClassifier(8, random_state=0)), **settings)


@pytest.fixture(scope="module")
def forest_batch(forest):
    people = loans.people(60, 5)
    declined = people[~forest.model.predict(people).astype(bool)].iloc[:6]
    return forest.plan(declined)


def test_plans_of_refits_have_no_faults(forest_batch, forest):
    assert forest_batch.n_held_out
    assert len(forest_batch.options) >= 2
    assert faults(forest_batch, forest) == []


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("expected_rate", lambda shares: np.where(shares == 1.0, 0.5, 1.0)),
        ("all_rate", lambda shares: np.where(shares == 1.0, 0.5, 1.0)),
        ("n_held_out", lambda n_held_out: 10 * n_held_out),
    ],
)
def test_a_forged_rate_or_number_of_refits_is_found(forest_batch, forest, part, change):
    found = faults(with_other(forest_batch, part, change), forest)
    assert len(found) == len(forest_batch.options)
    assert all(fault.endswith(": the bundle gives another expected rate") for fault in found)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("directions", lambda array: array[:-1]),
        ("directions", lambda array: array[:0]),
        ("directions", lambda array: np.vstack([array, array[:1]])),
        ("directions", lambda array: array[:, :-1]),
        ("directions", lambda array: array.T),
        ("thirds", lambda array: array[:, :-1]),
        ("thirds", lambda array: array.ravel()),
    ],
)
def test_arrays_of_another_shape_are_found_when_a_planner_is_loaded(tmp_path, name, change):
    table = loans.people(300, 0)
    paid = loans.outcomes(table)
    model = make_pipeline(loans.encoder(), LogisticRegression()).fit(table, paid)
    planner = RecoursePlanner(
        model, schema=loans.SCHEMA, later_models=copa.LaterModels(n_refits=40), progress=False
    ).fit(table, paid)
    path = tmp_path / "planner.zip"
    planner.save(path)
    stored = FORMAT.read(path.read_bytes(), path)
    arrays = stored.arrays | {name: np.ascontiguousarray(change(stored.arrays[name]))}
    path.write_bytes(FORMAT.pack(Archive(stored.content, arrays, stored.members)))
    with pytest.raises(DataError, match=r"directions|refits on thirds|out of bounds"):
        RecoursePlanner.load(path, model)
