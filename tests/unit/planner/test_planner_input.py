"""Bad input is refused at once, with what was received, what is allowed, and the nearest name."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import copa
from copa import Feature, FeatureSchema
from copa.exceptions import InvalidInputError
from copa.promises import gate, keep
from unit.planner import loans

TRAINING = loans.people(300, 0)
LABELS = loans.outcomes(TRAINING)
LINES = TRAINING[["income", "debt", "age"]]
LINE_SCHEMA = FeatureSchema(loans.SCHEMA.features[:3])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"objective": "paper"}, ["objective", "'paper'", "PaperObjective"]),
        ({"later_models": "auto"}, ["later_models", "'auto'"]),
        ({"later_models": copa.MomentBall}, ["later_models", "MomentBall"]),
        ({"cost": "l3"}, ["cost", "'l3'", "'l1'", "'l2'"]),
        ({"guarantee_for": "eech"}, ["guarantee_for", "'eech'", "'each'"]),
        ({"guarantee": 0.0}, ["guarantee", "0.0"]),
        ({"guarantee": 1.0}, ["guarantee", "1.0"]),
        ({"guarantee": 90}, ["guarantee", "90"]),
        ({"guarantee": "high"}, ["guarantee", "'high'"]),
        ({"guarantee": float("nan")}, ["guarantee", "nan"]),
        ({"n_options": 0}, ["n_options", "0"]),
        ({"n_options": 2.5}, ["n_options", "2.5"]),
        ({"n_options": True}, ["n_options", "True"]),
        ({"n_starts": 0}, ["n_starts", "0"]),
        ({"time_limit": 0}, ["time_limit", "0"]),
        ({"diversity_weight": "much"}, ["diversity_weight", "'much'"]),
        ({"random_state": -1}, ["random_state", "-1"]),
        ({"n_jobs": 0}, ["n_jobs", "0"]),
        ({"favourable": "good"}, ["favourable", "'good'", "True", "False"]),
        ({"threshold": 1.5}, ["threshold", "1.5"]),
        ({"threshold": "half"}, ["threshold", "'half'"]),
    ],
    ids=str,
)
def test_a_wrong_setting_is_named_with_what_is_allowed(model, settings, words):
    with pytest.raises(InvalidInputError) as caught:
        loans.planner(model, **settings)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("guarantee", 2.0, ["guarantee", "2.0"]),
        ("guarantee_for", "everyone", ["guarantee_for", "'everyone'"]),
        ("objective", "paper", ["objective", "'paper'"]),
        ("n_options", 0, ["n_options", "0"]),
        ("time_limit", -1, ["time_limit", "-1"]),
    ],
)
def test_a_setting_that_is_changed_after_fitting_is_checked_too(model, declined, name, value, words):
    planner = loans.planner(model).set_params(**{name: value})
    with pytest.raises(InvalidInputError) as caught:
        planner.plan(declined.iloc[:2])
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("weights", "words"),
    [({"margin": -0.1}, "margin.*-0.1"), ({"validity_weight": np.inf}, "validity_weight.*inf")],
)
def test_weights_of_the_papers_objective_are_checked(weights, words):
    with pytest.raises(InvalidInputError, match=words):
        copa.PaperObjective(**weights)


def test_a_misspelt_column_is_answered_with_the_nearest_name(model, planner, declined):
    renamed = declined.rename(columns={"income": "incom"})
    with pytest.raises(InvalidInputError, match=r"'income'.*did you mean 'incom'"):
        planner.plan(renamed)
    unfitted = copa.RecoursePlanner(model, schema=loans.SCHEMA)
    with pytest.raises(InvalidInputError, match=r"'income'.*did you mean 'incom'"):
        unfitted.fit(TRAINING.rename(columns={"income": "incom"}), LABELS)


def test_a_schema_of_other_columns_is_refused(model):
    schema = FeatureSchema([loans.SCHEMA["income"], Feature("dept", "integer")])
    with pytest.raises(InvalidInputError, match=r"'dept'.*did you mean 'debt'"):
        loans.planner(model, schema=schema)


def test_a_schema_that_the_data_contradict_is_refused(model):
    schema = loans.SCHEMA.replace({"job": {"values": ["pilot", "cook"], "transitions": None}})
    with pytest.raises(InvalidInputError, match=r"does not fit the data.*'job'"):
        loans.planner(model, schema=schema)


@pytest.mark.parametrize(
    "X", [TRAINING.to_numpy(), TRAINING.to_dict(), None, [[1, 2]]], ids=["array", "dict", "none", "list"]
)
def test_only_tables_with_named_columns_are_read(model, planner, X):
    with pytest.raises(InvalidInputError, match="DataFrame"):
        copa.RecoursePlanner(model, schema=loans.SCHEMA).fit(X, LABELS)
    with pytest.raises(InvalidInputError, match="DataFrame"):
        planner.plan(X)


def test_an_unfitted_model_is_refused():
    with pytest.raises(InvalidInputError, match="fitted"):
        loans.planner(loans.pipeline())


@pytest.mark.parametrize("model", [SVC(), LinearRegression()], ids=lambda model: type(model).__name__)
def test_a_model_that_is_neither_linear_nor_has_probabilities_is_refused(model):
    with pytest.raises(InvalidInputError, match=type(model).__name__):
        loans.planner(loans.fitted_pipeline(model))


def test_a_column_that_is_not_linear_may_be_immutable():
    bent = FunctionTransformer(lambda table: table.assign(age=table["age"] ** 2))
    model = make_pipeline(bent, StandardScaler(), LogisticRegression()).fit(LINES, LABELS)
    batch = copa.RecoursePlanner(model, schema=LINE_SCHEMA, **loans.FAST).fit(LINES, LABELS).plan(LINES.iloc[:20])
    assert (batch.status == "ok").any()


def test_more_than_two_classes_are_refused():
    model = loans.fitted_pipeline(labels=np.arange(300) % 3)
    with pytest.raises(InvalidInputError, match="2 classes, it has 3"):
        copa.RecoursePlanner(model, schema=loans.SCHEMA).fit(TRAINING, np.arange(300) % 3)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.where(LABELS, "yes", "no"), "True"),
        (LABELS[:-1], "300"),
        (None, "y is needed"),
    ],
    ids=["other labels", "too few", "none"],
)
def test_labels_must_be_the_models_and_one_per_row(model, labels, words):
    with pytest.raises(InvalidInputError, match=words):
        copa.RecoursePlanner(model, schema=loans.SCHEMA).fit(TRAINING, labels)


@pytest.mark.parametrize("call", ["plan", "audit", "correct", "save"])
def test_nothing_works_before_fit(model, declined, call):
    planner = copa.RecoursePlanner(model)
    arguments = (declined,) if call == "plan" else ("somewhere",)
    with pytest.raises(NotFittedError, match="fit"):
        getattr(planner, call)(*arguments)


def test_absent_means_the_same_however_it_is_written(model, planner, declined):
    ball = loans.same_ball(planner)
    plain = FeatureSchema([Feature("debt", "integer"), Feature("job", "categorical", values=loans.JOBS)])
    expected = loans.planner(model, schema=plain, **ball).plan(declined).to_json()
    for nothing in (None, []):
        spelled = FeatureSchema(
            [
                Feature("debt", "integer", lower=nothing, upper=nothing, step=nothing, direction=nothing),
                Feature("job", "categorical", values=loans.JOBS, allowed=nothing, transitions=nothing),
            ],
            nothing,
            nothing,
        )
        assert loans.planner(model, schema=spelled, **ball).plan(declined).to_json() == expected


def test_a_schema_may_be_a_path_or_left_out(tmp_path, model, batch, declined):
    loans.SCHEMA.save(tmp_path / "schema.yaml")
    assert loans.planner(model, schema=tmp_path / "schema.yaml").plan(declined).to_json() == batch.to_json()
    inferred = loans.planner(model, schema=None)
    assert inferred.schema_.names == tuple(TRAINING.columns)
    assert (inferred.plan(declined).status == "ok").any()


def test_labels_may_be_left_out_where_the_moments_are_given(model, planner, declined):
    given = copa.RecoursePlanner(
        model,
        **{
            "schema": loans.SCHEMA,
            **loans.FAST,
            "later_models": copa.MomentBall(planner.moments_.mean, planner.moments_.cov, 0.5, drift="cov"),
        },
    ).fit(TRAINING)
    assert given.radius_source_ == "given"
    assert (given.plan(declined).status == "ok").any()


def test_columns_of_a_table_may_come_in_any_order(planner, batch, declined):
    other = planner.plan(declined[declined.columns[::-1]])
    pd.testing.assert_frame_equal(other.options[declined.columns], batch.options)


def test_labels_of_people_may_repeat(planner, declined):
    twice = pd.concat([declined.iloc[:3], declined.iloc[:3]])
    found = planner.plan(twice)
    assert found[0].options.equals(found[3].options)
    assert re.match("PlanBatch", repr(found))
    assert clone(planner).get_params(deep=False).keys() == planner.get_params(deep=False).keys()


DECADES = {k: float(k) for k in range(2, 8)}


def test_a_row_that_a_transformer_fails_on_gets_the_status_error_and_the_others_their_plans(declined):
    def decade(table):
        return pd.DataFrame({"age": [DECADES[age // 10] for age in table["age"]]}, index=table.index)

    encoder = make_column_transformer((FunctionTransformer(decade), ["age"]), (StandardScaler(), ["income", "debt"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(TRAINING, LABELS)
    planner = loans.planner(model, schema=loans.SCHEMA.replace(job={"immutable": True}, grade={"immutable": True}))
    people = declined[~model.predict(declined)].iloc[:4].set_axis([14, 25, 36, 47])
    age = people["age"].to_numpy(copy=True)
    age[1] = 103
    batch = planner.plan(people.assign(age=age))
    assert batch.status[1] == "error"
    assert batch.message[1] == "row 25: the pipeline refuses it (KeyError: 10)"
    others = [0, 2, 3]
    assert batch.status[others].tolist() == planner.plan(people).status[others].tolist()


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_column_may_be_called_self(kind):
    table = loans.people(300, 0)
    y = loans.outcomes(table)
    old = "income" if kind == "numeric" else "job"
    table = table.astype({"job": "category"}).rename(columns={old: "self"})
    words = ["self" if old == "job" else "job"]
    encoder = make_column_transformer((OneHotEncoder(), words), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression()).fit(table, y)
    planner = copa.RecoursePlanner(model, **loans.FAST).fit(table, y)
    batch = planner.plan(table[~model.predict(table)].iloc[:5])
    assert len(batch.options)
    assert planner.correct(batch, n_corrections=1).after.counts.sum()
    other = make_pipeline(encoder, LogisticRegression(C=1e-3)).fit(table[:150], y[:150])
    assert gate(other, batch, reference=table).n_promises == len(batch.options)
    assert keep(model, table, y, batch)
