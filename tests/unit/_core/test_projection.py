"""Projection onto a half-space and a box together, against a quadratic program and its optimality conditions."""

import cvxpy as cp
import numpy as np
import pytest
from copa._inner_kernels import projection


def project(point, normal, needed, lower, upper):
    out = np.empty(len(point))
    multiplier = projection.project(
        *(np.array(a, dtype=float) for a in (point, normal)), needed, np.array(lower), np.array(upper), out
    )
    return out, multiplier


def draw(seed):
    """A point, a half-space and a box that meet, some coordinates without bounds or without room."""
    rng = np.random.default_rng([34, seed])
    n = int(rng.integers(1, 8))
    normal = rng.standard_normal(n) * 10.0 ** rng.uniform(-1.0, 1.0, n)
    lower, upper = rng.uniform(-2.0, 0.0, n), rng.uniform(0.0, 2.0, n)
    lower[rng.random(n) < 0.3] = -np.inf
    upper[rng.random(n) < 0.3] = np.inf
    tight = rng.random(n) < 0.1
    lower[tight] = upper[tight] = 0.5
    point = 3.0 * rng.standard_normal(n)
    inside = np.clip(rng.standard_normal(n), lower, upper)
    return point, normal, float(normal @ inside), lower, upper


@pytest.mark.parametrize("seed", range(40))
def test_it_solves_the_quadratic_program(seed):
    point, normal, needed, lower, upper = draw(seed)
    x = cp.Variable(len(point))
    bounds = [x[k] >= low for k, low in enumerate(lower) if np.isfinite(low)]
    bounds += [x[k] <= high for k, high in enumerate(upper) if np.isfinite(high)]
    program = cp.Problem(cp.Minimize(cp.sum_squares(x - point)), [normal @ x >= needed, *bounds])
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    nearest, _ = project(point, normal, needed, lower, upper)
    np.testing.assert_allclose(nearest, x.value, atol=1e-6)  # the solver's own accuracy


@pytest.mark.parametrize("seed", range(200))
def test_it_meets_the_optimality_conditions_to_rounding(seed):
    point, normal, needed, lower, upper = draw(1000 + seed)
    nearest, multiplier = project(point, normal, needed, lower, upper)
    size = np.abs(normal * nearest).sum() + abs(needed)
    assert ((nearest >= lower) & (nearest <= upper)).all()
    assert normal @ nearest >= needed - 1e-12 * size
    assert multiplier >= 0.0
    assert multiplier * (normal @ nearest - needed) <= 1e-12 * size * max(1.0, multiplier)
    np.testing.assert_allclose(nearest, np.clip(point + multiplier * normal, lower, upper), rtol=1e-13, atol=1e-14)


def test_an_allowed_point_stays_bit_for_bit():
    point = np.array([0.1, -0.7, 1e-3])
    nearest, multiplier = project(point, [1.0, 1.0, 1.0], -2.0, [-1.0] * 3, [1.0] * 3)
    np.testing.assert_array_equal(nearest, point)
    assert multiplier == 0.0


def test_without_a_box_it_is_the_formula_of_the_paper():
    normal, point = np.array([0.5, -2.0, 1.0]), np.array([1.0, 1.0, 1.0])
    nearest, _ = project(point, normal, 0.75, [-np.inf] * 3, [np.inf] * 3)
    np.testing.assert_allclose(nearest, point - (normal @ point - 0.75) / (normal @ normal) * normal, rtol=1e-14)


def test_clamping_after_the_half_space_would_lose_the_margin():
    # The step of the half-space alone ends at (1, 1); the clamp would leave a score of 1.2 instead of 2.
    nearest, _ = project([0.0, 0.0], [1.0, 1.0], 2.0, [-5.0, -5.0], [0.2, 5.0])
    np.testing.assert_allclose(nearest, [0.2, 1.8], rtol=1e-14)


def test_a_coordinate_that_waits_outside_of_its_box_joins_in():
    # Coordinate 1 starts 10 below its box: it stands still at its bound until the multiplier reaches 10.
    nearest, multiplier = project([0.0, -10.0], [1.0, 1.0], 30.0, [-1.0, 0.0], [5.0, 100.0])
    np.testing.assert_allclose(nearest, [5.0, 25.0], rtol=1e-14)
    assert multiplier == pytest.approx(35.0)


def test_a_margin_out_of_reach_ends_at_the_largest_score():
    nearest, _ = project([0.3, 0.3, 0.3], [1.0, -1.0, 0.0], 10.0, [-1.0, -1.0, -1.0], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(nearest, [2.0, -1.0, 0.3])


def test_a_margin_that_only_a_corner_reaches_is_met_there():
    lower, upper = np.array([-0.4, -1.1, 0.2]), np.array([0.3, 0.9, 0.7])
    normal = np.array([0.3, -0.7, 1.9])
    corner = np.where(normal > 0.0, upper, lower)
    nearest, _ = project([0.0, 0.0, 0.0], normal, float(normal @ corner), lower, upper)
    np.testing.assert_allclose(nearest, corner, rtol=1e-12)
