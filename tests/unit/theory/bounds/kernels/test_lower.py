"""From score moments to proven lower bounds: canonical form, broken plans, the rounding margin, the batch."""

from fractions import Fraction

import numpy as np
import pytest
from copa._inner_kernels import lower
from copa._inner_kernels import newton_system as frames

from copa import _kernels
from oracle.instances import instances
from unit.theory.bounds.kernels import reference_interior_point as reference
from unit.theory.bounds.kernels.plans import GO, canonical
from unit.theory.bounds.one_option import guarantee

INSIDE = [i for i in instances(40, seed=8) if "mean inside" in i.traits]


def bounds_of(roots, means, reaches):
    """Outputs of `lower_bounds` by name."""
    n_plans, n_options, length = roots.shape
    n = min(n_options, length) + 1
    names = ("directions", "reach", "matrices", "penalties", "blocks", "weights", "lower", "ceiling")
    shapes = ((n_options, n), (n_options,), (n, n), (), (n_options, n, n), (n_options,), (), ())
    outputs = [np.full((n_plans, *shape), np.nan) for shape in shapes]
    _kernels.lower_bounds(roots, means, reaches, 1e-9, GO, *outputs)
    return dict(zip(names, outputs, strict=True))


def test_a_solve_that_is_stopped_leaves_vacuous_bounds():
    outputs = [np.zeros((2, 3, 4)), np.zeros((2, 3)), np.zeros((2, 4, 4)), np.zeros(2), np.zeros((2, 3, 4, 4))]
    outputs += [np.zeros((2, 3)), np.zeros(2), np.ones(2)]
    roots, means = np.random.default_rng(9).standard_normal((2, 3, 5)), np.full((2, 3), 9.0)
    _kernels.lower_bounds(roots, means, np.zeros((2, 3)), 1e-9, np.ones(1, dtype=np.int64), *outputs)
    assert (outputs[-2] == 0.0).all()
    assert (outputs[-1] == 1.0).all()


@pytest.mark.parametrize(("n_options", "length"), [(1, 1), (2, 2), (4, 2), (2, 7), (3, 4)])
def test_the_canonical_form_keeps_angles_and_relative_reaches(n_options, length):
    rng = np.random.default_rng([n_options, length])
    scales = 10.0 ** rng.uniform(-6.0, 6.0, n_options)
    roots = rng.standard_normal((n_options, length)) * scales[:, None]
    means, reaches = rng.standard_normal(n_options) * scales, rng.uniform(0.0, 1.0, n_options) * scales
    directions, reach = np.full((n_options, min(n_options, length) + 1), np.nan), np.full(n_options, np.nan)
    before = roots.copy()
    lower.canonical_plan(roots, means, reaches, np.empty_like(roots), directions, reach)
    vectors = np.column_stack([roots, means])
    lengths = np.linalg.norm(vectors, axis=1)
    vectors /= lengths[:, None]
    np.testing.assert_allclose(directions @ directions.T, vectors @ vectors.T, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(directions[:, -1], means / lengths, rtol=1e-13)
    np.testing.assert_allclose(reach, reaches / lengths, rtol=1e-13)
    np.testing.assert_array_equal(roots, before)


def test_a_score_that_is_surely_zero_is_out_of_reach_of_nothing():
    directions, reach = np.full((2, 2), np.nan), np.full(2, np.nan)
    roots, means = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    lower.canonical_plan(roots, means, np.zeros(2), np.empty_like(roots), directions, reach)
    assert (directions[0] == 0.0).all()
    assert reach[0] == np.inf
    assert lower.first_broken(directions, reach) == (0, -np.inf)


def test_the_first_broken_option_has_the_least_room_above_its_reach():
    directions = np.array([[0.6, 0.8], [0.8, 0.6], [0.0, 1.0]])
    worst, slack = lower.first_broken(directions, np.array([0.1, 0.1, 0.7]))
    assert worst == 2
    assert slack == pytest.approx(0.3, abs=1e-15)


def broken_pair(mean, reach):
    """The pair written for a plan whose second option is broken, in the reference's words."""
    directions = np.array([[0.6, 0.0, 0.8], [0.0, np.sqrt(1.0 - mean**2), mean]])
    reaches = np.array([0.1, reach])
    matrix, blocks, axes = np.full((3, 3), np.nan), np.full((2, 3, 3), np.nan), np.zeros((2, 3))
    lower.broken_plan(directions, reaches, 1, axes, np.zeros(3), matrix, blocks)
    return reference.Pair(reference.frames_of(directions, reaches), matrix, 0.0, blocks)


@pytest.mark.parametrize(("mean", "reach"), [(0.3, 0.3), (0.3, 0.9), (0.0, 0.0), (-0.3, 0.5), (-0.6, 0.1)])
def test_a_broken_plan_comes_with_a_feasible_pair(mean, reach):
    pair = broken_pair(mean, reach)
    assert np.linalg.eigvalsh(pair.slacks).min() >= -1e-15
    assert pair.value == 1.0
    assert np.linalg.eigvalsh(pair.multipliers).min() >= -1e-15
    assert pair.x_g >= -1e-15
    assert (pair.X[0] == 0.0).all()


@pytest.mark.parametrize(("mean", "reach"), [(0.3, 0.3), (0.3, 0.9), (0.0, 0.0), (-0.3, 0.5)])
def test_all_the_mass_goes_against_an_option_whose_mean_is_within_reach(mean, reach):
    pair = broken_pair(mean, reach)
    attained = pair.frames[1] @ pair.X[1] @ pair.frames[1].T
    np.testing.assert_allclose(attained, np.diag([0.0, 0.0, 1.0]), rtol=0.0, atol=1e-14)


def test_the_rounding_margin_is_paid_for():
    matrix, blocks = np.diag([0.2, 0.1]), np.ones((1, 2, 2))
    g = lower.make_safe(0.3, matrix, blocks)
    margin = g - 0.3
    assert 0.0 < margin < 1e-12
    np.testing.assert_allclose(np.diag(matrix) - [0.2, 0.1], margin, rtol=1e-2)
    assert (matrix[0, 1], matrix[1, 0]) == (0.0, 0.0)
    assert ((blocks < 1.0) & (blocks > 1.0 - 1e-12)).all()


@pytest.mark.parametrize("instance", INSIDE[:8], ids=lambda i: f"J{len(i.points)}-D{i.mean.size}")
def test_weights_are_the_last_entries_of_the_witness(instance):
    directions, reach = canonical(instance)
    half = np.random.default_rng(0).standard_normal((*directions.shape, directions.shape[1]))
    blocks = half @ np.swapaxes(half, 1, 2)
    axes, weights = np.zeros_like(directions), np.full(len(reach), np.nan)
    frames.reflection_axes(directions, axes)
    total = lower.attack_weights(blocks, axes, reach, weights)
    witness = [U @ X @ U.T for U, X in zip(reference.frames_of(directions, reach), blocks, strict=True)]
    np.testing.assert_allclose(weights, [W[-1, -1] for W in witness], rtol=1e-11)
    assert total == pytest.approx(weights.sum(), rel=1e-13)


def batch(seed, n_plans=12, n_options=3, length=5):
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n_plans, n_options, length))
    means = rng.uniform(0.5, 8.0, (n_plans, n_options))
    means[::4, -1] *= -1.0
    return roots, means, rng.uniform(0.0, 0.4, (n_plans, n_options))


