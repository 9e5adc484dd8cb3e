"""The derivations behind `LaterModels` (docs/theory.md, sections 10 to 12), simulated where they are exact."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr

from copa.models.refits.reliability import confidence_radius, reliability
from copa.theory.sets.families import FAMILIES

D, N_PROBLEMS, LEVEL = 6, 4000, 0.6
NOISE = np.diag(np.linspace(0.5, 2.0, D))  # covariance V of a fit to all rows


def draw_problems(b, rng):
    """Expected parameters of many problems whose reliability is b: their covariance is a multiple of V."""
    return rng.normal(size=(N_PROBLEMS, D)) @ np.linalg.cholesky(b / (1.0 - b) * NOISE).T


def draw_noise(times, rng):
    return np.sqrt(times) * rng.normal(size=(N_PROBLEMS, D)) @ np.linalg.cholesky(NOISE).T


def choose(thetas, rng):
    """For each problem the row of length s = 1 that its parameters score highest, among twelve, (N, D)."""
    rows = rng.normal(size=(N_PROBLEMS, 12, D))
    rows /= np.sqrt(np.einsum("njd,de,nje->nj", rows, NOISE, rows))[..., None]
    best = np.einsum("njd,nd->nj", rows, thetas).argmax(axis=1)
    return rows[np.arange(N_PROBLEMS), best]


@pytest.mark.parametrize("b", [0.5, 0.8])
def test_the_next_score_of_a_chosen_row_is_b_times_todays_with_spread_root_one_plus_b(b):
    rng = np.random.default_rng(0)
    true = draw_problems(b, rng)
    today, following = true + draw_noise(1.0, rng), true + draw_noise(1.0, rng)
    rows = choose(today, rng)
    m, mean, after = ((rows * thetas).sum(axis=1) for thetas in (today, true, following))
    assert mean.sum() / m.sum() == pytest.approx(b, abs=0.02)
    assert np.std(mean - b * m) == pytest.approx(np.sqrt(b), abs=0.03)
    assert np.std(after - b * m) == pytest.approx(np.sqrt(1.0 + b), abs=0.04)
    assert (after > 0.0).mean() == pytest.approx(ndtr(b * m / np.sqrt(1.0 + b)).mean(), abs=0.02)
    assert (after > 0.0).mean() < ndtr(m / np.sqrt(2.0)).mean() - 0.02  # the winner's curse


@pytest.mark.parametrize("b", [0.5, 0.8])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_options_at_the_level_are_kept_with_the_confidence(b, confidence):
    rng = np.random.default_rng(1)
    true = draw_problems(b, rng)
    today = true + draw_noise(1.0, rng)
    rows = choose(today, rng)
    m, mean = (rows * today).sum(axis=1), (rows * true).sum(axis=1)
    kappa = FAMILIES["gaussian"].ratio(LEVEL)
    promised = b * m >= kappa + confidence_radius(confidence, b)
    assert promised.sum() > 50
    assert (mean >= kappa)[promised].mean() >= confidence - 0.02
    # The confidence is exact: the mean of the next score is within the radius of b m.
    assert (np.abs(mean - b * m) <= confidence_radius(confidence, b)).mean() == pytest.approx(confidence, abs=0.02)


@pytest.mark.parametrize("b", [0.5, 0.8])
def test_halves_that_choose_and_judge_find_the_reliability_of_all_rows(b):
    rng = np.random.default_rng(2)
    true = draw_problems(b, rng)
    one, other = true + draw_noise(2.0, rng), true + draw_noise(2.0, rng)
    rows = choose(one, rng)
    found = reliability((rows * one).sum(axis=1), (rows * other).sum(axis=1))
    assert found == pytest.approx(b, abs=0.03)


@pytest.mark.parametrize(("m", "times"), [(6, 1.0), (4, 2.0)])
def test_subsets_vary_around_the_whole_by_n_minus_m_over_m(m, times):
    values = np.random.default_rng(3).normal(size=12)
    means = np.array([values[list(some)].mean() for some in combinations(range(12), m)])
    assert means.mean() == pytest.approx(values.mean())
    assert means.var() == pytest.approx(times * values.var(ddof=1) / 12)
