"""The interior-point kernel against the same method written in plain NumPy (`reference_interior_point`)."""

import numpy as np
import pytest
from copa._inner_kernels import newton_system as frames
from copa._inner_kernels.interior_point import InteriorPoint

from oracle.instances import instances
from unit.theory.bounds.kernels import reference_interior_point as reference
from unit.theory.bounds.kernels.plans import GO, canonical
from unit.theory.bounds.one_option import guarantee

TOLERANCE = 1e-11

PLANS = [
    canonical(i)
    for i in instances(60, seed=31)
    if "mean inside" in i.traits and "duplicates" not in i.traits and len(i.points) <= 6
]
# Radius 0 in its pure form: the blocks have no coordinate along the option at all.
PLANS += [(directions, np.zeros_like(reach)) for directions, reach in PLANS[:4]]


@pytest.fixture(params=PLANS, ids=[f"{k}: {d.shape[0]} options in {d.shape[1]}" for k, (d, _) in enumerate(PLANS)])
def plan(request):
    directions, reach = request.param
    return directions.copy(), reach.copy()


def solve(directions, reach, tolerance=TOLERANCE):
    n_options, n = directions.shape
    matrix, blocks = np.zeros((n, n)), np.zeros((n_options, n, n))
    g, iterations = InteriorPoint(n_options, n).solve(directions, reach, tolerance, GO, matrix, blocks)
    return reference.Pair(reference.frames_of(directions, reach), matrix, g, blocks), iterations


def method_at(pair, directions, reach):
    """The kernel's method, standing where the reference stands; with x_g."""
    n_options, n = directions.shape
    method = InteriorPoint(n_options, n)
    frames.reflection_axes(directions, method.axes)
    method.slack[n_options] = pair.M
    method.multiplier[:n_options] = pair.X
    return method, method.refresh(pair.g, reach)


def test_the_optimum_is_that_of_the_reference(plan):
    found, iterations = solve(*plan)
    expected = reference.solve(*plan, TOLERANCE)
    assert iterations <= 30
    # Both optima are known to their gaps, at most about 1e-9 where the last digits are lost to conditioning.
    assert found.value == pytest.approx(expected.value, abs=2e-9)
    # The value is flat at the optimum, so g and M are known to the root of the gap: a few times 1e-6.
    assert found.g == pytest.approx(expected.g, abs=1e-5)
    np.testing.assert_allclose(found.M, expected.M, rtol=0.0, atol=1e-5)


def test_the_pair_returned_is_strictly_feasible_on_both_sides(plan):
    found, _ = solve(*plan)
    assert found.g > 0.0
    assert found.x_g > 0.0
    # Up to rounding of this test's own products: the blocks are of size one.
    assert np.linalg.eigvalsh(found.slacks).min() > -1e-14
    assert np.linalg.eigvalsh(found.multipliers).min() > -1e-14
    dual = sum((U @ X @ U.T)[-1, -1] for U, X in zip(found.frames, found.X, strict=True))
    assert found.value - dual == pytest.approx(found.gap, abs=1e-13)


