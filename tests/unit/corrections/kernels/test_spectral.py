"""The step in eigenvectors against the same in dense NumPy."""

import numpy as np
import pytest

from compiled_kernels import callable_from_python
from copa.corrections._kernels import spectral
from copa.corrections._kernels.spectral import best_steps
from unit.corrections.kernels import reference_ratio as reference

point_at = callable_from_python(spectral.point_at)


class Problem:
    """An option in eigenvectors, and the same as a quadratic."""

    def __init__(self, seed, n=5, rest=0.3):
        rng = np.random.default_rng([7, seed])
        self.sigma = rng.uniform(0.1, 2.0, n)
        self.b, self.r = rng.standard_normal((2, n))
        self.rest, self.a = rest, rng.uniform(-0.5, 2.0)
        variance = float(self.r @ self.r) + rest**2
        self.quadratic = (self.a, self.b, variance, self.sigma * self.r, np.diag(self.sigma**2))

    def step(self, budget):
        steps = np.full((1, self.b.size), np.nan)
        best_steps(self.sigma, self.b, self.r[None], np.array([self.rest]), np.array([self.a]), budget, steps)
        return steps[0]

    def ratio(self, y):
        return reference.ratio(y, *self.quadratic)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tau", [1e-3, 0.5, 30.0])
def test_the_point_of_a_multiplier_is_that_of_the_dense_equations(seed, tau):
    problem = Problem(seed)
    y, inverse = np.empty(5), np.empty(5)
    length, slope = point_at(tau, problem.sigma, problem.b, problem.r, problem.rest, problem.a, inverse, y)
    np.testing.assert_allclose(y, reference.point_at(tau, *problem.quadratic), rtol=1e-9)
    assert length == pytest.approx(np.linalg.norm(y))
    # The slope against central differences, with their error of the square of the step.
    around = [np.linalg.norm(reference.point_at(tau * (1.0 + e), *problem.quadratic)) for e in (-1e-5, 1e-5)]
    assert slope == pytest.approx((around[1] - around[0]) / (2e-5 * tau), rel=1e-5)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("budget", [0.01, 0.3, 3.0])
def test_the_step_is_that_of_the_dense_statement(seed, budget):
    problem = Problem(seed)
    reachable = problem.a + budget * np.linalg.norm(problem.b) > 0.0
    highest = budget * problem.b / np.linalg.norm(problem.b)
    expected = reference.best_step(*problem.quadratic, budget) if reachable else highest
    # Bisection stops where the budget does not bind: at a multiplier of exp(-80).
    np.testing.assert_allclose(problem.step(budget), expected, rtol=0.0, atol=1e-8 * (1.0 + budget))


def test_some_of_the_compared_steps_are_not_bound_by_the_budget():
    lengths = np.array(
        [[np.linalg.norm(Problem(seed).step(budget)) / budget for seed in range(20)] for budget in (0.01, 3.0)]
    )
    assert (lengths <= 1.0 + 1e-12).all()
    assert (lengths[0] > 1.0 - 1e-12).all()
    assert (lengths[1] < 0.99).any()


def test_without_a_positive_score_in_reach_it_is_the_highest_score():
    problem = Problem(0)
    problem.a = -10.0
    np.testing.assert_allclose(problem.step(0.5), 0.5 * problem.b / np.linalg.norm(problem.b), rtol=1e-15)


def test_a_mean_without_slope_leaves_only_the_variance_to_lower():
    problem = Problem(0)
    problem.a, problem.b = 1.0, np.zeros(5)
    problem.quadratic = (1.0, problem.b, *problem.quadratic[2:])
    y = problem.step(0.2)
    np.testing.assert_allclose(y, reference.best_step(*problem.quadratic, 0.2), rtol=0.0, atol=1e-9)
    problem.a = -1.0
    np.testing.assert_array_equal(problem.step(0.2), np.zeros(5))


def test_the_nearest_certain_point_is_taken_where_there_is_one():
    # No rest: y = -r / sigma has variance zero.
    problem = Problem(1, rest=0.0)
    certain = -problem.r / problem.sigma
    problem.a = 1.0 - problem.b @ certain
    np.testing.assert_allclose(problem.step(2.0 * np.linalg.norm(certain)), certain, rtol=1e-12)


def test_a_certain_point_of_negative_score_moves_on_where_it_costs_no_variance():
    sigma, b, r = np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([0.3, 0.0])
    steps = np.empty((1, 2))
    best_steps(sigma, b, r[None], np.zeros(1), np.array([-0.5]), 0.5, steps)
    # Of the budget 0.5, 0.3 buys certainty; the other 0.4 lifts the score to 0.3.
    np.testing.assert_allclose(steps[0], [-0.3, 0.4], rtol=1e-15)


def test_a_direction_without_variance_is_followed_to_the_budget():
    # Where the rest of the spread cannot be removed, every bit of score counts.
    sigma, b, r = np.array([1.0, 0.0]), np.array([0.0, 2.0]), np.array([0.3, 0.0])
    steps = np.empty((1, 2))
    best_steps(sigma, b, r[None], np.ones(1), np.array([0.5]), 0.5, steps)
    quadratic = (0.5, b, 1.09, sigma * r, np.diag(sigma))
    np.testing.assert_allclose(steps[0], reference.best_step(*quadratic, 0.5), rtol=0.0, atol=1e-9)
    assert np.linalg.norm(steps[0]) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_units_of_score_and_variance_do_not_matter(unit):
    problem = Problem(3)
    y = problem.step(0.3)
    problem.sigma, problem.r, problem.rest = problem.sigma * unit, problem.r * unit, problem.rest * unit
    np.testing.assert_allclose(problem.step(0.3), y, rtol=1e-9)
