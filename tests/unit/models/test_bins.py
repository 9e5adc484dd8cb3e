"""Where the encoded row jumps along a column is found exactly, whoever cut the column into bins."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import KBinsDiscretizer

from copa.models.bins import bin_of, bins_within, find_bins

BASES = pd.DataFrame({"x": [1.0, 5.0], "z": [0.0, 2.0]})
VALUES = np.round(np.linspace(-3.0, 30.0, 400), 2)


def bins_of(function, values=VALUES, transformers=()):
    """The bins of a function of the column `x`, beside one of another column."""

    def encode(frame):
        return np.column_stack([function(frame["x"].to_numpy()), frame["z"].to_numpy()])

    return find_bins(encode, BASES, [("x", values)], transformers).get("x")


@pytest.mark.parametrize("cuts", [[6.0, 12.0, 24.0], [0.0], [0.1, 0.25], [0.3333, 29.99], [4.0, 4.01]])
def test_cut_offs_are_found_to_the_last_digit(cuts):
    assert bins_of(lambda x: np.digitize(x, cuts)).edges.tolist() == cuts


def test_a_cut_off_with_more_digits_is_taken_for_the_shortest_number_next_to_it():
    assert bins_of(lambda x: np.digitize(x, [1.0 / 3.0])).edges.tolist() == pytest.approx([1.0 / 3.0], abs=1e-10)


def test_a_bin_that_is_closed_on_the_right_ends_right_after_its_edge():
    edges = bins_of(lambda x: np.digitize(x, [6.0, 12.0], right=True)).edges
    assert edges.tolist() == [np.nextafter(6.0, 7.0), np.nextafter(12.0, 13.0)]


def test_every_bin_has_a_value_inside_of_it():
    bins = bins_of(lambda x: np.digitize(x, [6.0, 12.0, 24.0]))
    assert bin_of(bins.edges, bins.inside).tolist() == [0, 1, 2, 3]
    assert bin_of(bins.edges, bins.edges).tolist() == [1, 2, 3]  # an edge is the first value of its bin


def test_a_bin_without_training_values_is_known_from_its_transformer():
    few = np.array([[0.0], [0.1], [1000.0]])
    kbins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform").fit(few)
    kbins.bin_edges_[0] = np.array([0.0, 3.0, 3.001, 1000.0])

    def encode(frame):
        return np.searchsorted([3.0, 3.001], frame["x"].to_numpy(), side="right")[:, None].astype(float)

    assert find_bins(encode, BASES, [("x", few[:, 0])], [kbins])["x"].edges.tolist() == [3.0, 3.001]


@pytest.mark.parametrize("function", [np.sqrt, lambda x: np.clip(x, 2.0, 2.5), lambda x: np.maximum(x - 29.0, 0.0)])
def test_what_is_smooth_anywhere_has_no_bins(function):
    with np.errstate(invalid="ignore"):
        assert bins_of(lambda x: function(np.abs(x))) is None


def test_a_pipeline_that_refuses_a_value_has_no_bins():
    def refuse(x):
        if (x % 1.0 != 0.0).any():
            raise ValueError("whole numbers only")
        return x

    assert bins_of(refuse) is None


def test_bins_are_within_a_distance_if_some_two_of_them_begin_so_near():
    edges = np.array([0.0, 1.0, 10.0, 12.0])
    assert [bins_within(edges, d) for d in (0.5, 1.0, 2.0, 11.0, 100.0)] == [0, 1, 1, 2, 3]
