"""The worst case is a distribution: its parts, its moments, its distance, and what it does to the plan."""

import numpy as np
import pytest

from copa.theory.bounds import WorstCase, validity_bounds
from copa.theory.bounds.worst_case import LEAST_REST
from oracle.instances import Instance, instances
from oracle.monte_carlo import gelbrich_distance

# Sums of a few dozen rounded numbers, in units of theta's size (squared, for second moments).
ROUNDING = 1e-12


def special_instances():
    points = np.array([[1.0, 0.5, 0.0], [1.0, 0.0, 0.5], [1.0, -0.3, 0.2]])
    mean, cov = np.array([1.0, 0.2, 0.4]), np.diag([0.1, 0.2, 0.05])
    on_the_boundary = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, 0.5]])
    singular = np.diag([1.0, 0.5, 0.0])
    return {
        "mean inside": Instance(points, mean, cov, 0.1, None),
        "radius 0": Instance(points, mean, cov, 0.0, None),
        "mean outside": Instance(points, -mean, cov, 0.1, None),
        "mean outside, radius 0": Instance(points, -mean, cov, 0.0, None),
        "mean on the boundary": Instance(on_the_boundary, np.array([1.0, 1.0, 0.0]), cov, 0.1, None),
        "mean on the boundary, radius 0": Instance(on_the_boundary, np.array([1.0, 1.0, 0.0]), cov, 0.0, None),
        "mean within reach": Instance(points, mean, cov, 1.5, None),
        "drift": Instance(points, mean, cov, 0.1, np.array([[1.0, 0.3, 0.0], [0.3, 0.5, 0.1], [0.0, 0.1, 0.2]])),
        "singular drift": Instance(points, mean, cov, 0.1, singular),
        "singular drift, mean within reach": Instance(points, mean, cov, 1.5, singular),
        "an option the drift cannot move": Instance(
            np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.5]]), mean, cov, 0.1, singular
        ),
        "zero covariance": Instance(points, mean, np.zeros((3, 3)), 0.2, None),
        "zero covariance, radius 0": Instance(points, mean, np.zeros((3, 3)), 0.0, None),
        "duplicates": Instance(points[[0, 0, 1, 2, 1]], mean, cov, 0.1, None),
        "opposite options": Instance(np.array([points[0], -points[0]]), mean, cov, 0.1, None),
        "one option": Instance(points[:1], mean, cov, 0.1, None),
        "one parameter": Instance(np.array([[2.0], [0.5]]), np.array([1.0]), np.array([[0.3]]), 0.2, None),
    }


CASES = special_instances() | {
    f"random {k}: J{len(i.points)}-D{i.mean.size}": i for k, i in enumerate(instances(40, seed=17))
}


class Case:
    """An instance with its bounds and worst case, and the units of its parameters."""

    def __init__(self, instance):
        self.instance = instance
        self.bounds = validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)
        self.worst = self.bounds.certificate.worst_case()
        self.unit = np.sqrt(instance.mean @ instance.mean + np.trace(instance.cov))
        self.lengths = np.linalg.norm(instance.points, axis=1)


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def case(request):
    return Case(request.param)


def test_masses_make_a_distribution(case):
    worst = case.worst
    assert (worst.mass >= 0.0).all()
    assert worst.rest_mass >= 0.0
    assert worst.mass.sum() + worst.rest_mass == pytest.approx(1.0, abs=ROUNDING)


def test_the_attacks_take_what_the_bound_leaves(case):
    # The gap, 1e-9, and the mass of 1e-6 that stays with the rest where the attack could take all.
    assert case.worst.mass.sum() == pytest.approx(1.0 - case.bounds.lower, abs=1e-8 + LEAST_REST)


def test_the_attacks_are_the_weights_of_the_bounds(case):
    # Where the bound is zero the witness may name several broken options, or one of them by rounding: see below.
    names_the_same = np.abs(case.worst.mass - case.bounds.weights).max() <= ROUNDING + LEAST_REST
    assert names_the_same or case.bounds.lower == 0.0


def test_every_attack_sits_where_its_option_fails(case):
    attacked = case.worst.mass > 0.0
    scores = np.einsum("jd,jd->j", case.instance.points, case.worst.location) / (case.lengths * case.unit)
    # Score of the part times its mass: a location is a ratio, known to fewer digits where the mass is small.
    assert (scores[attacked] * case.worst.mass[attacked] <= ROUNDING).all()


def test_no_attack_spreads_across_its_boundary(case):
    points, worst = case.instance.points, case.worst
    across = np.einsum("jd,jde,je->j", points, worst.spread, points) / (case.lengths * case.unit) ** 2
    assert (np.abs(across) * worst.mass <= ROUNDING).all()


def test_spreads_are_covariances(case):
    worst, size = case.worst, case.unit**2
    for mass, spread in [*zip(worst.mass, worst.spread, strict=True), (worst.rest_mass, worst.rest_spread)]:
        np.testing.assert_array_equal(spread, spread.T)
        assert mass * np.linalg.eigvalsh(spread)[0] >= -ROUNDING * size


def test_the_moments_are_those_of_the_parts(case):
    worst = case.worst
    masses = np.append(worst.mass, worst.rest_mass)
    locations = np.vstack([worst.location, worst.rest_location])
    spreads = np.concatenate([worst.spread, worst.rest_spread[None]])
    mean = masses @ locations
    second = np.einsum("j,jab->ab", masses, spreads + locations[:, :, None] * locations[:, None, :])
    np.testing.assert_allclose(worst.mean, mean, rtol=0.0, atol=ROUNDING * case.unit)
    np.testing.assert_allclose(worst.cov, second - np.outer(mean, mean), rtol=0.0, atol=ROUNDING * case.unit**2)


