"""Intervals and effective numbers of promises against simulation and closed forms."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from copa.promises import portfolio_risk
from copa.promises.broken_share import clopper_pearson, effective_size, share_interval
from copa.promises.portfolio_report import effective_number, past_bounds


@pytest.mark.parametrize(("count", "size"), [(0, 1), (0, 60), (3, 60), (60, 60), (17, 134)])
def test_intervals_are_those_of_the_exact_binomial_test(count, size):
    expected = stats.binomtest(count, size).proportion_ci(confidence_level=0.95, method="exact")
    assert tuple(clopper_pearson(count, size)) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("share", "likeness"), [(0.05, 0.0), (0.2, 0.6), (0.4, 1.0)])
def test_intervals_cover_the_share_among_other_people_who_have_several_promises(share, likeness):
    rng = np.random.default_rng(0)
    covered, owner = 0, np.repeat(np.arange(80), 3)
    for _ in range(400):
        alike = rng.random(80) < likeness  # people whose promises are all kept or all broken
        own = rng.random((80, 3)) < share
        flags = np.where(alike[:, None], own[:, :1], own).ravel()
        low, high = share_interval(flags, owner)
        covered += low <= share <= high
    assert covered >= 0.93 * 400  # 0.95, less two standard errors


def test_promises_of_one_person_that_always_go_together_count_as_one():
    rng = np.random.default_rng(1)
    sizes = [effective_size(np.repeat(rng.random(500) < 0.3, 4), np.repeat(np.arange(500), 4)) for _ in range(50)]
    assert np.mean(sizes) == pytest.approx(500.0, rel=0.02)
    alone = [effective_size(rng.random(2000) < 0.3, np.repeat(np.arange(500), 4)) for _ in range(50)]
    assert np.mean(alone) == pytest.approx(2000.0, rel=0.03)


def test_where_everybody_has_the_same_share_all_promises_count():
    assert effective_size(np.array([True, False] * 10), np.repeat(np.arange(10), 2)) == 20.0
    sizes = [effective_size(np.array([True, True, False, False, *rest]), np.array([0, 1, 0, 1, 2, 2])) for rest in ROWS]
    assert sizes == [6.0, 6.0]


ROWS = ((True, False), (False, True))


@pytest.mark.parametrize("common", [0.0, 0.2, 0.7, 1.0])
def test_effective_numbers_are_the_ratio_of_variances_of_a_common_factor(common):
    # Promise i breaks if sqrt(c) Z + sqrt(1 - c) e_i < t; the variance of the share is that of its conditional mean,
    # plus what is independent: integrated over Z numerically.
    n, t, rng = 60, -1.0, np.random.default_rng(2)
    z = np.linspace(-8.0, 8.0, 4001)
    weight = stats.norm.pdf(z) / stats.norm.pdf(z).sum()
    rest = np.sqrt(1.0 - common) if common < 1.0 else 1e-9
    given = stats.norm.cdf((t - np.sqrt(common) * z) / rest)
    mean = weight @ given
    variance = weight @ given**2 - mean**2 + weight @ (given * (1.0 - given)) / n
    expected = mean * (1.0 - mean) / variance

    broken = np.sqrt(common) * rng.normal(size=(4000, 1)) + np.sqrt(1.0 - common) * rng.normal(size=(4000, n)) < t
    rates = broken.mean(axis=0)
    found = effective_number(broken.mean(axis=1), float((rates * (1.0 - rates)).sum()), n)
    assert found == pytest.approx(min(expected, n), rel=0.1)


def test_the_next_of_exchangeable_versions_exceeds_each_bound_as_rarely_as_is_said():
    rng = np.random.default_rng(3)
    shares = rng.beta(1.0, 8.0, size=(4000, 6)) * rng.uniform(0.2, 1.0, size=(4000, 1))  # each history has its own law
    exceeded = np.array([[own[-1] > bound.share for bound in past_bounds(own[:-1])] for own in shares]).mean(axis=0)
    said = [bound.probability for bound in past_bounds(shares[0, :-1])]
    assert said == pytest.approx([5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert (exceeded <= np.array(said) + 0.02).all()


class Cut:
    """A model that accepts from a cut on."""

    classes_ = np.array([False, True])
    feature_names_in_ = np.array(["x"])

    def __init__(self, cut):
        self.cut = cut

    def predict(self, rows):
        return rows["x"].to_numpy() >= self.cut


def test_shares_follow_the_law_of_the_models_that_are_asked():
    cuts = np.random.default_rng(4).normal(size=2000)
    rows = pd.DataFrame({"x": np.linspace(-1.0, 1.0, 41)})
    found = portfolio_risk([Cut(cut) for cut in cuts], rows)
    exact = stats.norm.sf(rows["x"]).mean()
    assert found.mean == pytest.approx(exact, abs=4.0 * found.shares.std() / np.sqrt(2000))
    assert found.effective_number < 3.0  # one number decides on all of them
