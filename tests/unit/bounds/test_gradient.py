"""The envelope gradient against central differences of the lower bound."""

import numpy as np
import pytest

from copa.bounds import lower_bound_gradient, validity_bounds
from copa.exceptions import InvalidInputError
from oracle.instances import instances
from unit.bounds.one_option import guarantee

STEP = 3e-4


def differences(function, points):
    """Central differences of fourth order, (J, D), with steps relative to the length of each option.

    The quotient's noise is the gap over the step, 1e-8 and less; its truncation error STEP^4 times a fifth derivative.
    """
    gradient = np.zeros_like(points)
    for j, d in np.ndindex(points.shape):
        move = np.zeros_like(points)
        move[j, d] = STEP * np.linalg.norm(points[j])
        far, near = (function(points + k * move) - function(points - k * move) for k in (2.0, 1.0))
        gradient[j, d] = (8.0 * near - far) / (12.0 * move[j, d])
    return gradient


def assert_gradient(points, mean, cov, radius, drift=None):
    value, gradient = lower_bound_gradient(points, mean, cov, radius, drift)
    bounds = validity_bounds(points, mean, cov, radius, drift)
    assert value == pytest.approx(bounds.lower, abs=2e-9)  # the gradient's own solve is sharper
    expected = differences(lambda x: lower_bound_gradient(x, mean, cov, radius, drift)[0], points)
    lengths = np.linalg.norm(points, axis=1)[:, None]
    # Change of the probability per relative change of an option. The formula uses M and W at a gap of 1e-12, where in
    # degenerate directions they are known to its root.
    scale = max(1.0, np.abs(gradient * lengths).max())
    np.testing.assert_allclose(gradient * lengths, expected * lengths, rtol=0.0, atol=1e-5 * scale)


def smooth(instance):
    """L* neither near 0 (a kink) nor flat at 1, no duplicates, and features of the intercept's order.

    Where features are near 100, a step of a relative 1e-4 in the intercept already exchanges neighbouring options.
    """
    arguments = (instance.points, instance.mean, instance.cov, instance.radius, instance.drift)
    apart = "duplicates" not in instance.traits and np.abs(instance.points).max() < 20.0
    return apart and 0.05 < validity_bounds(*arguments).lower < 0.99


SMOOTH = [i for i in instances(60, seed=23) if smooth(i)]


def each_name(i):
    return f"J{len(i.points)}-D{i.mean.size}"


@pytest.mark.parametrize("instance", SMOOTH[:24], ids=each_name)
def test_it_is_the_slope_of_the_lower_bound(instance):
    assert_gradient(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)


@pytest.mark.parametrize("instance", SMOOTH[:12], ids=each_name)
def test_it_is_the_slope_at_radius_zero(instance):
    assert_gradient(instance.points, instance.mean, instance.cov, 0.0)


@pytest.mark.parametrize("instance", SMOOTH[:12], ids=each_name)
def test_it_is_the_slope_with_a_singular_drift(instance):
    rng = np.random.default_rng(0)
    rank = max(1, instance.mean.size // 2)
    factor = rng.standard_normal((instance.mean.size, rank)) / np.sqrt(instance.mean.size)
    assert_gradient(instance.points, instance.mean, instance.cov, 0.3 * instance.radius, factor @ factor.T)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_slope_with_more_options_than_dimensions(seed):
    rng = np.random.default_rng([5, seed])
    mean = np.array([1.0, 0.3])
    points = mean + 0.6 * rng.standard_normal((5, 2))
    points *= np.sign(points @ mean)[:, None]
    assert_gradient(points, 2.0 * mean, 0.05 * np.eye(2), 0.05)


@pytest.mark.parametrize("radius", [0.0, 0.2])
@pytest.mark.parametrize("drift", [None, np.diag([1.0, 0.0, 3.0])], ids=["isotropic", "singular drift"])
def test_for_one_option_it_is_the_slope_of_the_closed_form(radius, drift):
    point, mean = np.array([[1.0, 0.4, -0.3]]), np.array([1.0, 0.5, -0.5])
    factor = np.random.default_rng(1).standard_normal((3, 4)) * 0.3
    cov, shape = factor @ factor.T, np.eye(3) if drift is None else drift

    def closed_form(x):
        x = x[0]
        return guarantee(x @ mean, np.sqrt(x @ cov @ x), radius * np.sqrt(x @ shape @ x))

    value, gradient = lower_bound_gradient(point, mean, cov, radius, drift)
    assert value == pytest.approx(closed_form(point), abs=1e-9)
    # The closed form has no gap; the gradient is computed from M and W, which are known to about the root of it.
    np.testing.assert_allclose(gradient, differences(closed_form, point), rtol=0.0, atol=1e-6)


def test_it_is_orthogonal_to_the_options_because_their_length_does_not_matter():
    for instance in SMOOTH[:10]:
        _, gradient = lower_bound_gradient(
            instance.points, instance.mean, instance.cov, instance.radius, instance.drift
        )
        along = np.einsum("jd,jd->j", gradient, instance.points)
        np.testing.assert_allclose(along, 0.0, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("mean", [[-1.0, 1.0], [0.0, 1.0], [0.05, 1.0]], ids=["outside", "boundary", "within reach"])
def test_it_is_zero_where_the_bound_is(mean):
    value, gradient = lower_bound_gradient(np.eye(2), mean, 0.1 * np.eye(2), 0.1)
    assert value == 0.0
    np.testing.assert_array_equal(gradient, np.zeros((2, 2)))


def test_an_option_without_weight_has_no_slope():
    # The middle option of a fan in the plane is implied by the outer two.
    points = np.array([[1.0, -0.8], [1.0, 0.0], [1.0, 0.9]])
    _, gradient = lower_bound_gradient(points, [1.0, 0.0], np.diag([0.05, 0.1]), 0.05)
    np.testing.assert_allclose(gradient[1], 0.0, rtol=0.0, atol=1e-6)
    assert np.abs(gradient[[0, 2]]).min(axis=1).max() > 1e-3


def test_a_small_step_along_it_raises_the_bound():
    for instance in SMOOTH[:10]:
        rest = (instance.mean, instance.cov, instance.radius, instance.drift)
        value, gradient = lower_bound_gradient(instance.points, *rest)
        step = 1e-4 / np.abs(gradient).max() ** 2 * min(1.0, np.abs(gradient).max())
        assert validity_bounds(instance.points + step * gradient, *rest).lower > value


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.ones((2, 3)), r"points must have shape \(J, 2\)"),
        (np.ones((1, 2, 2)), r"expected one plan of shape \(J, 2\), got \(1, 2, 2\)"),
        (np.ones(2), r"got \(2,\)"),
        ([[np.nan, 1.0]], r"points must be finite, got nan at index \(0, 0\)"),
        ([[0.0, 0.0]], "option 0 is the zero vector"),
    ],
)
def test_it_wants_one_good_plan(points, message):
    with pytest.raises(InvalidInputError, match=message):
        lower_bound_gradient(points, [1.0, 1.0], np.eye(2), 0.1)
