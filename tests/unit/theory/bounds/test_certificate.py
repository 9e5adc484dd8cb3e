"""Certificates: they prove what was reported, survive a file, and never prove too much however damaged."""

import json
from dataclasses import replace

import numpy as np
import pytest

from copa.exceptions import CertificateError
from copa.theory.bounds import Certificate, validity_bounds
from copa.theory.bounds.certificate import Verification
from oracle.instances import instances, stress_instances

# Verification recomputes sums of a few dozen numbers of size one: it may differ from the kernels in the last digits.
ROUNDING = 1e-12
INSTANCES = list(instances(60, seed=21))
ARRAYS = ("points", "directions", "matrix", "blocks", "any_mixture", "upper_mixture")


def bound(instance):
    return validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)


def each_name(i):
    return f"J{len(i.points)}-D{i.mean.size}"


@pytest.mark.parametrize("instance", INSTANCES, ids=each_name)
def test_a_certificate_proves_exactly_what_was_reported(instance):
    found = bound(instance)
    proven = found.certificate.verify()
    assert proven.lower == pytest.approx(found.lower, abs=ROUNDING)
    assert proven.upper <= found.lower + found.gap + ROUNDING
    assert proven.upper >= found.lower - ROUNDING
    assert proven.any_lower == pytest.approx(found.any_lower, abs=ROUNDING)
    assert proven.all_upper == pytest.approx(found.upper, abs=ROUNDING)
    assert proven.gap == proven.upper - proven.lower


def test_stress_plans_are_proven_as_reported():
    for instance in stress_instances(120, seed=22):
        found = bound(instance)
        proven = found.certificate.verify()
        # The covariance's condition reaches 1e10: its weak directions are found again to about 1e-6 of their length,
        # and the verifier charges for that.
        assert proven.lower <= found.lower + ROUNDING, instance.traits
        assert proven.lower >= found.lower - 1e-7, instance.traits
        assert proven.upper <= found.lower + found.gap + 1e-7, instance.traits
        assert proven.any_lower == pytest.approx(found.any_lower, abs=1e-9), instance.traits
        assert proven.all_upper == pytest.approx(found.upper, abs=1e-9), instance.traits


def test_the_repr_says_what_it_is_about(bounds):
    assert repr(bounds.certificate) == "Certificate(3 options, 3 parameters, radius 0.1)"


def test_the_multiplier_is_the_price_of_a_squared_radius(bounds):
    certificate = bounds.certificate
    assert certificate.multiplier == pytest.approx(certificate.penalty / 0.1**2, rel=1e-14)
    assert certificate.penalty + np.trace(certificate.matrix) == pytest.approx(1.0 - bounds.lower, abs=ROUNDING)


def test_at_radius_zero_the_multiplier_is_infinite_for_any_penalty():
    certificate = validity_bounds(np.eye(2), [1.0, 1.0], 0.1 * np.eye(2)).certificate
    assert certificate.penalty > 0.0
    assert certificate.multiplier == np.inf
    assert replace(certificate, penalty=0.0).multiplier == 0.0


@pytest.mark.parametrize("instance", INSTANCES[:20], ids=each_name)
def test_the_witness_is_feasible_for_the_dual_program(instance):
    certificate = bound(instance).certificate
    witness, plan = certificate.witness, certificate.aligned()
    assert np.linalg.eigvalsh(witness).min() > -ROUNDING
    assert np.linalg.eigvalsh(witness.sum(axis=0)).max() < 1.0 + ROUNDING
    spent = np.einsum("ja,jab,jb->j", plan.directions, witness, plan.directions)
    assert (spent <= plan.reach**2 + ROUNDING).all()


# ---------------------------------------------------------------------------------------------- files


def unusual_certificates():
    points, mean, cov = (
        np.array([[1.0, 0.5], [0.1, 1.0 / 3.0]]),
        np.array([1.0, 0.2]),
        np.array([[0.2, 0.1], [0.1, 0.3]]),
    )
    cases = {
        "radius": (points, mean, cov, 0.1, None),
        "radius 0": (points, mean, cov, 0.0, None),
        "drift": (points, mean, cov, 0.1, np.array([[1.0, 0.3], [0.3, 0.7]])),
        "singular drift": (points, mean, cov, 0.1, np.diag([1.0, 0.0])),
        "zero covariance": (points, mean, np.zeros((2, 2)), 0.1, None),
        "mean outside": (points, -mean, cov, 0.1, None),
        "denormal and huge": (points * 1e-40, mean * 1e30, cov * 1e60, 1e-310, None),
    }
    return {name: validity_bounds(*arguments).certificate for name, arguments in cases.items()}


