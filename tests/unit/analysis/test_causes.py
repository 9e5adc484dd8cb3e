"""What is said of a model that refuses an option, for hand-made models whose answers are known."""

import numpy as np
import pytest

from copa import Feature
from copa.analysis.attribution import GENERAL, OTHERS, SHARED, ScorePart, as_if, cause

DURATION = Feature("duration", "integer", title="duration (months)", lower=6, upper=60, spread=12.0)
AMOUNT = Feature("amount", "numeric", title="credit amount (DM)", spread=2000.0)
HOUSING = Feature("housing", "categorical", values=["r", "o", "f"], labels={"r": "rented", "o": "own", "f": "for free"})
OWN = np.array([False, True, False, False])


def number(feature):
    """A number whose raw unit is a hundredth of the second coordinate."""
    return ScorePart(feature.name, OWN, feature, np.array([[0.0, 0.01, 0.0, 0.0]]))


def test_a_number_is_compared_with_the_one_that_today_has_the_same_share():
    # Today -0.5 per month; where the centre is 20 months, 24 months are worth 4 * -0.5, and 5.5 * -1 at double weight.
    theta = np.array([1.0, -50.0, 0.0, 0.0])
    told = cause(number(DURATION), 24, theta, today=-0.5 * 4, broken=-0.5 * 11.3)
    assert told == "rates a duration of 24 months as today's model rates about 31 months"


@pytest.mark.parametrize(("value", "move"), [(4300.0, 812.0), (4300.0, 12.34), (250.5, -0.0123), (4300.0, -1499.0)])
def test_what_is_said_of_a_number_is_off_by_half_a_unit_of_its_second_digit_at_most(value, move):
    shown = as_if(value, move, AMOUNT)
    assert abs(shown - (value + move)) <= 0.5000001 * 10.0 ** (np.floor(np.log10(abs(move))) - 1)


@pytest.mark.parametrize("move", [-4400.0, 9000.0, 0.0, np.inf, np.nan])
def test_a_number_that_nobody_has_is_not_named(move):
    """Below zero in a column of amounts, far away, or no other one."""
    assert as_if(4300.0, move, AMOUNT) is None


def test_limits_of_the_schema_bound_what_is_named():
    assert as_if(24.0, 36.0, DURATION) == 60.0
    assert as_if(24.0, 37.0, DURATION) is None
    assert as_if(24.0, -19.0, DURATION) is None


def test_a_weight_of_nothing_is_said_in_words():
    flat, steep = np.zeros(4), np.array([0.0, 1e-9, 0.0, 0.0])
    for theta in (flat, steep):
        told = cause(number(AMOUNT), 4300, theta, today=0.2, broken=-0.3)
        assert told == "counts a credit amount of 4,300 DM against the applicant, and not in favour as today"


def test_what_is_left_of_a_credit_is_a_share_of_todays():
    far = np.array([0.0, 1e-9, 0.0, 0.0])
    assert cause(number(AMOUNT), 4300, far, 0.8, 0.2).endswith("about 25 % of the credit that it gets today")
    assert cause(number(AMOUNT), 4300, far, -0.2, -0.5).endswith(
        "about 2.5 times as much against the applicant as today"
    )
    assert cause(number(AMOUNT), 4300, far, -0.001, -0.5).endswith("much more against the applicant than today")
    assert cause(number(AMOUNT), 4300, far, 0.0, -0.5).endswith("much more against the applicant than today")


LEVELS = ScorePart("housing", np.array([False, True, True, True]), HOUSING, np.eye(4)[1:])
THETA = np.array([9.0, 0.2, 1.0, -0.5])  # rented, own, for free


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (0.9, "gives 'housing: own' about 90 % of the credit that it gets today"),  # still above every other level
        (0.1, "rates 'housing: own' no higher than today's model rates 'rented'"),
        (0.19, "rates 'housing: own' no higher than today's model rates 'rented'"),
        (-0.5, "rates 'housing: own' no higher than today's model rates 'for free'"),
        (-0.7, "rates 'housing: own' lower than today's model rates 'for free'"),
    ],
)
def test_a_level_is_compared_with_the_lowest_one_that_today_is_rated_at_least_as_high(broken, words):
    assert cause(LEVELS, "o", THETA, today=1.0, broken=broken) == words


def test_the_lowest_level_counts_more_against():
    assert cause(LEVELS, "f", THETA, today=-0.5, broken=-1.0) == (
        "counts 'housing: for free' about 2.0 times as much against the applicant as today"
    )


@pytest.mark.parametrize("value", [None, np.nan, "unheard of"])
def test_an_entry_that_is_no_level_has_no_level_to_be_compared_with(value):
    assert cause(LEVELS, value, THETA, today=1.0, broken=-0.2).startswith("counts ")


def test_bins_are_named_by_where_they_begin_and_end():
    bins = ScorePart("duration", np.ones(4, dtype=bool), DURATION, np.eye(4)[1:], edges=np.array([12.0, 24.0]))
    theta = np.array([0.0, 2.0, 1.0, 0.0])
    assert cause(bins, 8, theta, 2.0, 1.0).endswith("no higher than today's model rates '12 months to below 24 months'")
    assert cause(bins, 8, theta, 2.0, -1.0).endswith("lower than today's model rates '24 months or more'")


def test_what_belongs_to_no_column_is_named_too():
    own = np.array([True, False, False, False])
    assert cause(ScorePart(GENERAL, own), None, THETA, 1.0, 0.0) == "is stricter in general"
    assert cause(ScorePart(SHARED, own), None, THETA, 1.0, 0.0) == "rates several columns together lower"
    assert cause(ScorePart(OTHERS, own), None, THETA, 1.0, 0.0) == "rates other columns lower"
