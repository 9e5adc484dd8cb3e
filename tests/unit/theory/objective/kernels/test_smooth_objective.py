"""The objective's kernels against their NumPy statement and its central differences."""

import numpy as np
import pytest
from copa._inner_kernels.objective import Parts, hard_objective, smooth_objective, soften
from planning_kernels import differences, draw_problem, ratios, rounded_norms, smooth_value

CASES = [
    {"seed": 0},
    {"seed": 1, "manhattan": True},
    {"seed": 2, "weights": (0.0, 2.0)},
    {"seed": 3, "weights": (0.4, 0.0)},
    {"seed": 4, "n": 1},
    {"seed": 5, "n": 7, "manhattan": True},
]


def draw(case, n_options):
    problem = draw_problem(**case)
    rng = np.random.default_rng([32, case["seed"], n_options])
    return problem, rng.standard_normal((n_options, problem.gain.size)), rng.uniform(0.2, 1.0, n_options)


@pytest.mark.parametrize("n_options", [1, 2, 5])
@pytest.mark.parametrize("case", CASES)
def test_the_smooth_objective_equals_its_numpy_statement(case, n_options):
    problem, moves, prior = draw(case, n_options)
    gradient = np.empty_like(moves)
    value = smooth_objective(problem, moves, 0.3, prior, 0.01, Parts(*moves.shape), gradient)
    if problem.validity_weight == 0.0:  # the soft minimum of nothing is left out, whatever the prior
        prior = prior / prior.sum()
    assert value == pytest.approx(smooth_value(problem, moves, 0.3, prior, 0.01), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n_options", [1, 2, 5])
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_equals_central_differences(case, n_options):
    problem, moves, prior = draw(case, n_options)
    gradient = np.empty_like(moves)
    smooth_objective(problem, moves, 0.3, prior, 0.01, Parts(*moves.shape), gradient)
    expected = differences(lambda z: smooth_value(problem, z, 0.3, prior, 0.01), moves)
    # Rounding 1e-16 over the step 1e-6, and the squared step times third derivatives (1e4 at a rounding of 0.01).
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("manhattan", [False, True])
def test_the_hard_objective_is_the_limit_without_rounding_and_temperature(manhattan):
    problem, moves, _ = draw({"seed": 6, "manhattan": manhattan}, 4)
    expected = rounded_norms(moves, manhattan, 0.0).mean() - problem.validity_weight * ratios(problem, moves).min()
    distances = rounded_norms(moves[:, None] - moves[None], manhattan, 0.0)
    expected -= problem.diversity_weight * np.linalg.det(1.0 / (1.0 + distances))
    assert hard_objective(problem, moves, Parts(*moves.shape)) == pytest.approx(expected, rel=1e-12)


def test_options_in_one_place_have_no_diversity_and_a_finite_gradient():
    problem = draw_problem(7)
    moves = np.tile(np.linspace(-1.0, 1.0, problem.gain.size), (5, 1))
    gradient, parts = np.full_like(moves, np.nan), Parts(*moves.shape)
    smooth_objective(problem, moves, 0.1, np.ones(5), 0.0, parts, gradient)
    assert np.isfinite(gradient).all()
    single = np.linalg.norm(moves[0]) - problem.validity_weight * ratios(problem, moves)[0]
    assert hard_objective(problem, moves, parts) == pytest.approx(single, rel=1e-12)


def test_the_soft_minimum_shares_the_minimum_among_ties():
    share = np.empty(3)
    soft = soften(np.array([2.0, 2.0, 9.0]), 1.5, 0.01, np.ones(3), share)
    assert soft == pytest.approx(3.0 - 0.01 * np.log(2.0), rel=1e-12)
    np.testing.assert_allclose(share, [0.5, 0.5, 0.0], atol=1e-12)
