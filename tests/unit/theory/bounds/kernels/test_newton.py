"""The Newton system against the dense operator dM -> sum_j sym(P_j dM Q_j), written with Kronecker products."""

import numpy as np
import pytest
from copa._inner_kernels import newton_system as newton


def triangle(matrix):
    """Lower triangle by rows."""
    return matrix[np.tril_indices(len(matrix))]


def unit_matrices(n):
    """Basis of the symmetric matrices, one for each entry of the lower triangle: (n (n + 1) / 2, n, n)."""
    basis = []
    for a, b in zip(*np.tril_indices(n), strict=True):
        unit = np.zeros((n, n))
        unit[a, b] = unit[b, a] = 1.0
        basis.append(unit)
    return np.array(basis)


def symmetric(rng, *shape):
    half = rng.standard_normal(shape)
    return half + np.swapaxes(half, -1, -2)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_triangles_are_listed_by_rows_and_filled_back(n):
    matrix = symmetric(np.random.default_rng(n), n, n)
    listed, back = np.zeros(n * (n + 1) // 2), np.zeros((n, n))
    newton.list_triangle(matrix, listed)
    np.testing.assert_array_equal(listed, triangle(matrix))
    newton.fill_symmetric(listed, back)
    np.testing.assert_array_equal(back, matrix)


def test_a_pair_has_the_same_place_from_both_sides():
    rows, columns = np.tril_indices(6)
    for place, (a, b) in enumerate(zip(rows, columns, strict=True)):
        assert newton.pair(a, b) == newton.pair(b, a) == place


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_right_hand_side_holds_the_products_with_the_unit_matrices(n):
    matrix = symmetric(np.random.default_rng([1, n]), n, n)
    out = np.full(n * (n + 1) // 2 + 1, np.nan)
    newton.system_rhs(matrix, 0.75, out)
    np.testing.assert_allclose(out[:-1], np.einsum("kab,ab->k", unit_matrices(n), matrix), rtol=1e-15)
    assert out[-1] == 0.75


@pytest.mark.parametrize(("n_options", "n"), [(1, 1), (1, 2), (3, 2), (2, 4), (5, 6)])
def test_the_system_matrix_is_the_bordered_operator(n_options, n):
    rng = np.random.default_rng([2, n_options, n])
    P, Q = symmetric(rng, n_options + 1, n, n), symmetric(rng, n_options + 1, n, n)
    p, q = rng.standard_normal((2, n_options, n))
    size = n * (n + 1) // 2
    out = np.full((size + 1, size + 1), np.nan)
    p_triangles, q_triangles = np.array([triangle(m) for m in P]), np.array([triangle(m) for m in Q])
    newton.system_matrix(p_triangles, q_triangles, p, q, 1.5, np.empty((size, size)), out)

    basis = unit_matrices(n).reshape(size, n * n)
    # vec(P D Q) = (P kron Q') vec(D), rows first; the basis is symmetric, which takes the symmetric part.
    operator = sum(np.kron(a, b) for a, b in zip(P, Q, strict=True))
    expected = np.zeros((size + 1, size + 1))
    expected[:-1, :-1] = basis @ operator @ basis.T
    expected[:-1, :-1] = 0.5 * (expected[:-1, :-1] + expected[:-1, :-1].T)
    expected[-1, :-1] = basis @ (0.5 * (p.T @ q + q.T @ p)).ravel()
    expected[-1, -1] = 1.5
    lower = np.tril_indices(size + 1)
    np.testing.assert_allclose(out[lower], expected[lower], rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert np.isnan(out[np.triu_indices(size + 1, 1)]).all()  # nothing is written above the diagonal
