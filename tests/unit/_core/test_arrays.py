import datetime as dt

import numpy as np
import pandas as pd
import pytest

from copa._core.arrays import as_floats, as_symmetric, as_vector, covering_root, require_finite, semidefinite_root
from copa.exceptions import CopaError, InvalidInputError


@pytest.mark.parametrize("value", [[1, 2], (1.0, 2.0), np.array([1, 2], np.int8), np.array([1.0, 2.0], np.float32)])
def test_numbers_become_contiguous_floats(value):
    array = as_floats(value, "x")
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    np.testing.assert_array_equal(array, [1.0, 2.0])


def test_a_strided_array_is_copied_and_a_good_one_is_not():
    good = np.arange(6.0).reshape(2, 3)
    assert as_floats(good, "x") is good
    strided = as_floats(good.T, "x")
    assert strided.flags.c_contiguous
    np.testing.assert_array_equal(strided, good.T)


@pytest.mark.parametrize("value", ["text", ["a"], object(), {"a": 1}, [[1.0], [1.0, 2.0]], 1j, [1j], {1.0}])
def test_what_is_no_array_of_numbers_is_named(value):
    with pytest.raises(InvalidInputError, match=f"radius must be an array of numbers, got {type(value).__name__}: "):
        as_floats(value, "radius")


def test_an_integer_beyond_the_floats_is_refused():
    with pytest.raises(InvalidInputError):
        as_floats([10**400], "mean")


MASKED = np.ma.masked_array([1.0, 2.0], mask=[False, True])


@pytest.mark.parametrize("value", [MASKED, [MASKED, MASKED], [[1.0, np.ma.masked]], (1.0, (2.0, np.ma.masked))])
def test_what_is_masked_is_not_shown(value):
    with pytest.raises(InvalidInputError, match=r"points must have no masked entries; fill them .* or drop them"):
        as_floats(value, "points")


def test_a_masked_array_without_masked_entries_is_an_array():
    np.testing.assert_array_equal(as_floats(np.ma.masked_array([1.0, 2.0]), "points"), [1.0, 2.0])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array(["2020-01-01"], dtype="M8[D]"), "dates are not numbers; .* days"),
        ([np.datetime64("2020-01-01")], "dates are not numbers"),
        (np.array([dt.date(2020, 1, 1), 2.0], dtype=object), "dates are not numbers"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}), "dates are not numbers"),
        (pd.Series([pd.Timestamp("2020-01-01")]), "dates are not numbers"),
        (np.array([3], dtype="m8[D]"), "durations are not numbers; divide them by a unit"),
        (np.timedelta64(3, "D"), "durations are not numbers"),
        (np.array([np.timedelta64(3, "D"), 2.0], dtype=object), "durations are not numbers"),
        (pd.Series([pd.Timedelta("1D")], dtype=object), "durations are not numbers"),
    ],
)
def test_dates_and_durations_do_not_count_as_numbers(value, message):
    with pytest.raises(InvalidInputError, match=f"X must be an array of numbers, got .*: {message}"):
        as_floats(value, "X")


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_complex_array_is_refused_like_a_complex_list():
    with pytest.raises(InvalidInputError):
        as_floats(np.array([1.0 + 2.0j]), "mean")


def test_errors_are_value_errors_of_the_one_root():
    assert issubclass(InvalidInputError, ValueError)
    assert issubclass(InvalidInputError, CopaError)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_first_entry_that_is_not_finite_is_named(bad):
    array = np.zeros((2, 3))
    array[0, 2] = array[1, 1] = bad
    with pytest.raises(InvalidInputError, match=rf"cov must be finite, got {bad} at index \(0, 2\)"):
        require_finite(array, "cov")


@pytest.mark.parametrize("array", [np.zeros(3), np.array(1e308), np.empty((0, 2))])
def test_finite_arrays_pass(array):
    require_finite(array, "cov")


