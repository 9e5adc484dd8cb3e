"""Linear rules between columns, such as `existing_credits <= dependents` or `2*a + 0.5*b <= 10`."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from copa._core.records import FrozenMap
from copa._core.words import shown
from copa.data.schema.field_readers import optional_number
from copa.exceptions import InvalidInputError

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
WORD = r"[^\W\d]\w*"
COLUMN = rf"{WORD}|`(?:[^`]|``)+`"
TERM = re.compile(  # each ends with the white space after it, so that no run of it is looked at twice
    r"(?:(?P<comparison><=|>=)\s*)?(?:(?P<sign>[-+])\s*)?"
    rf"(?:(?P<number>{NUMBER})\s*(?:\*\s*(?P<column>{COLUMN})\s*)?"
    rf"|(?P<first>{COLUMN})\s*(?:\*\s*(?P<second>{NUMBER})\s*)?)"
)
HELP = "write it like 'a <= b' or '2*a + 0.5*`monthly income` >= 10', with one <= or >= and no parentheses"


@dataclass(frozen=True)
class LinearRule:
    """A rule that every option obeys: the sum of coefficient times value is at most `upper`.

    It does not apply to an option that has a special code in one of these columns: a code is no amount.

    Parameters
    ----------
    coefficients : mapping of str to float
        From a column to its coefficient.
    upper : float
        What the sum must not exceed.
    text : str, optional
        The rule as a person reads it, in the form that `parse` understands; made from the numbers if left out.

    Examples
    --------
    >>> from copa import LinearRule
    >>> LinearRule({"debt": 1.0, "monthly income": -0.5}, 10).text
    'debt - 0.5*`monthly income` <= 10'
    """

    coefficients: Mapping[str, float]
    upper: float
    text: str = ""

    def __post_init__(self) -> None:
        read = _read_coefficients(self.coefficients)
        upper = optional_number(self.upper, "the upper side of a rule")
        if upper is None:
            raise InvalidInputError("a rule needs a number `upper` that the sum must not exceed")
        text = self.text or _as_text(read, upper)
        if _parsed(text) != (read, upper):
            raise InvalidInputError(f"the text {shown(text)} of a rule must say the same as its numbers; leave it out")
        object.__setattr__(self, "coefficients", FrozenMap(read))
        object.__setattr__(self, "upper", upper)
        object.__setattr__(self, "text", text)

    @classmethod
    def parse(cls, text: str) -> "LinearRule":
        """Read a rule: sums of columns, numbers and number*column on both sides of one <= or >=.

        A column whose name is not one word stands in backticks, a backtick in its name is doubled.

        Parameters
        ----------
        text : str

        Returns
        -------
        LinearRule

        Examples
        --------
        >>> rule = LinearRule.parse("2*debt + 1 >= `monthly income`")
        >>> dict(rule.coefficients), rule.upper
        ({'debt': -2.0, 'monthly income': 1.0}, 1.0)
        """
        coefficients, upper = _parsed(text)
        return cls(coefficients, upper, text.strip())

    def __str__(self) -> str:
        return self.text


def _read_coefficients(coefficients: Any) -> dict[str, float]:
    if not isinstance(coefficients, Mapping):
        raise InvalidInputError(f"coefficients must be a mapping from column to number, got {shown(coefficients)}")
    read: dict[str, float] = {}
    for column, coefficient in coefficients.items():
        number = optional_number(coefficient, f"the coefficient of {shown(column)} in a rule")
        if not isinstance(column, str) or not column:
            raise InvalidInputError(f"a rule is about columns named by text, got {shown(column)}")
        if number:
            read[column] = number
    if not read:
        raise InvalidInputError(
            f"a rule needs a column with a coefficient other than 0, got {shown(dict(coefficients))}"
        )
    return read


def _as_text(coefficients: dict[str, float], upper: float) -> str:
    terms: list[str] = []
    for column, coefficient in coefficients.items():
        name = column if re.fullmatch(WORD, column) else f"`{column.replace('`', '``')}`"
        size = "" if abs(coefficient) == 1.0 else f"{_number_text(abs(coefficient))}*"
        sign = ("-" if coefficient < 0.0 else "") if not terms else ("- " if coefficient < 0.0 else "+ ")
        terms.append(f"{sign}{size}{name}")
    return f"{' '.join(terms)} <= {_number_text(upper)}"


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _parsed(text: Any) -> tuple[dict[str, float], float]:
    """Return the coefficients and the upper side of a rule written as text."""
    if not isinstance(text, str):
        raise InvalidInputError(f"a rule must be text, got {shown(text)}; {HELP}")
    sums: dict[str, Fraction] = {}  # of each column, and of the plain numbers under ""
    comparisons: list[str] = []
    for term in _terms(text.strip()):
        if term["comparison"]:
            comparisons.append(term["comparison"])
        side = -1 if comparisons else 1
        number = _number(term["number"] or term["second"] or "1")
        column = _unquoted(term["column"] or term["first"] or "")
        sums[column] = sums.get(column, Fraction(0)) + (-side if term["sign"] == "-" else side) * number
    if len(comparisons) != 1:
        raise InvalidInputError(f"rule {shown(text)} has {len(comparisons)} comparisons; {HELP}")
    turn = 1 if comparisons[0] == "<=" else -1
    upper = -turn * sums.pop("", Fraction(0))
    try:
        return {column: float(turn * number) for column, number in sums.items() if number}, float(upper)
    except OverflowError as error:
        raise InvalidInputError(f"rule {shown(text)} has sums beyond all floats; rescale the columns") from error


def _terms(text: str) -> Iterator[re.Match[str]]:
    """Yield the terms of both sides: a number, a column, or the product of both in either order."""
    position = 0
    while position < len(text):
        term = TERM.match(text, position)
        begins = position == 0
        if term is None or (term["comparison"] if begins else not (term["comparison"] or term["sign"])):
            raise InvalidInputError(f"rule {shown(text)}: {shown(text[position:])} cannot be read; {HELP}")
        yield term
        position = term.end()


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _number(word: str) -> Fraction:
    """Return a number as it is written, so that sums of decimals are decimals: 0.1 + 0.2 is 0.3."""
    rounded = float(word)
    if not math.isfinite(rounded):
        raise InvalidInputError(f"a number in a rule must be a finite number, got {shown(rounded)}")
    return Fraction(word) if rounded else Fraction(0)
