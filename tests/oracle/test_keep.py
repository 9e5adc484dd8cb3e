"""The fit that keeps promises, against a conic solver, and against scikit-learn's own fit with its weights."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from copa.promises.constrained_logistic import ConstrainedLogistic, solve
from copa.promises.exact_refit import contradictions
from oracle.constrained_programs import by_clarabel, instance, random_instance

QUICK, ALL = 10, 100
AGREE = 1e-6  # in the objective: what the two may differ by, beside its size


def require_the_optimum(problem: ConstrainedLogistic) -> int:
    """Compare with the conic solver; returns how many promises bind."""
    found = solve(problem, np.zeros(problem.fit.design.shape[1]))
    value = by_clarabel(problem)
    assert abs(found.objective - value) <= AGREE * max(1.0, abs(value))
    assert found.is_optimal(1e-8)
    return int((found.multipliers > 0.0).sum())


def test_the_optimum_is_that_of_a_conic_solver():
    binding = [require_the_optimum(random_instance(seed)) for seed in range(QUICK)]
    assert sum(binding) >= QUICK


@pytest.mark.slow
def test_the_optimum_is_that_of_a_conic_solver_on_a_hundred_problems():
    binding = [require_the_optimum(random_instance(seed)) for seed in range(QUICK, ALL)]
    assert sum(number > 0 for number in binding) >= 0.7 * len(binding)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_the_plain_fit_with_the_weights_of_the_promises_has_the_same_coefficients(seed):
    problem = instance(seed, 300, 8, 40)
    found = solve(problem, np.zeros(8))
    assert (found.refit_weights > 0.0).sum() == (found.multipliers > 0.0).sum() > 0
    rows = np.vstack([problem.fit.design, problem.promised])[:, 1:]
    labels = np.concatenate([problem.fit.target, np.ones(40)])
    weights = np.concatenate([problem.weights, found.refit_weights])
    plain = LogisticRegression(solver="newton-cholesky", tol=1e-12).fit(rows, labels, sample_weight=weights)
    assert np.concatenate([plain.intercept_, plain.coef_[0]]) == pytest.approx(found.theta, abs=1e-7)


def test_a_multiplier_is_the_rate_at_which_the_margin_raises_the_objective():
    problem = instance(1, 300, 8, 40)
    found = solve(problem, np.zeros(8))
    dearest = int(np.argmax(found.multipliers))
    step, values = 1e-4, []
    for sign in (-1.0, 1.0):
        margin = problem.margin.copy()
        margin[dearest] += sign * step
        moved = ConstrainedLogistic(problem.fit, problem.weights, problem.promised, margin)
        values.append(solve(moved, found.theta).objective)
    assert (values[1] - values[0]) / (2.0 * step) == pytest.approx(found.multipliers[dearest], rel=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_called_a_contradiction_has_a_proof_and_the_rest_can_be_kept(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((int(rng.integers(3, 30)), int(rng.integers(1, 6))))
    found = contradictions(points)
    pull = found.multipliers @ points
    assert (found.multipliers >= 0.0).all()
    assert np.abs(pull).max() <= 1e-6
    assert found.given_up.any() == (found.multipliers > 0.0).any()
    rest = contradictions(points[~found.given_up])
    assert not rest.given_up.any()
    assert not rest.multipliers.any()
