"""What all corrections say to bad points and limits."""

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.corrections import mahalanobis_correction, requirement_correction

MEAN, COV = np.array([0.5, 1.0, -1.0]), 0.1 * np.eye(3)
PLAN = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, -0.5]])
CORRECTIONS = {
    "requirement": lambda points, **limits: requirement_correction(points, MEAN, **limits),
    "mahalanobis": lambda points, **limits: mahalanobis_correction(points, MEAN, COV, **limits),
}


@pytest.fixture(params=CORRECTIONS.values(), ids=CORRECTIONS.keys())
def correct(request):
    return request.param


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.ones((2, 4)), r"points must have shape \(J, 3\) or \(N, J, 3\) to match mean, got \(2, 4\)"),
        (np.ones(3), r"got \(3,\)"),
        (np.empty((0, 3)), "a plan needs at least one option"),
        ([[1.0, np.nan, 0.0]], r"points must be finite, got nan at index \(0, 1\)"),
        ([PLAN, [[1.0, 0.0, 0.0], [1.0, 0.0, np.inf]]], r"plan 1: points must be finite, got inf at index \(1, 2\)"),
        ([[0.0, 0.0, 0.0]], "option 0 is the zero vector"),
        ([["a", 0.0, 0.0]], "points must be an array of numbers"),
    ],
)
def test_points_that_are_no_plan(correct, points, message):
    with pytest.raises(InvalidInputError, match=message):
        correct(points)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        (
            [True, False],
            r"fixed must be a boolean mask of shape \(3,\) or a list of coordinates .* got bool of shape \(2,\)",
        ),
        ([3], "fixed must name coordinates from 0 to 2, got 3"),
        ([-1], "got -1"),
        ([1.0], "got float64"),
        (["age"], "got <U3"),
        ([[1], [2]], r"of shape \(2, 1\)"),
    ],
)
def test_fixed_coordinates_that_do_not_exist(correct, fixed, message):
    with pytest.raises(InvalidInputError, match=message):
        correct(PLAN, fixed=fixed)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"lower": [0.0, 0.0]}, r"lower must have shape \(3,\), or \(1, 3\) with one row per plan, got \(2,\)"),
        ({"upper": np.ones((2, 3))}, r"upper must have shape .* got \(2, 3\)"),
        ({"upper": [1.0, np.nan, 1.0]}, "got lower -inf and upper nan at coordinate 1; .* plus infinity"),
        (
            {"lower": [0.0, -1.0, 0.5], "upper": [1.0, 1.0, 0.25]},
            "lower must not exceed upper, got lower 0.5 and upper 0.25 at coordinate 2",
        ),
        ({"lower": [0.0, np.inf, 0.0]}, "got lower inf and upper inf at coordinate 1"),
        ({"lower": [0.0, "low", 0.0]}, "lower must be an array of numbers"),
    ],
)
def test_bounds_that_are_none(correct, limits, message):
    with pytest.raises(InvalidInputError, match=message):
        correct(PLAN, **limits)


def test_contradicting_bounds_of_one_plan_of_a_batch(correct):
    lower = [[0.0, -1.0, -1.0], [0.0, -1.0, 2.0]]
    with pytest.raises(InvalidInputError, match="at coordinate 2 of plan 1"):
        correct(np.stack([PLAN, PLAN]), lower=lower, upper=[1.0, 1.0, 1.0])


def test_a_mask_and_a_list_of_coordinates_say_the_same(correct):
    by_list = correct(PLAN, fixed=[2])
    np.testing.assert_array_equal(correct(PLAN, fixed=[False, False, True]), by_list)
    np.testing.assert_array_equal(correct(PLAN, fixed=np.array([2], dtype=np.uint8)), by_list)
    np.testing.assert_array_equal(by_list[:, 2], PLAN[:, 2])


def test_an_option_outside_its_bounds_is_named():
    message = (
        "option 1 is outside its bounds: coordinate 2 is -0.5, allowed is -0.25 to inf; widen the bounds, or bring"
    )
    with pytest.raises(InvalidInputError, match=message):
        CORRECTIONS["mahalanobis"](PLAN, lower=[-9.0, -9.0, -0.25])
    with pytest.raises(InvalidInputError, match="option 1 of plan 0 is outside"):
        CORRECTIONS["mahalanobis"](PLAN[None], lower=[-9.0, -9.0, -0.25])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": -0.1}, "budget must be a finite number of at least 0, got -0.1"),
        ({"budget": np.nan}, "budget must be a finite number of at least 0, got nan"),
        ({"budget": [0.1]}, r"budget must be one number, got shape \(1,\)"),
        ({"n_corrections": 0}, "n_corrections must be a whole number from 1 to 2, got 0"),
        ({"n_corrections": 3}, "got 3"),
        ({"n_corrections": 1.5}, "got 1.5"),
        ({"n_corrections": True}, "got True"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer"),
        ({"radius": -1.0}, "radius must be a finite number of at least 0"),
        ({"drift": np.ones((2, 2))}, r"drift must have shape \(3, 3\)"),
    ],
)
def test_budgets_and_counts_that_are_none(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        CORRECTIONS["mahalanobis"](PLAN, **arguments)


def test_the_intercept_never_moves(correct):
    weak = np.array([[1.0, -0.45, 0.0], [1.0, 0.0, 0.45]])  # scores of 0.05 at the mean: every correction moves them
    for fixed in (None, [1], [False, False, True]):
        corrected = correct(weak, fixed=fixed)
        np.testing.assert_array_equal(corrected[:, 0], 1.0)
        assert not np.array_equal(corrected, weak)