def test_it_is_inside_the_ball(case):
    # A covariance is known to 1e-16 of the parameters' size, its root and so the distance to 1e-8.
    assert case.worst.distance <= case.instance.radius * (1.0 + 1e-6) + 2e-8 * case.unit


REGULAR = {
    name: i
    for name, i in CASES.items()
    if i.drift is None or np.linalg.eigvalsh(i.drift)[0] > 1e-9 * np.linalg.eigvalsh(i.drift)[-1]
}


@pytest.mark.parametrize("instance", REGULAR.values(), ids=REGULAR)
def test_the_distance_is_that_of_the_oracle(instance):
    case = Case(instance)
    distance = gelbrich_distance(case.worst.mean, case.worst.cov, instance.mean, instance.cov, instance.drift)
    drift_unit = 1.0 if instance.drift is None else np.sqrt(np.linalg.eigvalsh(instance.drift)[0])
    slack = 2e-8 * case.unit / drift_unit
    assert distance <= instance.radius * (1.0 + 1e-6) + slack
    assert case.worst.distance == pytest.approx(distance, abs=slack)


def test_a_tight_attack_spends_the_whole_radius():
    case = Case(CASES["mean inside"])
    assert case.worst.distance == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize("name", [name for name in CASES if "J1" not in name])
def test_sampling_it_breaks_the_plan_as_often_as_the_bound_says(name):
    case = Case(CASES[name])
    worst, instance = case.worst, case.instance
    rng = np.random.default_rng(0)
    n_samples = 4000
    parts = rng.choice(len(worst.mass) + 1, size=n_samples, p=_shares(worst))
    locations = np.vstack([worst.location, worst.rest_location])
    spreads = np.concatenate([worst.spread, worst.rest_spread[None]])
    theta = np.empty((n_samples, instance.mean.size))
    for part in np.unique(parts):
        values, vectors = np.linalg.eigh(spreads[part])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        here = parts == part
        theta[here] = locations[part] + rng.standard_normal((here.sum(), len(root))) @ root.T
    scores = theta @ instance.points.T / (case.lengths * case.unit)
    # An attack lies on the boundary itself, to rounding magnified by a root (1e-8) and a small mass: an option holds
    # strictly beyond that.
    valid = np.mean((scores > 1e-6).all(axis=1))
    error = np.sqrt(max(case.bounds.lower * (1.0 - case.bounds.lower), 1.0 / n_samples) / n_samples)
    assert valid <= case.bounds.lower + LEAST_REST + 5.0 * error


def _shares(worst):
    shares = np.append(worst.mass, worst.rest_mass)
    return shares / shares.sum()


def test_an_attack_that_breaks_the_mean_names_a_broken_option():
    case = Case(CASES["mean outside"])
    attacked = int(np.argmax(case.worst.mass))
    assert case.worst.mass[attacked] == pytest.approx(1.0, abs=2.0 * LEAST_REST)
    assert case.instance.points[attacked] @ case.worst.location[attacked] < 0.0
    np.testing.assert_allclose(case.worst.location[attacked], case.instance.mean, rtol=1e-12)
    assert case.worst.distance <= 1e-7  # nothing had to move


def test_a_mean_within_reach_is_moved_to_the_boundary_and_no_further():
    case = Case(CASES["mean within reach"])
    attacked = int(np.argmax(case.worst.mass))
    point = case.instance.points[attacked]
    step = point @ case.instance.mean / (point @ point)
    np.testing.assert_allclose(case.worst.location[attacked], case.instance.mean - step * point, rtol=0.0, atol=1e-12)


def test_nothing_moves_along_the_null_space_of_the_drift():
    case = Case(CASES["singular drift"])
    assert case.worst.mean[2] == pytest.approx(case.instance.mean[2], abs=1e-12)
    np.testing.assert_allclose(case.worst.cov[2, 2], case.instance.cov[2, 2], rtol=1e-10)
    assert np.isfinite(case.worst.distance)


def test_one_option_is_attacked_at_cantellis_point():
    # Radius 0, one score of mean m and deviation s: mass s^2 / (m^2 + s^2) at 0, the rest at (m^2 + s^2) / m.
    worst = validity_bounds([[1.0]], [2.0], [[1.0]]).certificate.worst_case()
    assert worst.mass[0] == pytest.approx(0.2, abs=1e-8)
    assert worst.location[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert worst.rest_location[0] == pytest.approx(2.5, abs=1e-6)
    assert worst.rest_spread[0, 0] == pytest.approx(0.0, abs=1e-5)


def test_from_certificate_is_what_the_certificate_calls():
    certificate = Case(CASES["mean inside"]).bounds.certificate
    np.testing.assert_array_equal(WorstCase.from_certificate(certificate).location, certificate.worst_case().location)


def test_parameters_without_spread_have_a_worst_case_too():
    rng = np.random.default_rng(5)
    for _ in range(30):
        mean = rng.normal(size=4)
        points = np.insert(rng.normal(size=(3, 3)), 0, 1.0, axis=1)
        points *= np.sign(points @ mean)[:, None]
        bounds = validity_bounds(points, mean, np.zeros((4, 4)), radius=0.3)
        worst = bounds.certificate.worst_case()
        assert worst.distance <= 0.3 + 1e-6
        assert np.linalg.eigvalsh(worst.cov)[0] >= -1e-12
