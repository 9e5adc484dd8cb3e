"""Extreme data: every plan ends with a proven bound and a small gap; nothing hangs, nothing is NaN."""

from fractions import Fraction

import numpy as np
import pytest

import copa
from oracle.instances import stress_instances

SMALL_GAP = 1e-6
ENOUGH = 0.999


def stress(n, seed):
    """Gaps of n stress instances; each result is checked for being finite and proven."""
    gaps = []
    for instance in stress_instances(n, seed):
        bounds = copa.validity_bounds(instance.points, instance.mean, instance.cov, instance.radius, instance.drift)
        numbers = np.concatenate(
            [bounds.option_lower, bounds.weights, [bounds.lower, bounds.upper, bounds.any_lower, bounds.gap]]
        )
        assert np.isfinite(numbers).all(), instance.traits
        assert numbers.min() >= 0.0, instance.traits
        assert numbers.max() <= 1.0 + 1e-9, instance.traits
        proven = bounds.certificate.verify()
        # The verifier's own rounding, a few units in the last place of numbers up to 1, is all that may differ.
        assert proven.lower >= bounds.lower - 1e-12, instance.traits
        assert proven.upper <= bounds.lower + bounds.gap + 1e-11, instance.traits
        # A mixture may cancel the options' reaches (singular drift) down to rounding, which is then all that is left.
        assert proven.any_lower >= bounds.any_lower - 1e-9, instance.traits
        assert proven.all_upper <= bounds.upper + 1e-9, instance.traits
        gaps.append(float(bounds.gap))
    return np.array(gaps)


@pytest.mark.parametrize("seed", range(4))
def test_extreme_plans_are_bounded_and_proven(seed):
    gaps = stress(150, seed)
    assert (gaps <= SMALL_GAP).mean() >= ENOUGH, f"largest gap {gaps.max():.3g}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_extreme_plans_are_bounded_and_proven(seed):
    gaps = stress(2000, seed)
    assert (gaps <= SMALL_GAP).mean() >= ENOUGH, f"largest gap {gaps.max():.3g}"


@pytest.mark.parametrize("seed", range(100))
def test_a_singular_covariance_in_unequal_units_keeps_its_small_variances(seed):
    # Rank 3 of 6, as a short history of models gives, on features whose units differ by up to 1e8. The score's
    # variance is computed exactly, in rational numbers, from the very floats the bound is given.
    rng = np.random.default_rng([3, seed])
    units = 10.0 ** rng.uniform(-4.0, 4.0, 6)
    samples = rng.normal(size=(4, 6)) * units
    cov, point = np.cov(samples.T), rng.normal(size=6) / units
    mean = units * rng.normal(size=6)
    mean *= np.sign(mean @ point) / abs(mean @ point)
    x, m = [Fraction(value) for value in point], [Fraction(value) for value in mean]
    variance = sum(x[i] * Fraction(cov[i, k]) * x[k] for i in range(6) for k in range(6))
    score = sum(a * b for a, b in zip(x, m, strict=True))
    truth = float(score**2 / (score**2 + max(variance, Fraction(0))))
    bounds = copa.validity_bounds([point], mean, cov)
    proven = bounds.certificate.verify()
    assert proven.lower <= truth + 1e-12
    assert proven.upper >= truth - 1e-12
    assert bounds.gap <= SMALL_GAP
