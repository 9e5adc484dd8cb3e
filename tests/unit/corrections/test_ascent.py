import numpy as np
import pytest

from copa import validity_bounds
from copa.corrections import improve_bound, mahalanobis_correction
from copa.exceptions import InvalidInputError
from oracle.instances import instances


def lower(points, mean, cov, radius, drift=None):
    return validity_bounds(points, mean, cov, radius, drift).lower


INSIDE = [i for i in instances(40, seed=3) if "mean inside" in i.traits][:16]


@pytest.mark.parametrize("instance", INSIDE, ids=lambda i: f"J{len(i.points)}-D{i.mean.size}")
@pytest.mark.parametrize("n_corrections", [None, 1])
def test_the_bound_is_never_below_that_of_the_plan_or_its_mahalanobis_correction(instance, n_corrections):
    ball = (instance.mean, instance.cov)
    options = {"radius": instance.radius, "drift": instance.drift, "budget": 0.1, "n_corrections": n_corrections}
    corrected = mahalanobis_correction(instance.points, *ball, **options)
    improved = improve_bound(instance.points, *ball, max_iter=15, **options)
    values = [lower(p, *ball, instance.radius, instance.drift) for p in (instance.points, corrected, improved)]
    assert values[2] >= max(values[:2])
    moved = np.linalg.norm(improved - instance.points, axis=1)
    assert moved.max() <= 0.1 * (1.0 + 1e-9)
    assert (moved > 0.0).sum() <= (n_corrections or len(moved))


def test_it_goes_beyond_the_mahalanobis_correction():
    gains = []
    for i in INSIDE:
        options = {"radius": i.radius, "drift": i.drift, "budget": 0.2}
        corrected = mahalanobis_correction(i.points, i.mean, i.cov, **options)
        improved = improve_bound(i.points, i.mean, i.cov, **options)
        gains.append(
            lower(improved, i.mean, i.cov, i.radius, i.drift) - lower(corrected, i.mean, i.cov, i.radius, i.drift)
        )
    assert np.mean(gains) > 0.001
    assert max(gains) > 0.01


def random_plan(seed):
    """Two options, three dimensions, L* inside (0, 1)."""
    rng = np.random.default_rng([8, seed])
    points = np.array([[1.0, 0.6, 0.1], [1.0, -0.1, 0.7]]) + 0.2 * rng.standard_normal((2, 3))
    points[:, 0] = 1.0
    return points, np.array([0.4, 1.0, 1.0]), 0.1 * np.eye(3) + 0.1 * np.outer([0.0, 1.0, -1.0], [0.0, 1.0, -1.0])


@pytest.mark.parametrize("seed", range(5))
def test_no_small_move_within_the_limits_is_better(seed):
    points, mean, cov = random_plan(seed)
    high = points.max(axis=0) + 0.05
    improved = improve_bound(points, mean, cov, radius=0.05, budget=0.15, upper=high, max_iter=200)
    best = lower(improved, mean, cov, 0.05)
    rng = np.random.default_rng(seed)
    moves = improved + rng.standard_normal((400, 2, 3)) * np.geomspace(1e-5, 0.1, 400)[:, None, None] * [0.0, 1.0, 1.0]
    moves = np.minimum(moves, high) - points
    lengths = np.linalg.norm(moves, axis=2, keepdims=True)
    nearby = points + moves * np.minimum(1.0, 0.15 / np.maximum(lengths, 1e-12))
    assert validity_bounds(nearby, mean, cov, 0.05).lower.max() <= best + 1e-6


def test_a_plan_without_a_promise_gets_one_if_the_budget_allows():
    # The radius takes the second option's whole score: L* = 0 and its gradient too.
    points, mean, cov = np.array([[1.0, 1.0], [1.0, 0.05]]), np.array([0.0, 1.0]), 0.001 * np.eye(2)
    assert lower(points, mean, cov, 0.1) == 0.0
    improved = improve_bound(points, mean, cov, radius=0.1, budget=0.3)
    assert lower(improved, mean, cov, 0.1) > 0.5


def test_the_way_out_of_the_radius_reach_is_found_in_the_shape_of_the_drift():
    # Per standard deviation the first feature is best, but only the second leads out of what drift can undo.
    points, mean = np.array([[1.0, 0.0, 0.0]]), np.array([0.05, 1.0, 1.0])
    cov, drift = np.diag([1e-4, 1e-6, 1e-2]), np.diag([0.1, 1.5, 0.0])
    options = {"radius": 1.0, "drift": drift}
    corrected = mahalanobis_correction(points, mean, cov, budget=0.3, **options)
    assert lower(corrected, mean, cov, 1.0, drift) == 0.0
    assert lower(improve_bound(points, mean, cov, budget=0.3, **options), mean, cov, 1.0, drift) > 0.0


def test_a_plan_that_cannot_be_promised_comes_back_as_it_was():
    points, mean = np.array([[1.0, -5.0], [1.0, 1.0]]), [0.0, 1.0]
    np.testing.assert_array_equal(improve_bound(points, mean, np.eye(2), budget=0.1), points)


def test_limits_are_kept_to_the_last_bit():
    points, mean, cov = random_plan(0)
    low, high = points.min(axis=0) - 0.02, points.max(axis=0) + 0.02
    improved = improve_bound(points, mean, cov, budget=0.5, lower=low, upper=high)
    assert (improved >= low).all()
    assert (improved <= high).all()
    improved = improve_bound(points, mean, cov, budget=0.5, fixed=[2])
    np.testing.assert_array_equal(improved[:, [0, 2]], points[:, [0, 2]])
    assert (improved[:, 1] != points[:, 1]).any()


def test_no_budget_or_nothing_free_is_no_change():
    points, mean, cov = random_plan(0)
    np.testing.assert_array_equal(improve_bound(points, mean, cov, budget=0.0), points)
    np.testing.assert_array_equal(improve_bound(points, mean, cov, fixed=[1, 2]), points)


def test_a_batch_is_each_of_its_plans():
    plans, mean, cov = np.stack([random_plan(seed)[0] for seed in range(4)]), *random_plan(0)[1:]
    plans[3, 1, 1:] = -3.0  # a plan without a promise among the others
    batch = improve_bound(plans, mean, cov, radius=0.05, n_jobs=2)
    alone = [improve_bound(plan, mean, cov, radius=0.05, n_jobs=1) for plan in plans]
    np.testing.assert_allclose(batch, alone, rtol=0.0, atol=1e-9)


def test_more_steps_do_not_lower_the_bound():
    points, mean, cov = random_plan(1)
    values = [lower(improve_bound(points, mean, cov, radius=0.05, max_iter=n), mean, cov, 0.05) for n in (1, 5, 50)]
    assert values == sorted(values)


@pytest.mark.parametrize("max_iter", [0, -1, 2.5, None])
def test_a_number_of_steps_is_at_least_one(max_iter):
    points, mean, cov = random_plan(0)
    with pytest.raises(InvalidInputError, match="max_iter must be a whole number of at least 1"):
        improve_bound(points, mean, cov, max_iter=max_iter)
