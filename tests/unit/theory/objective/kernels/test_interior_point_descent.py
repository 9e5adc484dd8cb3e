"""The interior-point descent on problems with known minimisers."""

import math

import numpy as np
import pytest

from copa._kernels import interior_point_descents, lbfgs_descents
from copa.theory.objective.arguments import Problems

GO = np.zeros(1, dtype=np.int64)  # a flag that stops kernels, never set


def descend(gain, needed, starts, *, weights=(0.0, 0.0), manhattan=False, bounds=None, max_steps=100, lbfgs_steps=5):
    """Plans and values after the interior-point descent of one applicant whose parameters have unit covariance."""
    n = len(gain)
    gain = np.array(gain, dtype=float)
    # An applicant of variance 1 and mean score 1 - needed: the options need a mean score of 1.
    scores = np.array([[1.0 - needed, 1.0, needed]])
    box = np.array([[[-np.inf] * n, [np.inf] * n]]) if bounds is None else np.array([bounds], dtype=float)
    plans = np.array([starts], dtype=float)
    values = np.empty(plans.shape[:2])
    problems = Problems(np.eye(n), gain, scores, np.zeros((1, n)), box, *weights, manhattan)
    lbfgs_descents(problems, np.array([0.1]), lbfgs_steps, GO, plans, values)
    before = values.copy()
    interior_point_descents(problems, max_steps, GO, plans, values)
    assert (values <= before + 1e-9 * (1.0 + np.abs(before))).all()
    return plans[0], values[0]


def test_cost_alone_leads_to_the_foot_of_the_perpendicular():
    gain = np.array([3.0, 4.0])
    plans, values = descend(gain, 2.0, [[[2.0, -1.0]]])
    np.testing.assert_allclose(plans[0, 0], 2.0 * gain / 25.0, atol=1e-6)
    assert values[0] == pytest.approx(2.0 / 5.0, abs=1e-8)


def test_manhattan_cost_alone_moves_the_one_coordinate_that_pays_most():
    plans, values = descend([1.0, 4.0, -2.0], 2.0, [[[1.0, 1.0, 1.0]]], manhattan=True)
    np.testing.assert_allclose(plans[0, 0], [0.0, 0.5, 0.0], atol=1e-9)
    assert (plans[0, 0, [0, 2]] == 0.0).all()  # unchanged means unchanged
    assert values[0] == pytest.approx(0.5, abs=1e-9)


def test_a_bound_in_the_way_is_met_exactly():
    bounds = [[-1.0, -np.inf], [0.1, np.inf]]
    plans, _ = descend([3.0, 4.0], 2.0, [[[0.0, 0.0]]], bounds=bounds)
    assert plans[0, 0, 0] == 0.1
    assert plans[0, 0, 1] == pytest.approx((2.0 - 0.3) / 4.0, abs=1e-8)


def test_a_coordinate_without_room_stays():
    plans, _ = descend([3.0, 4.0], 2.0, [[[5.0, 5.0]]], bounds=[[0.25, -9.0], [0.25, 9.0]])
    assert plans[0, 0, 0] == 0.25
    assert plans[0, 0, 1] == pytest.approx((2.0 - 0.75) / 4.0, abs=1e-8)


def test_a_box_of_one_point_is_left_as_it_is():
    plans, _ = descend([3.0, 4.0], 2.0, [[[5.0, 5.0]]], bounds=[[0.4, 0.2], [0.4, 0.2]])
    np.testing.assert_array_equal(plans[0, 0], [0.4, 0.2])


def test_two_options_without_margin_part_to_the_distance_that_calculus_gives():
    # Options at -r and r, cost r, determinant 1 - 1 / (1 + 2r)^2: stationary where (1 + 2r)^3 = 4 l2.
    weight = 4.0
    plans, values = descend([1.0, 0.0], -10.0, [[[0.3, 0.5], [-0.2, -0.3]]], weights=(0.0, weight))
    half = ((4.0 * weight) ** (1.0 / 3.0) - 1.0) / 2.0
    assert np.linalg.norm(plans[0, 0] - plans[0, 1]) == pytest.approx(2.0 * half, abs=1e-5)
    assert values[0] == pytest.approx(half - weight * (1.0 - 1.0 / (1.0 + 2.0 * half) ** 2), abs=1e-8)


def test_validity_alone_is_maximal_where_the_ratio_is():
    # One free coordinate: (s + g z) / sqrt(1 + z^2) is largest at z = g / s, here 2; the cost is next to nothing.
    weight = 1e6
    plans, _ = descend([2.0], 0.0, [[[0.5]]], weights=(weight, 0.0))
    assert plans[0, 0, 0] == pytest.approx(2.0, abs=1e-4)


def test_the_ratios_of_diverse_options_are_level_at_the_minimum():
    rng = np.random.default_rng(39)
    plans, _ = descend([1.0, 0.5, 0.2, 0.1], 0.5, [rng.standard_normal((3, 4))], weights=(1.0, 4.0))
    moves = plans[0]
    ratios = (0.5 + moves @ [1.0, 0.5, 0.2, 0.1]) / np.sqrt(1.0 + (moves**2).sum(axis=1))
    assert math.isclose(ratios.min(), ratios.max(), rel_tol=1e-5)


def test_without_steps_only_coordinates_that_are_all_but_there_move():
    bounds = [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]
    start = [1e-8, 0.5, -1.0 + 1e-10]
    plans, _ = descend([1.0, 1.0, 1.0], -5.0, [[start]], bounds=bounds, max_steps=0, lbfgs_steps=0)
    np.testing.assert_array_equal(plans[0, 0], [0.0, 0.5, -1.0])


def test_snapping_that_costs_too_much_is_undone():
    # A unit of coordinate 0 adds a thousand to the score: giving up 5e-7 of it takes 5e-4 of coordinate 1.
    plans, _ = descend([1000.0, 1.0], 1.0, [[[5e-7, 1.0 - 5e-4]]], max_steps=0, lbfgs_steps=0)
    np.testing.assert_allclose(plans[0, 0], [5e-7, 1.0 - 5e-4], rtol=1e-9)
