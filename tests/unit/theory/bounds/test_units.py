"""Moments and options in any units: what cannot be a covariance is refused, and no product vanishes on the way."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import copa
from copa.exceptions import CertificateError, InvalidInputError
from copa.theory.bounds import Certificate, validity_bounds
from copa.theory.sets.ambiguity import MomentBall
from oracle.instances import instances

BENEATH = np.diag([1.0, -1e-10])  # a negative variance beside a large one
UNITS = np.array([1.0, 1e-6, 1e-6, 1e-6])
CROSSED = np.eye(4)
CROSSED[1:, 1:] = -0.9 + 1.9 * np.eye(3)  # correlations with the eigenvalue -0.8
CROSSED *= np.outer(UNITS, UNITS)
LOPSIDED = np.diag([1.0, 1e-12, 1e-12])
LOPSIDED[1, 2] = 5e-13
IMPOSSIBLE = pytest.mark.parametrize("matrix", [BENEATH, CROSSED, LOPSIDED], ids=["beneath", "crossed", "lopsided"])
REFUSED = "must be (positive semidefinite|symmetric)"


def test_a_negative_variance_beside_a_large_one_gets_no_bound():
    with pytest.raises(InvalidInputError, match=r"cov must be positive semidefinite, .* coordinate 1 is -1e-10"):
        copa.validity_bounds([[0.0, 1.0]], [0.0, 1e-9], BENEATH, 0.0)


def test_correlations_that_cannot_be_get_no_bound_in_small_units_beside_an_intercept():
    with pytest.raises(InvalidInputError, match=r"eigenvalue is -0\.8 .* along the coordinates \[1, 2, 3\]"):
        copa.validity_bounds([[0.0, 1.0, 1.0, 1.0]], [0.0, 1e-7, 1e-7, 1e-7], CROSSED, 0.0)


@IMPOSSIBLE
@pytest.mark.parametrize("name", ["cov", "drift"])
def test_no_door_lets_an_impossible_matrix_in(matrix, name):
    dimension = len(matrix)
    points, mean = np.ones((2, dimension)), np.ones(dimension)
    moments = {"cov": np.eye(dimension), "drift": np.eye(dimension)} | {name: matrix}
    doors = [
        lambda: copa.validity_bounds(points, mean, radius=0.1, **moments),
        lambda: copa.mahalanobis_correction(points, mean, **moments),
        lambda: copa.gelbrich_distance(mean, moments["cov"], mean, np.eye(dimension), moments["drift"]),
    ]
    if name == "cov":
        doors += [
            lambda: copa.WeightMoments(mean, matrix),
            lambda: copa.build_plans(points, mean, matrix),
            lambda: copa.plan_objective(points, mean, mean, matrix, validity_weight=1.0, diversity_weight=1.0),
        ]
    for door in doors:
        with pytest.raises(InvalidInputError, match=f"{name}(_a)? {REFUSED}"):
            door()


@IMPOSSIBLE
@pytest.mark.parametrize("name", ["cov", "drift"])
def test_a_stored_certificate_with_an_impossible_matrix_is_damaged(matrix, name):
    dimension = len(matrix)
    found = validity_bounds(np.ones((1, dimension)), np.ones(dimension), np.eye(dimension), 0.1, np.eye(dimension))
    content = json.loads(found.certificate.to_json())
    with pytest.raises(CertificateError, match=f"damaged: {name} {REFUSED}"):
        Certificate.from_json(json.dumps(content | {name: matrix.tolist()}))


@pytest.mark.parametrize("matrix", [BENEATH, CROSSED], ids=["beneath", "crossed"])
@pytest.mark.parametrize("name", ["cov", "drift"])
def test_the_verifier_does_not_rely_on_what_the_ball_has_checked(matrix, name):
    dimension = len(matrix)
    found = validity_bounds(np.ones((1, dimension)), np.ones(dimension), np.eye(dimension), 0.1, np.eye(dimension))
    ball = MomentBall(found.certificate.ambiguity.mean, np.eye(dimension), 0.1, np.eye(dimension))
    object.__setattr__(ball, name, matrix)  # behind the ball's back, with the root of what is nearest to it
    values, vectors = np.linalg.eigh(matrix)
    object.__setattr__(ball, f"{name}_root", vectors * np.sqrt(np.maximum(values, 0.0)))
    with pytest.raises(CertificateError, match=f"{name} is not positive semidefinite: its entry .* is impossible"):
        replace(found.certificate, ambiguity=ball).verify()


def test_scores_in_the_smallest_units_are_not_lost():
    points, mean, cov = [[0.0, 1e-60]], [1.0, 1e-99], np.diag([1.0, 1e-198])
    found = validity_bounds(points, mean, cov, 0.0)
    score, variance = Fraction(1e-60) * Fraction(1e-99), Fraction(1e-60) ** 2 * Fraction(1e-198)
    truth = float(score**2 / (score**2 + variance))
    assert found.lower == pytest.approx(truth, abs=1e-9)
    assert found.lower <= truth <= found.lower + found.gap + 1e-15
    assert found.option_lower[0] == found.any_lower == pytest.approx(truth, abs=1e-15)
    proven = found.certificate.verify()
    assert proven.lower <= truth <= proven.upper + 1e-15
    assert proven.any_lower == pytest.approx(truth, abs=1e-15)


@pytest.mark.parametrize("seed", range(40))
def test_cantellis_bound_of_one_option_is_exact_in_any_units(seed):
    rng = np.random.default_rng([5, seed])
    option, mean, deviations = 10.0 ** rng.uniform(-0.5, 0.5, (3, 4))
    units = 10.0 ** rng.uniform(-49.0, 49.0, 4)
    sizes = 10.0 ** rng.uniform(-59.0, 59.0, 2)
    option = option / units * (sizes[0] / (1.0 / units).max())
    mean, deviations = (part * units * (sizes[1] / units.max()) for part in (mean, deviations))
    cov = np.diag(deviations**2)
    score = sum(Fraction(x) * Fraction(m) for x, m in zip(option.tolist(), mean.tolist(), strict=True))
    variance = sum(Fraction(x) ** 2 * Fraction(v) for x, v in zip(option.tolist(), np.diag(cov).tolist(), strict=True))
    truth = float(score**2 / (score**2 + variance))
    found = validity_bounds(option[None], mean, cov, 0.0)
    assert found.lower == pytest.approx(truth, abs=1e-9)
    assert found.option_lower[0] == pytest.approx(truth, rel=1e-13)
    proven = found.certificate.verify()
    assert proven.lower <= truth + 1e-15
    assert proven.any_lower == pytest.approx(truth, rel=1e-13)


@pytest.mark.parametrize("seed", range(30))
def test_bounds_do_not_depend_on_the_units_of_coordinates_and_options(seed):
    rng = np.random.default_rng([6, seed])
    instance = list(instances(30, 4))[seed]
    drift = np.eye(instance.mean.size) if instance.drift is None else instance.drift
    units = 2.0 ** rng.integers(-90, 90, instance.mean.size)
    rescaled = instance.points / units * 2.0 ** rng.integers(-100, 100, (len(instance.points), 1))
    plain = validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, drift)
    squares = np.outer(units, units)
    found = validity_bounds(rescaled, instance.mean * units, instance.cov * squares, instance.radius, drift * squares)
    for name in ("lower", "upper", "any_lower", "option_lower", "weights"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=0.0, atol=1e-8, err_msg=name)
    assert found.status == plain.status
    proven, expected = found.certificate.verify(), plain.certificate.verify()
    for name in ("lower", "upper", "any_lower", "all_upper"):
        assert getattr(proven, name) == pytest.approx(getattr(expected, name), abs=1e-8), name


def test_parameters_that_differ_too_much_in_size_are_refused():
    with pytest.raises(InvalidInputError, match=r"factor of 1e\+100 .* got 1e-90 \(coordinate 1\) beside 1e\+20"):
        validity_bounds([[1.0, 1.0, 1.0]], [1e20, 0.0, 0.0], np.diag([0.0, 1e-180, 0.0]), 0.0)


def test_an_option_out_of_the_verifiers_range_is_named_and_never_trusted():
    found = validity_bounds(np.array([[1e-300, 1e60]]), np.array([1e40, 1e-59]), np.zeros((2, 2)), 0.0)
    ball = MomentBall([1e40, 1e-59], np.zeros((2, 2)), 0.0)
    object.__setattr__(ball, "mean", np.array([1e60, 1e-301]))  # behind its back: terms of 1e-240 and 1e-241
    with pytest.raises(
        CertificateError, match="proves nothing: option 0 has entries, or meets parameters, whose ratios"
    ):
        replace(found.certificate, ambiguity=ball).verify()


@pytest.mark.parametrize("seed", range(20))
def test_an_option_that_a_singular_covariance_leaves_to_rounding_is_not_called_sure(seed):
    rng = np.random.default_rng(seed)
    dimension = int(rng.integers(2, 7))
    factor = rng.standard_normal((dimension, dimension - 1))
    cov = factor @ factor.T
    point = np.linalg.svd(factor.T)[2][-1]  # nothing of the factor is along it
    entries = [Fraction(value) for value in point]
    products = ((a * b, Fraction(cov[i, j])) for i, a in enumerate(entries) for j, b in enumerate(entries))
    variance = max(sum(weight * entry for weight, entry in products), Fraction(0))
    mean = 2e-8 * point
    score = sum(a * Fraction(b) for a, b in zip(entries, mean, strict=True))
    truth = float(score**2 / (score**2 + variance))  # of the numbers as they are (Cantelli)
    bounds = validity_bounds([point], mean, cov, 0.0)
    assert bounds.lower <= truth
    assert bounds.certificate.verify().lower <= truth


@pytest.mark.parametrize("name", ["cov", "drift"])
def test_a_root_that_falls_short_of_its_matrix_proves_nothing(name):
    instance = next(iter(instances(1, 5)))
    certificate = validity_bounds(instance.points, instance.mean, instance.cov, 0.1, instance.cov).certificate
    root = getattr(certificate.ambiguity, f"{name}_root")
    certificate.verify()
    object.__setattr__(certificate.ambiguity, f"{name}_root", (1.0 - 1e-12) * root)  # behind the ball's back
    with pytest.raises(CertificateError, match=f"root of {name} does not square to all of it"):
        certificate.verify()
