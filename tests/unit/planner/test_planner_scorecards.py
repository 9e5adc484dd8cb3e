"""Scorecards that cut numbers into bins: options name the edge to cross, and refits keep the bins."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, StandardScaler

import copa
from copa.exceptions import InvalidInputError

CUTS = (6, 12, 24)
FAST = {
    "later_models": copa.LaterModels(n_refits=40),
    "plausibility": 0.0,
    "n_options": 2,
    "n_starts": 4,
    "n_jobs": 1,
    "progress": False,
    "favourable": True,
}
rng = np.random.default_rng(3)
N = 400
TABLE = pd.DataFrame({"months": rng.integers(0, 40, N), "income": rng.normal(20.0, 5.0, N).round(1)})
POINTS = np.digitize(TABLE["months"], CUTS) + 0.3 * (TABLE["income"] - 20.0)
LABELS = (POINTS + rng.logistic(0.0, 0.3, N) > 1.5).to_numpy()
MONTHS = copa.Feature("months", "integer", lower=0, upper=60, direction="increase")
INCOME = copa.Feature("income", "numeric", lower=0, upper=60, step=0.1, immutable=True)
SCHEMA = copa.FeatureSchema([MONTHS, INCOME])


def cut(frame):
    """Months in bins that begin at the cut-offs."""
    return np.column_stack([np.asarray(frame)[:, 0] >= edge for edge in CUTS]).astype(float)


def scorecard(transformer, table=TABLE):
    encoder = make_column_transformer((transformer, ["months"]), (StandardScaler(), ["income"]))
    return make_pipeline(encoder, LogisticRegression(C=10.0)).fit(table, LABELS)


@pytest.fixture(scope="module")
def by_hand():
    return copa.RecoursePlanner(scorecard(FunctionTransformer(cut)), schema=SCHEMA, **FAST).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def binned():
    pipeline = scorecard(KBinsDiscretizer(5, encode="onehot", strategy="uniform", subsample=None))
    return copa.RecoursePlanner(pipeline, schema=SCHEMA, **FAST).fit(TABLE, LABELS)


def test_an_option_names_the_edge_to_cross(by_hand):
    assert by_hand.strategy_.space.edges["months"].tolist() == list(CUTS)
    batch = by_hand.plan(pd.DataFrame({"months": [3, 5, 11], "income": [20.3, 20.3, 18.3]}))
    assert len(batch.options) >= 3
    assert set(batch.options["months"]) <= set(CUTS)


def test_a_longer_way_to_the_edge_costs_more(by_hand):
    batch = by_hand.plan(pd.DataFrame({"months": [1, 5], "income": [20.3, 20.3]}))
    first = [batch.effort[batch.owner == i][0] for i in range(2)]
    assert first[0] > first[1] > 0.0
    before, after = np.array([1, 5]), [batch.options["months"][batch.owner == i].iloc[0] for i in range(2)]
    assert first[0] / first[1] == pytest.approx((after[0] - before[0]) / (after[1] - before[1]))


def test_the_interval_of_a_change_is_the_bin_of_the_option(by_hand):
    batch = by_hand.plan(pd.DataFrame({"months": [3], "income": [20.3]}))
    place = batch.options.columns.get_loc("months")
    ends = {6: 11, 12: 23, 24: 60}
    for k, months in enumerate(batch.options["months"]):
        assert batch.interval(k, place) == (months, ends[months])


def test_bins_of_a_fitted_transformer_are_kept_by_refits_and_the_basis_says_so(binned, by_hand):
    edges = binned.model[0].named_transformers_["kbinsdiscretizer"].bin_edges_[0][1:-1]
    np.testing.assert_array_equal(binned.strategy_.space.edges["months"], edges)
    assert "the bins are taken to stay as they are" in binned.strategy_.radius_source
    assert "only nearly" not in binned.strategy_.radius_source
    assert "bins" not in by_hand.strategy_.radius_source  # nothing there is learned
    batch = binned.plan(TABLE[~binned.model.predict(TABLE)].head(20))
    assert {"ok", "fragile"} >= set(batch.status) - {"infeasible"}
    assert np.isfinite(batch.option_lower).all()
    assert (batch.option_lower > 0.0).any()


def test_a_planner_with_bins_is_saved_and_loaded(binned, tmp_path):
    declined = TABLE[~binned.model.predict(TABLE)].head(8)
    binned.save(tmp_path / "planner.copa")
    again = copa.RecoursePlanner.load(tmp_path / "planner.copa", binned.model)
    pd.testing.assert_frame_equal(again.plan(declined).options, binned.plan(declined).options)


def test_an_audit_counts_the_numbers_as_they_are_written(by_hand):
    applicants = pd.DataFrame({"months": [3, 3], "income": [20.3, 20.3]}, index=[0, 1])
    rows = [pd.DataFrame({"months": [months], "income": [20.3]}) for months in (6, 10)]
    effort = by_hand.audit(rows, applicants).effort
    assert effort[1] / effort[0] == pytest.approx(7.0 / 3.0)


def test_a_corrected_option_crosses_the_edge(by_hand):
    applicants = pd.DataFrame({"months": [3], "income": [20.3]})
    corrected = by_hand.correct([pd.DataFrame({"months": [5], "income": [20.3]})], applicants, method="level")
    assert set(corrected.after.options["months"]) <= set(CUTS)
    assert len(corrected.after.options)


def count_fits(monkeypatch, *classes):
    """How many fits of these classes are called from now on."""
    calls = []
    for kind in classes:
        fit = kind.fit
        monkeypatch.setattr(
            kind, "fit", lambda self, *rest, fit=fit, **more: calls.append(1) or fit(self, *rest, **more)
        )
    return calls


def test_a_binned_column_that_stands_in_a_rule_stays_as_it_is():
    schema = copa.FeatureSchema([MONTHS, INCOME.replace(immutable=False)], ["months <= 2 * income"])
    planner = copa.RecoursePlanner(scorecard(FunctionTransformer(cut)), schema=schema, **FAST)
    with pytest.warns(UserWarning, match="'months' enters the model in bins, and the rule .* it stays as it is"):
        planner.fit(TABLE, LABELS)
    batch = planner.plan(pd.DataFrame({"months": [3], "income": [20.3]}))
    assert len(batch.options)
    assert set(batch.options["months"]) == {3}


@pytest.mark.parametrize(
    ("schema", "transformer", "message"),
    [
        (
            copa.FeatureSchema([MONTHS.replace(missing="may_change"), INCOME]),
            KBinsDiscretizer(4, subsample=None),
            "missing: stay",
        ),
        (SCHEMA, make_pipeline(FunctionTransformer(np.sin), FunctionTransformer(np.sign)), None),
    ],
)
def test_what_cannot_be_planned_for_is_refused_before_any_refit(monkeypatch, schema, transformer, message):
    pipeline = scorecard(transformer)
    calls = count_fits(monkeypatch, LogisticRegression, StandardScaler)
    planner = copa.RecoursePlanner(pipeline, schema=schema, **FAST)
    if message is None:  # bins, however odd
        planner.fit(TABLE, LABELS)
        return
    with pytest.raises(InvalidInputError, match=message):
        planner.fit(TABLE, LABELS)
    assert calls == []


def with_gaps(column, entry, share=0.15):
    return TABLE.assign(**{column: TABLE[column].astype(float).mask(np.random.default_rng(0).random(N) < share, entry)})


def test_a_missing_value_stays_or_is_left_as_the_schema_says():
    table = with_gaps("months", np.nan)
    pipeline = scorecard(make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), table)
    missing = pd.DataFrame({"months": [np.nan], "income": [16.0]})
    months = MONTHS.replace(direction="both")
    for rule, kept in (("stay", True), ("may_change", False)):
        income = INCOME.replace(immutable=not kept, direction="increase")  # what is left to change
        schema = copa.FeatureSchema([months.replace(missing=rule), income])
        planner = copa.RecoursePlanner(pipeline, schema=schema, guarantee=0.6, **FAST).fit(table, LABELS)
        batch = planner.plan(missing)
        assert len(batch.options)
        assert pipeline.predict(batch.options).all()
        assert batch.options["months"].isna().all() == kept


def test_a_special_code_is_left_for_regular_values_and_never_a_target():
    table = with_gaps("months", -9.0)
    pipeline = scorecard(SimpleImputer(missing_values=-9.0, add_indicator=True), table)
    schema = copa.FeatureSchema([MONTHS.replace(special=(-9.0,)), INCOME])
    planner = copa.RecoursePlanner(pipeline, schema=schema, guarantee=0.6, **FAST).fit(table, LABELS)
    assert planner.strategy_.kind == "linear"
    batch = planner.plan(pd.DataFrame({"months": [-9.0, 2.0], "income": [18.0, 18.0]}))
    assert set(batch.owner) == {0, 1}
    assert (batch.options["months"] >= 0.0).all()
    assert (batch.effort[batch.owner == 0] >= 1.0).all()  # to leave a code costs a unit of effort at least


def test_what_a_missing_value_does_beside_others_is_not_linear():
    table = with_gaps("months", np.nan)
    encoder = make_pipeline(KNNImputer(), StandardScaler())
    pipeline = make_pipeline(encoder, LogisticRegression()).fit(table, LABELS)
    schema = copa.FeatureSchema([MONTHS.replace(missing="may_change"), INCOME.replace(immutable=False)])
    planner = copa.RecoursePlanner(
        pipeline, schema=schema, **FAST | {"later_models": copa.LaterModels(n_refits=8)}
    ).fit(table, LABELS)
    assert planner.strategy_.kind == "feature map"


def test_a_forest_leaves_missing_values():
    table = with_gaps("months", np.nan)
    pipeline = make_pipeline(SimpleImputer(add_indicator=True), RandomForestClassifier(20, random_state=0))
    pipeline.fit(table, LABELS)
    schema = copa.FeatureSchema([MONTHS.replace(missing="may_change"), INCOME])
    planner = copa.RecoursePlanner(
        pipeline, schema=schema, guarantee=0.5, **FAST | {"later_models": copa.LaterModels(n_refits=6)}
    )
    with pytest.warns(copa.exceptions.BlackBoxWarning, match=r"trees of this model are not read .*SimpleImputer"):
        planner.fit(table, LABELS)
    declined = table[table["months"].isna() & ~pipeline.predict(table)].head(10)
    batch = planner.plan(declined)
    assert batch.options["months"].between(0, 60).any()
    assert not any(schema.violations(declined.iloc[batch.owner], batch.options))


def test_a_scorecard_of_bins_alone_is_planned_for_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.normal(3000.0, 800.0, 300).round(), "months": rng.integers(0, 60, 300)})
    good = table["income"] / 800.0 + table["months"] / 15.0 + rng.logistic(size=300) > 5.5
    bins = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform", subsample=None)
    model = make_pipeline(bins, LogisticRegression()).fit(table, good)
    planner = copa.RecoursePlanner(
        model, later_models=copa.LaterModels(n_refits=30), guarantee=0.6, n_options=2, progress=False
    ).fit(table, good)
    declined = table[~model.predict(table)].head(3)
    batch = planner.plan(declined)
    assert len(batch.options)
    assert model.predict(batch.options).all()
    planner.save(tmp_path / "bins.copa")
    assert copa.RecoursePlanner.load(tmp_path / "bins.copa", model).plan(declined).to_json() == batch.to_json()


def test_a_planner_with_special_codes_is_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(50.0, 10.0, 200).round(), "b": rng.normal(0.0, 1.0, 200).round(2)})
    good = (table["a"] / 10.0 + table["b"] + 0.3 * rng.logistic(size=200) > 5.0).to_numpy()
    table.loc[:14, "a"] = -9.0
    model = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression()).fit(table, good)
    planner = copa.RecoursePlanner(
        model, later_models=copa.LaterModels(n_refits=30), guarantee=0.6, n_options=2, progress=False
    ).fit(table, good)
    assert planner.schema_["a"].special == (-9.0,)
    declined = table[~model.predict(table)].head(12)
    planner.save(tmp_path / "codes.copa")
    again = copa.RecoursePlanner.load(tmp_path / "codes.copa", model)
    assert again.plan(declined).to_json() == planner.plan(declined).to_json()
