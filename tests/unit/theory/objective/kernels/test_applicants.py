"""From applicants to moves and back, against matrix products in NumPy."""

import numpy as np
import pytest

from copa._kernels import deliver_options, read_applicants

D, FREE, SCALE = 6, np.array([1, 3, 4]), np.array([0.5, 2.0, 1.0])


@pytest.fixture
def moments():
    rng = np.random.default_rng(35)
    factor = rng.standard_normal((D, 2 * D))
    return rng.standard_normal(D), factor @ factor.T


@pytest.fixture
def origins():
    rows = np.random.default_rng(36).standard_normal((4, D))
    rows[:, 0] = 1.0
    return rows


def read(origins, moments, lower, upper, margin):
    n = len(origins)
    scores, tilts, bounds = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 2, 3))
    feasible = np.empty(n, dtype=bool)
    read_applicants(origins, *moments, FREE, SCALE, lower, upper, margin, scores, tilts, bounds, feasible)
    return scores, tilts, bounds, feasible


def test_moves_describe_scores_variances_and_boxes(origins, moments):
    mean, cov = moments
    lower, upper = origins - 0.3, origins + 0.7
    upper[:, 3] = np.inf
    scores, tilts, bounds, feasible = read(origins, moments, lower, upper, -5.0)
    moves = np.random.default_rng(37).standard_normal((4, 3))
    points = origins.copy()
    points[:, FREE] += moves / SCALE
    curvature = cov[np.ix_(FREE, FREE)] / np.outer(SCALE, SCALE)
    variances = np.einsum("nk,ki,ni->n", moves, curvature, moves) + 2.0 * np.einsum("nk,nk->n", moves, tilts)
    np.testing.assert_allclose(variances + scores[:, 1], np.einsum("nd,de,ne->n", points, cov, points), rtol=1e-12)
    np.testing.assert_allclose(scores[:, 0] + moves @ (mean[FREE] / SCALE), points @ mean, rtol=1e-11)
    np.testing.assert_allclose(scores[:, 2], -5.0 - origins @ mean, rtol=1e-10)
    np.testing.assert_allclose(bounds[:, 0], np.broadcast_to(-0.3 * SCALE, (4, 3)), rtol=1e-12)
    assert (bounds[:, 1, 1] == np.inf).all()
    assert feasible.all()


@pytest.mark.parametrize("short", [False, True])
def test_a_margin_is_feasible_up_to_the_largest_score_of_the_box(origins, moments, short):
    mean, _ = moments
    lower, upper = origins - 0.3, origins + 0.7
    best = origins.copy()
    best[:, FREE] = np.where(mean[FREE] > 0.0, upper[:, FREE], lower[:, FREE])
    for row, score in enumerate(best @ mean):
        *_, feasible = read(origins, moments, lower, upper, score + 1e-9 * short)
        assert feasible[row] == (not short)


def deliver(origins, moments, lower, upper, margin, moves):
    points = np.empty((*moves.shape[:2], D))
    deliver_options(origins, moments[0], FREE, SCALE, lower, upper, margin, moves, points)
    return points


def test_options_keep_what_is_fixed_and_add_the_moves(origins, moments):
    moves = np.random.default_rng(38).standard_normal((4, 2, 3))
    everywhere = np.full((4, D), np.inf)
    points = deliver(origins, moments, -everywhere, everywhere, -1e9, moves)
    expected = np.repeat(origins[:, None], 2, axis=1)
    expected[:, :, FREE] += moves / SCALE
    np.testing.assert_array_equal(points, expected)


def test_options_that_rounding_puts_outside_are_brought_back(origins, moments):
    mean, _ = moments
    everywhere = np.full((4, D), np.inf)
    gain = mean[FREE] / SCALE
    moves = ((0.1 - origins @ mean) / (gain @ gain))[:, None, None] * gain
    points = deliver(origins, moments, -everywhere, everywhere, 0.1, moves - 1e-10 * gain)
    assert (points @ mean >= 0.1 - 1e-14).all()
    upper = origins + 0.25
    capped = deliver(origins, moments, -everywhere, upper, -1e9, np.full((4, 1, 3), 0.25) * SCALE * (1.0 + 1e-15))
    assert (capped[:, 0, FREE] <= upper[:, FREE]).all()
