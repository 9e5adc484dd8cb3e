"""`validity_bounds` on cases whose answer is known, and how its result presents itself."""

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.bounds import ValidityBounds, validity_bounds
from oracle.brute_force import brute_force_lower, brute_force_upper
from oracle.instances import instances, stress_instances
from unit.theory.bounds.one_option import guarantee

# A lower bound is proven, and at most the gap at which the solver stops below L*; the closed forms are exact.
GAP = 1e-9
INSTANCES = list(instances(60, seed=3))


def bound(instance, **changes):
    arguments = {name: getattr(instance, name) for name in ("points", "mean", "cov", "radius", "drift")}
    return validity_bounds(**(arguments | changes))


def each_name(i):
    return f"J{len(i.points)}-D{i.mean.size}"


@pytest.mark.parametrize("instance", INSTANCES, ids=each_name)
def test_one_option_has_the_closed_form(instance):
    x = instance.points[0]
    drift = np.eye(x.size) if instance.drift is None else instance.drift
    exact = guarantee(x @ instance.mean, np.sqrt(x @ instance.cov @ x), instance.radius * np.sqrt(x @ drift @ x))
    bounds = bound(instance, points=x[None])
    assert bounds.lower <= exact + 1e-12
    assert bounds.lower == pytest.approx(exact, abs=GAP + 1e-12)
    assert bounds.option_lower[0] == pytest.approx(exact, abs=1e-12)
    assert bounds.any_lower == pytest.approx(exact, abs=1e-12)
    # x fails at most where -x may hold.
    assert bound(instance, points=-x[None]).upper == pytest.approx(1.0 - exact, abs=1e-12)


@pytest.mark.parametrize("instance", INSTANCES, ids=each_name)
def test_every_well_scaled_plan_is_tight(instance):
    bounds = bound(instance)
    assert bounds.status == "tight"
    assert bounds.message == ""
    assert 0.0 <= bounds.gap <= 1.1 * GAP
    assert bounds.weights.sum() == pytest.approx(1.0 - bounds.lower, abs=2.0 * GAP)


def test_every_stress_plan_has_ordered_bounds_of_a_known_status():
    for instance in stress_instances(150, seed=5):
        bounds = bound(instance)
        assert bounds.status in {"tight", "loose"}, instance.traits
        assert 0.0 <= bounds.lower <= bounds.option_lower.min() <= bounds.any_lower <= 1.0, instance.traits
        assert bounds.lower <= bounds.upper <= 1.0, instance.traits
        assert bounds.gap >= 0.0, instance.traits
        assert np.isfinite(bounds.weights).all(), instance.traits


@pytest.mark.parametrize("seed", range(5))
def test_radius_zero_in_the_plane_agrees_with_brute_force(seed):
    rng = np.random.default_rng([6, seed])
    mean = rng.standard_normal(2)
    points = rng.standard_normal((2 + seed % 3, 2))
    points = points * np.sign(points @ mean)[:, None] + 0.3 * mean
    factor = 0.5 * rng.standard_normal((2, 4))
    cov = factor @ factor.T
    brute = brute_force_lower(points, mean, cov)
    assert abs(validity_bounds(points, mean, cov).lower - brute.value) <= brute.error + GAP
    brute = brute_force_upper(-points, mean, cov)
    assert abs(validity_bounds(-points, mean, cov).upper - brute.value) <= brute.error + GAP


@pytest.mark.parametrize("instance", INSTANCES[:20], ids=each_name)
def test_repeating_an_option_changes_no_bound(instance):
    plain, repeated = bound(instance), bound(instance, points=np.concatenate([instance.points, instance.points[:1]]))
    assert repeated.lower == pytest.approx(plain.lower, abs=2.0 * GAP)
    assert repeated.upper == pytest.approx(plain.upper, abs=GAP)
    assert repeated.any_lower == pytest.approx(plain.any_lower, abs=GAP)


def test_an_option_and_its_opposite_never_hold_together():
    mean, cov = np.array([1.0, 2.0, -1.0]), 0.1 * np.eye(3)
    x = np.array([1.0, 0.5, 0.2])
    bounds = validity_bounds([x, -x], mean, cov, 0.1)
    assert bounds.lower == 0.0
    assert bounds.gap == 0.0
    assert bounds.weights.sum() == 1.0
    # They do hold together on x'theta = 0, which a distribution may sit on; one of them always holds.
    assert 0.0 < bounds.upper < 1.0


