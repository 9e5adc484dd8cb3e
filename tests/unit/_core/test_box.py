import numpy as np
import pytest

from copa import InvalidInputError
from copa._core.box import Box, read_fixed


@pytest.mark.parametrize("nothing", [None, [], (), np.array([]), np.zeros(4, dtype=bool)])
def test_nothing_fixed_leaves_only_the_intercept_fixed(nothing):
    np.testing.assert_array_equal(read_fixed(nothing, 4), [True, False, False, False])


@pytest.mark.parametrize(
    "fixed", [[2], (2,), np.array([2, 0]), [False, False, True, False], [True, False, True, False]]
)
def test_masks_and_indices_mean_the_same(fixed):
    np.testing.assert_array_equal(read_fixed(fixed, 4), [True, False, True, False])


@pytest.mark.parametrize("fixed", [[4], [-1], [0.5], ["age"], [[1, 2]], [True, False], 2])
def test_what_is_neither_mask_nor_coordinates_is_an_error(fixed):
    with pytest.raises(InvalidInputError, match="fixed must"):
        read_fixed(fixed, 4)


def test_absent_bounds_are_infinite_and_shared_ones_are_everyone_s():
    box = Box.read(3, 4, None, None, [9.0, 1.0, np.inf, 2.0])
    assert box.lower.shape == box.upper.shape == (3, 4)
    assert (box.lower == -np.inf).all()
    np.testing.assert_array_equal(box.upper[2], [np.inf, 1.0, np.inf, 2.0])
    np.testing.assert_array_equal(box.free, [1, 2, 3])
    assert box.messages == ["", "", ""]


def test_bounds_of_fixed_coordinates_are_not_looked_at():
    box = Box.read(1, 3, [1], [5.0, 5.0, 0.0], [0.0, np.nan, 1.0])
    np.testing.assert_array_equal(box.lower[0], [-np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(box.upper[0], [np.inf, np.inf, 1.0])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0, 2.0, 0.0], [0.0, 1.0, 0.0], "got lower 2 and upper 1 at coordinate 1"),
        ([0.0, np.nan, 0.0], None, "got lower nan and upper inf at coordinate 1"),
        ([0.0, 0.0, np.inf], None, "at coordinate 2"),
        (None, [0.0, 0.0, -np.inf], "at coordinate 2"),
        ([0.0, 0.0], None, r"lower must have shape \(3,\), or \(2, 3\)"),
        (None, "high", "upper must be an array of numbers"),
    ],
)
def test_bounds_that_are_wrong_for_everyone_are_an_error(lower, upper, message):
    with pytest.raises(InvalidInputError, match=message):
        Box.read(2, 3, None, lower, upper)


def test_bounds_that_are_wrong_for_one_applicant_are_a_message():
    lower = np.zeros((3, 3))
    lower[1, 2] = 7.0
    box = Box.read(3, 3, None, lower, [1.0, 1.0, 1.0])
    assert [bool(message) for message in box.messages] == [False, True, False]
    assert "got lower 7 and upper 1 at coordinate 2" in box.messages[1]
