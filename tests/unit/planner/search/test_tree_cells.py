"""Cells between the cuts of trees: each holds the numbers that a column can hold there, and no other."""

import numpy as np
import pytest

import copa
from copa.models.trees import TreeEnsembles
from copa.models.trees.arrays import MISSING_RIGHT, Links, TreeArrays
from copa.planner.search.tree_cells import number_cells
from copa.planner.strategies.black_box import local_space
from copa.plans.cost import L1


def stumps(cuts):
    """An ensemble with a tree of one test for each cut of the column x."""
    n = len(cuts)
    arrays = TreeArrays(
        ensembles=np.array([0, n]),
        roots=3 * np.arange(n + 1),
        kind=np.tile(np.array([MISSING_RIGHT, 0, 0], dtype=np.uint8), n),
        column=np.zeros(3 * n, dtype=np.int32),
        cut=np.stack([np.arange(n), np.zeros(n), np.zeros(n)], axis=1).ravel().astype(np.int32),
        left=(3 * np.arange(n)[:, None] + [1, 1, 2]).ravel().astype(np.int32),
        right=(3 * np.arange(n)[:, None] + [2, 1, 2]).ravel().astype(np.int32),
        value=np.tile([0.0, -1.0, 1.0], n),
        sets=np.zeros(0, dtype=np.uint64),
        n_codes=np.array([n + 2]),
    )
    one, no = np.ones(1), np.zeros(1, dtype=bool)
    links = Links(
        base=0 * one, divisor=one, is_single=no, is_probability=no, sign=one, limit=9 * one, threshold=0 * one, tie=one
    )
    return TreeEnsembles(("x",), (np.array(cuts, dtype=np.float64),), (None,), arrays, links)


def cells(cuts, precision=None, **feature):
    space = local_space(copa.FeatureSchema((copa.Feature("x", "numeric", **feature),)), L1())
    return number_cells(space, stumps(cuts), (precision,))["x"]


@pytest.mark.parametrize(
    ("cuts", "step", "least", "greatest", "codes"),
    [
        ([0.5, 2.0], 1.0, [-np.inf, 1.0, 3.0], [0.0, 2.0, np.inf], [0, 1, 2]),  # a cut on the grid is of the cell below
        ([0.2, 0.4, 2.5], 1.0, [-np.inf, 1.0, 3.0], [0.0, 2.0, np.inf], [0, 2, 3]),  # no number between the first two
        ([0.3], 0.1, [-np.inf, 0.4], [0.3, np.inf], [0, 1]),
    ],
)
def test_cells_on_a_grid(cuts, step, least, greatest, codes):
    low, high, own = cells(cuts, step=step)
    np.testing.assert_allclose(low, least)
    np.testing.assert_allclose(high, greatest)
    np.testing.assert_array_equal(own, codes)


@pytest.mark.parametrize("precision", [None, np.float32])
def test_cells_without_a_grid_hold_their_own_numbers(precision):
    cuts = np.sort(np.random.default_rng(0).normal(size=200)) / 3.0
    cuts[50] = np.nextafter(cuts[49], 1.0)  # as near as can be
    low, high, codes = cells(cuts.tolist(), precision, spread=1.0)
    read = stumps(cuts)
    for ends in (low, high):
        inner = np.isfinite(ends)
        held = ends[inner] if precision is None else ends[inner].astype(precision).astype(np.float64)
        np.testing.assert_array_equal(held, ends[inner])
        np.testing.assert_array_equal(read.codes_of_numbers(0, ends[inner]), codes[inner])
    if precision is None:
        short = [len(repr(number)) for number in low[1:].tolist()]
        assert np.median(short) <= 6  # few digits, where there is room for that
