"""Every ambiguity set: its two functions are inverse to each other, and its bounds keep their order."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from copa.uncertainty.ambiguity import MomentBall
from unit.bounds.unimodal import UnimodalMeanSet

SETS = [MomentBall, UnimodalMeanSet]
COEFFICIENT_ROUNDING = 1e-9  # of the score's size; the slack of a level that is reached exactly

amounts = st.floats(0.0, 8.0, allow_subnormal=False)
means = st.floats(-8.0, 8.0, allow_subnormal=False)
levels = st.floats(0.0, 0.999, exclude_min=True)


def a_set(kind):
    return kind.read([0.5, 1.0], [[0.3, 0.1], [0.1, 0.2]], 0.2)


@pytest.mark.parametrize("kind", SETS)
@given(mean=means, std=amounts, reach=amounts, level=levels)
def test_a_level_is_reached_where_the_guarantee_is_at_least_as_high(kind, mean, std, reach, level):
    b, c = a_set(kind).level_coefficients(level)
    surplus = mean - b * std - c * reach
    assume(abs(surplus) > COEFFICIENT_ROUNDING * (1.0 + abs(mean) + b * std + c * reach))
    assert (a_set(kind).guarantee(mean, std, reach) >= level) == (surplus > 0.0)


@pytest.mark.parametrize("kind", SETS)
@given(std=st.floats(0.125, 8.0), reach=amounts, level=levels)
def test_the_guarantee_of_a_score_just_sure_enough_is_the_level(kind, std, reach, level):
    b, c = a_set(kind).level_coefficients(level)
    assert a_set(kind).guarantee(b * std + c * reach, std, reach) == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize("kind", SETS)
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


@pytest.mark.parametrize("kind", SETS)
@given(low=levels, high=levels)
def test_a_higher_level_asks_for_more(kind, low, high):
    b, c = a_set(kind).level_coefficients(min(low, high))
    higher_b, higher_c = a_set(kind).level_coefficients(max(low, high))
    assert 0.0 <= b <= higher_b
    assert 0.0 <= c <= higher_c


@pytest.mark.parametrize("kind", SETS)
@given(rows=st.lists(st.tuples(means, means), min_size=1, max_size=5))
def test_bounds_of_plans_from_the_options_keep_their_order(kind, rows):
    points = np.array(rows) + 0.01
    each = a_set(kind).option_guarantees(points)
    all_lower, any_lower, all_upper = a_set(kind).joint_guarantees(each, points)
    assert 0.0 <= all_lower <= each.min() + 1e-12
    assert each.max() == any_lower
    assert all_upper == 1.0
