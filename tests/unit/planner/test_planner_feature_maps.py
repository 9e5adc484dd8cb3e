import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

import copa
from cases import mostly_extended
from unit.planner import loans
from unit.planner.promises import Judge, broken_promises


def splines():
    numbers = make_pipeline(StandardScaler(), SplineTransformer(n_knots=4))
    return ColumnTransformer(
        [("numbers", numbers, ["income", "debt", "age", "grade"]), ("job", OneHotEncoder(sparse_output=False), ["job"])]
    )


def products():
    plain = ColumnTransformer(
        [("numbers", StandardScaler(), ["income", "debt", "grade"]), ("job", OneHotEncoder(drop="first"), ["job"])],
        sparse_threshold=0.0,
    )
    return make_pipeline(plain, PolynomialFeatures(2, include_bias=False))


def roots():
    numbers = make_pipeline(FunctionTransformer(np.sqrt), StandardScaler())
    return ColumnTransformer([("numbers", numbers, ["income", "debt"]), ("grade", StandardScaler(), ["grade"])])


@pytest.fixture(
    scope="module", params=mostly_extended([splines, products, roots], [splines]), ids=lambda make: make.__name__
)
def case(request):
    table = loans.people(300, 0)
    model = make_pipeline(request.param(), LogisticRegression(C=0.3, max_iter=5000)).fit(table, loans.outcomes(table))
    people = loans.people(80, 7)
    declined = people[~model.predict(people)].iloc[:12]
    planner = loans.planner(model, guarantee=0.7, later_models=copa.LaterModels(n_refits=40))
    return model, planner, declined, planner.plan(declined)


def test_such_a_model_is_seen_to_be_curved(case):
    assert case[1].strategy_.kind == "feature map"


def test_every_promise_is_kept_in_the_space_of_the_features(case):
    """The judge encodes the rows by the pipeline itself and bounds them there: the linear model in phi-space."""
    _, planner, declined, batch = case
    assert broken_promises(Judge.of(planner), declined, batch) == []


def test_most_applicants_get_a_menu_at_the_level(case):
    batch = case[3]
    assert (batch.status == "ok").mean() > 0.5
    assert set(batch.status) <= {"ok", "fragile", "infeasible"}


def test_a_plan_does_not_depend_on_the_others(case):
    _, planner, declined, batch = case
    alone = planner.plan(declined.iloc[[5]])
    assert alone[0].options.equals(batch[5].options)


def test_the_cheapest_option_is_near_that_of_a_fine_search():
    """Two numbers and a product of them, so that every row of a fine grid can be tried."""
    rng = np.random.default_rng(0)
    grid = np.round(np.linspace(0.0, 10.0, 101), 1)
    table = pd.DataFrame({"a": rng.choice(grid, 400), "b": rng.choice(grid, 400)})
    labels = (0.25 * (table["a"] - 3.0) * (table["b"] - 2.0) - 1.5 + rng.logistic(size=400)) > 0.0
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=2000)).fit(table, labels)
    schema = copa.FeatureSchema([copa.Feature(name, "numeric", lower=0.0, upper=10.0, step=0.1) for name in ("a", "b")])
    planner = copa.RecoursePlanner(
        model, schema=schema, n_options=1, guarantee=0.8, later_models=copa.LaterModels(n_refits=60), n_jobs=1
    )
    planner.fit(table, labels)
    declined = table[~model.predict(table)].iloc[:10]
    batch = planner.plan(declined)
    rows = pd.DataFrame(np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2), columns=["a", "b"])
    encoded = np.column_stack([np.ones(len(rows)), model[:-1].transform(rows)])
    bounds = copa.validity_bounds(encoded[:, None], ambiguity=Judge.of(planner).ambiguity)
    good = rows[(bounds.lower >= 0.8) & model.predict(rows)]
    spreads = np.array([planner.schema_[name].spread for name in ("a", "b")])
    ratios = []
    for i in range(len(declined)):
        effort = (np.abs(good - declined.iloc[i]) / spreads).sum(axis=1)
        assert batch.status[i] == "ok"
        ratios.append(batch[i].effort[0] / effort.min())
    assert np.median(ratios) < 1.02
    assert max(ratios) < 1.25


def test_a_saved_planner_makes_the_same_plans(case, tmp_path):
    model, planner, declined, batch = case
    planner.save(tmp_path / "planner.copa")
    loaded = copa.RecoursePlanner.load(tmp_path / "planner.copa", model)
    assert loaded.strategy_.kind == "feature map"
    assert loaded.plan(declined.iloc[:4]).options.equals(batch[:4].options)
