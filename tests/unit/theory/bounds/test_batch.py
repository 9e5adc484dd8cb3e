"""Reading plans, and batches: each plan as if it were alone, whatever else is in the batch."""

import numpy as np
import pytest

from copa.exceptions import CertificateError, InvalidInputError
from copa.theory.bounds import Certificate, Certificates, validity_bounds
from copa.theory.bounds.canonical import read_plan, read_points
from copa.theory.bounds.validity import CHUNK, bound_batch
from copa.theory.sets.ambiguity import MomentBall

DIM, N_OPTIONS = 4, 3
MEAN = np.array([0.5, 1.0, -1.0, 0.3])
COV = 0.05 * (np.eye(DIM) + 0.5)
RADIUS = 0.1
BALL = MomentBall(MEAN, COV, RADIUS)
PER_PLAN = ("lower", "upper", "any_lower", "option_lower", "weights", "gap", "status", "message")


def plans(n_plans, seed=0, n_options=N_OPTIONS):
    """Plans of which most hold at the mean, and some do not."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n_plans, n_options, DIM)) + 0.7 * MEAN
    points[:, :, 0] = 1.0
    return points


def assert_equal_bounds(found, expected):
    for name in PER_PLAN:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def assert_equal_certificates(found, expected):
    for name in ("points", "directions", "matrix", "penalty", "blocks", "any_mixture", "upper_mixture"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


@pytest.mark.parametrize("drift", [None, np.diag([1.0, 0.5, 0.0, 2.0])], ids=["isotropic", "singular drift"])
@pytest.mark.parametrize("n_options", [1, 3, 6])
def test_a_batch_equals_its_plans_alone_to_the_last_bit(n_options, drift):
    points = plans(40, seed=1, n_options=n_options)
    batch = validity_bounds(points, MEAN, COV, RADIUS, drift)
    assert len(batch) == 40
    assert 0 < np.count_nonzero(batch.lower) < 40
    for i, plan in enumerate(points):
        alone = validity_bounds(plan, MEAN, COV, RADIUS, drift)
        assert_equal_bounds(batch[i], alone)
        assert_equal_certificates(batch[i].certificate, alone.certificate)


def test_the_number_of_threads_changes_nothing():
    points = plans(2 * CHUNK + 7, seed=2)
    one, two = (validity_bounds(points, MEAN, COV, RADIUS, n_jobs=n) for n in (1, 2))
    assert_equal_bounds(one, two)
    for i in range(0, len(points), 50):
        assert_equal_certificates(one.certificates[i], two.certificates[i])


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "2", [1]])
def test_a_number_of_threads_that_is_none_is_refused(n_jobs):
    with pytest.raises(InvalidInputError, match="n_jobs must be a positive integer, or None or -1 for all cores, got"):
        validity_bounds(plans(2), MEAN, COV, RADIUS, n_jobs=n_jobs)


@pytest.mark.parametrize("n_jobs", [None, -1, 1, np.int64(2), 64])
def test_all_cores_and_any_positive_number_of_threads_are_fine(n_jobs):
    assert_equal_bounds(
        validity_bounds(plans(3), MEAN, COV, RADIUS, n_jobs=n_jobs), validity_bounds(plans(3), MEAN, COV, RADIUS)
    )


def test_plans_at_the_edges_of_the_chunks_are_bounded_too():
    points = np.concatenate([plans(CHUNK), plans(CHUNK), plans(1)])
    batch = validity_bounds(points, MEAN, COV, RADIUS, n_jobs=2)
    np.testing.assert_array_equal(batch.lower[:CHUNK], batch.lower[CHUNK : 2 * CHUNK])
    assert batch.lower[-1] == batch.lower[0]
    assert (batch.status == "tight").all()


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("copa.theory.bounds.validity._bound_chunk", fail)
    with pytest.raises(MemoryError, match="no room"):
        bound_batch(BALL, plans(2 * CHUNK), n_jobs=2)


def test_an_empty_batch_is_a_batch():
    batch = validity_bounds(np.empty((0, N_OPTIONS, DIM)), MEAN, COV, RADIUS)
    assert len(batch) == 0
    assert list(batch.certificates) == []
    assert batch.option_lower.shape == batch.weights.shape == (0, N_OPTIONS)
    for name in ("lower", "upper", "any_lower", "gap", "status", "message", "seconds"):
        assert getattr(batch, name).shape == (0,), name


def test_fields_of_a_batch_have_a_leading_axis():
    batch = validity_bounds(plans(5), MEAN, COV, RADIUS)
    for name in ("lower", "upper", "any_lower", "gap", "status", "message", "seconds"):
        assert getattr(batch, name).shape == (5,), name
    assert batch.option_lower.shape == batch.weights.shape == (5, N_OPTIONS)
    assert (batch.seconds > 0.0).all()


def test_certificates_are_a_sequence():
    certificates = validity_bounds(plans(5), MEAN, COV, RADIUS).certificates
    assert len(certificates) == len(list(certificates)) == 5
    assert isinstance(certificates[0], Certificate)
    assert_equal_certificates(certificates[-1], certificates[4])
    part = certificates[1:4:2]
    assert isinstance(part, Certificates)
    assert len(part) == 2
    assert_equal_certificates(part[1], certificates[3])
    with pytest.raises(IndexError):
        certificates[5]


BAD = {
    "nan": (np.nan, "points must be finite, got nan at index"),
    "infinity": (np.inf, "points must be finite, got inf at index"),
    "minus infinity": (-np.inf, "points must be finite, got -inf at index"),
    "zero option": (0.0, "is the zero vector"),
}


@pytest.mark.parametrize("mean", [MEAN, -MEAN], ids=["mean", "opposite mean"])
@pytest.mark.parametrize(("value", "message"), BAD.values(), ids=BAD)
def test_a_bad_plan_gets_vacuous_bounds_and_a_message_and_leaves_the_others_alone(value, message, mean):
    points = plans(6, seed=3)
    expected = validity_bounds(points, mean, COV, RADIUS)
    damaged = points.copy()
    damaged[2, 1] = value
    batch = validity_bounds(damaged, mean, COV, RADIUS)
    bad = batch[2]
    assert (bad.lower, bad.upper, bad.any_lower, bad.gap) == (0.0, 1.0, 0.0, 1.0)
    assert (bad.option_lower == 0.0).all()
    assert (bad.weights == 0.0).all()
    assert bad.status == "invalid"
    assert message in bad.message
    for i in (0, 1, 3, 4, 5):
        assert_equal_bounds(batch[i], expected[i])
        assert_equal_certificates(batch.certificates[i], expected.certificates[i])
    np.testing.assert_array_equal(damaged[2, 1], np.full(DIM, value))  # the caller's array is left alone


def test_a_batch_of_bad_plans_only_is_answered():
    batch = validity_bounds(np.full((3, N_OPTIONS, DIM), np.nan), MEAN, COV, RADIUS)
    assert (batch.status == "invalid").all()
    assert (batch.lower == 0.0).all()
    assert (batch.upper == 1.0).all()


def test_the_certificate_of_an_invalid_plan_proves_nothing():
    batch = validity_bounds(np.full((1, N_OPTIONS, DIM), np.nan), np.ones(DIM), COV, RADIUS)
    with pytest.raises(CertificateError, match="proves nothing"):
        batch.certificates[0].verify()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.ones(DIM), r"points must have shape \(J, 4\) or \(N, J, 4\) to match mean, got \(4,\)"),
        (1.0, r"points must have shape .*, got \(\)"),
        (None, r"points must have shape .*, got \(\)"),
        (np.ones((3, 5)), r"points must have shape \(J, 4\) or \(N, J, 4\) to match mean, got \(3, 5\)"),
        (np.ones((2, 3, 5)), r"points must have shape .*, got \(2, 3, 5\)"),
        (np.ones((1, 2, 3, DIM)), r"points must have shape .*, got \(1, 2, 3, 4\)"),
        (np.ones((0, DIM)), r"at least one option, got points of shape \(0, 4\)"),
        (np.ones((2, 0, DIM)), r"at least one option, got points of shape \(2, 0, 4\)"),
        ([], r"points must have shape .*, got \(0,\)"),
        ([["a"] * DIM], r"points must be an array of numbers, got list: .*'a'"),
        ([[1.0, 2.0], [3.0]], r"points must be an array of numbers, got list"),
        ({"x": 1.0}, r"points must be an array of numbers, got dict"),
    ],
)
def test_points_of_a_wrong_shape_are_refused(points, message):
    with pytest.raises(InvalidInputError, match=message):
        validity_bounds(points, MEAN, COV, RADIUS)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_plan_with_a_bad_entry_is_refused_with_its_place(bad):
    points = plans(1)[0]
    points[2, 1] = bad
    with pytest.raises(InvalidInputError, match=rf"points must be finite, got {bad} at index \(2, 1\)"):
        validity_bounds(points, MEAN, COV, RADIUS)


def test_one_plan_with_a_zero_option_is_refused_with_its_number():
    points = plans(1)[0]
    points[1] = 0.0
    with pytest.raises(InvalidInputError, match=r"option 1 is the zero vector.*intercept coordinate, 1"):
        validity_bounds(points, MEAN, COV, RADIUS)


def test_where_one_plan_is_needed_a_batch_is_refused():
    with pytest.raises(InvalidInputError, match=r"expected one plan of shape \(J, 4\), got \(2, 3, 4\)"):
        read_plan(plans(2), DIM)


def test_points_are_read_as_contiguous_floats():
    array = read_points(np.arange(24).reshape(3, 2, 4).transpose(1, 0, 2), DIM)
    assert array.dtype == np.float64
    assert array.flags.c_contiguous


KINDS = {
    "lists": lambda p: p.tolist(),
    "tuples": lambda p: tuple(tuple(row) for row in p),
    "fortran order": np.asfortranarray,
    "every other row": lambda p: np.repeat(p, 2, axis=0)[::2],
    "reversed twice": lambda p: p[::-1, ::-1].copy()[::-1, ::-1],
    "read only": lambda p: np.frombuffer(p.tobytes()).reshape(p.shape),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_any_kind_of_array_gives_the_same_bounds(kind):
    points = plans(1, seed=5)[0]
    expected = validity_bounds(points, MEAN, COV, RADIUS)
    assert_equal_bounds(validity_bounds(kind(points), MEAN, COV, RADIUS), expected)
    assert_equal_bounds(validity_bounds(points, MEAN.tolist(), kind(COV), RADIUS), expected)


def test_a_non_contiguous_batch_gives_the_same_bounds():
    points = plans(8, seed=6)
    swapped = np.ascontiguousarray(points.transpose(2, 1, 0)).transpose(2, 1, 0)
    assert not swapped.flags.c_contiguous
    assert_equal_bounds(validity_bounds(swapped, MEAN, COV, RADIUS), validity_bounds(points, MEAN, COV, RADIUS))
    assert_equal_bounds(
        validity_bounds(points[::2], MEAN, COV, RADIUS), validity_bounds(points[::2].copy(), MEAN, COV, RADIUS)
    )


def test_integers_are_numbers():
    points, mean, cov = [[1, 2], [1, 0]], [1, 1], [[1, 0], [0, 2]]
    found = validity_bounds(points, mean, cov, 1)
    expected = validity_bounds(np.array(points, float), np.array(mean, float), np.array(cov, float), 1.0)
    assert_equal_bounds(found, expected)


def test_the_callers_arrays_are_left_alone():
    points, mean, cov = plans(3), MEAN.copy(), COV.copy()
    before = points.copy()
    validity_bounds(points, mean, cov, RADIUS, drift=np.eye(DIM))
    np.testing.assert_array_equal(points, before)
    np.testing.assert_array_equal(mean, MEAN)
    np.testing.assert_array_equal(cov, COV)
