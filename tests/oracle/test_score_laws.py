"""Families and sets against numerical worst cases: linear programs, and a search of all moments in the disc."""

import numpy as np
import pytest
from scipy.special import ndtr

from copa.theory.bounds import validity_bounds
from copa.theory.bounds.worst_option import worst_of_option
from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.families import FAMILIES
from copa.theory.sets.location_set import LocationSet
from oracle.score_laws import least_over_disc, least_probability

RATIOS = [0.3, 0.7, 1.0, 1.29, 1.4, 1.856, 2.4, 3.0]
GRID = 2e-5  # a mixture of finitely many pieces misses the worst one by the distance of their ends


def known(mean, std):
    return [mean], [[std**2]], 0.0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_bound_of_a_family_is_the_worst_distribution_with_these_moments(family, ratio):
    std = 0.7
    claimed = float(MomentBall(*known(ratio * std, std), family=family).guarantee(ratio * std, std, 0.0))
    found = least_probability(family, ratio * std, std)
    assert claimed <= found + 1e-9
    assert claimed >= found - (1e-9 if family == "gaussian" else GRID)


def exact_level(family):
    """h(mean / std) of a family, as textbooks have it; at a mean of zero and below, nothing is certain."""

    def level(mean, std):
        if mean <= 0.0:
            return 0.0
        square = (mean / std) ** 2
        unimodal = 4.0 * square / (3.0 * (1.0 + square)) if square < 5.0 / 3.0 else 1.0 - 4.0 / (9.0 * (1.0 + square))
        return {"any": square / (1.0 + square), "unimodal": unimodal, "gaussian": float(ndtr(mean / std))}[family]

    return level


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(8))
def test_a_ball_is_the_worst_moments_of_its_disc(family, seed):
    rng = np.random.default_rng(seed)
    mean, std = rng.uniform(0.5, 3.0), rng.uniform(0.05, 1.0)
    reach = rng.uniform(0.0, 0.9) * mean
    claimed = float(MomentBall(*known(mean, std), family=family).guarantee(mean, std, reach))
    assert claimed == pytest.approx(least_over_disc(exact_level(family), mean, std, reach), abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(8))
def test_a_location_set_is_the_worst_mean_within_reach(family, seed):
    rng = np.random.default_rng(100 + seed)
    mean, std = rng.uniform(0.5, 3.0), rng.uniform(0.05, 1.0)
    reach = rng.uniform(0.0, 1.2) * mean
    claimed = float(LocationSet(*known(mean, std), family=family).guarantee(mean, std, reach))
    level = exact_level(family)
    worst = min(level(mean + move, std) for move in np.linspace(-reach, reach, 2001))
    assert claimed == pytest.approx(worst, abs=1e-12)


@pytest.mark.parametrize("family", ["unimodal", "gaussian"])
@pytest.mark.parametrize("kind", [MomentBall, LocationSet])
def test_no_distribution_of_the_set_breaks_any_bound_of_a_plan(family, kind):
    """Laws of the set, made of a worst one for a random mixture of the options: all, any and upper hold."""
    rng, cov = np.random.default_rng(7), np.diag([0.02, 0.3, 0.2, 0.1])
    mean = np.array([-0.5, 1.0, 0.7, -0.4])
    points = np.array([[1.0, 2.0, 0.5, 0.0], [1.0, 0.5, 2.0, -0.5], [1.0, 1.5, 1.0, 1.0]])
    ambiguity = kind(mean, cov, 0.2, family=family)
    bounds = validity_bounds(points, ambiguity=ambiguity)
    for k in range(12):
        weights = np.eye(3)[k] if k < 3 else rng.dirichlet(np.ones(3))
        target = (weights @ points)[None]
        worst = worst_of_option(target, ambiguity)
        assert worst.distance <= 0.2 + 1e-9
        theta = draw(rng, ambiguity, target[0], worst, 200_000)
        valid = theta @ points.T > 0.0
        error = 4.0 / np.sqrt(len(theta))
        assert (valid.mean(axis=0) >= bounds.option_lower - error).all()
        assert valid.all(axis=1).mean() >= bounds.lower - error
        assert valid.any(axis=1).mean() >= bounds.any_lower - error
        assert valid.all(axis=1).mean() <= bounds.upper + error
        attained = 1.0 - ambiguity.option_guarantees(target)[0]
        assert (theta @ target[0] <= 1e-6).mean() == pytest.approx(attained, abs=error)


def draw(rng, ambiguity, point, worst, n):
    """Parameters whose score along the point has the worst law of the family, regression and a normal rest else."""
    along = worst.cov @ point
    mean, std = float(worst.mean @ point), float(np.sqrt(along @ point))
    if ambiguity.family == "gaussian":
        score = mean + std * rng.standard_normal(n)
    else:
        share = mean**2 / (mean**2 + std**2)
        if share >= 5.0 / 8.0:
            mode, uniform = (mean**2 + std**2) / mean, rng.random(n) < 4.0 / 3.0 * (1.0 - share)
            score = np.where(uniform, mode * (1.0 - 1.5 * rng.random(n)), mode)
        else:
            uniform, top = rng.random(n) < 4.0 / 3.0 * share, 1.5 * (mean**2 + std**2) / mean
            score = np.where(uniform, top * rng.random(n), 0.0)
        assert (score.mean(), score.std()) == pytest.approx((mean, std), rel=0.03)
    rest = worst.cov - np.outer(along, along) / (along @ point)
    values, vectors = np.linalg.eigh(rest)
    noise = rng.standard_normal((n, len(point))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return worst.mean + np.outer(score - mean, along / (along @ point)) + noise
