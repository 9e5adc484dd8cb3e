"""Boosting by others than scikit-learn, on German credit: read as it is, over codes and with categories of its own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import copa
from copa.models.black_box import BlackBox
from copa.models.linear import is_linear
from copa.models.refits.black_box_refits import stopped_early
from copa.planner.strategies.boundary import Boundary
from copa.planner.strategies.samples import UnwrittenRows
from unit.planner.promises import Judge, _cell_faults, finite_cantelli

pytestmark = pytest.mark.extended
LIBRARIES = ("xgboost", "lightgbm")
SETTINGS = {"later_models": copa.LaterModels(n_refits=8), "n_starts": 4, "n_options": 2, "guarantee": 0.6, "n_jobs": 1}
N_TREES = 25


@pytest.fixture(scope="module")
def data():
    return copa.datasets.load_german()


def boosting(library, **settings):
    """A small classifier; each library's own spelling of quiet, and of categories."""
    module = pytest.importorskip(library)
    settings = {"n_jobs": 1} | settings
    if library == "xgboost":
        return module.XGBClassifier(
            **({"n_estimators": N_TREES, "max_depth": 3, "enable_categorical": True} | settings)
        )
    return module.LGBMClassifier(n_estimators=N_TREES, num_leaves=7, verbose=-1, **settings)


def texts(table):
    return [name for name in table if table[name].dtype.kind not in "iufb"]


def over_codes(table, classifier):
    codes = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((codes, texts(table)), remainder="passthrough"), classifier)


def with_categories(table):
    return table.astype(dict.fromkeys(texts(table), "category"))


class Queried(Boundary):
    """Boosting as any other black box: its refits are the same as those whose trees are read."""


def planned(model, schema, table, labels, **settings):
    """A planner, the refits that certify, a dozen people whom the model declines, and their plans."""
    planner = copa.RecoursePlanner(model, schema=schema, **(SETTINGS | settings)).fit(table, labels)
    queried = copa.RecoursePlanner(model, schema=schema, **(SETTINGS | settings | {"surrogate": Queried}))
    refits = queried.fit(table, labels).strategy_.held_out
    declined = table[np.asarray(model.predict(table)) != planner.strategy_.model.favourable].iloc[:12]
    return planner, refits, declined, planner.plan(declined)


def broken(planner, refits, declined, batch, favourable):
    """Promises that a batch breaks, by the model's own `predict`, the schema, and the refits' own probabilities."""
    model, found = planner.model, []
    pd.testing.assert_frame_equal(batch.applicants, declined, check_exact=True)
    assert batch.options.dtypes.equals(declined.dtypes)
    own = declined.iloc[batch.owner]
    found += [faults for faults in planner.schema_.violations(own, batch.options) if faults]
    found += ["refused today" for said in model.predict(batch.options) if said != favourable]
    judge = Judge(model, planner.schema_, model.predict, None, None, planner.radius_)
    for plan in batch:
        found += _cell_faults(judge, plan.factual, plan.options)
        if plan.n_options == 0:
            continue
        position = list(model.classes_).index(favourable)
        asked = [fit.estimator.predict_proba(plan.options)[:, position] for fit in refits]
        clip = planner.strategy_.model.clip
        chances = np.clip(np.array(asked, dtype=float), clip, 1.0 - clip)
        again = finite_cantelli(np.log(chances / (1.0 - chances)), planner.strategy_.reliability)
        if not np.allclose(plan.option_lower, again, atol=1e-6):
            found.append(f"promised {plan.option_lower}, recomputed {again}")
        if plan.status == "ok" and again.min() < SETTINGS["guarantee"] - 1e-6:
            found.append(f"ok at {again.min()}")
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_boosting_over_codes_gets_plans_that_keep_every_promise(data, library):
    model = over_codes(data.features, boosting(library)).fit(data.features, data.favourable)
    planner, refits, declined, batch = planned(model, data.schema, data.features, data.favourable)
    assert broken(planner, refits, declined, batch, favourable=True) == []
    assert np.isin(batch.status, ["ok", "fragile"]).all()
    assert (batch.status == "ok").sum() >= 6
    assert batch.expected_rate.mean() > 0.6


def test_rows_of_the_search_are_scored_as_they_would_be_written(data, monkeypatch):
    scores, seen = BlackBox.scores, []

    def compared(model, rows):
        found = scores(model, rows)
        if isinstance(rows, UnwrittenRows):
            seen.append(rows)
            np.testing.assert_array_equal(found, scores(model, rows.frame))  # whole numbers are levels, too
        return found

    monkeypatch.setattr(BlackBox, "scores", compared)
    model = over_codes(data.features, boosting("lightgbm")).fit(data.features, data.favourable)
    planned(model, data.schema, data.features, data.favourable, surrogate=Queried)
    assert len(seen) > 10


@pytest.fixture(scope="module", params=LIBRARIES)
def with_own_categories(data, request):
    table = with_categories(data.features)
    model = boosting(request.param).fit(table, data.favourable)
    return planned(model, data.schema, table, data.favourable)


