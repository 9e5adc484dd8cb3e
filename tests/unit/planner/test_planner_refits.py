"""What is fitted again to resampled rows: all of the model, and nothing but the model."""

import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

import copa
from copa.models.base import unfitted
from unit.planner import loans

SETTINGS = {"later_models": copa.LaterModels(n_refits=4), "n_starts": 4, "n_options": 2, "guarantee": 0.6}


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(8, min_samples_leaf=5, random_state=0)


def scores_vary(planner) -> bool:
    scores = planner.strategy_.held_out_scores(loans.people(60, 3), 1)
    return bool((scores.std(axis=0) > 0.05).mean() > 0.5)


def test_a_frozen_forest_is_fitted_again():
    """`fit` of a frozen estimator does nothing: refits that are the model itself would promise everything."""
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    model = loans.fitted_pipeline(forest())
    assert scores_vary(loans.planner(frozen(model), **SETTINGS))


def test_what_is_frozen_under_a_calibration_is_fitted_again():
    frozen = pytest.importorskip("sklearn.frozen").FrozenEstimator
    table = loans.people(300, 0)
    model = CalibratedClassifierCV(frozen(loans.fitted_pipeline(forest()))).fit(table, loans.outcomes(table))
    assert scores_vary(loans.planner(model, **SETTINGS))
    assert isinstance(model.estimator, frozen)
    assert not isinstance(unfitted(model).estimator, frozen)


def test_of_a_search_over_settings_the_best_model_is_fitted_again_and_not_the_search():
    table = loans.people(300, 0)
    search = GridSearchCV(loans.pipeline(forest()), {"randomforestclassifier__min_samples_leaf": [5, 20]}, cv=2)
    search.fit(table, loans.outcomes(table))
    planner = loans.planner(search, **SETTINGS)
    assert type(planner.strategy_).kind == "trees"  # of the best model's refits: a search has none
    assert scores_vary(planner)
    declined = table[~search.predict(table)].iloc[:3]
    assert search.predict(planner.plan(declined).options).all()
