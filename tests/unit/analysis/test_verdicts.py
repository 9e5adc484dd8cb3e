import math

import numpy as np
import pytest

from copa.analysis.verdicts import (
    ERROR,
    N_BETS,
    highest_level,
    log_e_value,
    lower_bound,
    verdict,
    versions_needed,
)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.99])
def test_the_e_value_is_the_mean_over_bets_of_what_each_has_won(level):
    shares = np.random.default_rng(0).random(7)
    bets = [(k + 0.5) / N_BETS / (1.0 - level) for k in range(N_BETS)]
    products = [math.prod(1.0 + bet * (level - share) for share in shares) for bet in bets]
    assert log_e_value(shares, level) == pytest.approx(math.log(math.fsum(products) / N_BETS), rel=1e-10)


def test_thousands_of_versions_and_promises_overflow_nothing():
    assert log_e_value(np.zeros(5000), 0.99) > 1000.0
    assert verdict(np.zeros(5000), 0.99) == "not kept"
    assert verdict(np.ones(5000), 0.99) == "kept"
    assert lower_bound(np.full(5000, 0.5)) == pytest.approx(0.5, abs=1e-3)


def test_one_total_break_in_nine_says_nothing_against_nine_tenths():
    shares = np.array([1.0] * 8 + [0.0])
    assert log_e_value(shares, 0.9) < 0.0
    assert verdict(shares, 0.9) == "too few transitions to say"  # 8/9 is below .9


def test_the_expectation_of_the_e_value_is_at_most_1_at_the_level():
    # All histories of five versions that either keep all or break all, by their probabilities.
    for level in (0.6, 0.9, 0.95):
        total = 0.0
        for kept in range(6):
            shares = np.array([1.0] * kept + [0.0] * (5 - kept))
            weight = math.comb(5, kept) * level**kept * (1.0 - level) ** (5 - kept)
            total += weight * math.exp(log_e_value(shares, level))
        assert total == pytest.approx(1.0, abs=1e-9)


def test_the_lower_bound_is_the_geometric_mean_times_what_versions_support():
    assert lower_bound([1.0] * 9) == pytest.approx(0.05 ** (1 / 9))
    assert lower_bound([0.5, 0.8]) == pytest.approx(math.sqrt(0.05 * 0.4))
    assert lower_bound([1.0] * 30 + [0.0]) == 0.0
    assert lower_bound([]) == 0.0


def test_kept_takes_as_many_versions_as_the_level_needs():
    for level, needed in ((0.8, 14), (0.9, 29), (0.95, 59)):
        assert versions_needed(level) == needed
        assert verdict([1.0] * needed, level) == "kept"
        assert verdict([1.0] * (needed - 1), level) == "nothing against it"
        assert highest_level(needed - 1) < level <= highest_level(needed)
    assert highest_level(0) == 0.0


def test_versions_just_above_the_level_do_not_prove_that_the_mean_is():
    # A version that accepts .9 in 19 of 20 cases and nothing in the twentieth accepts .855 in expectation, and shows 29
    # shares of .9 in 23 of 100 histories.
    assert verdict([0.9] * 29, 0.9) == "nothing against it"


def test_a_mean_below_the_level_is_not_called_clear():
    assert verdict([0.88] * 9, 0.9) == "too few transitions to say"
    assert verdict([0.9] * 9, 0.9) == "nothing against it"
    assert verdict([], 0.9) == "too few transitions to say"


def test_not_kept_takes_evidence_of_one_in_a_hundred():
    below = [n for n in range(1, 20) if verdict([0.5] * n, 0.9) == "not kept"]
    assert below == list(range(4, 20))
    assert log_e_value([0.5] * 3, 0.9) < -math.log(ERROR) <= log_e_value([0.5] * 4, 0.9)
