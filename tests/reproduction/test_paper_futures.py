import numpy as np
import pytest
from scipy.stats import norm

import copa
from reproduction.data.synthetic import FAMILIES, random_future, standard_samples, validity_under


@pytest.fixture(scope="module")
def nominal():
    return copa.WeightMoments([0.3, 1.0, -0.5], np.diag([0.5, 0.2, 0.1]))


def test_futures_lie_within_the_distance_and_reach_most_of_it(nominal):
    rng = np.random.default_rng(0)
    futures = [random_future(nominal, 1.0, rng) for _ in range(300)]
    distances = np.array([future.distance for future in futures])
    assert distances.max() <= 1.0 + 1e-9
    assert distances.max() > 0.9
    assert {future.family for future in futures} == set(FAMILIES)
    for future in futures[:10]:
        moved = copa.gelbrich_distance(nominal.mean, nominal.cov, future.moments.mean, future.moments.cov)
        assert future.distance == pytest.approx(moved)


def test_samples_of_every_family_have_unit_moments():
    for samples in standard_samples(200_000, 3, np.random.default_rng(0)).values():
        np.testing.assert_allclose(samples.mean(axis=1), 0.0, atol=0.02)
        np.testing.assert_allclose(np.cov(samples), np.eye(3), atol=0.03)


def test_validity_of_one_option_under_normal_models_is_the_normal_one(nominal):
    option = np.array([[1.0, 0.4, 0.2]])
    samples = standard_samples(200_000, 3, np.random.default_rng(0))[FAMILIES[0]]
    expected = norm.cdf(option[0] @ nominal.mean / np.sqrt(option[0] @ nominal.cov @ option[0]))
    assert validity_under(option, nominal, samples) == pytest.approx(expected, abs=0.005)
