"""Plans in an ambiguity set that is no ball: bounds, certificates, and what files say to it."""

from dataclasses import dataclass

import numpy as np
import pytest

from copa.exceptions import CertificateError, InvalidInputError
from copa.theory.bounds import BallCertificate, Certificate, bound_plans, validity_bounds
from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.location_set import LocationSet
from copa.theory.sets.set_files import pack_set
from unit.theory.bounds.unimodal import UnimodalMeanSet

MEAN = np.array([0.2, 1.0, -0.6])
COV = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.06]])
RADIUS = 0.1
SET = UnimodalMeanSet(MEAN, COV, RADIUS)
POINTS = np.array([[1.0, 1.5, 0.2], [1.0, 2.0, -1.0], [1.0, 1.1, 0.1], [1.0, 0.1, 2.0], [1.0, 3.0, 0.0]])
OWNER = np.array([0, 0, 2, 3, 3])


@pytest.fixture(scope="module")
def bounds():
    return bound_plans(SET, POINTS, OWNER, 4)


def test_each_option_has_the_guarantee_of_the_set(bounds):
    spread = np.sqrt(np.einsum("md,de,me->m", POINTS, COV, POINTS))
    expected = SET.guarantee(POINTS @ MEAN, spread, RADIUS * np.linalg.norm(POINTS, axis=1))
    np.testing.assert_allclose(bounds.option_lower, expected, atol=1e-12)
    assert (bounds.option_lower > MomentBall(MEAN, COV, RADIUS).option_guarantees(POINTS))[[0, 1, 2, 4]].all()


def test_plans_are_bounded_by_their_options(bounds):
    each = bounds.option_lower
    failing = 1.0 - each
    all_hold = [1.0 - failing[:2].sum(), 0.0, each[2], max(0.0, 1.0 - failing[3:].sum())]
    np.testing.assert_allclose(bounds.lower, all_hold, atol=1e-15)
    np.testing.assert_array_equal(bounds.any_lower, [each[:2].max(), 0.0, each[2], each[3:].max()])
    np.testing.assert_array_equal(bounds.upper, 1.0)
    np.testing.assert_array_equal(bounds.weights, failing)
    assert bounds.status.tolist() == ["loose", "invalid", "loose", "loose"]


def test_a_certificate_recomputes_the_bounds_through_the_set(bounds):
    assert bounds.certificates[1] is None
    for i in (0, 2, 3):
        plan = bounds[i]
        certificate = plan.certificate
        proven = certificate.verify()
        assert proven.lower == pytest.approx(plan.lower, abs=1e-12)
        assert proven.any_lower == pytest.approx(plan.any_lower, abs=1e-12)
        assert (proven.upper, proven.all_upper) == (1.0, 1.0)
        np.testing.assert_allclose(certificate.option_lower(), plan.option_lower, atol=1e-12)
        np.testing.assert_allclose(certificate.option_weights(), plan.weights, atol=1e-12)


def test_a_certificate_of_no_plan_proves_nothing():
    with pytest.raises(CertificateError, match="proves nothing"):
        Certificate(np.full((2, 3), np.nan), SET).verify()


def test_a_bad_plan_is_named(bounds):
    points = POINTS.copy()
    points[1, 1] = np.nan
    found = bound_plans(SET, points, OWNER, 4)
    assert found.status[0] == "invalid"
    assert "points must be finite" in found.message[0]
    np.testing.assert_array_equal(found.lower[1:], bounds.lower[1:])
    with pytest.raises(CertificateError, match="proves nothing"):
        found.certificates[0].verify()


@pytest.mark.parametrize("known", [MomentBall, LocationSet])
def test_the_sets_of_the_library_are_final(known):
    with pytest.raises(TypeError, match=f"{known.__name__} is final: .* subclass AmbiguitySet"):

        class Other(known):
            guarantee = UnimodalMeanSet.guarantee


@pytest.mark.parametrize("write", [lambda c: c.to_json(), lambda c: pack_set(c.ambiguity)])
def test_files_that_do_not_know_a_set_say_what_to_do(bounds, write):
    with pytest.raises(
        InvalidInputError, match=r"LocationSet and RefitScores only.* is a UnimodalMeanSet: keep .* or plan with"
    ):
        write(bounds.certificates[0])


