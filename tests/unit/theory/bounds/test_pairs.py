"""Sets and families: bounds of plans and worst cases of every pair."""

import numpy as np
import pytest

from copa.exceptions import InvalidInputError
from copa.theory.bounds import BallCertificate, Certificate, bound_plans, validity_bounds
from copa.theory.sets.ambiguity import MomentBall
from copa.theory.sets.families import FAMILIES
from copa.theory.sets.location_set import LocationSet
from oracle.monte_carlo import gelbrich_distance
from unit.theory.bounds.pairs import BUILT_IN
from unit.theory.bounds.unimodal import UnimodalMeanSet

MEAN = np.array([0.2, 1.0, -0.6])
COV = np.array([[0.04, 0.01, 0.0], [0.01, 0.09, 0.02], [0.0, 0.02, 0.06]])
DRIFT = np.array([[0.1, 0.02, 0.0], [0.02, 0.2, 0.03], [0.0, 0.03, 0.05]])
POINTS = np.array([[1.0, 1.5, 0.2], [1.0, 2.0, -1.0], [1.0, 1.2, 0.6]])
OTHERS = [name for name in BUILT_IN if name != "ball-any"]
DRIFTS = {"identity": None, "cov": COV, "another": DRIFT}


@pytest.fixture(params=BUILT_IN)
def known(request):
    return BUILT_IN[request.param](MEAN, COV, 0.15)


def test_the_paper_is_the_ball_of_any_distributions():
    paper = validity_bounds(POINTS, MEAN, COV, 0.15, DRIFT)
    same = validity_bounds(POINTS, MEAN, COV, 0.15, DRIFT, family="any")
    given = validity_bounds(POINTS, ambiguity=MomentBall(MEAN, COV, 0.15, DRIFT))
    for other in (same, given):
        for name in ("lower", "upper", "any_lower", "gap", "option_lower", "weights"):
            np.testing.assert_array_equal(getattr(other, name), getattr(paper, name), err_msg=name)
        assert other.certificate.to_json() == paper.certificate.to_json()


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_ball_converts_the_bounds_of_the_paper(family, drift):
    paper = validity_bounds(POINTS, MEAN, COV, 0.15, drift)
    found = validity_bounds(POINTS, MEAN, COV, 0.15, drift, family=family)
    level = FAMILIES[family].level
    np.testing.assert_allclose(found.option_lower, level(paper.option_lower), atol=1e-12)
    assert found.any_lower == pytest.approx(float(level(paper.any_lower)), abs=1e-9)
    assert found.upper == pytest.approx(1.0 - float(level(1.0 - paper.upper)), abs=1e-9)
    boole = 1.0 - (1.0 - found.option_lower).sum()
    assert found.lower == pytest.approx(max(float(paper.lower), boole), abs=1e-9)
    failing = validity_bounds(-POINTS, MEAN, COV, 0.15, drift, family=family)
    paper = validity_bounds(-POINTS, MEAN, COV, 0.15, drift)
    assert failing.upper == pytest.approx(1.0 - float(level(1.0 - paper.upper)), abs=1e-9)
    assert failing.upper < 1.0


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_one_at_a_time_are_bounded_by_options_alone(family):
    known = LocationSet(MEAN, COV, 0.15, DRIFT, family, simultaneous=False)
    found = validity_bounds(POINTS, ambiguity=known)
    each = found.option_lower
    assert found.lower == pytest.approx(max(0.0, 1.0 - (1.0 - each).sum()), abs=1e-15)
    assert found.any_lower == each.max()
    refused = validity_bounds(-POINTS, ambiguity=known)
    assert refused.upper == pytest.approx(1.0 - each.max(), abs=1e-15)
    assert type(found.certificate) is Certificate


