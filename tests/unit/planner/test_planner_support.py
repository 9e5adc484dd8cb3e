"""Values that few training rows have are not offered: in plans, in plans of others, in messages and in files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import copa
from copa import FeatureSchema
from copa.planner.search.regions import read_regions
from unit.planner import loans

# Nobody is a pilot, few are actors, and the model likes both.
JOBS = [*loans.JOBS, "actor", "pilot"]
N_ACTORS = 6
OPEN = {"values": JOBS, "transitions": None}
SCHEMA = loans.SCHEMA.replace(job=OPEN)


def training():
    table = loans.people(300, 0)
    table.iloc[:N_ACTORS, list(table.columns).index("job")] = "actor"
    return table


TABLE = training()
LABELS = loans.outcomes(TABLE) | (TABLE["job"] == "actor").to_numpy()
ENCODER = loans.encoder(categories=[JOBS])


def fitted(classifier=None):
    model = make_pipeline(ENCODER, LogisticRegression() if classifier is None else classifier).fit(TABLE, LABELS)
    if classifier is None:  # a level that no row has: its weight is whatever it is, and no refit knows better
        names = model[:-1].get_feature_names_out().tolist()
        model[-1].coef_[0, names.index("job__job_pilot")] = 4.0
        model[-1].coef_[0, names.index("job__job_actor")] = 4.0
    return model


def planner_for(model, schema=SCHEMA, **settings):
    return copa.RecoursePlanner(model, schema=schema, **loans.FAST | settings).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture(scope="module")
def planner(model):
    return planner_for(model)


@pytest.fixture(scope="module")
def declined(model):
    table = loans.people(150, 7)
    return table[~model.predict(table)].iloc[:25]


def jobs_offered(batch):
    own = batch.applicants["job"].to_numpy()[batch.owner]
    new = batch.options["job"].to_numpy()
    return set(new[new != own])


def test_a_planner_fills_in_what_is_withheld(planner):
    job = planner.schema_["job"]
    assert job.withheld == ("actor", "pilot")
    assert dict(job.support) == {"actor": N_ACTORS, "pilot": 0}
    assert planner.schema is SCHEMA  # what was given stays as it was
    assert SCHEMA["job"].withheld == ()


def test_plans_offer_no_rare_level_that_they_would_offer_otherwise(model, planner, declined):
    offered = planner_for(model, SCHEMA.replace(job={"rare": "offer"})).plan(declined)
    assert jobs_offered(offered) & {"actor", "pilot"}
    batch = planner.plan(declined)
    assert len(batch.options)
    assert not jobs_offered(batch) & {"actor", "pilot"}
    assert jobs_offered(batch)


@pytest.mark.parametrize("how", ["inferred", "given", "file", "mapping"])
def test_schemas_withhold_alike_wherever_they_come_from(model, how, tmp_path):
    SCHEMA.save(tmp_path / "s.yaml")
    given = {"inferred": None, "given": SCHEMA, "file": tmp_path / "s.yaml", "mapping": SCHEMA.to_dict()}[how]
    job = planner_for(model, given).schema_["job"]
    assert set(job.withheld) == {"actor", "pilot"}  # the encoder of the model knows both


@pytest.mark.parametrize("own", ["actor", "pilot"])
def test_who_has_a_rare_level_keeps_it_or_leaves_it(planner, own):
    someone = loans.people(1, 3).assign(job=own)
    space = planner.strategy_.space
    f = next(f for f, feature in space.categorical if feature.name == "job")
    for released in (False, True):
        allowed = read_regions(space, someone, released=released).allowed[0, space.levels(f)]
        assert [job for job, flag in zip(JOBS, allowed, strict=True) if flag] == [*loans.JOBS, own]


@pytest.mark.parametrize("kind", [pytest.param("forest", marks=pytest.mark.slow), "paper"])
def test_black_boxes_and_the_papers_objective_offer_none_either(kind, model):
    forest = fitted(RandomForestClassifier(10, max_depth=4, random_state=0)) if kind == "forest" else model
    people = loans.people(80, 7)
    people = people[~forest.predict(people)].iloc[:8]
    how = {"objective": copa.PaperObjective()} if kind == "paper" else {}
    batch = planner_for(forest, **how).plan(people)
    assert len(batch.options)
    assert not jobs_offered(batch) & {"actor", "pilot"}


def test_plans_of_others_that_ask_for_a_rare_level_are_refused_with_the_reason(planner, declined):
    person = declined.iloc[[0]]
    given = [pd.concat([person.assign(job="pilot"), person.assign(job="actor")], ignore_index=True)]
    audited = planner.audit(given, person)
    assert audited.status[0] == "infeasible"
    assert "'pilot' has 0 training rows, fewer than 15, and is not offered" in audited.message[0]
    assert f"'actor' has {N_ACTORS} training rows, fewer than 15, and is not offered" in audited.message[0]
    corrected = planner.correct(given, person)
    assert not jobs_offered(corrected.after) & {"actor", "pilot"}


def test_rare_levels_stay_withheld_where_the_penalty_says_nothing_of_their_spread(declined):
    fixed = {name: {"immutable": True} for name in ("income", "debt", "grade")}
    schema = SCHEMA.replace(fixed).replace(job={"rare": "offer"})
    planner = planner_for(fitted(LinearSVC(C=10.0)), schema)
    assert planner.schema_["job"].withheld == ("actor", "pilot")
    batch = planner.plan(declined)
    assert not jobs_offered(batch) & {"actor", "pilot"}
    stuck = np.flatnonzero(np.isin(batch.status, ["infeasible", "fragile"]))
    assert len(stuck)
    told = "(`rare: offer` has no effect here: the model's penalty does not say how much their weights vary)"
    assert all(batch.message[i].endswith(f"fewer than 15 training rows: 2 values {told}") for i in stuck)


def test_who_gets_no_plan_is_told_how_many_levels_were_not_offered(model, declined):
    fixed = {name: {"immutable": True} for name in ("income", "debt", "grade")}
    batch = planner_for(model, SCHEMA.replace(fixed)).plan(declined)
    stuck = np.flatnonzero(np.isin(batch.status, ["infeasible", "fragile"]))
    assert len(stuck)
    told = ". Not offered, with fewer than 15 training rows: 2 values (`rare: offer` in the schema offers them)"
    assert all(batch.message[i].endswith(told) for i in stuck)
    assert not any("job: would" in batch.message[i] for i in stuck)
    offering = planner_for(model, SCHEMA.replace(fixed).replace(job={"rare": "offer"})).plan(declined)
    assert not any("Not offered" in message for message in offering.message)


def test_a_table_of_few_rows_withholds_most_and_still_plans():
    table = TABLE.iloc[N_ACTORS : N_ACTORS + 40]
    labels = LABELS[N_ACTORS : N_ACTORS + 40]
    model = make_pipeline(loans.encoder(categories=[JOBS]), LogisticRegression()).fit(table, labels)
    planner = copa.RecoursePlanner(model, schema=SCHEMA, **loans.FAST).fit(table, labels)
    assert set(planner.schema_["grade"].withheld) == {1, 2, 3, 4, 5}
    batch = planner.plan(loans.people(30, 5))
    assert "error" not in set(batch.status)
    own = batch.applicants["grade"].to_numpy()[batch.owner]
    assert (batch.options["grade"].to_numpy() == own).all()


def test_files_keep_what_is_withheld(planner, model, declined, tmp_path):
    planner.save(tmp_path / "p")
    again = copa.RecoursePlanner.load(tmp_path / "p", model)
    assert again.schema_ == planner.schema_
    pd.testing.assert_frame_equal(again.plan(declined).options, planner.plan(declined).options)
    planner.schema_.save(tmp_path / "s.json")
    assert FeatureSchema.load(tmp_path / "s.json") == planner.schema_


def test_a_loaded_planner_that_is_fitted_to_more_rows_withholds_what_is_rare_in_them(planner, model, tmp_path):
    planner.save(tmp_path / "p")
    again = copa.RecoursePlanner.load(tmp_path / "p", model)
    many = pd.concat([TABLE, *[TABLE[TABLE["job"] == "actor"]] * 3])
    again.fit(many, np.concatenate([LABELS, np.ones(3 * N_ACTORS, dtype=bool)]))
    assert again.schema_["job"].withheld == ("pilot",)