def test_a_vector_may_have_any_length_but_none():
    assert as_vector([1], "mean").shape == (1,)
    assert as_vector([1, 2, 3], "mean", 3).shape == (3,)
    with pytest.raises(InvalidInputError, match=r"mean must have shape \(D,\), got \(0,\)"):
        as_vector([], "mean")


@pytest.mark.parametrize(("value", "shape"), [([1.0], r"\(1,\)"), (np.ones((2, 1)), r"\(2, 1\)"), (3.0, r"\(\)")])
def test_a_vector_of_another_length_is_refused(value, shape):
    with pytest.raises(InvalidInputError, match=rf"mean must have shape \(2,\), got {shape}"):
        as_vector(value, "mean", 2)


def test_a_vector_must_be_finite():
    with pytest.raises(InvalidInputError, match=r"mean must be finite, got nan at index \(1,\)"):
        as_vector([0.0, np.nan], "mean")


def test_a_symmetric_matrix_comes_back_exactly_symmetric():
    matrix = np.array([[1.0, 0.3], [0.3 + 1e-12, 2.0]])
    result = as_symmetric(matrix, "cov", 2)
    np.testing.assert_array_equal(result, result.T)
    assert result[0, 1] == pytest.approx(0.3, abs=1e-12)
    assert matrix[1, 0] == 0.3 + 1e-12  # the argument is left alone


@pytest.mark.parametrize("size", [1e-200, 1e-8, 1.0, 1e8, 1e200])
def test_asymmetry_counts_relative_to_the_size_of_the_matrix(size):
    slight, clear = np.eye(2), np.eye(2)
    slight[0, 1], clear[0, 1] = 1e-9, 1e-7
    as_symmetric(size * slight, "cov", 2)
    with pytest.raises(InvalidInputError, match=r"cov must be symmetric, got .* at \(0, 1\) and .* at \(1, 0\)"):
        as_symmetric(size * clear, "cov", 2)


def test_the_zero_matrix_is_symmetric():
    np.testing.assert_array_equal(as_symmetric(np.zeros((2, 2)), "cov", 2), np.zeros((2, 2)))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4,), (2, 2, 2)])
def test_a_matrix_of_another_shape_is_refused(shape):
    with pytest.raises(InvalidInputError, match=r"cov must have shape \(2, 2\), got"):
        as_symmetric(np.ones(shape), "cov", 2)


def test_a_matrix_must_be_finite():
    with pytest.raises(InvalidInputError, match=r"cov must be finite, got inf at index \(1, 0\)"):
        as_symmetric([[0.0, 0.0], [np.inf, 0.0]], "cov", 2)


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
def test_a_root_squares_to_the_matrix(rank):
    factor = np.random.default_rng(rank).standard_normal((5, rank))
    matrix = factor @ factor.T
    root = semidefinite_root(matrix, "cov")
    assert root.shape == (5, 5)
    assert root.flags.c_contiguous
    np.testing.assert_allclose(root @ root.T, matrix, rtol=0.0, atol=1e-13)


def test_the_root_of_a_definite_matrix_is_its_cholesky_factor():
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_array_equal(semidefinite_root(matrix, "cov"), np.linalg.cholesky(matrix))


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("ratio", [1e-60, 1e-9, 1.0, 1e9])
def test_rounding_noise_below_zero_is_taken_as_zero(size, ratio):
    units = np.array([1.0, ratio])
    matrix = size * np.array([[1.0, 1.0 + 1e-14], [1.0 + 1e-14, 1.0]]) * np.outer(units, units)
    root = semidefinite_root(matrix, "cov")
    np.testing.assert_allclose(root @ root.T, size * np.outer(units, units), rtol=2e-14, atol=0.0)


@pytest.mark.parametrize("unit", [1e-9, 1.0])
def test_amplified_rounding_below_zero_counts_as_a_spread_of_its_size(unit):
    matrix = np.array([[1.0, 1.0 + 1e-12], [1.0 + 1e-12, 1.0]]) * np.outer([1.0, unit], [1.0, unit])
    across = np.array([1.0, -1.0 / unit]) @ semidefinite_root(matrix, "cov")
    assert across @ across == pytest.approx(2e-12, rel=1e-3)


