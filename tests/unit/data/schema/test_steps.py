from fractions import Fraction

import numpy as np
import pytest

from copa.data.tables.cells import multiples, snap, whole_and_digits


@pytest.mark.parametrize(
    ("step", "parts"),
    [(0.1, (1, 1)), (0.25, (25, 2)), (50.0, (5, -1)), (1.0, (1, 0)), (1e-7, (1, 7)), (12.5, (125, 1))],
)
def test_a_step_is_a_whole_number_of_decimals(step, parts):
    assert whole_and_digits(step) == parts


def test_multiples_are_the_decimals_that_people_write():
    assert multiples([1, 2, 3, 7, -3], 0.1).tolist() == [0.1, 0.2, 0.3, 0.7, -0.3]
    assert multiples(3, 0.01).item() == 0.03
    assert (3 * 0.1, 3 * 0.01) != (0.3, 0.03)  # which plain products are not


def test_a_multiple_of_zero_steps_has_no_sign():
    assert np.signbit(multiples([-0.0, 0.0], 0.1)).tolist() == [False, False]


@pytest.mark.parametrize("step", [0.1, 0.25, 0.001, 50.0, 1e-7, 123456.789, 1e30, 1e-30, 0.7])
@pytest.mark.parametrize("count", [1, 3, 7, 999_999_937, 10**14 + 7])
def test_multiples_are_the_floats_nearest_to_the_exact_products(step, count):
    assert multiples(count, step).item() == float(count * Fraction(repr(step)))


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [("nearest", [0.3, 0.3, 0.4, -0.3]), ("down", [0.3, 0.3, 0.3, -0.4]), ("up", [0.3, 0.4, 0.4, -0.3])],
)
def test_values_snap_to_multiples_in_the_direction_asked(rounding, expected):
    assert snap([0.3, 0.32, 0.38, -0.32], 0.1, rounding).tolist() == expected


@pytest.mark.parametrize("rounding", ["nearest", "down", "up"])
@pytest.mark.parametrize("step", [0.1, 0.01, 0.7, 5.0])
def test_multiples_stay_where_they_are(step, rounding):
    grid = multiples(np.arange(-2000, 2001), step)
    assert (snap(grid, step, rounding) == grid).all()


def test_shapes_are_kept():
    assert snap(np.zeros((2, 3)), 0.5).shape == (2, 3)
    assert snap(0.6, 0.5).shape == ()
