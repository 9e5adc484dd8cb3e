"""Extreme data: every plan ends with a proven bound and a small gap; nothing hangs, nothing is NaN."""

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
        assert proven.any_lower >= bounds.any_lower - 1e-12, instance.traits
        assert proven.all_upper <= bounds.upper + 1e-12, instance.traits
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
