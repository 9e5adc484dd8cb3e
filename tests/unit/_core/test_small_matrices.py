"""The small-matrix kernels against NumPy. Tolerances are multiples of the machine's precision times the condition."""

import numpy as np
import pytest
from copa._inner_kernels import small_matrices

SIZES = [1, 2, 3, 6, 11]


def positive_definite(rng, n):
    factor = rng.standard_normal((n, n + 2))
    return factor @ factor.T / n


def symmetric(rng, n):
    matrix = rng.standard_normal((n, n))
    return matrix + matrix.T


@pytest.fixture(params=SIZES, ids=lambda n: f"order {n}")
def order(request):
    return request.param


@pytest.fixture
def rng(order):
    return np.random.default_rng([1, order])


def test_cholesky_gives_the_lower_factor(order, rng):
    matrix, factor = positive_definite(rng, order), np.zeros((order, order))
    assert small_matrices.cholesky(matrix, factor)
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), rtol=0.0, atol=1e-13)


def test_cholesky_reads_the_lower_triangle_only(order, rng):
    matrix, factor = positive_definite(rng, order), np.zeros((order, order))
    expected = np.linalg.cholesky(matrix)
    matrix[np.triu_indices(order, 1)] = np.nan
    assert small_matrices.cholesky(matrix, factor)
    np.testing.assert_allclose(factor, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("eigenvalue", [-1e-3, -1.0])
def test_cholesky_refuses_an_indefinite_matrix(order, rng, eigenvalue):
    vectors = np.linalg.qr(rng.standard_normal((order, order)))[0]
    values = np.linspace(1.0, 2.0, order)
    values[-1] = eigenvalue
    assert not small_matrices.cholesky((vectors * values) @ vectors.T, np.zeros((order, order)))


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_cholesky_refuses_what_is_not_finite(order, bad):
    for i in range(order):
        matrix = 2.0 * np.eye(order)
        matrix[i, i] = bad
        assert not small_matrices.cholesky(matrix, np.zeros((order, order)))


def test_cholesky_refuses_a_nan_off_the_diagonal():
    matrix = np.eye(3)
    matrix[2, 1] = matrix[1, 2] = np.nan
    assert not small_matrices.cholesky(matrix, np.zeros((3, 3)))


def test_cholesky_refuses_the_zero_matrix(order):
    assert not small_matrices.cholesky(np.zeros((order, order)), np.zeros((order, order)))


def test_pivots_are_the_squared_diagonal_of_the_factor(order, rng):
    matrix, pivots = positive_definite(rng, order), np.zeros(order)
    assert small_matrices.cholesky_pivots(matrix, np.zeros((order, order)), pivots) == -1
    np.testing.assert_allclose(pivots, np.diag(np.linalg.cholesky(matrix)) ** 2, rtol=1e-12)


def test_the_first_pivot_that_fails_is_named_with_its_value(order, rng):
    for row in range(order):
        matrix, pivots = positive_definite(rng, order), np.zeros(order)
        leading = matrix[:row, :row]
        explained = matrix[row, :row] @ np.linalg.solve(leading, matrix[:row, row]) if row else 0.0
        matrix[row, row] = explained - 0.5
        assert small_matrices.cholesky_pivots(matrix, np.zeros((order, order)), pivots) == row
        assert pivots[row] == pytest.approx(-0.5, abs=1e-12)
        assert (pivots[:row] > 0.0).all()


def test_solving_from_the_factor_solves_the_system(order, rng):
    matrix, rhs = positive_definite(rng, order), rng.standard_normal(order)
    solution = rhs.copy()
    small_matrices.solve_cholesky(np.linalg.cholesky(matrix), solution)
    np.testing.assert_allclose(matrix @ solution, rhs, rtol=0.0, atol=1e-11)


def test_the_inverse_from_the_factor_is_the_inverse(order, rng):
    matrix, inverse = positive_definite(rng, order), np.full((order, order), np.nan)
    small_matrices.invert_from_cholesky(np.ascontiguousarray(np.linalg.cholesky(matrix)), inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(inverse, inverse.T)


def test_reflecting_is_the_product_with_the_reflection_on_both_sides(order, rng):
    matrix, axis = symmetric(rng, order), rng.standard_normal(order)
    axis /= np.linalg.norm(axis)
    reflection = np.eye(order) - 2.0 * np.outer(axis, axis)
    out = np.full((order, order), np.nan)
    small_matrices.reflect(matrix, axis, out)
    np.testing.assert_allclose(out, reflection @ matrix @ reflection, rtol=0.0, atol=1e-13)
    np.testing.assert_array_equal(out, out.T)


def test_scaling_the_first_axis_is_a_congruence(order, rng):
    matrix, scaling = symmetric(rng, order), np.eye(order)
    scaling[0, 0] = 0.25
    expected = scaling @ matrix @ scaling
    small_matrices.scale_first(matrix, 0.25)
    np.testing.assert_array_equal(matrix, expected)


def test_the_symmetric_product_is_the_symmetric_part(order, rng):
    left, middle, right = (symmetric(rng, order) for _ in range(3))
    work, out = np.zeros((order, order)), np.full((order, order), np.nan)
    small_matrices.symmetric_product(left, middle, right, work, out)
    product = left @ middle @ right
    np.testing.assert_allclose(out, 0.5 * (product + product.T), rtol=0.0, atol=1e-12 * np.abs(product).max())
    np.testing.assert_array_equal(out, out.T)


def rotated(rows):
    out = np.full((len(rows), len(rows)), np.nan)
    small_matrices.triangular_rows(rows.copy(), out)
    return out


def assert_same_gram(out, rows):
    """Inner products agree relative to the lengths of the two rows: every row by itself keeps its digits."""
    lengths = np.linalg.norm(rows, axis=1)
    scale = np.where(lengths > 0.0, lengths, 1.0)
    out, rows = out / scale[:, None], rows / scale[:, None]
    np.testing.assert_allclose(out @ out.T, rows @ rows.T, rtol=0.0, atol=1e-14 * rows.shape[1])


@pytest.mark.parametrize(("n_rows", "length"), [(1, 2), (1, 40), (2, 3), (5, 6), (5, 40)])
def test_rotated_rows_keep_their_inner_products(n_rows, length):
    rows = np.random.default_rng([2, n_rows, length]).standard_normal((n_rows, length))
    out = rotated(rows)
    assert_same_gram(out, rows)
    np.testing.assert_array_equal(out, np.tril(out))


@pytest.mark.parametrize("seed", range(10))
def test_rows_of_very_different_lengths_each_keep_their_digits(seed):
    rng = np.random.default_rng([3, seed])
    rows = rng.standard_normal((6, 15)) * 10.0 ** rng.uniform(-8.0, 8.0, (6, 1))
    assert_same_gram(rotated(rows), rows)


def test_zero_rows_stay_zero():
    rows = np.random.default_rng(4).standard_normal((5, 9))
    rows[[0, 3]] = 0.0
    out = rotated(rows)
    assert (out[[0, 3]] == 0.0).all()
    assert_same_gram(out, rows)


def test_duplicate_and_opposite_rows_stay_so():
    rows = np.random.default_rng(5).standard_normal((5, 9))
    rows[2], rows[4] = rows[0], -3.0 * rows[1]
    out = rotated(rows)
    assert_same_gram(out, rows)
    np.testing.assert_allclose(out[2], out[0], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(out[4], -3.0 * out[1], rtol=0.0, atol=1e-13)