@pytest.mark.parametrize("name", unusual_certificates())
def test_a_file_keeps_every_bit(name):
    certificate = unusual_certificates()[name]
    back = Certificate.from_json(certificate.to_json())
    for field in ARRAYS:
        np.testing.assert_array_equal(getattr(back, field), getattr(certificate, field), err_msg=field)
    assert back.penalty == certificate.penalty
    assert back.ambiguity.radius == certificate.ambiguity.radius
    for field in ("mean", "cov", "drift"):
        np.testing.assert_array_equal(
            getattr(back.ambiguity, field), getattr(certificate.ambiguity, field), err_msg=field
        )
    assert back.verify() == certificate.verify()
    assert back.to_json() == certificate.to_json()


def test_a_file_is_plain_json(bounds):
    content = json.loads(bounds.certificate.to_json())
    assert (content["format"], content["version"]) == ("copa.certificate", 1)
    assert content["drift"] is None
    assert {"points", "mean", "cov", "radius", *ARRAYS} <= set(content)


def changed(certificate, **fields):
    return json.dumps(json.loads(certificate.to_json()) | fields)


@pytest.mark.parametrize("text", ["", "{", "no json", "{'format': 1}"])
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(CertificateError, match="not a certificate: the text is not JSON"):
        Certificate.from_json(text)


@pytest.mark.parametrize("text", ["null", "[]", "3", '"text"', "{}", '{"format": "other", "version": 1}'])
def test_json_of_something_else_is_refused(text):
    with pytest.raises(
        CertificateError, match=r"not a certificate: expected an object with format 'copa\.certificate'"
    ):
        Certificate.from_json(text)


@pytest.mark.parametrize("version", [0, 3, "1", None, [1]])
def test_another_version_is_refused_with_advice(bounds, version):
    with pytest.raises(CertificateError, match=r"version .* cannot be read, only 1 and 2; update COPA"):
        Certificate.from_json(changed(bounds.certificate, version=version))


@pytest.mark.parametrize("field", ["mean", "cov", "radius", "penalty", *ARRAYS])
def test_a_missing_field_is_named(bounds, field):
    content = json.loads(bounds.certificate.to_json())
    del content[field]
    with pytest.raises(CertificateError, match=f"misses the field '{field}'"):
        Certificate.from_json(json.dumps(content))


@pytest.mark.parametrize("field", ARRAYS)
@pytest.mark.parametrize("value", [[], [[1.0]], [[[[1.0]]]], 1.0, "text", [["a"]], {"a": 1}, [[1.0], [1.0, 2.0]]])
def test_a_field_of_a_wrong_shape_or_kind_is_named(bounds, field, value):
    with pytest.raises(CertificateError, match=f"{field} must|{field} is not an array|option 0"):
        Certificate.from_json(changed(bounds.certificate, **{field: value}))


@pytest.mark.parametrize("field", [*ARRAYS, "penalty"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_field_that_is_not_finite_is_named(bounds, field, bad):
    value = np.array(getattr(bounds.certificate, field))
    value[(0,) * value.ndim] = bad
    with pytest.raises(CertificateError, match=f"{field} must be finite"):
        Certificate.from_json(changed(bounds.certificate, **{field: value.tolist()}))


@pytest.mark.parametrize("field", ["matrix", "blocks"])
def test_an_asymmetric_matrix_is_refused(bounds, field):
    value = getattr(bounds.certificate, field).copy()
    value[..., 0, 1] += 1e-9
    with pytest.raises(CertificateError, match=f"{field} must be symmetric"):
        Certificate.from_json(changed(bounds.certificate, **{field: value.tolist()}))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("mean", [1.0], r"damaged: cov must have shape \(1, 1\)"),
        ("cov", (-np.eye(3)).tolist(), "damaged: cov must be positive semidefinite"),
        ("radius", -1.0, "damaged: radius must be a finite number of at least 0"),
        ("radius", [0.1], "damaged: radius must be one number"),
        ("drift", [[1.0]], r"damaged: drift must have shape \(3, 3\)"),
        ("penalty", "high", "penalty is not an array of numbers"),
    ],
)
def test_a_ball_that_is_none_is_refused(bounds, field, value, message):
    with pytest.raises(CertificateError, match=message):
        Certificate.from_json(changed(bounds.certificate, **{field: value}))


