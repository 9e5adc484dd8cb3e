"""Reasons for a decline: exact for linear models, by replacement for others."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import LinearSVC

import copa
from copa import Feature, FeatureSchema, InvalidInputError
from copa.analysis.reasons import Reasons, find_reasons, protected_columns
from unit.planner import loans

PEOPLE = loans.people(80, 11)
QUICK = {"later_models": copa.LaterModels(n_refits=4)}  # no reason depends on what is known of the next models


def black_box():
    return loans.planner(
        loans.fitted_pipeline(RandomForestClassifier(30, max_depth=4, random_state=0)),
        **QUICK,
        plausibility=0.05,
    )


@pytest.fixture(scope="module")
def forest():
    return black_box()


def bins():
    return make_column_transformer(
        (KBinsDiscretizer(4, encode="onehot-dense"), ["income"]),
        (OneHotEncoder(), ["job"]),
        remainder="passthrough",
    )


def ordinal():
    return make_column_transformer((OrdinalEncoder(), ["job"]), remainder="passthrough")


LINEAR = {
    "scaler and one-hot": loans.pipeline(),
    "dropped level": loans.pipeline(drop="first"),
    "ordinal codes": make_pipeline(ordinal(), LogisticRegression(max_iter=2000)),
    "bins": make_pipeline(bins(), LogisticRegression(max_iter=2000)),
    "mixed columns": make_pipeline(loans.encoder(), PCA(4), LogisticRegression()),
    "svm": loans.pipeline(LinearSVC()),
    "ridge": loans.pipeline(RidgeClassifier()),
}


def declined(planner, table=PEOPLE):
    return table[~planner.strategy_.model.accepts(table)]


@pytest.mark.parametrize("name", LINEAR)
def test_contributions_add_up_to_the_models_own_difference_of_decision_values(name):
    table = loans.people(300, 0)
    model = LINEAR[name].fit(table, loans.outcomes(table))
    planner = loans.planner(model, **QUICK, schema=None if name == "bins" else loans.SCHEMA)
    people = declined(planner)
    found = find_reasons(planner.strategy_, people)
    reference = model.decision_function(planner.strategy_.accepted_row)[0]
    sums = np.array([reasons.contributions.sum() for reasons in found])
    assert {reasons.found_by for reasons in found} == {"exact"}
    assert sums == pytest.approx(reference - model.decision_function(people), abs=1e-9)
    assert max(abs(reasons.together) for reasons in found) <= 1e-9


@pytest.mark.parametrize("favourable", [True, False])
def test_contributions_add_up_at_a_threshold_and_for_either_label(favourable):
    model = loans.fitted_pipeline()
    planner = loans.planner(model, **QUICK, threshold=0.7, favourable=favourable)
    sign = 1.0 if favourable else -1.0
    people = declined(planner)
    found = find_reasons(planner.strategy_, people)
    cut = np.log(0.7 / 0.3)
    assert [r.score for r in found] == pytest.approx(sign * model.decision_function(people) - cut, abs=1e-9)
    gap = sign * (model.decision_function(planner.strategy_.accepted_row)[0] - model.decision_function(people))
    assert [r.contributions.sum() for r in found] == pytest.approx(gap, abs=1e-9)


def test_a_calibrated_model_has_exact_reasons_too():
    model = loans.fitted_pipeline(CalibratedClassifierCV(LinearSVC(), ensemble=False))
    planner = loans.planner(model, **QUICK)
    found = find_reasons(planner.strategy_, declined(planner))
    assert all(abs(r.contributions.sum() - (r.reference_score - r.score)) <= 1e-9 for r in found)


def test_reasons_do_not_depend_on_who_else_is_asked_about(bank, forest):
    for planner in (bank, forest):
        people = declined(planner).head(5)
        together = find_reasons(planner.strategy_, people)
        alone = [find_reasons(planner.strategy_, people.iloc[[i]])[0] for i in range(len(people))]
        for one, other in zip(together, alone, strict=True):
            assert one.columns == other.columns
            assert one.values == other.values
            assert np.array_equal(one.contributions, other.contributions)


def test_the_reference_is_typical_of_the_accepted_and_the_most_important_comes_first(bank):
    table = loans.people(300, 0)
    accepted = table[bank.strategy_.model.accepts(table)]
    (found,) = find_reasons(bank.strategy_, declined(bank).head(1))
    typical = dict(zip(found.columns, found.references, strict=True))
    assert typical["job"] == accepted["job"].mode()[0]
    assert abs(typical["income"] - accepted["income"].median()) <= 1.0
    assert found.contributions.tolist() == sorted(found.contributions.tolist(), reverse=True)
    assert found.reference_score > 0.0 > found.score


def test_principal_reasons_are_at_most_four_and_speak_against_the_applicant():
    found = Reasons(
        ("a", "b", "c", "d", "e", "f"),
        (1,) * 6,
        (2,) * 6,
        np.array([3.0, 2.0, 2.0, 1.0, 0.5, -1.0]),
        0.0,
        -1.0,
        6.5,
        "exact",
    )
    assert [reason.column for reason in found.principal()] == ["a", "b", "c", "d"]
    assert [reason.column for reason in found.principal(9)] == ["a", "b", "c", "d", "e"]
    tiny = Reasons(("a", "b"), (1, 1), (2, 2), np.array([1.0, 0.001]), 0.0, -1.0, 0.001, "exact")
    assert [reason.column for reason in tiny.principal()] == ["a"]


def test_of_equal_contributions_the_column_that_the_model_has_first_comes_first():
    table = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 1] * 50})
    y = table["a"] == 1
    planner = copa.RecoursePlanner(LogisticRegression().fit(table, y), **QUICK).fit(table, y)
    (found,) = find_reasons(planner.strategy_, table.head(1))
    assert found.columns == ("a", "b")


def test_missing_values_and_special_codes_are_reasons_like_others():
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"income": draw.normal(50.0, 10.0, 400).round(), "since": draw.integers(1, 30, 400) * 1.0})
    y = table["income"] + table["since"] + draw.normal(0.0, 5.0, 400) > 60.0
    table.loc[::5, "income"] = np.nan
    table.loc[::7, "since"] = -9.0
    y[::5] = False
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["income"]), (StandardScaler(), ["since"])
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(table, y)
    schema = FeatureSchema([Feature("income", "numeric"), Feature("since", "numeric", special=[-9])])
    planner = copa.RecoursePlanner(model, schema=schema, **QUICK).fit(table, y)
    people = table[(table["income"].isna() | (table["since"] == -9.0)) & ~model.predict(table)]
    found = find_reasons(planner.strategy_, people)
    gap = model.decision_function(planner.strategy_.accepted_row)[0] - model.decision_function(people)
    assert [r.contributions.sum() for r in found] == pytest.approx(gap, abs=1e-9)
    first = next(r for r, missing in zip(found, people["income"].isna(), strict=True) if missing)
    assert first.principal()[0].column == "income"
    assert np.isnan(first.principal()[0].value)


def test_a_feature_map_tells_what_columns_do_only_together():
    encoder = make_column_transformer(
        (make_pipeline(StandardScaler(), PolynomialFeatures(2)), loans.NUMBERS), (OneHotEncoder(), ["job"])
    )
    table = loans.people(300, 0)
    model = make_pipeline(encoder, LogisticRegression(max_iter=5000)).fit(table, loans.outcomes(table))
    planner = loans.planner(model, **QUICK, plausibility=0.05)
    people = declined(planner).head(6)
    for found in find_reasons(planner.strategy_, people):
        assert found.found_by == "replacement"
        assert found.contributions.sum() + found.together == pytest.approx(
            found.reference_score - found.score, abs=1e-9
        )


def test_a_black_box_is_compared_with_accepted_neighbours(forest):
    people = declined(forest).head(8)
    found = find_reasons(forest.strategy_, people)
    assert {r.found_by for r in found} == {"replacement"}
    assert all(r.principal() for r in found)
    assert {r.compared_with for r in found} == {"neighbours"}
    assert len({r.references for r in found}) > 1  # neighbours of each, not the same for all
    for r, row in zip(found, people.to_dict("records"), strict=True):
        typical = dict(zip(r.columns, r.references, strict=True))
        assert forest.strategy_.model.accepts(pd.DataFrame([typical]))[0]
        assert dict(zip(r.columns, r.values, strict=True)) == row
        assert r.contributions.sum() + r.together == pytest.approx(r.reference_score - r.score, abs=1e-9)


def test_no_reference_is_a_training_row(forest):
    known = forest.strategy_.space.plausibility.table()[list(forest.strategy_.model.columns)]
    people = declined(forest).head(8)
    for found in find_reasons(forest.strategy_, people):
        typical = pd.Series(dict(zip(found.columns, found.references, strict=True)))[known.columns]
        assert not (known == typical).all(axis=1).any()


def test_a_black_box_without_known_rows_is_compared_with_all_who_are_accepted(forest):
    fitted = replace(forest.strategy_, space=replace(forest.strategy_.space, plausibility=None))
    (found,) = find_reasons(fitted, declined(forest).head(1))
    assert found.compared_with == "accepted"
    typical = fitted.accepted_row.iloc[0]
    assert all(typical[name] == value for name, value in zip(found.columns, found.references, strict=True))


def test_a_planner_that_knows_nobody_says_how_it_can(bank):
    with pytest.raises(InvalidInputError, match="Fit it again to the training data"):
        find_reasons(replace(bank.strategy_, accepted_row=None), PEOPLE.head(1))


def test_reasons_survive_a_file(bank, forest, tmp_path):
    for planner in (bank, forest):
        planner.save(tmp_path / "planner.zip")
        again = copa.RecoursePlanner.load(tmp_path / "planner.zip", planner.model)
        people = declined(planner).head(3)
        for one, other in zip(
            find_reasons(planner.strategy_, people), find_reasons(again.strategy_, people), strict=True
        ):
            assert one.columns == other.columns
            assert one.references == other.references
            assert np.array_equal(one.contributions, other.contributions)


def test_protected_columns_are_known_by_name_and_by_title():
    schema = FeatureSchema(
        [
            Feature("x1", "binary", values=[0, 1], title="Sex of the applicant"),
            Feature("age", "integer"),
            Feature("account_age", "integer"),
            Feature("income", "numeric"),
        ]
    )
    found = protected_columns(schema, ("x1", "age", "account_age", "income", "religion"))
    assert found == {
        "x1": "looks like a protected attribute",
        "age": "looks like an age",
        "religion": "looks like a protected attribute",
    }


def skewed(n=600, columns=6):
    """Columns that are rarely high together, of which a tenth of the rows is accepted."""
    draw = np.random.default_rng(3)
    table = pd.DataFrame({f"x{k}": (draw.exponential(1.0, n) ** 2).round(2) for k in range(columns)})
    total = table.sum(axis=1)
    return table, (total > np.quantile(total, 0.9)).to_numpy()


def test_every_reference_is_accepted_also_where_the_medians_of_the_accepted_are_declined():
    table, y = skewed()
    model = LogisticRegression(max_iter=5000).fit(table, y)
    medians = table[model.predict(table)].median().to_frame().T
    assert not model.predict(medians)[0]
    planner = copa.RecoursePlanner(model, **QUICK).fit(table, y)
    people = table[~model.predict(table)]
    found = find_reasons(planner.strategy_, people)
    assert min(r.reference_score for r in found) >= 0.0
    assert all(r.principal() for r in found)
    assert not (table == planner.strategy_.accepted_row.iloc[0]).all(axis=1).any()


def test_where_what_is_typical_of_neighbours_is_declined_all_accepted_stand_in():
    table, y = skewed(300, 3)
    model = RandomForestClassifier(20, max_depth=5, random_state=0).fit(table, y)
    planner = copa.RecoursePlanner(model, later_models=copa.LaterModels(n_refits=4), plausibility=0.05).fit(table, y)
    found = find_reasons(planner.strategy_, table[~model.predict(table)].head(60))
    assert min(r.reference_score for r in found) >= 0.0
    assert {r.compared_with for r in found} >= {"accepted"}


def test_a_reference_that_is_declined_is_refused(bank):
    declined_row = declined(bank)[list(bank.strategy_.model.columns)].head(1)
    with pytest.raises(InvalidInputError, match="knows nobody to compare with"):
        find_reasons(replace(bank.strategy_, accepted_row=declined_row), PEOPLE.head(1))