@pytest.mark.parametrize("iterations", [0, 2, 4])
def test_a_newton_direction_is_that_of_the_dense_operator(plan, iterations):
    directions, reach = plan
    pair = reference.first_pair(directions, reach)
    for _ in range(iterations):
        pair = reference.iterate(pair)
    method, x_g = method_at(pair, directions, reach)
    assert x_g == pytest.approx(pair.x_g, abs=1e-14)
    np.testing.assert_allclose(method.slack, pair.slacks, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(method.multiplier, pair.multipliers, rtol=0.0, atol=1e-13)

    inverse_corner = method.factorise_system(pair.g, x_g, reach)
    assert inverse_corner == pytest.approx(np.linalg.inv(pair.slacks)[:-1, 0, 0].sum() + 1.0 / pair.g, rel=1e-9)
    rng = np.random.default_rng(0)
    target, correction_g = 0.3 * pair.gap / pair.order, 0.01 * pair.x_g
    method.correction[:] = (
        0.01 * reference.symmetric_part(rng.standard_normal(method.correction.shape)) * method.multiplier
    )
    dg, dx_g = method.direction(target, inverse_corner, correction_g, reach)
    expected = reference.newton_direction(
        pair, target=target, correction=method.correction.copy(), correction_g=correction_g
    )
    size = max(1.0, np.abs(expected.slacks).max())
    # Two ways to solve one linear system agree to its condition, which grows as the gap falls: 1e-9 after 4 steps.
    assert dg == pytest.approx(expected.dg, abs=1e-9 * size)
    assert dx_g == pytest.approx(expected.dx_g, abs=1e-9)
    np.testing.assert_allclose(method.slack_step, expected.slacks, rtol=0.0, atol=1e-9 * size)
    np.testing.assert_allclose(method.multiplier_step, expected.multipliers, rtol=0.0, atol=1e-9)


def random_step_problems(n):
    """Positive definite blocks with changes, and a positive number with its change."""
    rng = np.random.default_rng(1)
    for _ in range(n):
        n_blocks, size = int(rng.integers(2, 6)), int(rng.integers(1, 7))
        factor = rng.standard_normal((n_blocks, size, size + 1))
        changes = reference.symmetric_part(rng.standard_normal((n_blocks, size, size)))
        changes *= 10.0 ** rng.uniform(-1.0, 1.0)
        yield factor @ np.swapaxes(factor, 1, 2), changes, rng.uniform(0.1, 2.0), rng.standard_normal()


def found_and_exact_steps(n):
    """Largest steps of the kernel and of the eigenvalues, (n,) each."""
    steps = []
    for blocks, changes, number, change in random_step_problems(n):
        found = InteriorPoint(len(blocks) - 1, blocks.shape[1]).largest_step(blocks, changes, number, change)
        steps.append((found, reference.largest_step(blocks, changes, number, change)))
    return np.array(steps).T


def test_the_largest_step_never_leaves_the_cone():
    found, exact = found_and_exact_steps(300)
    assert (found > 0.0).all()
    assert (found <= exact * (1.0 + 1e-12)).all()
    assert (found[exact == 1.0] == 1.0).all()
    assert 0.2 < np.mean(exact < 1.0) < 1.0  # both kinds occur


def test_the_largest_step_is_close_to_the_exact_one_for_most_blocks():
    found, exact = found_and_exact_steps(300)
    assert np.mean(found >= 0.9 * exact) > 0.8


def test_the_largest_step_is_close_to_the_exact_one_for_all_blocks():
    found, exact = found_and_exact_steps(300)
    assert (found >= 0.5 * exact).all()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
def test_a_loose_tolerance_stops_early_and_still_brackets(plan, tolerance):
    loose, few = solve(*plan, tolerance=tolerance)
    tight, many = solve(*plan)
    assert few < many
    assert loose.gap < tolerance
    assert loose.value - loose.gap <= tight.value + 1e-12
    assert loose.value >= tight.value - tight.gap - 1e-12


@pytest.mark.parametrize("reach", [0.0, 1e-6, 0.3, 0.79])
@pytest.mark.parametrize("mean", [0.8, 0.999])
def test_one_option_has_the_closed_form(mean, reach):
    spread = np.sqrt(1.0 - mean**2)
    found, _ = solve(np.array([[spread, mean]]), np.array([reach]))
    assert 1.0 - found.value == pytest.approx(guarantee(mean, spread, reach), abs=1e-9)


def test_the_arrays_of_a_method_can_be_used_again():
    directions, reach = PLANS[0]
    n_options, n = directions.shape
    method = InteriorPoint(n_options, n)
    results = []
    for _ in range(2):
        matrix, blocks = np.zeros((n, n)), np.zeros((n_options, n, n))
        g, _ = method.solve(directions, reach, TOLERANCE, GO, matrix, blocks)
        results.append(np.concatenate([[g], matrix.ravel(), blocks.ravel()]))
    np.testing.assert_array_equal(*results)


def test_data_that_are_not_finite_leave_no_pair_behind():
    matrix, blocks = np.full((3, 3), 7.0), np.full((2, 3, 3), 7.0)
    InteriorPoint(2, 3).solve(np.full((2, 3), np.nan), np.zeros(2), TOLERANCE, GO, matrix, blocks)
    assert (matrix == 7.0).all()
    assert (blocks == 7.0).all()
