"""The highest level in reach: an ascent over columns against a smooth solver from another library."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import copa

D = 12


@pytest.fixture(scope="module")
def planner():
    """Correlated numbers in a box, and a fixed set whose spread and reach have one shape."""
    rng = np.random.default_rng(3)
    mixed = rng.standard_normal((800, D)) @ np.linalg.cholesky(0.4 * np.ones((D, D)) + 0.6 * np.eye(D)).T
    X = pd.DataFrame(mixed, columns=[f"x{k}" for k in range(D)])
    y = (rng.random(800) < 1.0 / (1.0 + np.exp(-mixed @ (0.5 * rng.standard_normal(D))))).astype(int)
    schema = copa.FeatureSchema([copa.Feature(name, "numeric", lower=-2.0, upper=2.0) for name in X.columns])
    same = {"favourable": 1, "n_options": 2, "plausibility": 0.0, "guarantee": 0.9999, "progress": False}
    rest = copa.LaterModels(n_refits=200)
    return copa.RecoursePlanner(LogisticRegression().fit(X, y), schema, later_models=rest, **same).fit(X, y)


def test_the_highest_level_over_a_box_is_that_of_a_smooth_solver(planner):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.standard_normal((10, D)) - 0.5, columns=planner.feature_names_in_).clip(-2.0, 2.0)
    batch = planner.plan(X)
    known, strategy = planner.strategy_.parameters, planner.strategy_
    below = np.flatnonzero(~np.isnan(batch.highest_level) & (batch.status == "fragile"))
    assert len(below) >= 3
    for i in below.tolist():
        b = batch.reliability[i]
        share = b / strategy.reliability

        def ratio(x, share=share):
            row = np.append(1.0, x)
            return -share * (row @ known.mean) / np.sqrt(row @ known.cov @ row)

        starts = [np.sign(known.mean[1:]) * 2.0, X.iloc[i].to_numpy(), np.zeros(D)]
        best = max(-minimize(ratio, x, bounds=[(-2.0, 2.0)] * D, method="L-BFGS-B").fun for x in starts)
        level = known.guarantee(best, 1.0, np.sqrt(share) * known.radius)
        assert batch.highest_level[i] == pytest.approx(float(level), abs=1e-5)
