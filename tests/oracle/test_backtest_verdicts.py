"""Errors and power of the verdicts of a backtest, on simulated histories whose promises are kept or broken together."""

import math

import numpy as np
import pytest

from copa.analysis.verdicts import CONFIDENCE, ERROR, log_e_value, lower_bound

N_HISTORIES, N_PROMISES = 4000, 100
TRANSITIONS = (2, 5, 9, 15, 29, 59)


def draw_shares(truth, n, icc=0.0, total=0.0, seed=0):
    """Shares that n versions keep of 100 promises each, (N_HISTORIES, n), whose mean is `truth`.

    `icc` correlates the promises of one version (beta-binomial); with probability `total` a version breaks all.
    """
    rng = np.random.default_rng([seed, n, round(1000 * truth), round(1000 * icc), round(1000 * total)])
    mean = truth / (1.0 - total)
    size = (N_HISTORIES, n)
    chance = np.full(size, mean)
    if icc > 0.0 and mean < 1.0:
        chance = rng.beta(mean * (1.0 / icc - 1.0), (1.0 - mean) * (1.0 / icc - 1.0), size)
    shares = rng.binomial(N_PROMISES, chance) / N_PROMISES
    return np.where(rng.random(size) < total, 0.0, shares)


def laws(truth):
    """Names and settings of the laws that are tried, all with the same mean."""
    for icc in (0.0, 0.02, 0.05, 0.1):
        yield f"icc {icc}", {"icc": icc}
        yield f"icc {icc}, rare total breaks", {"icc": icc, "total": (1.0 - truth) / 2.0}
    yield "total breaks only", {"total": 1.0 - truth}


@pytest.mark.slow
@pytest.mark.parametrize("n", TRANSITIONS)
@pytest.mark.parametrize("level", [0.6, 0.8, 0.9, 0.95])
def test_not_kept_is_wrong_in_at_most_one_of_a_hundred_histories(level, n):
    for name, law in laws(level):
        wrong = np.mean(log_e_value(draw_shares(level, n, **law), level) >= -math.log(ERROR))
        assert wrong <= ERROR, name


@pytest.mark.slow
def test_versions_that_keep_the_level_only_on_average_over_the_history_are_not_called_not_kept():
    uneven = np.where(np.arange(20) % 2 == 0, 1.0, 0.8)
    shares = np.random.default_rng(1).binomial(N_PROMISES, uneven, (N_HISTORIES, 20)) / N_PROMISES
    assert np.mean(log_e_value(shares, 0.9) >= -math.log(ERROR)) <= ERROR


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_four_horizons_together_are_wrong_in_at_most_four_of_a_hundred_histories(level):
    for name, law in laws(level):  # 12 versions: 12, 6, 4 and 3 disjoint transitions, independent at worst
        each = [log_e_value(draw_shares(level, n, **law), level) >= -math.log(ERROR) for n in (12, 6, 4, 3)]
        assert np.mean(np.any(each, axis=0)) <= 4 * ERROR, name


@pytest.mark.slow
@pytest.mark.parametrize("n", [14, 20, 29, 40, 59, 99])
@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_kept_is_wrong_in_at_most_one_of_twenty_histories(level, n):
    noise = 3.0 * math.sqrt(0.05 * 0.95 / N_HISTORIES)
    for truth in (level - 0.001, level - 0.02, level - 0.1):
        for name, law in laws(truth):
            wrong = np.mean(lower_bound(draw_shares(truth, n, **law)) >= level)
            assert wrong <= 1.0 - CONFIDENCE + noise, (truth, name)


@pytest.mark.slow
def test_the_bound_lies_below_the_truth_in_95_of_a_hundred_histories():
    noise = 3.0 * math.sqrt(0.05 * 0.95 / N_HISTORIES)
    for truth in (0.3, 0.7, 0.95):
        for n in TRANSITIONS:
            for name, law in laws(truth):
                assert np.mean(lower_bound(draw_shares(truth, n, **law)) > truth) <= 0.05 + noise, (truth, n, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "n", "icc", "at_least"),
    [(0.7, 9, 0.05, 0.95), (0.7, 15, 0.1, 0.98), (0.8, 15, 0.05, 0.8), (0.8, 29, 0.1, 0.9)],
)
def test_a_truth_well_below_the_level_is_found(truth, n, icc, at_least):
    assert np.mean(log_e_value(draw_shares(truth, n, icc), 0.9) >= -math.log(ERROR)) >= at_least


@pytest.mark.slow
def test_a_truth_well_above_the_level_is_called_kept_after_enough_transitions():
    assert np.mean(lower_bound(draw_shares(0.98, 40, 0.05)) >= 0.9) >= 0.9
    assert np.mean(lower_bound(draw_shares(0.98, 28, 0.05)) >= 0.9) == 0.0
