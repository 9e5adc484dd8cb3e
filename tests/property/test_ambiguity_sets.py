"""Every ambiguity set: its two functions are inverse to each other, and its bounds keep their order."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from copa.theory.bounds import validity_bounds
from copa.theory.sets.families import FAMILIES
from unit.theory.bounds.pairs import BUILT_IN, EVERY

COEFFICIENT_ROUNDING = 1e-9  # of the score's size; the slack of a level that is reached exactly

amounts = st.floats(0.0, 8.0, allow_subnormal=False)
means = st.floats(-8.0, 8.0, allow_subnormal=False)
levels = st.floats(0.0, 0.999, exclude_min=True)


def a_set(kind):
    return EVERY[kind]([0.5, 1.0], [[0.3, 0.1], [0.1, 0.2]], 0.2)


@pytest.mark.parametrize("kind", EVERY)
@given(mean=means, std=amounts, reach=amounts, level=levels)
@example(mean=0.0, std=np.finfo(float).tiny, reach=4.0, level=0.5)  # a quotient that overflows
def test_a_level_is_reached_where_the_guarantee_is_at_least_as_high(kind, mean, std, reach, level):
    b, c = a_set(kind).level_coefficients(level)
    surplus = mean - b * std - c * reach
    assume(abs(surplus) > COEFFICIENT_ROUNDING * (1.0 + abs(mean) + b * std + c * reach))
    assert (a_set(kind).guarantee(mean, std, reach) >= level) == (surplus > 0.0)


@pytest.mark.parametrize("kind", EVERY)
@given(std=st.floats(0.125, 8.0), reach=amounts, level=levels)
def test_the_guarantee_of_a_score_just_sure_enough_is_the_level(kind, std, reach, level):
    b, c = a_set(kind).level_coefficients(level)
    assume(b > 1e-6)  # normal scores jump from nothing to one half
    assert a_set(kind).guarantee(b * std + c * reach, std, reach) == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize("kind", EVERY)
@given(mean=means, std=amounts, reach=amounts, more=amounts, unit=st.integers(-40, 40))
def test_the_guarantee_rises_with_the_mean_and_falls_with_spread_and_reach(kind, mean, std, reach, more, unit):
    guarantee = a_set(kind).guarantee
    value = guarantee(mean, std, reach)
    assert 0.0 <= value <= 1.0
    rounding = 1e-12
    assert guarantee(mean + more, std, reach) >= value - rounding
    assert guarantee(mean, std + more, reach) <= value + rounding
    assert guarantee(mean, std, reach + more) <= value + rounding
    assert guarantee(*np.ldexp([mean, std, reach], unit)) == pytest.approx(float(value), abs=1e-12)


@pytest.mark.parametrize("kind", EVERY)
@given(low=levels, high=levels)
def test_a_higher_level_asks_for_more(kind, low, high):
    b, c = a_set(kind).level_coefficients(min(low, high))
    higher_b, higher_c = a_set(kind).level_coefficients(max(low, high))
    assert 0.0 <= b <= higher_b
    assert 0.0 <= c <= higher_c


@pytest.mark.parametrize("kind", EVERY)
@given(rows=st.lists(st.tuples(means, means), min_size=1, max_size=5))
def test_bounds_of_plans_from_the_options_keep_their_order(kind, rows):
    points = np.array(rows) + 0.01
    each = a_set(kind).option_guarantees(points)
    all_lower, any_lower, all_upper = a_set(kind).joint_guarantees(each, points)
    assert 0.0 <= all_lower <= each.min() + 1e-12
    assert each.max() == any_lower
    assert all_upper == 1.0


@pytest.mark.parametrize("kind", ["ball", "location", "one at a time"])
@given(mean=means, std=amounts, reach=amounts)
def test_who_assumes_more_is_surer(kind, mean, std, reach):
    each = [a_set(f"{kind}-{family}").guarantee(mean, std, reach) for family in FAMILIES]
    assert each[0] <= each[1] + 1e-15
    assert each[1] <= each[2] + 1e-15


@pytest.mark.parametrize("family", FAMILIES)
@given(mean=means, std=amounts, reach=amounts)
def test_a_known_covariance_is_surer_than_a_ball(family, mean, std, reach):
    ball, location = (a_set(f"{kind}-{family}").guarantee(mean, std, reach) for kind in ("ball", "location"))
    assert ball <= location + 1e-12


@pytest.mark.parametrize("kind", BUILT_IN)
@given(mean=means, std=amounts, reach=amounts)
def test_the_upper_limit_is_no_lower_than_the_guarantee(kind, mean, std, reach):
    known = a_set(kind)
    assert known.guarantee(mean, std, reach) <= known.upper_limit(mean, std, reach) <= 1.0


@pytest.mark.parametrize("kind", BUILT_IN)
@given(mean=means, std=st.floats(0.01, 8.0), reach=amounts)
def test_the_worst_moments_attain_the_guarantee(kind, mean, std, reach):
    known = a_set(kind)
    worst_mean, worst_std = known.worst_moments(mean, std, reach)
    assert np.hypot(worst_mean - mean, worst_std - std) <= reach * (1.0 + 1e-9) + 1e-12
    if worst_mean > 1e-3:
        square = worst_mean**2
        level = float(known.laws.level(square / (square + worst_std**2)))
        assert level == pytest.approx(float(known.guarantee(mean, std, reach)), abs=1e-9)
        assert 1.0 - known.laws.failure(worst_mean, worst_std).mass == pytest.approx(level, abs=1e-9)


@pytest.mark.parametrize("kind", BUILT_IN)
@given(
    rows=st.lists(st.tuples(means, means), min_size=1, max_size=4),
    radius=st.floats(0.0, 0.8),
    drift=st.sampled_from([None, [[0.3, 0.1], [0.1, 0.2]], [[1.0, 0.0], [0.0, 0.0]]]),
)
def test_a_certificate_proves_what_is_said(kind, rows, radius, drift):
    points = np.array(rows) + 0.01
    known = BUILT_IN[kind]([0.5, 1.0], [[0.3, 0.1], [0.1, 0.2]], radius, drift)
    bounds = validity_bounds(points, ambiguity=known)
    assert bounds.lower <= bounds.option_lower.min() + 1e-12
    assert bounds.option_lower.max() <= bounds.any_lower + 1e-12
    assert bounds.lower <= bounds.upper + 1e-12
    proven = bounds.certificate.verify()
    assert proven.lower == pytest.approx(float(bounds.lower), abs=1e-9)
    assert proven.any_lower == pytest.approx(float(bounds.any_lower), abs=1e-9)
    assert proven.all_upper == pytest.approx(float(bounds.upper), abs=1e-9)
    assert proven.upper == pytest.approx(float(bounds.lower + bounds.gap), abs=1e-6)
    np.testing.assert_allclose(bounds.certificate.option_lower(), bounds.option_lower, atol=1e-9)
    if bounds.lower > 0.0:
        np.testing.assert_allclose(bounds.certificate.option_weights(), bounds.weights, atol=1e-9)
