"""New people for each bundled data set: every row delivered keeps every promise."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa
from cases import mostly_extended
from unit.planner.promises import Judge, broken_promises

DATA = {
    "german": copa.datasets.load_german,
    "south_german": copa.datasets.load_south_german,
    "student": copa.datasets.load_student,
}


@pytest.fixture(scope="module", params=mostly_extended(DATA, ["german"]))
def bank(request):
    """A data set, and a planner for a pipeline fitted to it."""
    data = DATA[request.param]()
    choices = [feature.name for feature in data.schema.features if feature.is_categorical]
    lines = [feature.name for feature in data.schema.features if feature.is_numeric]
    known = [data.features[name].drop_duplicates().sort_values().tolist() for name in choices]
    encoder = ColumnTransformer(
        [
            ("choices", OneHotEncoder(categories=known, handle_unknown="ignore"), choices),
            ("lines", StandardScaler(), lines),
        ]
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=2000)).fit(data.features, data.favourable)
    planner = copa.RecoursePlanner(
        model,
        schema=data.schema,
        guarantee=0.7,
        n_options=4,
        later_models=copa.LaterModels(n_refits=50),
        n_starts=8,
        random_state=0,
        n_jobs=1,
    )
    return data, planner.fit(data.features, data.favourable)


def new_people(data, n, seed):
    """Rows of the data with other numbers and other categories: people whom nobody has seen."""
    rng = np.random.default_rng(seed)
    table = data.features.iloc[rng.integers(len(data.features), size=n)].reset_index(drop=True)
    for feature in data.schema.features:
        column = data.features[feature.name]
        if feature.is_numeric:
            low = column.min() if feature.lower is None else feature.lower
            high = column.max() if feature.upper is None else feature.upper
            moved = table[feature.name] + rng.normal(scale=0.5 * column.std(), size=n)
            table[feature.name] = np.clip(np.round(moved), low, high).astype(column.dtype)
        else:
            fresh = rng.random(n) < 0.3
            drawn = column.iloc[rng.integers(len(column), size=n)].reset_index(drop=True)
            table[feature.name] = table[feature.name].where(~fresh, drawn)
    return table.set_axis([f"new {k}" for k in range(n)])


def check(bank, n, seed):
    data, planner = bank
    people = new_people(data, n, seed)
    assert people.dtypes.equals(data.features.dtypes)
    batch = planner.plan(people)
    assert broken_promises(Judge.of(planner), people, batch) == []
    assert set(batch.status) <= {"ok", "fragile", "infeasible", "already_valid"}
    assert (batch.status == "already_valid").tolist() == planner.model.predict(people).tolist()
    assert np.isin(batch.status, ["ok", "fragile"]).sum() > 0.1 * n


def test_three_hundred_new_people_get_plans_that_keep_every_promise(bank):
    check(bank, 300, seed=1)


@pytest.mark.slow
def test_a_thousand_new_people_get_plans_that_keep_every_promise(bank):
    check(bank, 1000, seed=2)
