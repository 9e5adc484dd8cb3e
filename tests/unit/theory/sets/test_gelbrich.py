import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.stats import ortho_group

from copa.exceptions import InvalidInputError
from copa.theory.sets import gelbrich_distance

seeds = st.integers(0, 2**32 - 1)
orders = st.integers(1, 6)


def moments(rng, order):
    """Mean and covariance of random rank, scale and conditioning."""
    rank = int(rng.integers(0, order + 1))
    root = rng.normal(size=(order, rank)) * 10.0 ** rng.uniform(-3, 3, size=rank)
    return rng.normal(size=order), root @ root.T


def size(*pairs):
    return sum(np.sqrt(mean @ mean + np.trace(cov)) for mean, cov in pairs)


def test_in_one_dimension_it_is_the_distance_of_means_and_standard_deviations():
    assert gelbrich_distance([1.0], [[4.0]], [4.0], [[36.0]]) == pytest.approx(5.0, rel=1e-14)


def test_commuting_covariances_differ_by_their_roots():
    rotation = ortho_group.rvs(4, random_state=0)
    a, b = np.array([1.0, 4.0, 9.0, 0.0]), np.array([4.0, 4.0, 0.0, 1.0])
    distance = gelbrich_distance(np.zeros(4), rotation * a @ rotation.T, np.zeros(4), rotation * b @ rotation.T)
    assert distance == pytest.approx(np.linalg.norm(np.sqrt(a) - np.sqrt(b)), rel=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_formula_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, 4, 4))
    a, b = roots[0] @ roots[0].T, roots[1] @ roots[1].T
    mean_a, mean_b = rng.normal(size=(2, 4))
    root = sqrtm(a).real
    squared = np.sum((mean_a - mean_b) ** 2) + np.trace(a + b - 2.0 * sqrtm(root @ b @ root).real)
    assert gelbrich_distance(mean_a, a, mean_b, b) == pytest.approx(np.sqrt(squared), rel=1e-9)


@pytest.mark.parametrize("shrink", [1.0, 1e-3, 1e-6])
def test_small_distances_keep_their_digits(shrink):
    # (1 + t)^2 A lies at t sqrt(tr A) from A; the textbook formula subtracts traces and loses t below 1e-8.
    root = np.random.default_rng(0).normal(size=(5, 5))
    cov, t = root @ root.T, 1e-5 * shrink
    distance = gelbrich_distance(np.zeros(5), cov, np.zeros(5), (1.0 + t) ** 2 * cov)
    assert distance == pytest.approx(t * np.sqrt(np.trace(cov)), rel=1e-3)


@given(seeds, orders)
def test_the_distance_of_equal_moments_is_zero(seed, order):
    pair = moments(np.random.default_rng(seed), order)
    assert gelbrich_distance(*pair, *pair) <= 1e-7 * size(pair)


@given(seeds, orders)
def test_it_is_symmetric(seed, order):
    rng = np.random.default_rng(seed)
    a, b = moments(rng, order), moments(rng, order)
    assert abs(gelbrich_distance(*a, *b) - gelbrich_distance(*b, *a)) <= 1e-7 * size(a, b)


@given(seeds, orders)
def test_the_triangle_inequality_holds(seed, order):
    rng = np.random.default_rng(seed)
    a, b, c = (moments(rng, order) for _ in range(3))
    detour = gelbrich_distance(*a, *b) + gelbrich_distance(*b, *c)
    assert gelbrich_distance(*a, *c) <= detour + 1e-7 * size(a, b, c)


@given(seeds, st.integers(2, 6))
def test_rotation_and_shift_change_nothing(seed, order):
    rng = np.random.default_rng(seed)
    a, b = moments(rng, order), moments(rng, order)
    rotation, shift = ortho_group.rvs(order, random_state=int(rng.integers(2**31))), rng.normal(size=order)
    moved = [(rotation @ mean + shift, rotation @ cov @ rotation.T) for mean, cov in (a, b)]
    assert abs(gelbrich_distance(*moved[0], *moved[1]) - gelbrich_distance(*a, *b)) <= 1e-6 * size(a, b)


@given(seeds, orders)
def test_the_drift_rescales_the_parameters(seed, order):
    rng = np.random.default_rng(seed)
    a, b = moments(rng, order), moments(rng, order)
    scale = 10.0 ** rng.uniform(-1, 1, size=order)
    rescaled = [(mean / scale, cov / np.outer(scale, scale)) for mean, cov in (a, b)]
    expected = gelbrich_distance(*rescaled[0], *rescaled[1])
    assert abs(gelbrich_distance(*a, *b, drift=np.diag(scale**2)) - expected) <= 1e-6 * size(*rescaled)


