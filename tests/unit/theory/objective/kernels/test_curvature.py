"""Second derivatives against central differences of the NumPy statements."""

import numpy as np
import pytest
from copa._inner_kernels import objective
from planning_kernels import determinant, differences, draw_problem, ratios, rounded_norms

ROUNDING = 0.1
SECOND_STEP = 1e-4  # second differences: rounding 1e-16 / step^2, and the squared step times fourth derivatives (~1e3)
CLOSE = 1e-4


def draw(seed, n_options, n, *, manhattan):
    problem = draw_problem(seed, n, manhattan=manhattan)
    moves = np.random.default_rng([33, seed]).standard_normal((n_options, n))
    return problem, moves, objective.Parts(n_options, n), np.zeros((n_options * n + 1,) * 2)


def hessian(function, moves):
    size = moves.size
    return differences(lambda z: differences(function, z, SECOND_STEP), moves, SECOND_STEP).reshape(size, size)


def symmetric(matrix):
    """The matrix of a lower triangle, without the last row: the level's."""
    return np.tril(matrix)[:-1, :-1] + np.tril(matrix, -1)[:-1, :-1].T


@pytest.mark.parametrize("manhattan", [False, True])
def test_the_curvature_of_the_mean_cost(manhattan):
    problem, moves, parts, matrix = draw(0, 3, 2, manhattan=manhattan)
    objective.proximity(problem, moves, ROUNDING, parts)
    objective.add_proximity(problem, ROUNDING, parts, matrix)
    expected = hessian(lambda z: rounded_norms(z, manhattan, ROUNDING).mean(), moves)
    np.testing.assert_allclose(symmetric(matrix), expected, atol=CLOSE)


@pytest.mark.parametrize("manhattan", [False, True])
@pytest.mark.parametrize(("n_options", "n"), [(2, 2), (3, 2), (4, 1)])
def test_the_curvature_of_the_determinant(n_options, n, manhattan):
    problem, moves, parts, matrix = draw(1, n_options, n, manhattan=manhattan)
    value = objective.diversity(problem, moves, ROUNDING, parts)
    objective.add_diversity(problem, value, ROUNDING, parts, matrix)
    expected = -problem.diversity_weight * hessian(lambda z: determinant(problem, z, ROUNDING), moves)
    np.testing.assert_allclose(symmetric(matrix), expected, atol=CLOSE)


def test_the_curvature_of_the_ratios_and_their_barrier():
    problem, moves, parts, matrix = draw(2, 3, 2, manhattan=False)
    objective.ratios(problem, moves, parts)
    multipliers, slacks = np.array([0.3, 0.0, 1.2]), np.array([0.5, 0.1, 2.0])
    # Only the first column is looked at: the one of the levels.
    objective.add_ratios(problem, parts, multipliers[:, None].copy(), slacks[:, None].copy(), matrix)
    expected = hessian(lambda z: -multipliers @ ratios(problem, z), moves)
    # A slack ratio_j - t has gradient (slope of the ratio, -1); the barrier adds multiplier / slack times its square.
    slopes = np.zeros((3, 7))
    for j in range(3):
        slopes[j, :6] = differences(lambda z, j=j: ratios(problem, z)[j], moves).ravel()
        slopes[j, 6] = -1.0
    stiffness = slopes.T @ (slopes * (multipliers / slacks)[:, None])
    np.testing.assert_allclose(symmetric(matrix), expected + stiffness[:6, :6], atol=CLOSE)
    np.testing.assert_allclose(matrix[6], stiffness[6], atol=1e-6)