def test_more_options_than_dimensions_are_bounded_by_their_extreme_ones():
    # In two dimensions the cone of many options is that of the two outermost.
    angles = np.linspace(-0.6, 0.7, 9)
    fan = np.column_stack([np.cos(angles), np.sin(angles)])
    mean, cov = np.array([1.0, 0.0]), np.diag([0.05, 0.1])
    all_nine, outer_two = validity_bounds(fan, mean, cov), validity_bounds(fan[[0, -1]], mean, cov)
    assert all_nine.lower == pytest.approx(outer_two.lower, abs=2.0 * GAP)
    np.testing.assert_allclose(all_nine.weights[1:-1], 0.0, rtol=0.0, atol=1e-6)
    outside = validity_bounds(fan, -mean, cov)
    assert outside.upper == pytest.approx(validity_bounds(fan[[0, -1]], -mean, cov).upper, abs=GAP)


POINTS = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5], [1.0, -0.3, 0.2]])
MEAN = np.array([1.0, 0.2, 0.4])


def test_certain_parameters_inside_the_cone_hold_surely():
    bounds = validity_bounds(POINTS, MEAN, np.zeros((3, 3)))
    # The lower bound is what is proven: 1 less the solver's gap; a single option is exact.
    assert bounds.lower == pytest.approx(1.0, abs=2.0 * GAP)
    assert bounds.upper == 1.0
    assert bounds.any_lower == 1.0
    np.testing.assert_array_equal(bounds.option_lower, 1.0)


def test_certain_parameters_outside_the_cone_never_hold():
    bounds = validity_bounds(-POINTS, MEAN, np.zeros((3, 3)))
    assert (bounds.lower, bounds.upper, bounds.any_lower) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("radius", [0.1, 0.5, 0.7])
def test_certain_parameters_in_a_ball_lose_what_the_nearest_boundary_costs(radius):
    # Moving a share p of the mass onto the nearest boundary, at distance d, costs p d^2.
    distance = (POINTS @ MEAN / np.linalg.norm(POINTS, axis=1)).min()
    bounds = validity_bounds(POINTS, MEAN, np.zeros((3, 3)), radius)
    assert bounds.lower == pytest.approx(1.0 - (radius / distance) ** 2, abs=2.0 * GAP)
    assert validity_bounds(POINTS, MEAN, np.zeros((3, 3)), 1.001 * distance).lower == 0.0


def test_a_singular_covariance_is_the_limit_of_regular_ones():
    factor = np.array([[1.0], [0.5], [-0.3]]) * 0.3
    singular = factor @ factor.T
    for radius in (0.0, 0.1):
        exact = validity_bounds(POINTS, MEAN, singular, radius)
        near = validity_bounds(POINTS, MEAN, singular + 1e-14 * np.eye(3), radius)
        assert exact.status == "tight"
        assert exact.lower == pytest.approx(near.lower, abs=1e-6)  # the spread moves by its root, 1e-7


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_one_parameter_is_a_plan_too(radius):
    bounds = validity_bounds([[2.0], [0.5]], [1.0], [[0.3]], radius)
    exact = guarantee(1.0, np.sqrt(0.3), radius)
    assert bounds.lower == pytest.approx(exact, abs=2.0 * GAP)
    np.testing.assert_allclose(bounds.option_lower, exact, rtol=1e-13)
    assert bounds.any_lower == pytest.approx(exact, abs=1e-13)
    assert bounds.upper == 1.0
    outside = validity_bounds([[2.0], [0.5]], [-1.0], [[0.3]], radius)
    assert outside.lower == 0.0
    assert outside.upper == pytest.approx(1.0 - exact, abs=1e-13)


@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_a_mean_on_the_boundary_promises_nothing_and_rules_nothing_out(radius):
    points, mean = np.array([[1.0, 0.0], [0.5, 1.0]]), np.array([0.0, 1.0])
    bounds = validity_bounds(points, mean, 0.1 * np.eye(2), radius)
    assert bounds.lower == 0.0
    assert bounds.gap == 0.0
    assert bounds.option_lower[0] == 0.0
    assert bounds.option_lower[1] > 0.3
    assert bounds.upper == 1.0
    assert bounds.any_lower >= bounds.option_lower[1]


def test_the_lower_bound_is_zero_when_the_mean_rejects_an_option():
    bounds = validity_bounds([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], 0.1 * np.eye(2))
    assert bounds.lower == 0.0
    assert bounds.upper < 1.0
    assert bounds.any_lower == pytest.approx(1.0 / 1.1, abs=1e-12)  # Cantelli for the option that holds


@pytest.mark.parametrize("instance", INSTANCES[:12], ids=each_name)
def test_a_drift_of_nothing_is_a_radius_of_nothing(instance):
    still = bound(instance, drift=np.zeros((instance.mean.size, instance.mean.size)), radius=0.5)
    paper = bound(instance, drift=None, radius=0.0)
    for name in ("lower", "upper", "any_lower", "option_lower", "weights"):
        np.testing.assert_array_equal(getattr(still, name), getattr(paper, name), err_msg=name)


