"""Words that messages, plans and files share: statuses, kinds of guarantees, counts, rounded probabilities, hints."""

import difflib
import reprlib
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from copa.exceptions import InvalidInputError

# How the search for one applicant's plan ended.
STATUSES = ("ok", "already_valid", "fragile", "infeasible", "time_limit", "error")
OK, ALREADY_VALID, FRAGILE, INFEASIBLE, TIME_LIMIT, ERROR = STATUSES
GUARANTEE_FOR = ("each", "all", "any")  # options of a plan that a guarantee is about
PERIODS = {"month": "M", "quarter": "Q", "year": "Y"}  # as pandas abbreviates them
METHODS = ("level", "requirement", "mahalanobis")  # of correcting plans

MOST_SHOWN = 12
LONGEST = 80

_short = reprlib.Repr()
_short.maxlevel, _short.maxstring, _short.maxother, _short.maxlong = 2, LONGEST, LONGEST, LONGEST


def shown(value: Any) -> str:
    """Return the value as a person writes it, 3 and not np.int64(3), cut where it is long."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and len(value) <= LONGEST:  # by far the most frequent, and cutting is slow
        text = repr(value)
        return text if len(text) <= LONGEST else _short.repr(value)
    return _short.repr(value)


def listed(values: Sequence[Any]) -> str:
    """Return the values with commas between them, the first dozen where there are more."""
    text = ", ".join(shown(value) for value in values[:MOST_SHOWN])
    return text if len(values) <= MOST_SHOWN else f"{text}, ... ({len(values)} in all)"


def counted(number: int, what: str) -> str:
    """Return a number and what it counts: "1 option", "2 options"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def hint(name: Any, known: Sequence[str]) -> str:
    """Return the nearest known name as a question, or all of them where none is near."""
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else f"known are {listed(known)}"


def nearest(name: Any, known: Sequence[str], likeness: float = 0.6) -> str:
    """Return the known name that is most like a name, in either case of letters; "" where none is."""
    if not isinstance(name, str):
        return ""
    near = difflib.get_close_matches(name, known, n=1, cutoff=likeness)
    near = near or difflib.get_close_matches(name.lower(), known, n=1, cutoff=likeness)
    return near[0] if near else ""


def require_known(names: Iterable[Any], known: Sequence[str], what: str) -> None:
    """Raise if one of the names is not known, naming it and the nearest one."""
    for name in names:
        if name not in known:
            raise InvalidInputError(f"{what} {shown(name)} is not known; {hint(name, known)}")


def require_text(columns: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of columns, or raise if one is not text: schema, options and files know columns by text."""
    names = tuple(columns)
    for name in names:
        if not isinstance(name, str):
            raise InvalidInputError(
                f"column names must be text, got {shown(name)}; rename the columns, for example with "
                "`X.columns = [f'x{name}' for name in X.columns]`, and fit the model to that table"
            )
    return tuple(str(name) for name in names)


DIGITS = Decimal("0.001")


def rounded_down(probability: float) -> str:
    """Return a lower bound with three decimals, not above it."""
    return str(Decimal(repr(float(probability))).quantize(DIGITS, ROUND_FLOOR))


def rounded_up(probability: float) -> str:
    """Return an upper bound with three decimals, not below it."""
    return str(Decimal(repr(float(probability))).quantize(DIGITS, ROUND_CEILING))


# Control characters (NUL, ESC), formatting ones (the order of writing, invisible ones), half characters, and the two
# separators of lines and paragraphs.
STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
JOINERS = "\u200c\u200d"  # which Persian, Hindi and others need within words, and many emoji
LINES = "\n\t"


def visible(value: object, *, lines: bool = True) -> str:
    r"""Return text in which every character that steers a screen is spelt out, as `\x1b` or `\u202e`.

    Text of others can then neither turn the order of what stands beside it, nor move the cursor, nor hide. What is
    visible already stays as it is, so that it does not matter if text passes here twice.

    Parameters
    ----------
    lines : leave ends of lines and tabs as they are; without, text stays on its line
    """
    text = str(value)
    if text.isprintable():  # nearly always
        return text
    kept = JOINERS + LINES if lines else JOINERS
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in STEERING and character not in kept
        else character
        for character in text
    )
