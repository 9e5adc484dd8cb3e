"""Plans against a general nonlinear solver from many starts, an exhaustive grid, and what is known of German credit."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import copa
from oracle.plan_programs import Construction, solve_with_slsqp

WEIGHTS = [(0.2, 2.0), (0.5, 5.0), (1.0, 10.0), (0.0, 3.0), (1.0, 0.0)]


def draw(seed):
    """A small random problem, rejected or not, with or without fixed coordinates and bounds; and how many options."""
    rng = np.random.default_rng([7, seed])
    dimension, n_options = int(rng.integers(3, 7)), int(rng.integers(1, 5))
    mean, factor = rng.standard_normal(dimension), rng.standard_normal((dimension, 2 * dimension))
    cov = 10.0 ** rng.uniform(-2.0, 0.0) * factor @ factor.T / (2 * dimension)
    origin = rng.standard_normal(dimension)
    origin[0] = 1.0
    if rng.random() < 0.8:
        origin[1:] -= (max(origin @ mean, 0.0) + rng.uniform(0.1, 1.0)) * mean[1:] / (mean[1:] @ mean[1:])
    free = sorted(rng.permutation(np.arange(1, dimension))[: max(2, dimension - 1 - int(rng.random() < 0.4))].tolist())
    lower, upper = np.full(dimension, -np.inf), np.full(dimension, np.inf)
    if rng.random() < 0.5:
        bounded = rng.random((2, dimension)) < 0.6
        lower[bounded[0]] = origin[bounded[0]] - rng.uniform(0.0, 1.5, bounded[0].sum())
        upper[bounded[1]] = origin[bounded[1]] + rng.uniform(0.0, 1.5, bounded[1].sum())
        open_end = free[int(np.abs(mean[free]).argmax())]  # so that the margin can be reached
        lower[open_end], upper[open_end] = -np.inf, np.inf
    weights = WEIGHTS[rng.integers(len(WEIGHTS))]
    cost = "l1" if rng.random() < 0.4 else "l2"
    cost_weights = rng.uniform(0.3, 3.0, dimension) if rng.random() < 0.4 else None
    problem = Construction(origin, mean, cov, *weights, 0.1, free, lower, upper, cost, cost_weights)
    return problem, n_options


def build(problem, n_options, **settings):
    return copa.build_plans(
        problem.origin[None],
        problem.mean,
        problem.cov,
        n_options=n_options,
        validity_weight=problem.validity_weight,
        diversity_weight=problem.diversity_weight,
        margin=problem.margin,
        fixed=np.setdiff1d(np.arange(problem.mean.size), problem.free),
        lower=problem.lower,
        upper=problem.upper,
        cost=problem.cost,
        cost_weights=problem.cost_weights,
        random_state=0,
        **settings,
    )


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.slow) for s in range(6, 120))])
def test_no_plan_of_a_general_solver_is_better(seed):
    problem, n_options = draw(seed)
    plans = build(problem, n_options, n_starts=64)  # at 32, one of the 120 problems ends 0.15 % above the solver's
    assert plans.status[0] == "ok"
    assert problem.violation(plans.points[0]) <= 1e-12 * (1.0 + np.abs(plans.points).max() * np.abs(problem.mean).sum())
    assert problem.objective(plans.points[0]) == pytest.approx(plans.objective[0], rel=1e-9, abs=1e-9)
    least, _ = solve_with_slsqp(problem, n_options, n_starts=4, seed=seed)
    assert np.isfinite(least)
    assert plans.objective[0] <= least + 1e-5 * (1.0 + abs(least))


@pytest.mark.parametrize(
    ("weight", "cost"),
    [(0.3, "l2"), (3.0, "l1"), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((0.3, "l1"), (3.0, "l2")))],
)
def test_no_point_of_a_grid_is_a_better_single_option(weight, cost):
    cov = np.array([[0.3, 0.1, 0.0], [0.1, 0.2, -0.1], [0.0, -0.1, 0.4]])
    problem = Construction(
        origin=np.array([1.0, -0.8, 0.3]),
        mean=np.array([0.2, 1.0, -0.6]),
        cov=cov,
        validity_weight=weight,
        diversity_weight=0.0,
        margin=0.1,
        free=[1, 2],
        lower=np.array([-np.inf, -3.0, -2.0]),
        upper=np.array([np.inf, 1.5, 2.0]),
        cost=cost,
    )
    plans = build(problem, 1)
    grid = [np.array([[1.0, a, b]]) for a, b in product(np.linspace(-3.0, 1.5, 226), np.linspace(-2.0, 2.0, 201))]
    allowed = [problem.objective(point) for point in grid if problem.violation(point) <= 0.0]
    # The nearest of the grid's points is at most 0.014 away, and the objective's slope is at most a few units.
    assert min(allowed) - 0.1 * (1.0 + weight) < plans.objective[0] <= min(allowed) + 1e-9


@pytest.fixture(scope="module")
def german():
    """The paper's four columns of German credit: declined rows, and the moments of refits on random halves."""
    data = copa.datasets.load_german()
    numbers = MinMaxScaler().fit_transform(data.features[["duration", "amount", "age"]])
    codes = OneHotEncoder(sparse_output=False, drop="first").fit_transform(data.features[["personal_status"]])
    X = np.hstack([np.ones((len(numbers), 1)), numbers, codes])
    target = data.favourable.to_numpy()
    moments = copa.WeightMoments.from_retraining(LogisticRegression(), X[:, 1:], target, n_models=200, random_state=0)
    return X[X @ moments.mean < 0.0][:4], moments.mean, moments.cov


@pytest.mark.parametrize("weights", WEIGHTS[:3])
def test_at_the_paper_s_weights_the_best_plan_for_german_credit_is_five_equal_options(german, weights):
    origins, mean, cov = german
    settings = {"validity_weight": weights[0], "diversity_weight": weights[1]}
    plans = copa.build_plans(origins, mean, cov, random_state=0, **settings)
    assert (np.ptp(plans.points, axis=1) == 0.0).all()
    for origin, value in zip(origins[:2], plans.objective, strict=False):
        nowhere = np.full(mean.size, np.inf)
        problem = Construction(origin, mean, cov, *weights, 0.1, list(range(1, mean.size)), -nowhere, nowhere)
        least, _ = solve_with_slsqp(problem, 5, n_starts=2, seed=1)
        assert value <= least + 1e-6 * (1.0 + abs(least))
