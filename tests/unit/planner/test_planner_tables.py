"""Planners that are given tables of other libraries than pandas, or with empty cells."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import copa

FAST = {
    "later_models": copa.LaterModels(n_refits=40),
    "n_options": 2,
    "n_starts": 4,
    "n_jobs": 1,
    "progress": False,
    "guarantee": 0.7,
}


def people(n=240):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "income": rng.integers(10, 60, n),
            "debt": rng.normal(size=n).round(2),
            "home": rng.choice(["own", "rent", "free"], n),
        }
    )
    score = table["income"] - 10 * table["debt"] + 10 * (table["home"] == "own") + rng.normal(0, 5, n)
    return table, (score > 38).to_numpy()


def in_library(kind, table):
    cells = {name: table[name].tolist() for name in table}
    return pa.table(cells) if kind == "pyarrow" else pytest.importorskip(kind).DataFrame(cells)


def encoder():
    return make_column_transformer((OneHotEncoder(), ["home"]), (StandardScaler(), ["income", "debt"]))


def planned(table, model, labels):
    schema = copa.FeatureSchema.infer(table, immutable=["debt"])
    planner = copa.RecoursePlanner(model, schema=schema, **FAST).fit(table, labels)
    return planner, planner.plan(table[:12] if not isinstance(table, pa.Table) else table.slice(0, 12))


@pytest.fixture(scope="module")
def expected():
    table, labels = people()
    model = make_pipeline(encoder(), LogisticRegression()).fit(table, labels)
    return planned(table, model, labels)[1]


@pytest.mark.parametrize("kind", [pytest.param("polars", marks=pytest.mark.extended), "pyarrow"])
def test_any_table_gets_the_same_plans_and_tables_of_its_own_kind(kind, expected):
    table, labels = people()
    own = in_library(kind, table)
    model = make_pipeline(encoder(), LogisticRegression()).fit(own if kind == "polars" else table, labels)
    planner, batch = planned(own, model, labels)
    assert batch.to_json() == expected.to_json()
    assert list(batch.status).count("ok") > 2
    audited = planner.audit(batch)
    corrected = planner.correct(batch, own[:12] if kind == "polars" else own.slice(0, 12))
    tables = [batch.to_frame(), batch.summary(), batch[2].to_frame(), audited.summary(), corrected.summary()]
    assert {type(table) for table in tables} == {type(own)}
    assert batch[3:].backend == kind
    changes = batch.to_frame()
    assert len(changes) == len(expected.to_frame())
    assert len(batch.summary()) == 12


def test_an_audit_of_a_table_of_options_takes_applicants_of_the_same_kind(expected):
    table, labels = people()
    model = make_pipeline(encoder(), LogisticRegression()).fit(table, labels)
    planner = planned(table, model, labels)[0]
    options = expected.options.assign(applicant=expected.owner)
    audited = planner.audit(in_library("pyarrow", options), in_library("pyarrow", table.head(12)))
    assert audited.option_lower.tolist() == expected.option_lower.tolist()
    assert isinstance(audited.summary(), pa.Table)


def test_a_pipeline_that_imputes_is_planned_for_with_all_rows():
    table, labels = people()
    rng = np.random.default_rng(1)
    table["age"] = pd.Series(rng.integers(20, 60, len(table)), dtype=float).where(rng.random(len(table)) > 0.2)
    table["home"] = table["home"].where(rng.random(len(table)) > 0.2)
    levels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    parts = make_column_transformer((levels, ["home"]), (numbers, ["income", "debt", "age"]))
    model = make_pipeline(parts, LogisticRegression()).fit(table, labels)
    schema = copa.FeatureSchema.infer(table, immutable=["home", "age"])
    few = {
        "later_models": copa.LaterModels(ambiguity=copa.MomentBall(radius=0.05), n_refits=8)
    }  # refits of imputers are fitted one by one
    planner = copa.RecoursePlanner(model, schema=schema, **FAST | few).fit(table, labels)
    assert planner.strategy_.n_rows == len(table)
    declined = table[~model.predict(table) & table[["age", "home"]].isna().any(axis=1)].head(8)
    batch = planner.plan(declined)
    assert set(batch.status) <= {"ok", "fragile", "infeasible"}
    assert (batch.status == "ok").any()
    same = batch.options[["age", "home"]].isna().to_numpy() == declined[["age", "home"]].isna().to_numpy()[batch.owner]
    assert same.all()