def test_a_difference_where_nothing_drifts_is_infinitely_far():
    drift = np.diag([1.0, 0.0])
    cov = np.eye(2)
    assert gelbrich_distance([0.0, 0.0], cov, [3.0, 0.0], cov, drift=drift) == pytest.approx(3.0, rel=1e-12)
    assert gelbrich_distance([0.0, 0.0], cov, [3.0, 1e-3], cov, drift=drift) == np.inf
    assert gelbrich_distance([0.0, 0.0], cov, [0.0, 0.0], np.diag([1.0, 1.1]), drift=drift) == np.inf
    assert gelbrich_distance([0.0, 0.0], cov, [0.0, 1e-9], cov, drift=drift) < 1e-8


def test_a_drift_of_zero_allows_no_change_at_all():
    assert gelbrich_distance([1.0], [[1.0]], [1.0], [[1.0]], drift=[[0.0]]) == 0.0
    assert gelbrich_distance([1.0], [[1.0]], [1.1], [[1.0]], drift=[[0.0]]) == np.inf


def test_what_cannot_move_ties_down_what_correlates_with_it():
    # Coordinate 1 cannot move and coordinate 0 equals plus or minus it: every law must move coordinate 0 by
    # twice coordinate 1, although its variance is the same in both.
    plus, minus = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    distance = gelbrich_distance(np.zeros(2), plus, np.zeros(2), minus, drift=np.diag([1.0, 0.0]))
    assert distance == pytest.approx(2.0, rel=1e-7)


@given(seeds)
def test_a_singular_drift_is_the_limit_of_regular_ones(seed):
    rng = np.random.default_rng(seed)
    root_a, root_b = rng.normal(size=(2, 4, 4))
    # Coordinates 0 and 1 are the first two sources, in both laws, and cannot move; then all axes are rotated.
    root_a[:2] = root_b[:2] = np.eye(2, 4)
    rotation = ortho_group.rvs(4, random_state=int(rng.integers(2**31)))
    cov_a, cov_b = (rotation @ root @ root.T @ rotation.T for root in (root_a, root_b))
    mean_a = rng.normal(size=4)
    mean_b = mean_a + rotation @ np.r_[0.0, 0.0, rng.normal(size=2)]

    def distance(still):
        drift = rotation * np.array([still, still, 1.0, 2.0]) @ rotation.T
        return gelbrich_distance(mean_a, cov_a, mean_b, cov_b, drift=drift)

    # A coordinate with variance 1 and drift e moves by O(e): the distance converges from below, linearly.
    assert distance(1e-7) == pytest.approx(distance(0.0), rel=1e-4)
    assert distance(1e-3) <= distance(0.0)


def test_bad_arguments_are_named():
    with pytest.raises(InvalidInputError, match="cov_b must be positive semidefinite"):
        gelbrich_distance([0.0], [[1.0]], [0.0], [[-1.0]])
    with pytest.raises(InvalidInputError, match=r"mean_b must have shape \(1,\)"):
        gelbrich_distance([0.0], [[1.0]], [0.0, 0.0], [[1.0]])
    with pytest.raises(InvalidInputError, match="drift must be positive semidefinite"):
        gelbrich_distance([0.0], [[1.0]], [0.0], [[1.0]], drift=[[-1.0]])


@pytest.mark.parametrize("rank", [2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_distance_in_a_drift_does_not_depend_on_the_units_of_the_parameters(rank, seed):
    rng = np.random.default_rng([17, seed, rank])
    drift_root = rng.normal(size=(5, rank))
    mean, cov = rng.normal(size=5), np.cov(rng.normal(size=(9, 5)).T)
    moved = mean + drift_root @ rng.normal(size=rank)
    units = 10.0 ** rng.uniform(-4.0, 4.0, 5)

    def distance(unit):
        both = np.outer(unit, unit)
        drift = drift_root @ drift_root.T * both
        return gelbrich_distance(mean * unit, cov * both, moved * unit, cov * both, drift=drift)

    plain = distance(np.ones(5))
    assert np.isfinite(plain)
    assert plain > 0.1
    assert distance(units) == pytest.approx(plain, rel=1e-6)
