import numpy as np
import pytest

from copa.exceptions import RetrainingError
from copa.models.refits import logistic as logistic_refits
from copa.models.refits.logistic import (
    LogisticProblem,
    _derivatives,
    _gradient,
    _objective,
    damped_newton,
    information,
    inverse_information,
    refit_logistic,
)


@pytest.fixture
def problem(credit):
    X, y = credit
    ridge = np.r_[0.0, np.ones(5)]
    return LogisticProblem(np.column_stack([np.ones(300), X]), y.astype(float), ridge)


def subset_weights(problem, n_models, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n_models, problem.target.size)) < 0.5) * rng.uniform(0.5, 2.0, (n_models, 1))


def refit(problem, weights):
    return refit_logistic(problem, iter(weights), damped_newton(problem, np.ones(300), np.zeros(6)))


def workspace(problem):
    n, p = problem.design.shape
    return np.empty(n * (p * (p + 1) // 2))


def test_the_gradient_vanishes_at_every_refit(problem):
    weights = subset_weights(problem, 40)
    thetas = refit(problem, weights)
    for row, theta in zip(weights, thetas, strict=True):
        gradient = _gradient(problem, row, theta)
        decrement = np.sqrt(gradient @ inverse_information(information(problem, row, theta)) @ gradient)
        assert decrement < 1e-8


@pytest.mark.parametrize("size", [1, 7, 40])
def test_the_batch_size_does_not_matter(problem, monkeypatch, size):
    weights = subset_weights(problem, 40)
    whole = refit(problem, weights)
    monkeypatch.setattr(logistic_refits, "MAX_BATCH", size)
    np.testing.assert_allclose(refit(problem, weights), whole, rtol=0.0, atol=1e-9)


def test_row_blocks_do_not_matter(problem, monkeypatch):
    weights, theta = subset_weights(problem, 4), np.full((1, 6), 0.1)
    gradient, hessian = _derivatives(problem, weights, theta, workspace(problem))
    monkeypatch.setattr(logistic_refits, "BLOCK_NUMBERS", 1)
    blocked_gradient, blocked_hessian = _derivatives(problem, weights, theta, workspace(problem))
    np.testing.assert_allclose(blocked_gradient, gradient, rtol=1e-9)
    np.testing.assert_allclose(blocked_hessian, hessian, rtol=1e-9)


def test_the_batched_derivatives_are_those_of_each_refit(problem):
    weights = subset_weights(problem, 3)
    theta = np.random.default_rng(1).normal(scale=0.1, size=(3, 6))
    gradients, hessians = _derivatives(problem, weights, theta, workspace(problem))
    for k in range(3):
        np.testing.assert_allclose(gradients[k], _gradient(problem, weights[k], theta[k]), rtol=1e-9)
        np.testing.assert_allclose(hessians[k], information(problem, weights[k], theta[k]), rtol=1e-9)


def test_gradient_and_information_are_the_derivatives_of_the_objective(problem):
    weights, theta = subset_weights(problem, 1)[0], np.linspace(-0.1, 0.1, 6)
    steps = 1e-5 * np.eye(6)
    slopes = [(_objective(problem, weights, theta + s) - _objective(problem, weights, theta - s)) / 2e-5 for s in steps]
    curvatures = [
        (_gradient(problem, weights, theta + s) - _gradient(problem, weights, theta - s)) / 2e-5 for s in steps
    ]
    # Central differences with step h: truncation h^2 times a third derivative of the order of sum |x|^3.
    np.testing.assert_allclose(slopes, _gradient(problem, weights, theta), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(curvatures, information(problem, weights, theta), rtol=1e-5, atol=1e-3)


def test_refits_far_from_the_start_are_found_too(problem):
    # Weights that turn the labels' balance around: the chord steps alone would not settle from here.
    weights = np.where(problem.target > 0.0, 1e-3, 1e3)[np.newaxis]
    start = np.array([40.0, 3.0, -3.0, 30.0, -2.0, 2.0])
    far = refit_logistic(problem, iter(weights), start)
    near = damped_newton(problem, weights[0], np.zeros(6))
    np.testing.assert_allclose(far[0], near, rtol=1e-7, atol=1e-8)


def test_units_of_the_features_do_not_matter_without_a_penalty(problem):
    units = np.array([1.0, 1e5, 1e-5, 1.0, 1e3, 1e-2])
    plain = LogisticProblem(problem.design, problem.target, np.zeros(6))
    scaled = LogisticProblem(problem.design * units, problem.target, np.zeros(6))
    weights = subset_weights(problem, 5)
    np.testing.assert_allclose(refit(scaled, weights) * units, refit(plain, weights), rtol=1e-7, atol=1e-9)


def test_quasi_separation_is_not_taken_for_convergence(problem):
    # A column that is 1 only on rows of one class: its coefficient grows without bound, the others settle.
    design = np.column_stack([problem.design, np.zeros(300)])
    design[np.flatnonzero(problem.target)[:10], -1] = 1.0
    unbounded = LogisticProblem(design, problem.target, np.zeros(7))
    # Small weights make the decrement small while the probabilities are still short of one.
    with pytest.raises(RetrainingError, match="no unique finite solution"):
        damped_newton(unbounded, np.full(300, 1e-6), np.zeros(7))


def test_an_almost_absent_penalty_on_separable_rows_still_converges():
    X = np.column_stack([np.ones(40), np.linspace(-1.0, 1.0, 40)])
    problem = LogisticProblem(X, (X[:, 1] > 0.0).astype(float), np.array([0.0, 1e-6]))
    theta = damped_newton(problem, np.ones(40), np.zeros(2))
    assert np.abs(_gradient(problem, np.ones(40), theta)).max() < 1e-9
    assert theta[1] > 100.0
