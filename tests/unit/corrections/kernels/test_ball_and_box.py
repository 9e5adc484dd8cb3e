import cvxpy as cp
import numpy as np
import pytest

from compiled_kernels import callable_from_python
from copa._core._kernels import projection
from copa._core._kernels.projection import project_moves

farthest_on_ray = callable_from_python(projection.farthest_on_ray)


def random_box(seed, n=5):
    rng = np.random.default_rng([3, seed])
    low, high = -rng.exponential(0.5, n), rng.exponential(0.5, n)
    low[rng.random(n) < 0.3], high[rng.random(n) < 0.3] = -np.inf, np.inf
    low[rng.random(n) < 0.2] = 0.0
    return rng.standard_normal(n), low, high


def largest_product(direction, low, high, budget):
    """Largest direction'z over ball and box."""
    z = cp.Variable(direction.size)
    bounded = [z[i] >= low[i] for i in np.flatnonzero(np.isfinite(low))]
    bounded += [z[i] <= high[i] for i in np.flatnonzero(np.isfinite(high))]
    problem = cp.Problem(cp.Maximize(direction @ z), [cp.norm(z) <= budget, *bounded])
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("budget", [0.2, 1.0, 50.0])
def test_a_move_is_projected_onto_ball_and_box(seed, budget):
    move, low, high = random_box(seed)
    projected = np.empty((1, move.size))
    project_moves(move[None], low[None], high[None], budget, projected)
    nearest = projected[0]
    assert np.linalg.norm(nearest) <= budget * (1.0 + 1e-14)
    assert (nearest >= low).all()
    assert (nearest <= high).all()
    # What is left of the move points away from the whole set: the condition that makes a point the projection.
    left = move - nearest
    assert largest_product(left, low, high, budget) == pytest.approx(left @ nearest, abs=1e-6)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("budget", [0.2, 1.0])
def test_the_farthest_point_has_the_largest_product(seed, budget):
    direction, low, high = random_box(seed)
    out = np.empty(direction.size)
    farthest_on_ray(direction, low, high, budget, np.inf, out)
    assert np.linalg.norm(out) <= budget * (1.0 + 1e-14)
    assert direction @ out == pytest.approx(largest_product(direction, low, high, budget), abs=1e-6)


def test_where_all_bounds_are_met_the_budget_is_not_used_up():
    out = np.empty(3)
    farthest_on_ray(np.array([1.0, -1.0, 0.0]), np.full(3, -0.5), np.full(3, 0.25), 9.0, np.inf, out)
    np.testing.assert_array_equal(out, [0.25, -0.5, 0.0])


def test_no_budget_is_no_move():
    projected = np.full((1, 2), np.nan)
    project_moves(np.ones((1, 2)), np.full((1, 2), -np.inf), np.full((1, 2), np.inf), 0.0, projected)
    np.testing.assert_array_equal(projected, np.zeros((1, 2)))
