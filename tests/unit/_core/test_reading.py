"""Counts, numbers, shares, words and flags of a caller."""

from fractions import Fraction

import numpy as np
import pytest

from copa._core.reading import read_count, read_flag, read_number, read_share, read_word
from copa.exceptions import InvalidInputError


@pytest.mark.parametrize("value", [2, np.int64(2), np.uint8(2), np.array(2)])
def test_whole_numbers_of_any_type_are_counts(value):
    count = read_count(value, "n")
    assert (count, type(count)) == (2, int)


@pytest.mark.parametrize("value", [0, -1, 2.0, True, np.True_, None, "2", [2], np.timedelta64(2), float("nan")])
def test_what_is_no_count(value):
    with pytest.raises(InvalidInputError, match="n must be a whole number of at least 1, got"):
        read_count(value, "n")


def test_counts_may_have_a_largest_one():
    assert read_count(3, "n", most=3) == 3
    with pytest.raises(InvalidInputError, match="n must be a whole number from 1 to 3, got 4"):
        read_count(4, "n", most=3)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2), 10**50])
def test_numbers_of_any_type_are_numbers(value):
    number = read_number(value, "margin")
    assert (number, type(number)) == (float(value), float)


@pytest.mark.parametrize(
    "value", [-0.1, np.nan, np.inf, -np.inf, 10**400, True, None, "0.5", 1j, np.timedelta64(1), np.datetime64("2020")]
)
def test_what_is_no_number(value):
    with pytest.raises(InvalidInputError, match="margin must be a finite number of at least 0, got"):
        read_number(value, "margin")


@pytest.mark.parametrize("value", [[0.1], np.zeros((1, 1)), []])
def test_a_number_is_one(value):
    with pytest.raises(InvalidInputError, match=r"margin must be one number, got shape \("):
        read_number(value, "margin")


def test_signs_are_as_asked_for():
    assert read_number(-3, "end", least=-np.inf) == -3.0
    with pytest.raises(InvalidInputError, match="end must be a finite number, got nan"):
        read_number(np.nan, "end", least=-np.inf)
    with pytest.raises(InvalidInputError, match="step must be a positive number, got 0"):
        read_number(0, "step", positive=True)


def test_shares_lie_between_nothing_and_all():
    assert read_share(0.5, "p") == 0.5
    assert read_share(1, "p", or_one=True) == 1.0
    for value in (0.0, 1.0, np.nan, True, "0.5"):
        with pytest.raises(InvalidInputError, match="p must be a probability, above 0 and below 1, got"):
            read_share(value, "p")
    with pytest.raises(InvalidInputError, match=r"p must be a share, above 0 and at most 1, got 1.5"):
        read_share(1.5, "p", or_one=True)


@pytest.mark.parametrize(("value", "rest"), [("L2", "; did you mean 'l2'?"), ("euclid", ""), (2, ""), (["l1"], "")])
def test_unknown_words_are_answered_with_the_nearest(value, rest):
    with pytest.raises(InvalidInputError) as raised:
        read_word(value, ("l1", "l2"), "cost")
    assert str(raised.value) == f"cost must be one of 'l1', 'l2', got {value!r}{rest}"
    assert read_word("l1", ("l1", "l2"), "cost") == "l1"


def test_only_true_and_false_are_flags():
    assert read_flag(np.True_, "immutable") is True
    for value in (1, None, "true"):
        with pytest.raises(InvalidInputError, match="immutable must be true or false, got"):
            read_flag(value, "immutable")
