"""The frames of the kernels against those written in NumPy, in `copa.theory.bounds.canonical`."""

import numpy as np
import pytest
from copa._inner_kernels import newton_system as frames

from copa.theory.bounds import canonical


class Plan:
    """Random unit directions with reaches, and the frames of both sides."""

    def __init__(self, n_options, n, seed):
        rng = np.random.default_rng([seed, n_options, n])
        directions = rng.standard_normal((n_options, n))
        self.directions = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        self.reach = rng.uniform(0.0, 1.0, n_options)
        self.reach[0] = 0.0
        self.axes = np.zeros_like(directions)
        frames.reflection_axes(self.directions, self.axes)
        side = np.copysign(1.0, self.directions[:, 0])
        self.frames = canonical._frames(self.directions, self.reach, side)
        half = rng.standard_normal((n_options, n, n))
        self.blocks = half + np.swapaxes(half, 1, 2)
        self.column = rng.standard_normal(n)


@pytest.fixture(params=[(1, 2), (3, 2), (3, 4), (6, 7)], ids=lambda s: f"{s[0]} options in {s[1]}")
def plan(request):
    return Plan(*request.param, seed=0)


def test_the_reflection_takes_the_first_axis_to_the_direction_up_to_sign(plan):
    for axis, direction in zip(plan.axes, plan.directions, strict=True):
        image = np.eye(len(axis))[0] - 2.0 * axis[0] * axis
        np.testing.assert_allclose(image, -np.sign(direction[0]) * direction, rtol=0.0, atol=1e-15 * 4)


def test_a_direction_along_the_first_axis_is_reflected_without_cancellation():
    directions, axes = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [-0.0, 1.0]]), np.zeros((4, 2))
    frames.reflection_axes(directions, axes)
    np.testing.assert_allclose(np.linalg.norm(axes, axis=1), 1.0, rtol=1e-15)
    np.testing.assert_array_equal(axes[:2], directions[:2])


def test_into_the_frame_and_out_of_it_are_the_congruences(plan):
    n = plan.directions.shape[1]
    for j, frame in enumerate(plan.frames):
        inside, outside = np.zeros((n, n)), np.zeros(n * (n + 1) // 2)
        before = plan.blocks[j].copy()
        frames.into_frame(plan.blocks[j], plan.axes[j], plan.reach[j], inside)
        frames.add_out_of_frame(plan.blocks[j], plan.axes[j], plan.reach[j], np.zeros(n), outside)
        np.testing.assert_allclose(inside, frame.T @ before @ frame, rtol=0.0, atol=1e-13)
        expected = (frame @ before @ frame.T)[np.tril_indices(n)]
        np.testing.assert_allclose(outside, expected, rtol=0.0, atol=1e-13)
        np.testing.assert_array_equal(plan.blocks[j], before)


def test_a_column_leaves_the_frame_as_the_frame_says(plan):
    out = np.zeros_like(plan.column)
    for j, frame in enumerate(plan.frames):
        frames.column_out_of_frame(plan.column, plan.axes[j], plan.reach[j], out)
        np.testing.assert_allclose(out, frame @ plan.column, rtol=0.0, atol=1e-13)


def test_what_leaves_the_frames_is_added_up_to_the_sum_of_the_witness(plan):
    n = plan.directions.shape[1]
    total = np.zeros(n * (n + 1) // 2)
    for j in range(len(plan.blocks)):
        frames.add_out_of_frame(plan.blocks[j], plan.axes[j], plan.reach[j], np.zeros(n), total)
    expected = canonical.witness_matrices(plan.frames, plan.blocks).sum(axis=0)[np.tril_indices(n)]
    np.testing.assert_allclose(total, expected, rtol=0.0, atol=1e-12)
