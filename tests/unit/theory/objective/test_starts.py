import numpy as np
import pytest

from copa.theory.objective import descents as starts


@pytest.mark.parametrize("n_options", [1, 2, 3, 5, 9])
def test_the_corners_of_a_simplex_are_one_from_the_center_and_alike_from_each_other(n_options):
    corners = starts.simplex_corners(n_options)
    assert corners.shape == (n_options, n_options - 1)
    np.testing.assert_allclose(corners.sum(axis=0), 0.0, atol=1e-12)
    cosines = np.full((n_options, n_options), -1.0 / max(n_options - 1, 1))
    np.fill_diagonal(cosines, 1.0 if n_options > 1 else 0.0)
    np.testing.assert_allclose(corners @ corners.T, cosines, atol=1e-12)


def test_the_best_radius_balances_distance_and_diversity():
    radius = starts.best_radius(2, 4.0)
    # Two options at distance r on either side: (1 + 2r)^3 = 16.
    assert radius == pytest.approx((16.0 ** (1.0 / 3.0) - 1.0) / 2.0, rel=0.02)
    assert starts.best_radius(5, 50.0) > starts.best_radius(5, 5.0)
    assert starts.best_radius(5, 0.0) > 0.0


@pytest.mark.parametrize("n", [1, 3, 8])
def test_starts_are_centered_simplices_of_the_right_number(n):
    rng = np.random.default_rng(42)
    factor = rng.standard_normal((n, n))
    spreads = starts.spread_starts(rng, 6, 4, rng.standard_normal(n), factor @ factor.T, 5.0)
    assert spreads.shape == (6, 4, n)
    np.testing.assert_allclose(spreads.sum(axis=1), 0.0, atol=1e-9)
    assert (np.abs(spreads).max(axis=(1, 2)) > 0.1).all()


def test_the_first_start_lies_in_flat_directions_without_gain():
    curvature = np.diag([90.0, 0.1, 0.2, 3.0, 0.1, 50.0])
    gain = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    first, second = starts.spread_starts(np.random.default_rng(43), 2, 3, gain, curvature, 5.0)
    np.testing.assert_allclose(first[:, 3], 0.0, atol=1e-12)
    assert np.abs(first[:, [0, 5]]).max() < 0.2 * np.abs(first).max()
    assert np.abs(second[:, 3]).max() > 0.01


def test_flat_directions_do_not_depend_on_a_basis_of_the_null_space():
    rng = np.random.default_rng(44)
    factor = rng.standard_normal((8, 3))  # rank 3 of 8: eigenvectors of the null space are arbitrary
    curvature, gain = factor @ factor.T, rng.standard_normal(8)
    noise = 1e-14 * rng.standard_normal((8, 8))
    axes = starts.flat_axes(np.random.default_rng(0), 4, gain, curvature)
    others = starts.flat_axes(np.random.default_rng(0), 4, gain, curvature + noise + noise.T)
    np.testing.assert_allclose(others, axes, atol=1e-9)


def test_the_ascent_direction_weighs_gain_against_variance():
    direction = starts.ascent_direction(np.array([1.0, 1.0]), np.diag([1.0, 4.0]))
    np.testing.assert_allclose(direction, np.array([4.0, 1.0]) / np.sqrt(17.0), rtol=1e-6)
    np.testing.assert_array_equal(starts.ascent_direction(np.zeros(2), np.eye(2)), [0.0, 0.0])
    np.testing.assert_allclose(starts.ascent_direction(np.array([3.0, 0.0]), np.zeros((2, 2))), [1.0, 0.0])