@pytest.mark.parametrize("text", [None, 5])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


@pytest.mark.parametrize("field", ["penalty", "radius"])
def test_an_integer_beyond_the_floats_is_refused(bounds, field):
    with pytest.raises(CertificateError):
        Certificate.from_json(changed(bounds.certificate, **{field: 10**400}))


# ------------------------------------------------------------------------------------- foreign and damaged


def test_data_of_another_plan_are_refused(bounds):
    certificate = bounds.certificate
    foreign = replace(certificate, points=certificate.points + np.array([0.0, 0.01, 0.0]))
    with pytest.raises(CertificateError, match=r"not about these data: its directions are off by .*; certify the plan"):
        foreign.verify()


@pytest.mark.parametrize("part", ["mean", "cov"])
def test_data_of_another_ball_are_refused(bounds, part):
    ball = bounds.certificate.ambiguity
    moved = validity_bounds(
        bounds.certificate.points,
        ball.mean + (np.array([0.0, 0.01, 0.0]) if part == "mean" else 0.0),
        ball.cov * (1.01 if part == "cov" else 1.0),
        ball.radius,
    ).certificate.ambiguity
    with pytest.raises(CertificateError, match="not about these data"):
        replace(bounds.certificate, ambiguity=moved).verify()


@pytest.mark.parametrize("field", ["points", "mean"])
def test_a_file_with_exchanged_data_is_refused_when_verified(bounds, field):
    content = json.loads(bounds.certificate.to_json())
    values = np.array(content[field])
    values[..., 1] += 0.05
    with pytest.raises(CertificateError, match="not about these data"):
        Certificate.from_json(changed(bounds.certificate, **{field: values.tolist()})).verify()


def test_a_larger_radius_than_certified_proves_less(bounds):
    content = changed(bounds.certificate, radius=0.3)
    true = validity_bounds(
        bounds.certificate.points, *(bounds.certificate.ambiguity.mean, bounds.certificate.ambiguity.cov, 0.3)
    )
    proven = Certificate.from_json(content).verify()
    assert proven.lower <= true.lower + true.gap + ROUNDING
    assert proven.upper >= true.lower - ROUNDING
    assert proven.lower < bounds.lower


def test_a_mean_that_rejects_needs_no_proof():
    certificate = validity_bounds(np.eye(2), [1.0, -1.0], 0.1 * np.eye(2), 0.1).certificate
    garbage = replace(certificate, matrix=np.zeros((3, 3)), directions=np.zeros((2, 3)), penalty=-5.0)
    proven = garbage.verify()
    assert (proven.lower, proven.upper) == (0.0, 0.0)


def damage(certificate, rng):
    """Each stored number of a proof perturbed, by relative amounts from 1e-14 to 10; matrices stay symmetric."""

    def noise(array):
        size = 10.0 ** rng.uniform(-14.0, 1.0) * (1.0 + np.abs(array).max())
        shape = np.shape(array)
        drawn = rng.standard_normal(shape) * (rng.random(shape) < rng.choice([0.2, 1.0]))
        return size * drawn

    def symmetric(array):
        drawn = noise(array)
        return array + drawn + np.swapaxes(drawn, -1, -2)

    whole = rng.random() < 0.3
    touched = [whole or rng.random() < 0.5 for _ in range(5)]
    shrink = rng.choice([1.0, 1.0, 0.999, 0.5, 0.0])  # the tempting direction: a smaller M would prove more
    return replace(
        certificate,
        matrix=shrink * (symmetric(certificate.matrix) if touched[0] else certificate.matrix),
        penalty=float(certificate.penalty + (noise(certificate.penalty) if touched[1] else 0.0)),
        blocks=(symmetric(certificate.blocks) if touched[2] else certificate.blocks) / max(shrink, 0.1),
        any_mixture=certificate.any_mixture + (noise(certificate.any_mixture) if touched[3] else 0.0),
        upper_mixture=certificate.upper_mixture + (noise(certificate.upper_mixture) if touched[4] else 0.0),
    )


@pytest.mark.parametrize("instance", INSTANCES[:30], ids=each_name)
def test_a_damaged_certificate_never_proves_more_than_is_true(instance):
    found = bound(instance)
    true = found.certificate.verify()
    rng = np.random.default_rng(7)
    proven = [damage(found.certificate, rng).verify() for _ in range(60)]
    assert max(p.lower for p in proven) <= true.upper
    assert min(p.upper for p in proven) >= true.lower
    # The mixtures' optima are found to about 1e-12 of the probability, so a lucky change may gain that much.
    assert max(p.any_lower for p in proven) <= true.any_lower + 1e-9
    assert min(p.all_upper for p in proven) >= true.all_upper - 1e-9
    assert all(0.0 <= p.lower <= p.upper <= 1.0 for p in proven)