def test_the_worst_case_of_another_set_is_not_known(bounds):
    with pytest.raises(InvalidInputError, match="of a UnimodalMeanSet is not known"):
        bounds.certificates[0].worst_case()


def test_sets_are_the_same_where_their_kind_and_moments_are():
    assert SET.same_as(UnimodalMeanSet(MEAN, COV, RADIUS))
    assert not SET.same_as(MomentBall(MEAN, COV, RADIUS))
    assert not SET.same_as(UnimodalMeanSet(MEAN, COV, 0.2))
    assert not SET.same_as(UnimodalMeanSet(MEAN, COV, RADIUS, np.eye(3)))


def test_sets_with_other_fields_of_their_own_are_not_the_same():
    @dataclass(frozen=True, eq=False)
    class Sharper(UnimodalMeanSet):
        factor: float = 1.0
        shifts: np.ndarray | None = None

    def made(factor=1.0, shifts=None):
        return Sharper(MEAN.copy(), COV.copy(), RADIUS, factor=factor, shifts=shifts)

    assert made(shifts=np.ones(2)).same_as(made(shifts=np.ones(2)))
    assert not made().same_as(made(factor=2.0))
    assert not made().same_as(made(shifts=np.ones(2)))


def test_plans_of_different_sizes_in_a_ball_are_those_of_each_size_alone():
    ball = MomentBall(MEAN, COV, RADIUS)
    found = bound_plans(ball, POINTS, OWNER, 4, n_jobs=1)
    for i, plan in enumerate([POINTS[:2], None, POINTS[2:3], POINTS[3:]]):
        if plan is None:
            assert (found[i].lower, found[i].upper, found[i].gap, found[i].certificate) == (0.0, 1.0, 1.0, None)
            continue
        alone = validity_bounds(plan, MEAN, COV, RADIUS)
        assert isinstance(found[i].certificate, BallCertificate)
        for name in ("lower", "upper", "any_lower", "gap", "option_lower", "weights", "status", "counts"):
            np.testing.assert_array_equal(getattr(found[i], name), getattr(alone, name), err_msg=name)


def test_bounds_are_taken_and_put_together(bounds):
    for batch in (bounds, validity_bounds(POINTS[:4].reshape(2, 2, 3), MEAN, COV, RADIUS)):
        last, first = len(batch) - 1, 0
        some = batch.take([last, first])
        assert len(some) == 2
        again = type(batch).concat([some, batch])
        for i, j in ((0, last), (1, first), (2, first), (2 + last, last)):
            assert again[i].lower == batch[j].lower
            np.testing.assert_array_equal(again[i].option_lower, batch[j].option_lower)
            np.testing.assert_array_equal(again.certificates[i].points, batch.certificates[j].points)
    flags = np.array([True, False, False, True])
    np.testing.assert_array_equal(bounds.take(flags).lower, bounds.lower[flags])


@pytest.mark.parametrize(
    ("points", "owner", "message"),
    [
        (POINTS, [0, 2, 0, 3, 3], r"owner must hold positions of applicants, 0 to 3, in ascending order, got .*0, 2"),
        (POINTS, [0, 0, 2, 3, 4], r"0 to 3, in ascending order, got .*3, 4"),
        (POINTS, [-1, 0, 2, 3, 3], r"0 to 3, in ascending order, got .*-1"),
        (POINTS, [0.0, 0.0, 2.0, 3.0, 3.0], r"one whole number per option, shape \(5,\), got float64"),
        (POINTS, [0, 0, 2], r"one whole number per option, shape \(5,\), got int64 of shape \(3,\)"),
        (POINTS[:, :2], [0, 0, 2, 3, 3], r"points must have shape \(M, 3\), one row per option, got \(5, 2\)"),
        (POINTS[None], [0], r"points must have shape \(M, 3\), one row per option, got \(1, 5, 3\)"),
    ],
)
def test_options_without_their_plan_are_refused(points, owner, message):
    with pytest.raises(InvalidInputError, match=message):
        bound_plans(SET, points, owner, 4)


def test_no_plans_at_all_are_bounded_too():
    found = bound_plans(SET, np.zeros((0, 3)), np.zeros(0, dtype=int), 0)
    assert len(found) == 0
    assert bound_plans(SET, np.zeros((0, 3)), np.zeros(0, dtype=int), 2).upper.tolist() == [1.0, 1.0]
