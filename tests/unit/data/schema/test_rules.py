import re

import pytest

from copa import InvalidInputError
from copa.data.schema import LinearRule


@pytest.mark.parametrize(
    ("text", "coefficients", "upper"),
    [
        ("a <= b", {"a": 1.0, "b": -1.0}, 0.0),
        ("a >= b", {"a": -1.0, "b": 1.0}, 0.0),
        ("2*a + 0.5*b <= 10", {"a": 2.0, "b": 0.5}, 10.0),
        ("a*2-b*.5>=-1e1", {"a": -2.0, "b": 0.5}, 10.0),
        ("  - a + 3 <= 1 + 2 - b  ", {"a": -1.0, "b": 1.0}, 0.0),
        ("10 >= a", {"a": 1.0}, 10.0),
        ("a + a <= 1", {"a": 2.0}, 1.0),
        ("a + b <= b + 1", {"a": 1.0}, 1.0),
        ("`monthly income` <= 2*`a``b`", {"monthly income": 1.0, "a`b": -2.0}, 0.0),
        ("Größe_2 <= 3", {"Größe_2": 1.0}, 3.0),
    ],
)
def test_rules_are_read_as_written(text, coefficients, upper):
    rule = LinearRule.parse(text)
    assert rule.coefficients == coefficients
    assert rule.upper == upper
    assert rule.text == text.strip()
    assert str(rule) == text.strip()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + b", "rule 'a + b' has 0 comparisons"),
        ("a <= b <= c", "has 2 comparisons"),
        ("a < b", "'< b' cannot be read; write it like"),
        ("a == b", "'== b' cannot be read"),
        ("2*(a + b) <= 1", "'*(a + b) <= 1' cannot be read"),
        ("2 a <= 1", "rule '2 a <= 1': 'a <= 1' cannot be read; write it like"),
        ("a * b <= 1", "rule 'a * b <= 1': '* b <= 1' cannot be read"),
        ("2 * 3 <= a", "cannot be read"),
        ("a + <= 1", "cannot be read"),
        ("a - - b <= 1", "cannot be read"),
        ("2* <= a", "cannot be read"),
        ("<= 1", "cannot be read"),
        ("a <=", "cannot be read"),
        ("", "has 0 comparisons"),
        ("`a <= 1", "'`a <= 1' cannot be read"),
        ("a <= a", "needs a column with a coefficient other than 0"),
        ("1 <= 2", "needs a column with a coefficient other than 0"),
        ("a <= 1e999", "must be a finite number, got inf"),
        (3, "a rule must be text, got 3"),
    ],
)
def test_what_cannot_be_read_is_shown_with_help(text, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        LinearRule.parse(text)


def test_a_rule_from_numbers_writes_its_own_text():
    rule = LinearRule({"a": -1.0, "b c": 2.5, "d": 0.0, "e": -0.1}, 3)
    assert rule.text == "-a + 2.5*`b c` - 0.1*e <= 3"
    assert rule == LinearRule.parse(rule.text)


def test_a_text_that_says_something_else_is_refused():
    with pytest.raises(InvalidInputError, match="must say the same as its numbers"):
        LinearRule({"a": 1.0}, 3.0, "a <= 4")


@pytest.mark.parametrize(
    ("coefficients", "upper", "message"),
    [
        ({}, 1.0, "needs a column"),
        ([("a", 1.0)], 1.0, "must be a mapping from column to number"),
        ({"a": "x"}, 1.0, "the coefficient of 'a' in a rule must be a finite number, got 'x'"),
        ({1: 2.0}, 1.0, "columns named by text, got 1"),
        ({"a": 1.0}, None, "needs a number `upper`"),
    ],
)
def test_numbers_of_a_rule_are_checked(coefficients, upper, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        LinearRule(coefficients, upper)
