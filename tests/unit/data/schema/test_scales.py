"""Spreads, ranges and steps of columns as they come: skewed, with outliers, mostly zero, in round numbers."""

import numpy as np
import pytest

from copa.data.schema.inference import spread_of_numbers, step_of, usual_range

rng = np.random.default_rng(0)
NORMAL = rng.normal(50.0, 8.0, 5000)


def steps(numbers, *, whole=False, single=False):
    numbers = np.asarray(numbers, dtype=float)
    return step_of(numbers, spread_of_numbers(numbers), whole=whole, single=single)


def test_the_spread_of_normal_numbers_is_their_standard_deviation():
    assert spread_of_numbers(NORMAL) == pytest.approx(8.0, rel=0.03)


def test_outliers_change_neither_spread_nor_range():
    odd = np.concatenate([NORMAL, [1e9] * 20, [-1e9] * 20])
    assert spread_of_numbers(odd) == pytest.approx(spread_of_numbers(NORMAL), rel=0.03)
    np.testing.assert_allclose(usual_range(odd, None), usual_range(NORMAL, None), rtol=0.1)


@pytest.mark.parametrize("n_zeros", [700, 830, 850, 900, 980])
def test_a_column_that_is_mostly_zero_has_the_standard_deviation_of_what_is_usual(n_zeros):
    amounts = np.concatenate([np.zeros(n_zeros), rng.exponential(1000.0, 1000 - n_zeros)])
    first, last = usual_range(amounts, None)
    assert spread_of_numbers(amounts) == pytest.approx(
        np.std(amounts[(first <= amounts) & (amounts <= last)]), rel=1e-5
    )


def test_a_column_with_hardly_any_other_value_still_has_a_spread():
    assert spread_of_numbers(np.array([0.0] * 999 + [50.0])) == pytest.approx(np.std([0.0] * 999 + [50.0]), rel=1e-5)
    assert spread_of_numbers(np.full(10, 3.0)) == 1.0
    assert spread_of_numbers(np.array([])) == 1.0


def test_ranges_leave_out_one_row_in_a_hundred_at_each_end_and_none_of_few():
    assert usual_range(np.arange(100.0), None) == (0.0, 99.0)
    assert usual_range(np.arange(201.0), None) == (2.0, 198.0)
    assert usual_range(np.array([7.0]), 5.0) == (7.0, 7.0)


def test_ranges_end_on_the_step_inside():
    assert usual_range(np.array([3.0, 18.0, 27.0]), 5.0) == (5.0, 25.0)
    assert usual_range(np.array([0.11, 0.59]), 0.1) == (0.2, 0.5)


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        (100.0 * np.arange(1, 60), 100.0),
        (250.0 * np.arange(1, 60), 50.0),
        (np.round(rng.lognormal(7.0, 1.0, 500), 2), 0.01),
        (rng.integers(1, 4000, 500) / 20.0, 0.05),
        (np.concatenate([100.0 * np.arange(1, 60), [123.45, 1e9 + 1.0]]), 100.0),
        (np.concatenate([np.zeros(200), 500.0 * np.arange(1, 60)]), 500.0),
        (np.arange(1.0, 9.0) * 10.0, 1.0),  # eight numbers may be tens by chance
    ],
    ids=["hundreds", "quarters of a thousand", "cents", "twentieths", "exceptions", "zeros", "few"],
)
def test_steps_are_the_grid_of_nearly_all_numbers(numbers, step):
    assert steps(numbers) == step


@pytest.mark.parametrize("outliers", [[], [1.0] * 300, [50708.0, 29110.0, 22198.0] * 10])
def test_a_ratio_has_steps_far_below_its_spread(outliers):
    ratio = np.concatenate([rng.uniform(0.0, 1.0, 1000), np.zeros(200), outliers])
    assert steps(ratio) == pytest.approx(1e-4)


def test_steps_of_whole_numbers_are_whole_and_no_larger_than_the_spread():
    assert steps(rng.integers(0, 1000, 300), whole=True) == 1.0
    assert steps([3, 4, 3, 3], whole=True) == 1.0
    assert steps(1000.0 * rng.integers(20, 90, 300), whole=True) == 1000.0
    tight = np.concatenate([np.zeros(5000), 1000.0 * np.arange(1, 31)])  # the spread is far below a thousand
    assert steps(tight, whole=True) <= spread_of_numbers(tight)


def test_steps_of_single_precision_are_those_of_the_decimals_that_are_printed():
    tenths = np.arange(1, 50, dtype=np.float32) / np.float32(10.0)
    assert steps(tenths.astype(np.float64), single=True) == 0.1


def test_multiples_of_a_step_are_exact_for_every_number():
    wide = np.concatenate([rng.uniform(0.0, 1e-3, 500), [1e12]])
    assert steps(wide) >= 1e-3
    assert steps([0.0, 0.0]) is None
    assert steps(rng.uniform(0.0, 1e-20, 50)) is None
