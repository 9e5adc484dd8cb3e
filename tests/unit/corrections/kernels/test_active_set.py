"""The step within budget and box against all choices of coordinates at a bound."""

import numpy as np
import pytest

from copa.corrections._kernels.active_set import best_boxed_steps
from unit.corrections.kernels import reference_ratio as reference


class Problem:
    """An option with a root of its covariance, and the same as a quadratic."""

    def __init__(self, seed, n=4, *, score=None):
        rng = np.random.default_rng([17, seed])
        self.root = rng.standard_normal((n, n + 1))
        self.h = rng.standard_normal(n + 1)
        self.b = rng.standard_normal(n)
        self.a = rng.uniform(0.1, 2.0) if score is None else score
        self.budget = float(10.0 ** rng.uniform(-1.0, 0.5))
        room = rng.exponential(self.budget / 2.0, (2, n)) * (rng.random((2, n)) < 0.8)
        self.low, self.high = -room[0], room[1]
        self.high[rng.random(n) < 0.2] = np.inf
        self.quadratic = (self.a, self.b, self.h @ self.h, self.root @ self.h, self.root @ self.root.T)

    def step(self, proposal=None):
        steps = np.zeros((1, self.b.size)) if proposal is None else proposal[None].copy()
        cov = self.root @ self.root.T
        arguments = (np.array([self.a]), self.b, self.h[None], self.root, cov, self.low[None], self.high[None])
        best_boxed_steps(*arguments, self.budget, steps)
        return steps[0]


@pytest.mark.parametrize("seed", range(40))
def test_no_choice_of_held_coordinates_is_better(seed):
    problem = Problem(seed, n=3)
    ours = problem.step()
    expected = reference.best_boxed_step(*problem.quadratic, problem.budget, problem.low, problem.high)
    assert reference.ratio(ours, *problem.quadratic) == pytest.approx(
        reference.ratio(expected, *problem.quadratic), rel=1e-9
    )
    np.testing.assert_allclose(ours, expected, rtol=0.0, atol=1e-5 * problem.budget)  # a maximum is flat


@pytest.mark.parametrize("seed", range(60))
def test_a_step_stays_in_budget_and_box(seed):
    problem = Problem(seed, n=7, score=-0.2 if seed % 2 else None)
    ours = problem.step()
    assert np.linalg.norm(ours) <= problem.budget * (1.0 + 1e-12)
    assert (ours >= problem.low).all()
    assert (ours <= problem.high).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_start_does_not_matter(seed):
    problem = Problem(seed, n=6)
    proposal = np.clip(np.random.default_rng(seed).standard_normal(6), problem.low, problem.high)
    proposal *= min(1.0, problem.budget / max(np.linalg.norm(proposal), 1e-9))
    reached = [reference.ratio(problem.step(p), *problem.quadratic) for p in (None, proposal)]
    assert reached[0] == pytest.approx(reached[1], rel=1e-9)


def test_a_rejected_option_is_lifted_over_the_boundary_first():
    problem = Problem(2, score=-0.05)
    assert problem.a + problem.b @ problem.step() > 0.0


def test_without_a_positive_score_in_reach_it_is_the_highest_score():
    problem = Problem(4, score=-100.0)
    problem.budget = 1e6
    problem.high = np.minimum(problem.high, 1.0)
    problem.b = problem.b * 1e-3
    np.testing.assert_array_equal(problem.step(), np.where(problem.b > 0.0, problem.high, problem.low))


def test_a_coordinate_between_equal_bounds_never_moves():
    problem = Problem(5)
    problem.low[1] = problem.high[1] = 0.0
    step = problem.step()
    assert step[1] == 0.0
    assert np.linalg.norm(step) > 0.0


def test_with_every_coordinate_between_equal_bounds_nothing_moves():
    problem = Problem(6)
    problem.low[:] = problem.high[:] = 0.0
    np.testing.assert_array_equal(problem.step(), np.zeros(4))
