"""Goals of the search, for any ambiguity set: coefficients of unit length, and the highest level in the set's terms."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from copa import InvalidInputError
from copa.planner.search.arguments import Outcome
from copa.planner.search.run import Goals, moves_spread, price_multipliers, search_plans
from copa.theory.sets.ambiguity import AmbiguitySet, MomentBall
from oracle.tiny_problems import tiny_problems
from unit.planner.search.search_problems import Searcher

SEED, LEVEL = 4, 0.9


class NormalLocation(AmbiguitySet):
    """A family of one's own: normal scores of known spread, whose mean may be off by the reach."""

    def level_coefficients(self, level):
        return max(0.0, float(ndtri(level))), 1.0

    def guarantee(self, mean, std, reach):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(mean > reach, ndtr((np.asarray(mean) - reach) / std), 0.0)


@pytest.fixture(scope="module")
def found():
    """Moments of the sets, and plans at the level for the sets of both kinds, by problem."""
    results = []
    for problem in tiny_problems(12, SEED, 3):
        searcher = Searcher(problem)
        ball = searcher.fitted.parameters
        for kind in (MomentBall, NormalLocation):
            ambiguity = kind(ball.mean, ball.cov, ball.radius, ball.drift)
            n = len(searcher)
            plans = search_plans(
                searcher.fitted.linearisation,
                searcher.applicants.regions,
                searcher.applicants.encoded,
                searcher.applicants.slack,
                Goals(ambiguity, np.full(n, LEVEL), np.full(n, searcher.floor)),
                n_options=2,
                diversity_weight=1.0,
                multipliers=price_multipliers(8, len(searcher.space.columns), 0),
                n_jobs=1,
            )
            results.append((searcher, ambiguity, plans))
    return results


def guarantees(searcher, ambiguity, owner, rows):
    """What a set says of rows, as they are written out."""
    if len(owner) == 0:
        return np.zeros(0)
    return ambiguity.option_guarantees(searcher.encode(searcher.written(owner, rows)))


def test_options_reach_the_level_of_whatever_set_is_asked_for(found):
    n_met = {MomentBall: 0, NormalLocation: 0}
    for searcher, ambiguity, plans in found:
        owner, option = plans.positions
        met = plans.outcomes[owner] == Outcome.MET
        reached = guarantees(searcher, ambiguity, owner[met], plans.options[owner, option][met])
        assert (reached >= LEVEL - 1e-8).all()
        n_met[type(ambiguity)] += int((plans.outcomes == Outcome.MET).sum())
    assert n_met[NormalLocation] > n_met[MomentBall] >= 5  # who assumes more can promise more


def test_the_highest_level_is_what_the_set_says_of_the_surest_row(found):
    seen = set()
    for searcher, ambiguity, plans in found:
        below = np.flatnonzero(plans.outcomes == Outcome.BELOW)
        expected = guarantees(searcher, ambiguity, below, plans.surest[below])
        np.testing.assert_allclose(plans.highest[below], expected, rtol=0.0, atol=1e-8)
        seen |= {type(ambiguity)} if len(below) else set()
    assert seen == {MomentBall, NormalLocation}


def test_coefficients_have_unit_length_and_are_zero_without_a_level():
    ball = MomentBall([0.0, 1.0], np.eye(2), 0.1)
    arrays = Goals(ball, np.array([0.8, -1.0, 0.0]), np.zeros(3)).arrays()
    np.testing.assert_allclose(arrays.a, [math.sqrt(0.2), 0.0, 1.0])
    np.testing.assert_allclose(arrays.b, [math.sqrt(0.8), 0.0, 0.0])
    np.testing.assert_allclose(arrays.c, [1.0, 0.0, 1.0])
    assert moves_spread(ball)
    assert not moves_spread(NormalLocation([0.0, 1.0], np.eye(2), 0.1))


@pytest.mark.parametrize("returned", [(np.nan, 1.0), (np.inf, 1.0), (-1.0, 1.0), (1.0,), None, "ab", (1.0, True)])
def test_coefficients_that_the_compiled_search_could_not_use_are_refused_by_name(returned):
    class Odd(AmbiguitySet):
        guarantee = MomentBall.guarantee

        def level_coefficients(self, level):  # noqa: ARG002 - the signature of a set
            return returned

    goals = Goals(Odd(np.ones(2), np.eye(2), 0.1), np.array([0.8]), np.array([0.0]))
    with pytest.raises(InvalidInputError, match=r"Odd.level_coefficients\(0.8\) must return two finite numbers"):
        goals.arrays()
