import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.corrections import requirement_correction

MEAN = np.array([-0.5, 1.0, 2.0])


def test_without_limits_it_is_a_step_along_the_mean_of_what_may_move():
    points = np.array([[1.0, 0.1, 0.1], [1.0, -2.0, 0.0]])
    free = np.array([0.0, 1.0, 2.0])
    missing = 0.3 - points @ MEAN
    expected = points + (missing / 5.0)[:, None] * free
    np.testing.assert_allclose(requirement_correction(points, MEAN, margin=0.3), expected, rtol=1e-12)


def test_an_option_that_meets_margin_and_bounds_is_returned_as_it_is():
    points = np.array([[1.0, 1.0 / 3.0, 0.7], [1.0, -2.0, 0.0]])
    corrected = requirement_correction(points, MEAN, upper=[9.0, 0.5, 9.0])
    np.testing.assert_array_equal(corrected[0], points[0])
    assert (corrected[1] != points[1]).any()


def test_the_margin_is_met_by_whoever_computes_the_score_again():
    rng = np.random.default_rng(0)
    points = np.column_stack([np.ones(500), rng.standard_normal((500, 9))])
    mean = rng.standard_normal(10) * 10.0 ** rng.uniform(-3.0, 3.0, 10)
    corrected = requirement_correction(points, mean, margin=0.1, lower=np.full(10, -5.0))
    assert (corrected @ mean >= 0.1).all()
    assert all(sum(float(a) * float(b) for a, b in zip(x, mean, strict=True)) >= 0.1 for x in corrected)
    np.testing.assert_array_equal(requirement_correction(corrected, mean, margin=0.1), corrected)


def test_a_bound_on_the_way_leaves_the_rest_to_the_others():
    # Coordinate 2 would do most of the work, but may rise to 0.1 only.
    (corrected,) = requirement_correction([[1.0, 0.0, 0.0]], MEAN, margin=0.1, upper=[np.inf, np.inf, 0.1])
    np.testing.assert_allclose(corrected, [1.0, 0.4, 0.1], rtol=1e-12)


def test_an_option_outside_its_bounds_is_projected_onto_both_at_once():
    # Clipping alone meets the margin: nothing else moves.
    (corrected,) = requirement_correction([[1.0, 5.0, 0.0]], MEAN, upper=[np.inf, 2.0, np.inf])
    np.testing.assert_array_equal(corrected, [1.0, 2.0, 0.0])
    # From below its bound, a coordinate that the mean pushes up moves later than the others.
    (corrected,) = requirement_correction([[1.0, -1.0, 0.0]], MEAN, margin=0.1, lower=[-np.inf, 0.0, -np.inf])
    np.testing.assert_allclose(corrected, [1.0, 0.0, 0.3], rtol=1e-12)


def test_fixed_coordinates_stay_and_their_bounds_do_not_count():
    points = np.array([[1.0, 3.0, -4.0]])
    (corrected,) = requirement_correction(points, MEAN, fixed=[1], lower=[9.0, 9.0, -9.0])
    np.testing.assert_array_equal(corrected[:2], points[0, :2])
    assert corrected @ MEAN >= 0.1


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_nothing_is_said_in_many_ways(nothing):
    points = np.array([[1.0, -1.0, 0.5]])
    expected = requirement_correction(points, MEAN)
    np.testing.assert_array_equal(
        requirement_correction(points, MEAN, fixed=nothing, lower=nothing, upper=nothing), expected
    )


def test_a_batch_is_each_of_its_plans_with_bounds_of_its_own():
    rng = np.random.default_rng(1)
    plans = np.concatenate([np.ones((4, 3, 1)), rng.standard_normal((4, 3, 2))], axis=2)
    upper = np.column_stack([np.ones(4), rng.uniform(2.0, 3.0, (4, 2))])
    batch = requirement_correction(plans, MEAN, upper=upper)
    alone = [requirement_correction(plan, MEAN, upper=high) for plan, high in zip(plans, upper, strict=True)]
    np.testing.assert_allclose(batch, alone, rtol=1e-14)
    assert batch.shape == plans.shape


def test_an_empty_batch_stays_empty():
    assert requirement_correction(np.empty((0, 2, 3)), MEAN).shape == (0, 2, 3)


def test_the_given_points_are_not_touched():
    points = np.array([[1.0, -1.0, 0.5]])
    before = points.copy()
    requirement_correction(points, MEAN)
    np.testing.assert_array_equal(points, before)


def test_a_margin_out_of_reach_is_an_error_that_says_how_far_one_gets():
    message = (
        r"option 1 can reach a score of at most 0\.5 with its free coordinates, below the margin 0\.6; "
        r"widen the bounds of coordinates \[2\], or let some of the fixed coordinates \[1\] move, or ask for a smaller"
    )
    points = [[1.0, 3.0, 0.0], [1.0, 0.0, 0.0]]
    with pytest.raises(InvalidInputError, match=message):
        requirement_correction(points, MEAN, margin=0.6, fixed=[1], upper=[np.inf, np.inf, 0.5])


def test_in_a_batch_the_error_names_the_plan():
    plans = np.array([[[1.0, 3.0, 0.0]], [[1.0, -3.0, 0.0]]])
    with pytest.raises(InvalidInputError, match=r"option 0 of plan 1 can reach a score of at most -3\.5"):
        requirement_correction(plans, MEAN, fixed=[1, 2])


def test_the_highest_score_itself_can_be_asked_for():
    (corrected,) = requirement_correction([[1.0, 0.0, 0.0]], MEAN, margin=0.5, fixed=[1], upper=[1.0, 1.0, 0.5])
    np.testing.assert_array_equal(corrected, [1.0, 0.0, 0.5])


@pytest.mark.parametrize("margin", [-0.1, np.nan, np.inf, [0.1, 0.2], "much"])
def test_a_margin_must_be_a_number_from_zero_on(margin):
    with pytest.raises(InvalidInputError, match="margin must be"):
        requirement_correction([[1.0, 0.0, 0.0]], MEAN, margin=margin)