def test_boosting_with_categories_of_its_own_gets_plans_that_keep_every_promise(with_own_categories):
    planner, refits, declined, batch = with_own_categories
    assert broken(planner, refits, declined, batch, favourable=True) == []
    assert np.isin(batch.status, ["ok", "fragile"]).all()
    names = [name for name in declined if declined[name].dtype == "category"]
    after, before = batch.options[names].astype(object), declined.iloc[batch.owner][names].astype(object)
    assert (after.to_numpy() != before.to_numpy()).any()  # some option changes a category, and the model reads it


def test_a_few_applicants_with_categories_of_their_own_get_the_same_options(with_own_categories):
    """The categories of a table that was read anew are those of its few rows."""
    planner, _, declined, batch = with_own_categories
    plain = {name: object for name in declined if declined[name].dtype == "category"}
    few = with_categories(declined.astype(plain).iloc[:4])
    assert not few.dtypes.equals(declined.dtypes)
    again = planner.plan(few)
    pd.testing.assert_frame_equal(again.options.astype(plain), batch.options[batch.owner < 4].astype(plain))
    assert (planner.model.predict(again.options) == 1).all()


def test_labels_of_text_and_the_rarer_one_as_favourable(data):
    labels = np.where(data.favourable, "good", "bad")
    model = over_codes(data.features, boosting("lightgbm")).fit(data.features, labels)
    planner, refits, declined, batch = planned(model, data.schema, data.features, labels, favourable="bad")
    assert len(batch.options) > 0
    assert broken(planner, refits, declined, batch, favourable="bad") == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_fitted_to_bare_arrays_is_given_arrays(data, library):
    table = data.features.drop(columns=texts(data.features))
    model = boosting(library).fit(table.to_numpy(), data.favourable)
    planner = copa.RecoursePlanner(model, **SETTINGS).fit(table, data.favourable)
    declined = table[model.predict(table.to_numpy()) == 0].iloc[:6]
    batch = planner.plan(declined)
    assert len(batch.options) > 0
    assert (model.predict(batch.options.to_numpy()) == 1).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_refits_have_one_thread_each_and_seeds_of_their_own(data, library):
    model = boosting(library, n_jobs=2, random_state=3, subsample=0.7)
    model = over_codes(data.features, model).fit(data.features, data.favourable)
    planner = copa.RecoursePlanner(
        model,
        schema=data.schema,
        surrogate=Queried,
        **(SETTINGS | {"later_models": copa.LaterModels(n_refits=3), "n_jobs": 2}),
    )
    fits = planner.fit(data.features, data.favourable).strategy_.retrained
    assert {fit.estimator[-1].n_jobs for fit in fits} == {1}
    assert len({fit.estimator[-1].random_state for fit in fits}) == len(fits)
    assert (model[-1].n_jobs, model[-1].random_state) == (2, 3)
    alone = (
        copa.RecoursePlanner(
            model, schema=data.schema, surrogate=Queried, **(SETTINGS | {"later_models": copa.LaterModels(n_refits=3)})
        )
        .fit(data.features, data.favourable)
        .strategy_
    )
    for fit, other in zip(fits, alone.retrained, strict=True):
        np.testing.assert_array_equal(fit.scores(data.features.head(50)), other.scores(data.features.head(50)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_refits_of_a_model_that_was_stopped_early_have_as_many_trees(data, library):
    """The validation set that stopped it was given to `fit`, and a refit has none."""
    table = with_categories(data.features)
    learn, held = slice(0, 700), slice(700, None)
    model = boosting(library).set_params(n_estimators=400)
    if library == "xgboost":
        model.set_params(early_stopping_rounds=3)
        watched = [(table[held], data.favourable[held])]
        model.fit(table[learn], data.favourable[learn], eval_set=watched, verbose=False)
        n_trees = model.best_iteration + 1
    else:
        import lightgbm

        stop = lightgbm.early_stopping(3, verbose=False)
        model.set_params(early_stopping_rounds=None)
        model.fit(
            table[learn], data.favourable[learn], eval_X=table[held], eval_y=data.favourable[held], callbacks=[stop]
        )
        n_trees = model.best_iteration_
    assert 0 < n_trees < 200
    planner = copa.RecoursePlanner(
        model, schema=data.schema, surrogate=Queried, **(SETTINGS | {"later_models": copa.LaterModels(n_refits=2)})
    )
    fits = planner.fit(table, data.favourable).strategy_.retrained
    assert {fit.estimator.n_estimators for fit in fits} == {n_trees}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_model_that_nothing_stopped_keeps_its_settings(data, library):
    model = over_codes(data.features, boosting(library)).fit(data.features, data.favourable)
    assert stopped_early(model) == {}


def test_parameters_that_are_not_all_of_the_model_are_not_read(data):
    """XGBoost's linear booster adds a base score to its `intercept_`: it is asked, as any other."""
    table = data.features.drop(columns=texts(data.features))
    model = boosting("xgboost", booster="gblinear", max_depth=None).fit(table, data.favourable)
    assert hasattr(model, "coef_")
    assert not is_linear(model)
