"""What can be a covariance is accepted in any units, and what cannot is refused in any units."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from copa import InvalidInputError, WeightMoments
from copa._core.arrays import as_symmetric, semidefinite_root
from copa.theory.sets.ambiguity import MomentBall

seeds = st.integers(0, 2**32 - 1)
orders = st.integers(2, 12)


def units(rng: np.random.Generator, order: int) -> np.ndarray:
    """Sizes of coordinates, as different as kilometres and atoms."""
    return 10.0 ** rng.uniform(-12.0, 12.0, order)


@given(seeds, orders, st.floats(1e-9, 0.9))
def test_a_planted_negative_eigenvalue_is_refused_in_any_units(seed, order, depth):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((order, order)))[0]
    values = rng.uniform(0.0, 2.0, order)
    values[0] = 0.0
    matrix = (axes * values) @ axes.T
    matrix = matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    least = np.linalg.eigh(matrix)[1][:, 0]
    matrix = matrix - depth * np.outer(least, least)
    sizes = units(rng, order)
    planted = matrix * np.outer(sizes, sizes)
    with pytest.raises(InvalidInputError, match="cov must be positive semidefinite"):
        MomentBall(np.ones(order), planted, 0.0)
    with pytest.raises(InvalidInputError, match="drift must be positive semidefinite"):
        MomentBall(np.ones(order), np.eye(order), 0.0, planted)


@given(seeds, orders, st.floats(1e-7, 1.0))
def test_planted_asymmetry_is_refused_in_any_units(seed, order, share):
    rng = np.random.default_rng(seed)
    sizes = units(rng, order)
    root = rng.standard_normal((order, order)) * sizes[:, None]
    matrix = root @ root.T
    i, j = rng.choice(order, 2, replace=False)
    matrix[i, j] += share * np.sqrt(matrix[i, i] * matrix[j, j])
    with pytest.raises(InvalidInputError, match="cov must be symmetric"):
        as_symmetric(matrix, "cov", order)


@given(seeds, orders, st.integers(2, 40))
def test_covariances_of_samples_are_accepted_in_any_units(seed, order, n_samples):
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((order, order))
    samples = rng.standard_normal((n_samples, order)) @ mixing + 10.0 ** rng.uniform(-3.0, 3.0) * rng.standard_normal(
        order
    )
    samples = samples * units(rng, order)
    samples[:, rng.random(order) < 0.2] = rng.standard_normal()  # some parameters never change
    WeightMoments.from_samples(samples)
    cov = np.atleast_2d(np.cov(samples, rowvar=False))
    root = WeightMoments(samples.mean(axis=0), cov).cov
    np.testing.assert_array_equal(root, root.T)


@given(seeds, orders)
def test_singular_covariances_with_rounding_noise_are_accepted_in_any_units(seed, order):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((order, int(rng.integers(1, order + 1)))) * units(rng, order)[:, None]
    matrix = factor @ factor.T
    sizes = np.sqrt(np.diag(matrix))
    noise = rng.uniform(-4.0, 4.0, (order, order)) * np.finfo(np.float64).eps
    np.fill_diagonal(noise, 0.0)
    noisy = as_symmetric(matrix + noise * np.outer(sizes, sizes), "cov", order)
    root = semidefinite_root(noisy, "cov")
    assert (np.abs(root @ root.T - matrix) <= 1e-12 * np.outer(sizes, sizes)).all()


@given(seeds, orders)
def test_covariances_of_mixed_parameters_are_accepted(seed, order):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((order, int(rng.integers(1, order + 1))))
    mixing = rng.standard_normal((order, order)) * units(rng, order)[:, None]
    sizes = np.linalg.norm(mixing @ factor, axis=1)
    assume((sizes > 1e-2 * np.abs(mixing) @ np.linalg.norm(factor, axis=1)).all())  # not what cancellation leaves over
    WeightMoments(np.ones(order), mixing @ (factor @ factor.T) @ mixing.T)