def test_an_option_that_the_drift_cannot_move_is_treated_as_at_radius_zero():
    mean, cov, drift = np.array([1.0, 1.0]), 0.2 * np.eye(2), np.diag([0.0, 1.0])
    bounds = validity_bounds(np.eye(2), mean, cov, 0.3, drift)
    assert bounds.option_lower[0] == pytest.approx(1.0 / 1.2, rel=1e-13)
    assert bounds.option_lower[1] < bounds.option_lower[0]
    assert bounds.status == "tight"


@pytest.mark.parametrize("instance", INSTANCES[:12], ids=each_name)
def test_the_identity_is_the_default_drift(instance):
    identity, default = bound(instance, drift=np.eye(instance.mean.size)), bound(instance, drift=None)
    np.testing.assert_array_equal(identity.lower, default.lower)
    np.testing.assert_array_equal(identity.upper, default.upper)


def test_bounds_of_one_plan_are_numbers_without_a_length():
    bounds = validity_bounds(POINTS, MEAN, 0.1 * np.eye(3), 0.1)
    assert isinstance(bounds, ValidityBounds)
    for name in ("lower", "upper", "any_lower", "gap", "seconds"):
        assert np.ndim(getattr(bounds, name)) == 0, name
        assert float(getattr(bounds, name)) >= 0.0, name
    assert bounds.option_lower.shape == bounds.weights.shape == (3,)
    with pytest.raises(TypeError, match="no length"):
        len(bounds)
    with pytest.raises(TypeError, match="cannot be indexed"):
        bounds[0]


def test_the_radius_is_zero_unless_given():
    at_zero, default = (validity_bounds(POINTS, MEAN, 0.1 * np.eye(3), *r) for r in ((0.0,), ()))
    assert at_zero.lower == default.lower


def test_results_are_frozen():
    bounds = validity_bounds(POINTS, MEAN, 0.1 * np.eye(3))
    with pytest.raises(AttributeError):
        bounds.lower = 1.0


@pytest.mark.parametrize("unit", [1e-60, 1e-20, 1e20, 1e60])
def test_units_far_from_one_change_nothing(unit):
    plain = validity_bounds(POINTS, MEAN, 0.1 * np.eye(3), 0.1)
    scaled = validity_bounds(POINTS * unit, MEAN, 0.1 * np.eye(3), 0.1)
    assert scaled.lower == pytest.approx(plain.lower, abs=2.0 * GAP)
    assert scaled.any_lower == pytest.approx(plain.any_lower, abs=1e-12)
    assert scaled.status == "tight"


@pytest.mark.parametrize("unit", [1e-170, 1e-61, 1e61, 1e160])
def test_options_whose_squares_would_leave_the_range_of_floats_are_refused(unit):
    with pytest.raises(InvalidInputError, match="option 0 must have a largest entry between 1e-60"):
        validity_bounds(POINTS * unit, MEAN, 0.1 * np.eye(3), 0.1)
    batch = validity_bounds(np.stack([POINTS * unit, POINTS]), MEAN, 0.1 * np.eye(3), 0.1)
    assert batch.status.tolist() == ["invalid", "tight"]
    assert "option 0 must have a largest entry" in batch.message[0]


@pytest.mark.parametrize(
    "change", [{"mean": MEAN * 1e61}, {"cov": np.eye(3) * 1e121}, {"radius": 1e61}, {"drift": np.eye(3) * 1e121}]
)
def test_parameters_far_out_of_range_are_refused(change):
    with pytest.raises(InvalidInputError, match=f"{next(iter(change))} must have a largest entry"):
        validity_bounds(POINTS, **{"mean": MEAN, "cov": np.eye(3), "radius": 0.1, **change})


def test_the_surest_mixture_of_certain_parameters_is_found():
    points = np.array([[0.0, 0.0, 1.5, 0.375], [0.0, 0.75, 1.25, 0.375]])
    mean, radius = np.array([0.0, 0.0, 0.0, 0.75]), 0.01
    weights = np.linspace(0.0, 1.0, 1001)
    mixed = np.outer(weights, points[0]) + np.outer(1.0 - weights, points[1])
    reaches = radius * np.linalg.norm(mixed, axis=1)
    best = guarantee(mixed @ mean, np.zeros(1001), reaches).max()
    assert validity_bounds(points, mean, np.zeros((4, 4)), radius).any_lower == pytest.approx(best, abs=1e-6)
