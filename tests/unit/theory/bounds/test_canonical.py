"""The canonical form in NumPy: alignment with given coordinates, frames, blocks."""

import numpy as np
import pytest

from copa.theory.bounds import canonical
from copa.theory.bounds.validity import validity_bounds
from copa.theory.sets.ambiguity import MomentBall
from oracle.instances import instances

INSTANCES = list(instances(20, seed=12))


@pytest.fixture(params=INSTANCES, ids=lambda i: f"J{len(i.points)}-D{i.mean.size}")
def instance(request):
    return request.param


def ball_of(instance):
    return MomentBall(instance.mean, instance.cov, instance.radius, instance.drift)


def directions_of(instance):
    bounds = validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)
    return bounds.certificate.directions


def test_alignment_finds_the_kernels_coordinates_again(instance):
    directions = directions_of(instance)
    plan = canonical.align(instance.points, ball_of(instance), directions)
    # Coordinates along weak directions of the covariance are known to fewer digits.
    np.testing.assert_allclose(plan.directions, directions, rtol=0.0, atol=1e-10)
    assert plan.lost < 1e-12
    np.testing.assert_allclose(plan.isometry.T @ plan.isometry, np.eye(plan.isometry.shape[1]), rtol=0.0, atol=1e-13)


def test_lengths_and_reaches_are_those_of_the_scores(instance):
    plan = canonical.align(instance.points, ball_of(instance), directions_of(instance))
    spread = np.einsum("jd,de,je->j", instance.points, instance.cov, instance.points)
    drift = np.eye(instance.mean.size) if instance.drift is None else instance.drift
    reach = instance.radius * np.sqrt(np.einsum("jd,de,je->j", instance.points, drift, instance.points))
    np.testing.assert_allclose(plan.lengths**2, spread + (instance.points @ instance.mean) ** 2, rtol=1e-10)
    np.testing.assert_allclose(plan.reach * plan.lengths, reach, rtol=1e-10)


def test_any_rotation_that_keeps_the_last_axis_is_as_good(instance):
    directions = directions_of(instance)
    rng = np.random.default_rng(0)
    n = directions.shape[1]
    turned = directions.copy()
    turned[:, :-1] = directions[:, :-1] @ np.linalg.qr(rng.standard_normal((n - 1, n - 1)))[0]
    plan = canonical.align(instance.points, ball_of(instance), turned)
    np.testing.assert_allclose(plan.directions, turned, rtol=0.0, atol=1e-10)


def test_a_frame_is_orthogonal_but_for_the_unit_of_its_first_axis(instance):
    plan = canonical.align(instance.points, ball_of(instance), directions_of(instance))
    for frame, direction, reach in zip(plan.frames, plan.directions, plan.reach, strict=True):
        expected = np.eye(len(frame))
        expected[0, 0] = reach**2
        np.testing.assert_allclose(frame.T @ frame, expected, rtol=0.0, atol=1e-13 * max(1.0, reach**2))
        np.testing.assert_allclose(np.abs(direction @ frame[:, 0]), reach, rtol=1e-13)
        np.testing.assert_allclose(direction @ frame[:, 1:], 0.0, rtol=0.0, atol=1e-13)


def test_blocks_and_witness_are_the_congruences(instance):
    plan = canonical.align(instance.points, ball_of(instance), directions_of(instance))
    n_options, n = plan.directions.shape
    half = np.random.default_rng(1).standard_normal((n_options, n, n))
    blocks = half + np.swapaxes(half, 1, 2)
    matrix = blocks[0].copy()
    target = matrix - np.diag(np.eye(n)[-1])
    slacks = canonical.slack_blocks(plan.frames, matrix, 0.7)
    witness = canonical.witness_matrices(plan.frames, blocks)
    for j, frame in enumerate(plan.frames):
        expected = frame.T @ target @ frame
        expected[0, 0] += 0.7
        np.testing.assert_allclose(slacks[j], expected, rtol=0.0, atol=1e-12 * (1.0 + np.abs(expected).max()))
        expected = frame @ blocks[j] @ frame.T
        np.testing.assert_allclose(witness[j], expected, rtol=0.0, atol=1e-12 * (1.0 + np.abs(expected).max()))
    np.testing.assert_array_equal(matrix, blocks[0])  # the argument is left alone


def test_options_that_do_not_spread_are_aligned():
    # Zero covariance: the coordinates but the last are empty, and any isometry will do.
    points, ball = np.eye(2), MomentBall([1.0, 2.0], np.zeros((2, 2)), 0.1)
    coordinates = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    plan = canonical.align(points, ball, coordinates)
    np.testing.assert_array_equal(plan.directions, coordinates)
    np.testing.assert_allclose(plan.reach, [0.1, 0.05], rtol=1e-15)
    assert plan.lost == 0.0