def test_scores_all_at_once_are_bounded_by_mixtures_and_by_the_ball():
    shared = {"mean": [0.3, 0.2], "cov": np.diag([0.02, 0.4]), "radius": 0.05, "family": "gaussian"}
    opposite = np.array([[1.0, 1.0], [1.0, -1.0]])  # one of them holds surely: they add up to the intercept
    once, alone = (LocationSet(**shared, simultaneous=s) for s in (True, False))
    together, apart = (validity_bounds(opposite, ambiguity=known) for known in (once, alone))
    assert isinstance(together.certificate, BallCertificate)
    assert together.any_lower > apart.any_lower + 0.01
    refused, alone = (validity_bounds(-opposite, ambiguity=known) for known in (once, alone))
    assert refused.upper == pytest.approx(1.0 - together.any_lower, abs=1e-9)  # not both hold, unless the sum does
    assert refused.upper < alone.upper - 0.01
    same = np.array([[1.0, 0.2]] * 4)  # Boole counts one failure four times
    low = {name: value for name, value in shared.items() if name != "family"}
    together, apart = (
        validity_bounds(same, ambiguity=LocationSet(**low, family="any", simultaneous=s)) for s in (True, False)
    )
    assert together.lower > apart.lower + 0.1


def test_where_the_balls_mixture_is_not_the_best_single_options_are_proven():
    rng, n_better = np.random.default_rng(1), 0
    for _ in range(30):
        root, shape, mean = 0.2 * rng.standard_normal((4, 4)), rng.standard_normal((4, 4)), rng.standard_normal(4)
        points = rng.standard_normal((3, 4)) + mean
        known = LocationSet(mean, root @ root.T, 0.3, shape @ shape.T, "unimodal")
        bounds = validity_bounds(points, ambiguity=known)
        mixed = bounds.certificate.any_mixture @ points
        n_better += bounds.any_lower > known.option_guarantees(mixed[None])[0] + 1e-6
        proven = bounds.certificate.verify()
        assert (proven.any_lower, proven.all_upper) == pytest.approx((bounds.any_lower, bounds.upper), abs=1e-9)
    assert n_better > 0


def test_the_gap_ends_at_the_least_sure_option(known):
    found = validity_bounds(POINTS, ambiguity=known)
    single = validity_bounds(POINTS[:1], ambiguity=known)
    assert 0.0 <= found.gap <= found.option_lower.min() - found.lower + 1e-9
    assert single.status == "tight"


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
@pytest.mark.parametrize("name", OTHERS)
def test_the_worst_case_attains_the_guarantee_of_the_option_that_breaks_first(name, drift):
    known = BUILT_IN[name](MEAN, COV, 0.3, drift)
    bounds = validity_bounds(POINTS, ambiguity=known)
    worst = bounds.certificate.worst_case()
    j = int(np.argmin(bounds.option_lower))
    assert worst.mass[j] == pytest.approx(1.0 - bounds.option_lower[j], abs=1e-9)
    assert worst.mass[np.arange(3) != j].tolist() == [0.0, 0.0]
    assert worst.rest_mass + worst.mass.sum() == pytest.approx(1.0)
    assert POINTS[j] @ worst.location[j] <= 1e-9 < POINTS[j] @ worst.rest_location
    # The parts add up to the whole.
    mass, parts = [worst.mass[j], worst.rest_mass], [worst.location[j], worst.rest_location]
    spreads = [worst.spread[j], worst.rest_spread]
    np.testing.assert_allclose(sum(p * m for p, m in zip(mass, parts, strict=True)), worst.mean, atol=1e-12)
    second = sum(p * (s + np.outer(m, m)) for p, m, s in zip(mass, parts, spreads, strict=True))
    np.testing.assert_allclose(second - np.outer(worst.mean, worst.mean), worst.cov, atol=1e-12)
    for part in (*spreads, worst.cov):
        assert np.linalg.eigvalsh(part)[0] >= -1e-12
    # It is in the set.
    assert worst.distance == pytest.approx(0.3, abs=1e-9)
    assert gelbrich_distance(MEAN, COV, worst.mean, worst.cov, drift) <= 0.3 + 1e-7
    if isinstance(known, LocationSet):
        np.testing.assert_allclose(worst.cov, COV, atol=1e-12)