@pytest.mark.parametrize("variance", [-1e-300, -1e-30, -1e-12])
def test_a_variance_below_zero_is_refused_however_small_beside_another(variance):
    with pytest.raises(InvalidInputError, match=r"cov must be positive semidefinite, .*coordinate 1 is -1e"):
        semidefinite_root(np.diag([1.0, variance]), "cov")


def test_a_coordinate_without_variance_has_no_covariances():
    with pytest.raises(
        InvalidInputError, match=r"coordinate 2 has variance 0 beside a covariance of 1e-30 with coord.* 0"
    ):
        semidefinite_root(np.array([[1.0, 0.0, 1e-30], [0.0, 1.0, 0.0], [1e-30, 0.0, 0.0]]), "cov")
    root = semidefinite_root(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]), "cov")
    np.testing.assert_array_equal(root[1], 0.0)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e12])
def test_correlations_are_judged_whatever_the_units(unit):
    units = np.array([1.0, unit, unit, unit])
    correlations = np.eye(4)
    correlations[1:, 1:] = -0.9 + 1.9 * np.eye(3)  # an eigenvalue of 1 - 2 * 0.9 = -0.8
    message = r"eigenvalue is -0\.8 \(largest 1\.9\) in units .* along the coordinates \[1, 2, 3\]"
    with pytest.raises(InvalidInputError, match=message):
        semidefinite_root(correlations * np.outer(units, units), "cov")


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e12])
def test_asymmetry_cannot_hide_beside_a_larger_coordinate(unit):
    matrix = np.diag([1.0, unit**2, unit**2])
    matrix[1, 2] = 1e-7 * unit**2
    with pytest.raises(InvalidInputError, match=r"cov must be symmetric, got .* at \(1, 2\) and .* at \(2, 1\)"):
        as_symmetric(matrix, "cov", 3)
    matrix[1, 2] = 1e-9 * unit**2
    as_symmetric(matrix, "cov", 3)


@pytest.mark.parametrize(
    ("diagonal", "message"),
    [
        ([1.0, -1e-8], r"most negative eigenvalue is -1e-08 \(largest 1\)"),
        ([3.0, -0.25], r"most negative eigenvalue is -0\.25 \(largest 3\)"),
        ([0.0, -2.0], r"most negative eigenvalue is -2 \(largest 0\)"),
        ([-1.0, -2.0], r"most negative eigenvalue is -2 \(largest -1\)"),
    ],
)
def test_an_indefinite_matrix_is_refused_with_its_eigenvalue(diagonal, message):
    with pytest.raises(InvalidInputError, match=f"drift must be positive semidefinite, its {message}"):
        semidefinite_root(np.diag(diagonal), "drift")


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_a_covering_root_squares_to_no_less_than_the_matrix(rank, seed):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((5, rank)) * np.array([1e-6, 1.0, 0.0, 1e6, 1.0])[:, None]
    matrix = factor @ factor.T
    root = covering_root(matrix, "cov")
    sizes = np.sqrt(np.diag(matrix))
    units = np.where(sizes > 0.0, sizes, 1.0)
    excess = (root @ root.T - matrix) / units[:, None] / units
    present = np.flatnonzero(sizes)
    assert (rank == 0) == (not present.size)
    assert (np.linalg.eigvalsh(excess[np.ix_(present, present)]) > 0.0).all()
    assert (np.abs(excess) <= 2e-14).all()
    assert not root[sizes == 0.0].any()


def test_a_covering_root_leaves_coordinates_that_vary_with_no_other_as_they_are():
    matrix = np.diag([2.0, 3.0, 0.0, 5.0])
    np.testing.assert_array_equal(covering_root(matrix, "cov"), np.sqrt(matrix))
    matrix[0, 3] = matrix[3, 0] = 1.0
    assert covering_root(matrix, "cov")[1].tolist() == [0.0, np.sqrt(3.0), 0.0, 0.0]
