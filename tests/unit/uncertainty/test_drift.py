import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from copa.exceptions import InvalidInputError
from copa.uncertainty import estimate_drift


def random_walk(n_versions, root, seed=0, trend=0.0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(n_versions, len(root))) @ root.T + trend, axis=0)


def test_many_versions_recover_the_covariance_of_the_changes():
    root = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 5.0]])
    drift = estimate_drift(random_walk(20_000, root))
    assert np.linalg.norm(drift - root @ root.T) < 0.05 * np.linalg.norm(root @ root.T)


def test_the_diagonal_is_the_mean_squared_change():
    history = random_walk(8, np.diag([1.0, 10.0, 0.1]), trend=[0.0, 3.0, 0.0])
    np.testing.assert_allclose(
        np.diag(estimate_drift(history)), np.mean(np.diff(history, axis=0) ** 2, axis=0), rtol=1e-12
    )


def test_a_steady_trend_is_drift():
    history = np.outer(np.arange(5.0), [1.0, -2.0])
    np.testing.assert_allclose(np.diag(estimate_drift(history)), [1.0, 4.0], rtol=1e-12)


def test_few_versions_in_many_dimensions_still_give_a_regular_matrix():
    drift = estimate_drift(random_walk(4, np.eye(12)))
    assert np.linalg.eigvalsh(drift)[0] > 0.01  # three changes alone span three directions
    np.testing.assert_array_equal(drift, drift.T)


def test_a_repeated_change_does_not_rule_out_other_directions():
    # Identical changes have no sampling error to Ledoit and Wolf's eyes: the floor 1 / V does the work.
    drift = estimate_drift(np.outer(np.arange(5.0), [1.0, -1.0]))
    np.testing.assert_allclose(np.linalg.eigvalsh(drift), [0.2, 1.8], rtol=1e-12)


def test_units_of_the_parameters_do_not_matter():
    history, units = random_walk(6, np.eye(3)), np.array([1.0, 1e3, 1e-3])
    np.testing.assert_allclose(
        estimate_drift(history * units), estimate_drift(history) * np.outer(units, units), rtol=1e-10
    )


def test_a_parameter_that_never_changed_cannot_move():
    history = random_walk(6, np.eye(3))
    history[:, 0] = 1.0
    drift = estimate_drift(history)
    assert (drift[0] == 0.0).all()
    assert (drift[:, 0] == 0.0).all()
    assert np.linalg.eigvalsh(drift[1:, 1:])[0] > 0.0
    assert (estimate_drift(np.ones((4, 2))) == 0.0).all()


def test_one_standard_deviation_of_drift_is_a_radius_of_one():
    # A ball of radius 1 around a point shifts the score x'theta by at most sqrt(x'Qx): its own rms change.
    root = np.array([[1.0, 0.0], [2.0, 0.5]])
    history = random_walk(20_000, root)
    x = np.array([1.0, -0.7])
    drift = estimate_drift(history)
    assert np.sqrt(x @ drift @ x) == pytest.approx(np.std(np.diff(history @ x)), rel=0.02)


def test_fitted_classifiers_are_a_history(credit):
    X, y = credit
    models = [LogisticRegression(C=C).fit(X, y) for C in (0.01, 0.1, 1.0)]
    vectors = np.array([np.r_[model.intercept_, model.coef_[0]] for model in models])
    np.testing.assert_array_equal(estimate_drift(models), estimate_drift(vectors))


@pytest.mark.parametrize("history", [np.ones((2, 3)), np.ones(3)])
def test_two_changes_are_the_least(history):
    with pytest.raises(InvalidInputError, match=r"shape \(V, D\) with V >= 3"):
        estimate_drift(history)
