"""The paper's objective against the sentence that defines it."""

import numpy as np
import pytest

import copa
from copa import InvalidInputError, plan_objective

WEIGHTS = {"validity_weight": 0.7, "diversity_weight": 3.0}


def draw(seed=0, n=4, n_options=3, dimension=5):
    rng = np.random.default_rng([41, seed])
    factor = rng.standard_normal((dimension, 2 * dimension))
    points, origins = rng.standard_normal((n, n_options, dimension)), rng.standard_normal((n, dimension))
    return points, origins, rng.standard_normal(dimension), factor @ factor.T


def as_the_paper_says(points, origin, mean, cov, l1, l2, order, weights):
    """Proximity, validity and diversity of one plan, Section 4."""
    n_options = len(points)
    c = lambda x, y: np.linalg.norm(weights * (x - y), ord=order)  # noqa: E731 - as in the paper
    proximity = sum(c(x, origin) for x in points) / n_options
    values, vectors = np.linalg.eigh(cov)
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    validity = min(mean @ x / np.linalg.norm(root @ x) for x in points)
    K = np.array([[1.0 / (1.0 + c(x, y)) for y in points] for x in points])
    return proximity - l1 * validity - l2 * np.linalg.det(K)


@pytest.mark.parametrize("n_options", [1, 2, 5])
@pytest.mark.parametrize(("cost", "order"), [("l2", 2), ("l1", 1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_paper_s_formula(cost, order, weighted, n_options):
    points, origins, mean, cov = draw(n_options, n_options=n_options)
    weights = np.linspace(0.5, 2.0, 5) if weighted else np.ones(5)
    given = weights if weighted else None
    values = plan_objective(points, origins, mean, cov, **WEIGHTS, cost=cost, cost_weights=given)
    expected = [
        as_the_paper_says(plan, origin, mean, cov, 0.7, 3.0, order, weights)
        for plan, origin in zip(points, origins, strict=True)
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_one_plan_gives_a_float_and_a_batch_one_value_each():
    points, origins, mean, cov = draw()
    batch = plan_objective(points, origins, mean, cov, **WEIGHTS)
    one = plan_objective(points[2], origins[2], mean, cov, **WEIGHTS)
    assert isinstance(one, float)
    assert one == batch[2]
    assert plan_objective(points[2], origins[2:3], mean, cov, **WEIGHTS) == one
    assert plan_objective(points[:0], origins[:0], mean, cov, **WEIGHTS).shape == (0,)


def test_one_applicant_may_stand_for_all_plans():
    points, origins, mean, cov = draw()
    shared = plan_objective(points, origins[0], mean, cov, **WEIGHTS)
    np.testing.assert_array_equal(shared, plan_objective(points, np.tile(origins[0], (4, 1)), mean, cov, **WEIGHTS))


def test_equal_options_have_no_diversity():
    _, origins, mean, cov = draw()
    points = np.tile(np.arange(5.0), (3, 1))
    with_it = plan_objective(points, origins[0], mean, cov, validity_weight=0.0, diversity_weight=9.0)
    assert with_it == plan_objective(points, origins[0], mean, cov, validity_weight=0.0, diversity_weight=0.0)


def test_scores_that_cannot_deviate_are_infinitely_valid():
    points, origins = np.ones((2, 3)), np.zeros(3)
    mean, nothing = [1.0, 0.0, 0.0], np.zeros((3, 3))
    assert plan_objective(points, origins, mean, nothing, validity_weight=1.0, diversity_weight=0.0) == -np.inf
    assert plan_objective(points, origins, mean, nothing, validity_weight=0.0, diversity_weight=0.0) == pytest.approx(
        3**0.5
    )


@pytest.mark.parametrize("place", ["points", "origins"])
def test_nan_in_a_plan_or_its_applicant_is_nan_in_its_value_only(place):
    points, origins, mean, cov = draw()
    {"points": points, "origins": origins}[place][1].flat[2] = np.nan
    values = plan_objective(points, origins, mean, cov, **WEIGHTS)
    np.testing.assert_array_equal(np.isnan(values), [False, True, False, False])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost": "L2"}, "did you mean 'l2'"),
        ({"cost": "l1 norm"}, "did you mean 'l1'"),
        ({"cost": "euclidean"}, "cost must be one of 'l2', 'l1', got 'euclidean'"),
        ({"cost": 2}, "got 2"),
        ({"cost_weights": [1.0, 1.0]}, r"cost_weights must have shape \(5,\)"),
        ({"cost_weights": [1.0, 1.0, 0.0, 1.0, 1.0]}, "got 0 at coordinate 2; .* belongs into fixed"),
        ({"cost_weights": [1.0, 1.0, -2.0, 1.0, 1.0]}, "got -2 at coordinate 2"),
        ({"validity_weight": -0.1}, "validity_weight must be a finite number of at least 0, got -0.1"),
        ({"validity_weight": [0.1, 0.2]}, "validity_weight must be one number"),
        ({"diversity_weight": np.inf}, "diversity_weight must be a finite number"),
        ({"points": np.zeros((2, 4))}, r"points must have shape \(J, 5\)"),
        ({"points": np.zeros((0, 5))}, "J >= 1"),
        ({"origins": np.zeros((3, 5))}, r"origins must have shape \(5,\), or \(4, 5\)"),
        ({"cov": np.eye(4)}, r"cov must have shape \(5, 5\)"),
        ({"cov": -np.eye(5)}, "positive semidefinite"),
        ({"mean": [1.0, 2.0, np.nan, 0.0, 0.0]}, "mean must be finite"),
    ],
)
def test_wrong_arguments_are_named(changes, message):
    points, origins, mean, cov = draw()
    arguments = {"points": points, "origins": origins, "mean": mean, "cov": cov, **WEIGHTS, **changes}
    with pytest.raises(InvalidInputError, match=message):
        plan_objective(**arguments)


def test_it_is_exported_at_the_root():
    assert copa.plan_objective is plan_objective
