"""The surest mixture: least squares against SciPy, the search against brute force, one option in closed form."""

import itertools

import numpy as np
import pytest
from copa._inner_kernels import mixture
from scipy.optimize import nnls

from copa import _kernels
from unit.theory.bounds.kernels.plans import GO
from unit.theory.bounds.one_option import guarantee


def test_the_kernels_angle_is_the_closed_form_of_one_option():
    rng = np.random.default_rng(0)
    means, spreads, reaches = rng.standard_normal(300), rng.exponential(1.0, 300), rng.exponential(0.3, 300)
    spreads[:20], reaches[10:30] = 0.0, 0.0
    angles = [mixture.held_angle(*each) for each in zip(means, spreads, reaches, strict=True)]
    np.testing.assert_allclose(np.sin(angles) ** 2, guarantee(means, spreads, reaches), rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("mean", [0.0, -1.0, 0.3, np.nan])
def test_a_mean_within_its_reach_holds_nothing(mean):
    assert mixture.held_angle(mean, 0.5, 0.3) == 0.0


def least_squares(columns, goal, start=None):
    """Weights of the kernel for min |columns w - goal| over w >= 0, and the objective there."""
    weights = np.zeros(columns.shape[1]) if start is None else start.copy()
    mixture.nonnegative_least_squares(columns.T @ columns, columns.T @ goal, weights)
    assert (weights >= 0.0).all()
    return weights, np.linalg.norm(columns @ weights - goal)


@pytest.mark.extended  # its kernel is compiled for the test
@pytest.mark.parametrize("seed", range(40))
def test_least_squares_agrees_with_scipy(seed):
    rng = np.random.default_rng([1, seed])
    n_options = int(rng.integers(1, 9))
    columns = rng.standard_normal((n_options + int(rng.integers(0, 4)), n_options)) + rng.uniform(0.0, 1.0)
    goal = rng.standard_normal(len(columns))
    expected, residual = nnls(columns, goal)
    weights, objective = least_squares(columns, goal)
    assert objective == pytest.approx(residual, abs=1e-10)
    # Weights: the Gram matrix squares the condition number of the columns, up to 1e5 in these draws.
    np.testing.assert_allclose(weights, expected, rtol=0.0, atol=1e-7 * max(1.0, expected.max()))


@pytest.mark.parametrize("seed", range(20))
def test_least_squares_does_not_depend_on_the_start(seed):
    rng = np.random.default_rng([2, seed])
    columns, goal = rng.standard_normal((7, 5)), rng.standard_normal(7)
    start = np.maximum(rng.standard_normal(5), 0.0)
    np.testing.assert_allclose(
        least_squares(columns, goal, start)[0], least_squares(columns, goal)[0], rtol=0.0, atol=1e-9
    )


@pytest.mark.parametrize("seed", range(20))
def test_repeated_columns_do_not_stop_the_least_squares(seed):
    rng = np.random.default_rng([3, seed])
    columns, goal = rng.standard_normal((6, 4)), rng.standard_normal(6)
    repeated = np.column_stack([columns, columns[:, 0], 2.0 * columns[:, 1], columns.sum(axis=1)])
    residual = nnls(repeated, goal)[1]
    # An option that is dependent on the others to rounding may be passed over: it can improve nothing.
    assert least_squares(repeated, goal)[1] == pytest.approx(residual, abs=1e-7)


def test_nothing_is_mixed_where_every_option_makes_it_worse():
    weights, _ = least_squares(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([-1.0, -1.0]))
    np.testing.assert_array_equal(weights, [0.0, 0.0])


class Plan:
    """Score roots, reach roots and means of a random plan."""

    def __init__(self, n_options, seed, *, radius=None, length=4):
        rng = np.random.default_rng([n_options, seed])
        points = rng.standard_normal((n_options, length))
        self.roots = points @ rng.standard_normal((length, length))
        radius = 10.0 ** rng.uniform(-3.0, 0.0) if radius is None else radius
        self.reach_roots = radius * points
        self.means = rng.uniform(-0.5, 2.0, n_options)

    def held_by(self, weights):
        """Worst-case probability of mixtures (..., J)."""
        spread = np.linalg.norm(weights @ self.roots, axis=-1)
        reach = np.linalg.norm(weights @ self.reach_roots, axis=-1)
        return guarantee(weights @ self.means, spread, reach)

    def surest(self):
        """Weights and probability of the kernel."""
        mixtures, held = np.full((1, len(self.means)), np.nan), np.full(1, np.nan)
        _kernels.surest_mixtures(self.roots[None], self.reach_roots[None], self.means[None], GO, mixtures, held)
        return mixtures[0], held[0]

    def brute_force(self):
        """Best mixture on a grid of the simplex, then on finer and finer grids around the best so far."""
        size = len(self.means)
        axes = [np.linspace(0.0, 1.0, 61)] * (size - 1)
        centre, width = None, 1.0
        best = 0.0
        for _ in range(16):
            if centre is not None:
                axes = [np.clip(c + np.linspace(-width, width, 21), 0.0, 1.0) for c in centre]
            heads = np.array(list(itertools.product(*axes)))
            heads = heads[heads.sum(axis=1) <= 1.0]
            held = self.held_by(np.column_stack([heads, 1.0 - heads.sum(axis=1)]))
            centre, best = heads[np.argmax(held)], max(best, held.max())
            width *= 0.3
        return best


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("n_options", [2, 3])
def test_the_surest_mixture_is_found(n_options, seed):
    plan = Plan(n_options, seed)
    weights, held = plan.surest()
    assert (weights >= 0.0).all()
    # 1e-8: the grids end at a width of 1e-8, and the probability is flat at its maximum.
    assert held == pytest.approx(plan.brute_force(), abs=1e-8)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("n_options", [1, 2, 5, 8])
def test_the_probability_is_that_of_the_weights_returned(n_options, seed):
    plan = Plan(n_options, seed)
    weights, held = plan.surest()
    # The kernel scales options to unit size first: a few roundings of numbers below one.
    assert held == pytest.approx(plan.held_by(weights), abs=1e-14)
    assert held >= plan.held_by(np.eye(n_options)).max() - 1e-14


@pytest.mark.parametrize("seed", range(25))
def test_one_option_is_its_own_mixture(seed):
    plan = Plan(1, seed)
    weights, held = plan.surest()
    expected = plan.held_by(np.ones((1, 1)))[0]
    assert held == pytest.approx(expected, abs=4e-16)
    assert (weights[0] > 0.0) == (expected > 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_without_reach_the_mixture_is_one_least_squares_problem(seed):
    # At reach 0 the probability of w is sin^2 of the angle between its vector and the plane of mean zero: the nearest
    # point of the cone to the last unit vector leaves 1 - |residual|^2.
    plan = Plan(4, seed, radius=0.0)
    _, residual = nnls(np.column_stack([plan.roots, plan.means]).T, np.eye(5)[4])
    assert plan.surest()[1] == pytest.approx(1.0 - residual**2, abs=1e-12)


def test_opposite_options_cancel_to_certainty():
    # x and -x + b: their sum is b, whose score is certain and positive.
    roots, means = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([0.1, 0.2])
    mixtures, held = np.zeros((1, 2)), np.zeros(1)
    _kernels.surest_mixtures(roots[None], np.zeros((1, 2, 2)), means[None], GO, mixtures, held)
    assert held[0] == pytest.approx(1.0, abs=1e-12)
    assert mixtures[0, 0] == pytest.approx(mixtures[0, 1], rel=1e-9)


def test_options_of_any_scale_give_the_same_probability():
    plan = Plan(3, 5)
    held = plan.surest()[1]
    scales = np.array([1e-7, 1.0, 1e7])
    plan.roots, plan.reach_roots = plan.roots * scales[:, None], plan.reach_roots * scales[:, None]
    plan.means = plan.means * scales
    assert 0.0 < held < 1.0
    assert plan.surest()[1] == pytest.approx(held, abs=1e-12)


def test_plans_that_hold_nothing_have_no_mixture():
    mixtures, held = np.full((1, 2), np.nan), np.full(1, np.nan)
    _kernels.surest_mixtures(np.ones((1, 2, 1)), np.ones((1, 2, 1)), np.full((1, 2), -0.5), GO, mixtures, held)
    np.testing.assert_array_equal(mixtures, 0.0)
    assert held[0] == 0.0
