"""The finite-sample bound: counted over all small samples, reached exactly, simulated, and inverted."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.refit_scores import OUT_OF_REACH, RefitScores


def ratio_guarantee(known, k):
    return float(known.guarantee(k, 1.0, 0.0))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_no_small_sample_has_more_refusals_than_the_bound_lets_it_have(n):
    """Exchangeable: each of n + 1 values is as likely the next one. Counted over samples of few values, with ties."""
    known = RefitScores.of(n)
    for values in combinations_with_replacement((-3.0, -0.5, 0.0, 1.0, 1.5, 4.0), n + 1):
        sample = np.array(values)
        others = np.array([np.delete(sample, i) for i in range(n + 1)])
        lower = known.option_guarantees(others)
        for level in np.unique(lower[lower > 0.0]):
            refused = np.sum((lower >= level) & (sample <= 0.0))
            assert refused <= (1.0 - level) * (n + 1) + 1e-9, (values, level)


@pytest.mark.parametrize("n", [5, 20, 60])
def test_the_bound_is_reached(n):
    """As many zeros as may refuse, the others alike: each zero, left out, is refused at the level of the rest."""
    known = RefitScores.of(n)
    for refusing in range(1, n // 2):
        sample = np.r_[np.zeros(refusing), np.ones(n + 1 - refusing)]
        assert known.option_guarantees(sample[None, 1:])[0] == pytest.approx(1.0 - refusing / (n + 1.0))


@pytest.mark.parametrize("draw", ["normal", "standard_t", "one in ten"])
def test_simulated_models_refuse_what_is_certified_no_more_often_than_allowed(draw):
    rng, n = np.random.default_rng(0), 20
    shape = (40_000, n + 1)
    noise = {
        "normal": lambda: rng.normal(size=shape),
        "standard_t": lambda: rng.standard_t(2.0, size=shape),
        "one in ten": lambda: np.where(rng.random(shape) < 0.1, -3.0, 0.0),
    }[draw]()
    known = RefitScores.of(n)
    for shift in (0.5, 1.5, 2.99):
        scores = noise + shift
        lower = known.option_guarantees(scores[:, :-1])
        for level in (0.5, 0.8, 0.9):
            assert np.mean((lower >= level) & (scores[:, -1] <= 0.0)) <= 1.0 - level + 0.003


@pytest.mark.parametrize("n", [2, 9, 40, 99])
def test_nothing_is_certified_above_what_n_refits_support(n):
    known = RefitScores.of(n)
    agreed = known.option_guarantees(np.full((1, n), 7.0))[0]
    assert agreed == known.highest == n / (n + 1.0)
    assert known.guarantee(1e300, 0.0, 0.0) == known.highest
    assert (known.guarantee(np.array([0.0, -1.0, 0.0]), np.array([1.0, 0.0, 0.0]), 0.0) == 0.0).all()


def test_points_are_scores_and_their_moments_those_of_the_sample():
    scores = np.random.default_rng(1).normal(2.0, 3.0, size=(4, 30))
    mean, std, reach = RefitScores.of(30).option_moments(scores)
    np.testing.assert_allclose(mean / std, scores.mean(axis=1) / scores.std(axis=1, ddof=1), rtol=1e-9)
    assert (reach == 0.0).all()
    _, std, reach = RefitScores.of(30, radius=0.5).option_moments(scores)
    np.testing.assert_allclose(reach, 0.5 * std, rtol=1e-6)


def test_many_refits_give_cantellis_inequality():
    ball = MomentBall([0.0], [[1.0]], 0.0)
    for k in (0.5, 1.0, 3.0, 8.0):
        assert ratio_guarantee(RefitScores.of(2000), k) == pytest.approx(float(ball.guarantee(k, 1.0, 0.0)), abs=1e-3)


@pytest.mark.parametrize("reliability", [1.0, 0.9])
@pytest.mark.parametrize("n", [3, 39, 40, 60, 99])
def test_coefficients_are_the_smallest_ratio_that_reaches_a_level(n, reliability):
    known = RefitScores.of(n, reliability)
    for level in (0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 0.975):
        b, c = known.level_coefficients(level)
        if level > known.highest:
            assert b == OUT_OF_REACH
            assert ratio_guarantee(known, 1e6) < level
            continue
        assert ratio_guarantee(known, b) >= level
        assert ratio_guarantee(known, b * (1.0 - 1e-6)) < level
        assert float(known.guarantee(b + 0.3 * c + 1e-9, 1.0, 0.3)) >= level
        assert float(known.guarantee(b + 0.3 * c - 1e-6, 1.0, 0.3)) < level


def test_a_level_that_is_a_multiple_of_one_in_n_plus_one_is_reached_exactly():
    known = RefitScores.of(99)
    assert ratio_guarantee(known, known.level_coefficients(0.9)[0]) == 0.9
    assert ratio_guarantee(known, known.level_coefficients(0.99)[0]) == 0.99


def test_the_reliability_shrinks_the_mean_and_limits_what_agreement_is_worth():
    whole, part = RefitScores.of(60), RefitScores.of(60, 0.8)
    assert ratio_guarantee(part, 2.0) == ratio_guarantee(whole, 1.6)
    assert part.highest == float(part.guarantee(1.0, 0.0, 0.0)) == 0.8
    assert "0.8" in part.in_words()
    assert "60 held-out refits" in part.in_words()


def counted(sample, certified, refused):
    """Most left-out values that are refused at a level which the rest certifies, minus what the level allows."""
    n = len(sample) - 1
    rest = [np.delete(sample, i, axis=0).T[None] for i in range(n + 1)]
    lower = np.array([certified(points) for points in rest])
    return max(
        (np.sum((lower >= level) & refused) - (1.0 - level) * (n + 1) for level in np.unique(lower[lower > 0.0])),
        default=0.0,
    )


def test_plans_are_bounded_over_all_small_samples_as_options_are():
    """All of two options, and any of them: counted over pairs of scores by five models, one of which is the next."""
    known = RefitScores.of(4)
    rng = np.random.default_rng(2)
    pairs = np.array(list(product((-1.0, 0.0, 0.5, 2.0), repeat=2)))
    for _ in range(600):
        sample = pairs[rng.integers(len(pairs), size=5)]

        def joint(points, which):
            return known.joint_guarantees(known.option_guarantees(points[0])[None], points)[which][0]

        assert counted(sample, lambda points: joint(points, 0), (sample <= 0.0).any(axis=1)) <= 1e-9
        assert counted(sample, lambda points: joint(points, 1), (sample <= 0.0).all(axis=1)) <= 1e-9


def test_bounds_of_plans_keep_their_order_and_know_more_than_boole():
    known = RefitScores.of(60, 0.95)
    points = np.random.default_rng(3).normal(3.0, 1.0, size=(20, 4, 60))
    each = np.array([known.option_guarantees(plan) for plan in points])
    all_lower, any_lower, all_upper = known.joint_guarantees(each, points)
    assert (all_lower <= each.min(axis=1)).all()
    assert (any_lower >= each.max(axis=1)).all()
    assert (all_upper >= all_lower).all()
    assert (all_lower > 1.0 - (1.0 - each).sum(axis=1)).all()
    assert (
        known.joint_guarantees(np.zeros((1, 4)), -points[:1])[2][0] < 0.2
    )  # that all hold is unlikely, and known to be


@pytest.mark.parametrize("wrong", [{"n_refits": 1}, {"reliability": 0.0}, {"reliability": 1.1}, {"n_refits": 2.5}])
def test_impossible_sets_are_refused(wrong):
    with pytest.raises(InvalidInputError):
        RefitScores.of(**({"n_refits": 10} | wrong))
