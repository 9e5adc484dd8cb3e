"""Corrections of models that are not linear in the columns: a search that begins at each option."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import copa
from copa.exceptions import InvalidInputError
from unit.planner import loans

GUARANTEE = 0.6


def _forest():
    model = loans.fitted_pipeline(RandomForestClassifier(15, min_samples_leaf=5, random_state=0))
    return model, loans.planner(
        model, later_models=copa.LaterModels(n_refits=12), n_starts=6, n_options=3, guarantee=GUARANTEE
    )


def _products():
    table = loans.people(300, 0)
    classifier = LogisticRegression(C=0.1, max_iter=5000)
    model = make_pipeline(loans.encoder(), PolynomialFeatures(2, include_bias=False), classifier)
    model.fit(table, loans.outcomes(table))
    return model, loans.planner(
        model, later_models=copa.LaterModels(n_refits=12), n_starts=6, n_options=3, guarantee=GUARANTEE
    )


@pytest.fixture(
    scope="module", params=[_forest, pytest.param(_products, marks=pytest.mark.extended)], ids=["forest", "products"]
)
def fitted(request):
    return request.param()


@pytest.fixture(scope="module")
def model(fitted):
    return fitted[0]


@pytest.fixture(scope="module")
def planner(fitted):
    return fitted[1]


@pytest.fixture(scope="module")
def declined(model):
    table = loans.people(80, 7)
    return table[~model.predict(table)].iloc[:8]


@pytest.fixture(scope="module")
def batch(planner, declined):
    return planner.plan(declined)


@pytest.fixture(scope="module")
def weak(batch, declined):
    """Menus that only today's model accepts: each option half way back to the applicant, where it is still accepted."""
    options = batch.options.copy()
    for name in ("debt", "income"):
        home = declined[name].to_numpy()[batch.owner]
        middle = home + np.rint(0.5 * (options[name].to_numpy() - home))
        options[name] = middle.astype(options[name].dtype)
    return options.assign(applicant=declined.index[batch.owner])


@pytest.fixture(scope="module")
def corrected(planner, declined, weak):
    return planner.correct(weak, declined)


def test_the_given_plans_are_worse_than_asked_for(corrected):
    assert (corrected.before.option_lower < GUARANTEE).sum() >= 5


def test_corrected_options_reach_the_level_and_are_allowed_and_accepted(model, declined, corrected):
    after = corrected.after
    ok = after.status == "ok"
    assert ok.sum() > (corrected.before.status == "ok").sum()
    assert ok.sum() >= len(declined) // 2
    assert (after.option_lower[ok[after.owner]] >= GUARANTEE).all()
    changed = after.options[corrected.moved > 0.0]
    assert len(changed) > 0
    assert model.predict(changed).all()
    whose = declined.iloc[after.owner[corrected.moved > 0.0]]
    assert not any(loans.SCHEMA.violations(whose, changed))


def test_no_option_becomes_less_sure_unless_it_had_to_move(model, declined, corrected):
    before, after = corrected.before, corrected.after
    sound = model.predict(before.options).astype(bool)
    sound &= np.array([not f for f in loans.SCHEMA.violations(declined.iloc[before.owner], before.options)])
    assert (after.option_lower[sound] >= before.option_lower[sound] - 1e-9).all()


def test_what_is_good_already_stays_as_it_is(planner, batch):
    good = batch.select(np.flatnonzero(batch.status == "ok"))
    fixed = planner.correct(good)
    assert (fixed.moved == 0.0).all()
    pd.testing.assert_frame_equal(fixed.after.options, good.options)


def test_a_correction_stays_nearer_to_the_option_than_a_new_plan(planner, batch, weak, corrected):
    """Least effort from the option, not from the applicant: the corrected row is rarely farther off than a new one."""
    units = {name: planner.schema_[name].spread for name in ("debt", "income")}

    def distances(rows, given):
        return sum(abs(rows[name].to_numpy() - given[name]) / unit for name, unit in units.items())

    nearer = []
    for k in np.flatnonzero((corrected.moved > 0.0) & (corrected.after.option_lower >= GUARANTEE)):
        given = weak.iloc[k]
        others = batch.options[batch.owner == corrected.after.owner[k]]
        if len(others) == 0:
            continue
        nearer.append(distances(corrected.after.options.iloc[[k]], given)[0] <= distances(others, given).min() + 1.0)
    assert np.mean(nearer) >= 0.7


def test_options_that_may_not_move_stay(planner, declined, weak):
    fixed = planner.correct(weak, declined, n_corrections=1)
    moved = np.bincount(fixed.before.owner, weights=fixed.moved > 0.0)
    assert moved.max() == 1


def test_a_cap_on_changes_and_immutable_columns_hold_for_the_applicant(model, declined, weak):
    schema = replace(loans.SCHEMA, max_changes=2)
    capped = loans.planner(
        model, schema=schema, later_models=copa.LaterModels(n_refits=12), n_starts=6, n_options=3, guarantee=GUARANTEE
    )
    fixed = capped.correct(weak, declined)
    assert (fixed.moved > 0.0).any()
    assert not any(schema.violations(declined.iloc[fixed.after.owner], fixed.after.options))
    assert len(fixed.after.options) + fixed.left_out.sum() == len(weak)


def test_other_methods_are_refused_with_what_to_do(planner, declined, weak):
    with pytest.raises(InvalidInputError, match=r"method='mahalanobis' requires .* method='level' searches"):
        planner.correct(weak, declined, method="mahalanobis")


def test_the_time_limit_leaves_the_given_options(model, planner, declined, weak):
    planner.set_params(time_limit=1e-9)
    try:
        fixed = planner.correct(weak, declined)
    finally:
        planner.set_params(time_limit=None)
    assert (fixed.moved == 0.0).all()
    assert "time_limit" in set(fixed.after.status)
    pd.testing.assert_frame_equal(
        fixed.after.options, fixed.before.options[~fixed.left_out].reset_index(drop=True), check_dtype=False
    )
    assert fixed.left_out.tolist() == (~model.predict(fixed.before.options)).tolist()


def test_an_own_row_under_a_cap_is_corrected_as_far_as_a_new_plan_goes(model, planner, declined):
    """The option changes nothing yet: every column may still change, up to the cap."""
    assert planner.schema_.max_changes is not None
    fixed = planner.correct(declined.assign(applicant=declined.index), declined)
    assert (fixed.after.status == "ok").sum() >= len(declined) // 2
    assert model.predict(fixed.after.options[fixed.moved > 0.0]).all()
    assert not any(loans.SCHEMA.violations(declined.iloc[fixed.after.owner], fixed.after.options))


def test_plans_that_hold_as_asked_are_left_alone(model, declined):
    lenient = loans.planner(
        model, later_models=copa.LaterModels(n_refits=12), n_starts=6, n_options=3, guarantee=0.5, guarantee_for="any"
    )
    batch = lenient.plan(declined)
    good = batch.select(np.flatnonzero((batch.any_lower >= 0.6) & (batch.status == "ok")))
    assert len(good) > 0
    assert (good.option_lower < 0.6).any()
    fixed = lenient.set_params(guarantee=0.6).correct(good)
    assert (fixed.moved == 0.0).all()
    assert (fixed.after.status == "ok").all()


def test_what_was_changed_in_an_immutable_column_counts_as_moved(planner, declined, weak):
    aged = weak.assign(age=weak["age"] + 7)
    fixed = planner.correct(aged, declined)
    changed = (fixed.before.options != fixed.after.options).any(axis=1).to_numpy()
    assert changed.any()
    np.testing.assert_array_equal(fixed.moved > 0.0, changed)
