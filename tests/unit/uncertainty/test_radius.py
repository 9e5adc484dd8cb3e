import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from copa.exceptions import InvalidInputError, RetrainingError
from copa.uncertainty import WeightMoments, calibrate_radius, estimate_drift, gelbrich_distance, radius_from_history
from copa.uncertainty.radius import _draw_pair

FEW = {"n_splits": 5, "n_models": 20, "random_state": 0}


@pytest.mark.parametrize("method", ["disjoint", "bootstrap"])
def test_the_radius_grows_with_the_quantile_and_shrinks_with_more_data(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (X[:, 0] + rng.logistic(size=4000) > 0.0).astype(int)

    def radius(n_rows, quantile=1.0):
        return calibrate_radius(LogisticRegression(), X[:n_rows], y[:n_rows], quantile=quantile, method=method, **FEW)

    assert 0.0 < radius(400, 0.2) < radius(400, 1.0)
    assert radius(4000) < 0.6 * radius(400)  # ten times the rows: a third, up to chance


@pytest.mark.parametrize("method", ["disjoint", "bootstrap"])
def test_the_mean_squared_distance_is_what_sampling_theory_says(method):
    # For two samples of m rows E d^2 = 2 tr V_m + a term of smaller order, V_m the sampling covariance at m
    # rows. The low and the high quantile over the splits must lie on either side of its root.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 2))
    y = (X @ [1.0, -1.0] + rng.logistic(size=3000) > 0.0).astype(int)
    model = LogisticRegression(C=np.inf).fit(X, y)
    spread = np.trace(WeightMoments.from_laplace(model, X, y).cov)
    expected = np.sqrt((4.0 if method == "disjoint" else 2.0) * spread)
    options = {"method": method, "n_splits": 25, "n_models": 50, "random_state": 0}
    assert calibrate_radius(model, X, y, quantile=0.1, **options) < expected
    assert expected < calibrate_radius(model, X, y, quantile=1.0, **options) < 2.5 * expected


def test_the_same_random_state_gives_the_same_radius(credit):
    assert calibrate_radius(LogisticRegression(), *credit, **FEW) == calibrate_radius(
        LogisticRegression(), *credit, **FEW
    )


def test_any_linear_classifier_can_be_calibrated(credit):
    assert calibrate_radius(RidgeClassifier(), *credit, n_splits=2, n_models=3, random_state=0) > 0.0


def test_a_larger_drift_makes_the_radius_smaller(credit):
    plain = calibrate_radius(LogisticRegression(), *credit, **FEW)
    assert calibrate_radius(LogisticRegression(), *credit, drift=4.0 * np.eye(6), **FEW) == pytest.approx(
        plain / 2.0, rel=1e-9
    )


def test_disjoint_halves_share_no_row_and_bootstrap_samples_have_full_size():
    target = np.arange(21) % 2.0
    first, second = _draw_pair(target, "disjoint", np.random.default_rng(0))
    assert sorted(np.concatenate([first, second])) == list(range(21))
    first, second = _draw_pair(target, "bootstrap", np.random.default_rng(0))
    assert first.size == second.size == 21


def test_a_class_with_a_single_row_cannot_be_split():
    with pytest.raises(RetrainingError, match="the rarer has 1 of the 10 rows"):
        _draw_pair(np.eye(10)[0], "disjoint", np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"quantile": 0.0}, r"quantile must be a share, above 0 and at most 1, got 0.0"),
        ({"quantile": 1.2}, r"quantile must be a share, above 0 and at most 1, got 1.2"),
        ({"n_splits": 0}, "n_splits must be a whole number of at least 1"),
        ({"method": "halves"}, "method must be"),
        ({"drift": np.eye(3)}, r"drift must have shape \(6, 6\)"),
        ({"drift": -np.eye(6)}, "drift must be positive semidefinite"),
        ({"n_models": 1}, "n_models must be a whole number of at least 2"),
    ],
)
def test_bad_settings_get_a_typed_error(credit, changes, message):
    with pytest.raises(InvalidInputError, match=message):
        calibrate_radius(LogisticRegression(), *credit, **{**FEW, **changes})


def test_the_history_radius_is_a_quantile_of_the_steps():
    history = np.cumsum([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [0.0, 0.5]], axis=0)
    steps = {1.0: 5.0, 0.75: 2.0, 0.7: 2.0, 0.5: 1.0, 0.25: 0.5}
    for quantile, step in steps.items():
        assert radius_from_history(history, quantile=quantile) == pytest.approx(step, rel=1e-12)


def test_versions_may_be_moments_vectors_and_classifiers(credit):
    X, y = credit
    model = LogisticRegression().fit(X, y)
    theta = np.r_[model.intercept_, model.coef_[0]]
    moments = WeightMoments(theta, 0.25 * np.eye(6))
    # A point mass lies at the root of the trace from a law with the same mean.
    assert radius_from_history([model, moments]) == pytest.approx(np.sqrt(1.5), rel=1e-12)
    assert radius_from_history([theta, moments]) == pytest.approx(np.sqrt(1.5), rel=1e-12)
    assert radius_from_history([moments, WeightMoments(theta + 1.0, np.eye(6))]) == pytest.approx(
        gelbrich_distance(theta, 0.25 * np.eye(6), theta + 1.0, np.eye(6)), rel=1e-12
    )


def test_in_units_of_their_own_drift_changes_have_a_length_of_sqrt_d():
    rng = np.random.default_rng(0)
    history = np.cumsum(rng.normal(size=(2000, 9)) * np.logspace(-2, 2, 9), axis=0)
    radius = radius_from_history(history, quantile=0.5, drift=estimate_drift(history))
    assert radius == pytest.approx(3.0, rel=0.1)


def test_one_version_gives_no_radius():
    with pytest.raises(InvalidInputError, match="at least 2 versions, got 1"):
        radius_from_history([np.ones(3)])
    with pytest.raises(InvalidInputError, match="quantile must be a share"):
        radius_from_history(np.eye(3), quantile=95)