def test_bounds_bracket_the_reference_optimum():
    roots, means, reaches = batch(0)
    found = bounds_of(roots, means, reaches)
    broken = (means <= reaches).any(axis=1)
    assert 0 < broken.sum() < len(broken)
    for p in np.flatnonzero(~broken):
        expected = reference.solve(found["directions"][p], found["reach"][p], 1e-11)
        # The reference proves [1 - value, 1 - value + gap]; ours must meet it, and each side be within 1e-9 of L*.
        assert found["lower"][p] <= 1.0 - expected.value + expected.gap + 1e-12
        assert found["ceiling"][p] >= 1.0 - expected.value - 1e-12
        assert found["lower"][p] == pytest.approx(1.0 - expected.value, abs=1e-8)
    assert (found["lower"][broken] == 0.0).all()
    assert (found["ceiling"][broken] == 0.0).all()


def test_every_reported_pair_survives_exact_arithmetic():
    # Feasibility with the margin of `make_safe`, decided in rational numbers: no rounding takes part.
    roots, means, reaches = batch(1, n_plans=3, n_options=2, length=2)  # no rotation: the coordinates are the roots'
    means = np.abs(means)
    found = bounds_of(roots, means, reaches)
    for p in range(3):
        M = [[Fraction(v) for v in row] for row in found["matrices"][p]]
        g = Fraction(found["penalties"][p])
        assert _pivots_are_positive(M)
        assert Fraction(found["lower"][p]) <= 1 - g - sum(M[i][i] for i in range(3)) + Fraction(1, 10**15)
        for j in range(2):
            # M + (g / t^2) u u' - e e' with the exact vector of the option, t^2 = reach^2 / |y|^2.
            y = [Fraction(v) for v in (*roots[p, j], means[p, j])]
            price = g / Fraction(reaches[p, j]) ** 2
            block = [[M[a][b] + price * y[a] * y[b] for b in range(3)] for a in range(3)]
            block[2][2] -= 1
            assert _pivots_are_positive(block)


def _pivots_are_positive(matrix):
    """Whether a symmetric matrix of fractions is positive definite."""
    rows = [list(row) for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True


def test_weights_sum_to_what_the_ceiling_leaves():
    roots, means, reaches = batch(2)
    found = bounds_of(roots, means, reaches)
    np.testing.assert_allclose(found["weights"].sum(axis=1), 1.0 - found["ceiling"], rtol=0.0, atol=1e-14)
    assert (found["weights"] >= 0.0).all()


def test_one_option_is_bounded_by_its_closed_form():
    roots, means, reaches = batch(3, n_options=1)
    means = np.abs(means)
    found = bounds_of(roots, means, reaches)
    exact = guarantee(means, np.linalg.norm(roots, axis=2), reaches)[:, 0]
    assert (found["lower"] <= exact + 1e-15).all()
    assert (found["ceiling"] >= exact - 1e-15).all()
    np.testing.assert_allclose(found["lower"], exact, rtol=0.0, atol=2e-9)


def test_plans_of_a_batch_do_not_touch_each_other():
    roots, means, reaches = batch(4)
    together = bounds_of(roots, means, reaches)
    for p in range(len(means)):
        alone = bounds_of(roots[p : p + 1], means[p : p + 1], reaches[p : p + 1])
        for name, value in alone.items():
            np.testing.assert_array_equal(value[0], together[name][p], err_msg=name)
