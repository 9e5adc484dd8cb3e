"""No distribution inside the ball violates a bound: sampled futures against the promises."""

import numpy as np
import pytest

import copa
from oracle.instances import instances
from oracle.monte_carlo import estimate_validity, random_moments_in_ball, sample_distributions

# The run below makes about 20,000 comparisons, each false with probability 3e-7 at five standard errors.
ERRORS = 5.0
N_SAMPLES = 20_000


def promise_violations(bounds, thetas, points):
    seen = estimate_validity(thetas, points)
    return np.concatenate(
        [
            [(bounds.lower - seen.all_valid) / seen.all_error],
            [(seen.all_valid - bounds.upper) / seen.all_error],
            [(bounds.any_lower - seen.any_valid) / seen.any_error],
            (bounds.option_lower - seen.option_valid) / seen.option_error,
        ]
    )


@pytest.mark.parametrize("index", range(40))
def test_no_future_in_the_ball_breaks_a_promise(index):
    instance = list(instances(40, 5))[index]
    rng = np.random.default_rng([9, index])
    bounds = copa.validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)
    for _ in range(6):
        mean, cov = random_moments_in_ball(
            rng, instance.mean, instance.cov, instance.radius, instance.drift, points=instance.points
        )
        for name, thetas in sample_distributions(rng, mean, cov, N_SAMPLES, points=instance.points).items():
            worst = promise_violations(bounds, thetas, instance.points).max()
            assert worst <= ERRORS, (name, instance.traits, worst)


def test_futures_outside_the_ball_do_break_promises():
    # The check above can fail: moving the mean further than the radius breaks what was promised.
    points, mean, cov = np.array([[1.0, 1.0], [1.0, 0.5]]), np.array([1.0, 1.0]), 0.05 * np.eye(2)
    bounds = copa.validity_bounds(points, mean, cov, 0.1)
    thetas = np.random.default_rng(0).multivariate_normal(mean - 2.0, cov, N_SAMPLES)
    assert promise_violations(bounds, thetas, points).max() > ERRORS
