import numpy as np
import pytest

from copa._core.records import reduce_segments, segment_rows
from copa._core.words import rounded_down, rounded_up


def test_segments_are_reduced_one_by_one():
    values, counts = np.array([3.0, 1.0, 2.0, 5.0, -1.0]), np.array([0, 2, 0, 1, 2, 0])
    np.testing.assert_array_equal(reduce_segments(np.minimum, values, counts), [np.nan, 1, np.nan, 2, -1, np.nan])
    np.testing.assert_array_equal(reduce_segments(np.add, values, counts), [np.nan, 4, np.nan, 2, 4, np.nan])


def test_no_segments_reduce_to_nothing():
    assert reduce_segments(np.add, np.zeros(0), np.zeros(0, dtype=np.intp)).shape == (0,)
    assert np.isnan(reduce_segments(np.add, np.zeros(0), np.zeros(2, dtype=np.intp))).all()


def test_rows_of_segments_follow_the_order_asked_for():
    counts = np.array([2, 0, 3, 1])
    assert segment_rows(np.array([3, 2, 1, 0, 3]), counts).tolist() == [5, 2, 3, 4, 0, 1, 5]
    assert segment_rows(np.array([1]), counts).tolist() == []


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [
        (0.9, "0.900", "0.900"),
        (0.29, "0.290", "0.290"),
        (0.9999, "0.999", "1.000"),
        (1.0, "1.000", "1.000"),
        (0.0, "0.000", "0.000"),
        (1e-9, "0.000", "0.001"),
        (np.float64(0.9305), "0.930", "0.931"),
    ],
)
def test_probabilities_are_rounded_to_the_safe_side(value, down, up):
    assert rounded_down(value) == down
    assert rounded_up(value) == up
