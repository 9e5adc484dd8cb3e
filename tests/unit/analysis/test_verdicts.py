import numpy as np
import pytest
from scipy.stats import binom

from copa.analysis.verdicts import ERROR, answers, below_promise, highest_level, is_broken


@pytest.mark.parametrize(("seen", "n", "level"), [(0, 1, 0.9), (7, 10, 0.9), (30, 40, 0.95), (300, 320, 0.8)])
def test_the_probability_is_that_of_the_binomial_distribution(seen, n, level):
    assert below_promise(seen / n, n, level) == pytest.approx(binom.cdf(seen, n, level), rel=1e-10)


def test_a_share_between_two_counts_is_rounded_in_favour_of_the_promise():
    assert below_promise(0.71, 10, 0.9) == below_promise(0.8, 10, 0.9) > below_promise(0.7, 10, 0.9)


def test_promises_to_one_model_count_as_few_answers():
    assert (answers(60), answers(100), answers(3), answers(1)) == (12, 20, 1, 1)


def test_looking_often_takes_clearer_evidence():
    assert is_broken(0.6, 20, 0.9)
    assert below_promise(0.65, 20, 0.9) < ERROR
    assert not is_broken(0.65, 20, 0.9, n_tests=20)
    assert not is_broken(0.9, 20, 0.9)


def test_promises_that_are_kept_are_rarely_called_broken_though_they_break_together():
    # Shares with five times the variance of independent promises: a beta distribution with mean .9.
    rng = np.random.default_rng(0)
    level, n = 0.9, 100
    total = n / 5.0 - 1.0
    shares = rng.beta(level * total, (1 - level) * total, 4000)
    assert shares.var() == pytest.approx(5.0 * level * (1 - level) / n, rel=0.1)
    assert np.mean([is_broken(share, answers(n), level) for share in shares]) <= 2.0 * ERROR


def test_few_transitions_support_no_high_level():
    assert [highest_level(n) for n in (0, 1, 4, 9)] == pytest.approx([0.0, 0.5, 0.8, 0.9])
