"""Families of score distributions: their closed forms and worst distributions."""

import math

import numpy as np
import pytest
from scipy import stats

from copa.theory.sets.families import FAMILIES

LEVELS = [0.05, 0.5, 0.6, 0.8, 5 / 6, 0.9, 0.95, 0.99, 0.999]
RATIOS = [0.2, 0.8, 1.2, 1.3, 2.0, 4.0]


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("any", [2.0, 3.0, 4.359, 9.950]),
        ("unimodal", [1.225, 1.856, 2.809, 6.591]),
        ("gaussian", [0.842, 1.282, 1.645, 2.326]),
    ],
)
def test_ratios_are_those_of_the_table(family, expected):
    assert [FAMILIES[family].ratio(p) for p in (0.8, 0.9, 0.95, 0.99)] == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_levels_and_ratios_are_inverse(family):
    for level in LEVELS:
        k = family.ratio(level)
        if k > 0.0:
            assert float(family.level(k**2 / (1.0 + k**2))) == pytest.approx(level, abs=1e-12)
    assert family.level([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert family.ratio(0.0) == 0.0


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_worst_distribution_fails_as_often_as_the_level_allows(family, ratio):
    mean, std = 0.7 * ratio, 0.7
    mass, location, variance = family.failure(mean, std)
    assert 1.0 - mass == pytest.approx(float(family.level(ratio**2 / (1.0 + ratio**2))), abs=1e-12)
    assert location <= 0.0 <= variance


@pytest.mark.parametrize("ratio", [1.3, 2.0, 4.0])
def test_the_failing_part_of_a_unimodal_score_belongs_to_a_distribution_with_its_moments(ratio):
    mean, std = 0.7 * ratio, 0.7
    mass, location, variance = FAMILIES["unimodal"].failure(mean, std)
    mode = -4.0 * location  # the failing part is uniform on [-mode / 2, 0], a third of the uniform part
    uniform = stats.uniform(-mode / 2.0, 1.5 * mode)
    assert variance == pytest.approx(stats.uniform(-mode / 2.0, mode / 2.0).var())
    share = 3.0 * mass
    assert share * uniform.mean() + (1.0 - share) * mode == pytest.approx(mean)
    second = share * (uniform.var() + uniform.mean() ** 2) + (1.0 - share) * mode**2
    assert second - mean**2 == pytest.approx(std**2)


@pytest.mark.parametrize("ratio", [-1.0, 0.0, 0.8, 3.0, 30.0])
def test_the_failing_part_of_a_normal_score_is_its_tail(ratio):
    mean, std = 0.7 * ratio, 0.7
    mass, location, variance = FAMILIES["gaussian"].failure(mean, std)
    assert mass == pytest.approx(stats.norm.cdf(-ratio))
    if ratio < 10.0:
        tail = stats.truncnorm(-np.inf, -ratio, mean, std)
        assert (location, variance) == pytest.approx((tail.mean(), tail.var()))


@pytest.mark.parametrize("family", ["any", "unimodal"])
def test_a_score_whose_mean_fails_may_fail_for_certain(family):
    assert FAMILIES[family].failure(-0.1, 0.5) == pytest.approx((1.0, -0.1, 0.25))


def test_a_certain_score_fails_or_holds():
    for family in FAMILIES.values():
        assert family.failure(1.0, 0.0).mass == 0.0
        assert family.failure(-1.0, 0.0).mass == 1.0
        assert math.isfinite(family.failure(1.0, 0.0).mean)


def test_a_family_has_a_name():
    assert repr(FAMILIES["any"]) == "Family('any')"