@pytest.mark.parametrize("name", OTHERS)
def test_an_option_that_the_mean_may_refuse_has_a_worst_case_too(name):
    known = BUILT_IN[name](MEAN, COV, 3.0)
    bounds = validity_bounds(POINTS, ambiguity=known)
    assert bounds.lower == 0.0
    worst = bounds.certificate.worst_case()
    assert worst.mass.max() >= 0.5
    assert worst.distance <= 3.0 + 1e-9


def test_the_worst_case_of_a_certain_score_is_made_of_the_radius():
    known = MomentBall([1.0, 0.0], np.zeros((2, 2)), 0.2, family="unimodal")
    worst = validity_bounds([[1.0, 0.5]], ambiguity=known).certificate.worst_case()
    assert worst.distance == pytest.approx(0.2)
    assert worst.mass[0] == pytest.approx(1.0 - float(known.option_guarantees(np.array([[1.0, 0.5]]))[0]), abs=1e-12)


def test_a_set_whose_worst_distribution_is_not_known_says_so():
    own = UnimodalMeanSet(MEAN, COV, 0.15)
    with pytest.raises(InvalidInputError, match=r"worst distribution of a UnimodalMeanSet is not known"):
        validity_bounds(POINTS, ambiguity=own).certificate.worst_case()


def test_a_set_is_given_as_one_or_in_its_parts():
    known = LocationSet(MEAN, COV, 0.15)
    with pytest.raises(InvalidInputError, match="not both"):
        validity_bounds(POINTS, MEAN, COV, ambiguity=known)
    with pytest.raises(InvalidInputError, match="ambiguity must be an AmbiguitySet or None, got 'ball'"):
        validity_bounds(POINTS, ambiguity="ball")
    with pytest.raises(InvalidInputError, match=r"family must be one of 'any', 'unimodal', 'gaussian', got 'normal'"):
        validity_bounds(POINTS, MEAN, COV, family="normal")
    with pytest.raises(InvalidInputError, match=r"simultaneous must be true or false, got 1"):
        LocationSet(MEAN, COV, 0.1, simultaneous=1)


def test_plans_of_different_sizes_in_every_pair(known):
    owner = np.array([0, 0, 1])
    found = bound_plans(known, POINTS, owner, 2, n_jobs=1)
    for i, rows in enumerate((POINTS[:2], POINTS[2:])):
        alone = validity_bounds(rows, ambiguity=known)
        for name in ("lower", "upper", "any_lower", "gap", "option_lower", "weights"):
            np.testing.assert_array_equal(getattr(found[i], name), getattr(alone, name), err_msg=name)


def test_sets_of_other_families_or_other_fields_are_not_the_same():
    one = LocationSet(MEAN, COV, 0.1)
    assert one.same_as(LocationSet(MEAN, COV, 0.1))
    assert not one.same_as(LocationSet(MEAN, COV, 0.1, family="unimodal"))
    assert not one.same_as(LocationSet(MEAN, COV, 0.1, simultaneous=False))
    assert not one.same_as(MomentBall(MEAN, COV, 0.1))


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (MomentBall(MEAN, COV, 0.1, family="unimodal"), "others are rarer the further away"),
        (MomentBall(MEAN, COV, 0.1, family="gaussian"), "the next score is normally distributed"),
        (
            MomentBall(MEAN, COV, 0.0, family="unimodal"),
            "exactly, and in which the next score has one most likely",
        ),
        (LocationSet(MEAN, COV, 1.64, COV), "moves no score by more than 1.64 of its standard deviations"),
        (LocationSet(MEAN, COV, 0.1, DRIFT), "distance of 0.1 of the estimated one, in units of the drift"),
        (LocationSet(MEAN, COV, 0.1), "distance of 0.1 of the estimated one, equally in every direction"),
        (LocationSet(MEAN, COV, 0.1, simultaneous=False), "(said of one score at a time)"),
        (LocationSet(MEAN, COV, 0.0, family="unimodal"), "are the estimated ones exactly, and in which"),
    ],
)
def test_a_set_says_what_it_assumes(known, words):
    assert words in known.in_words()