def test_the_proof_of_one_plan_does_not_prove_another(bounds):
    rng = np.random.default_rng(8)
    certificate = bounds.certificate
    for _ in range(200):
        half = rng.standard_normal((3, 4, 4)) * 10.0 ** rng.uniform(-3.0, 1.0)
        proven = replace(
            certificate,
            matrix=half[0] @ half[0].T / 4.0,
            penalty=rng.exponential(0.3),
            blocks=half @ np.swapaxes(half, 1, 2),
        ).verify()
        assert proven.lower <= bounds.lower + bounds.gap + ROUNDING
        assert proven.upper >= bounds.lower - ROUNDING


def test_a_negative_penalty_proves_nothing(bounds):
    assert replace(bounds.certificate, penalty=-bounds.certificate.penalty).verify().lower < bounds.lower
    assert replace(bounds.certificate, penalty=-1e6).verify().lower == 0.0


def test_negative_mixture_weights_count_as_none(bounds):
    proven = replace(bounds.certificate, any_mixture=-bounds.certificate.any_mixture).verify()
    assert proven.any_lower == 0.0


def test_a_witness_scaled_up_proves_no_lower_ceiling(bounds):
    true = bounds.certificate.verify()
    for factor in (1.0 + 1e-9, 2.0, 1e6):
        assert replace(bounds.certificate, blocks=factor * bounds.certificate.blocks).verify().upper >= true.lower


def indefinite_but_good_for_the_block(certificate):
    """M with the entry b off the diagonal only, and the penalty, for which the block of one option is satisfied.

    M + (g / t^2) u u' - e e' is zero but for its first entry: were M >= 0 not asked for, it would prove 1 - g.
    """
    (spread, mean), reach = certificate.directions[0], certificate.aligned().reach[0]
    return -spread / mean, (reach / mean) ** 2 * (1.0 + 1e-9)


def test_an_indefinite_matrix_proves_no_more_than_is_true():
    found = validity_bounds([[1.0]], [1.0], [[1.0]], 0.1)
    b, penalty = indefinite_but_good_for_the_block(found.certificate)
    matrix = np.array([[0.0, b], [b, 0.0]]) + 1e-9 * np.eye(2)
    assert replace(found.certificate, matrix=matrix, penalty=penalty).verify().lower == 0.0


def test_a_witness_beyond_the_radius_proves_no_ceiling():
    # W = e e' is below the identity, but takes more than the radius to reach: (X)_11 = (mean / reach)^2.
    found = validity_bounds([[1.0]], [1.0], [[1.0]], 0.1)
    frame = found.certificate.aligned().frames[0]
    column = np.linalg.solve(frame, [0.0, 1.0])
    certificate = replace(
        found.certificate, blocks=np.outer(column, column)[None], matrix=np.diag([0.0, 1.0]), penalty=0.0
    )
    assert column[0] ** 2 > 1.0
    assert certificate.verify().upper >= found.lower


def test_an_asymmetric_matrix_proves_no_more_than_is_true():
    found = validity_bounds([[1.0]], [1.0], [[1.0]], 0.1)
    certificate = found.certificate
    b, penalty = indefinite_but_good_for_the_block(certificate)
    matrix = np.array([[0.0, 2.0 * b], [0.0, 0.0]]) + 1e-9 * np.eye(2)  # its lower triangle alone looks like 0
    proven = replace(certificate, matrix=matrix, penalty=penalty).verify()
    assert proven.lower <= found.lower + found.gap + ROUNDING  # 0.99 where L* is 0.43


@pytest.mark.parametrize("field", ["matrix", "blocks", "directions"])
def test_numbers_that_are_none_are_refused(bounds, field):
    nothing = np.full_like(getattr(bounds.certificate, field), np.nan)
    with pytest.raises(CertificateError):
        replace(bounds.certificate, **{field: nothing}).verify()


def test_a_verification_is_plain_numbers(bounds):
    proven = bounds.certificate.verify()
    assert isinstance(proven, Verification)
    assert all(isinstance(value, float) for value in (proven.lower, proven.upper, proven.any_lower, proven.all_upper))
