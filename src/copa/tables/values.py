"""The values of a choice: what may be one, and which of them a value from a table is."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from copa._core.words import shown
from copa.exceptions import InvalidInputError

Scalar = str | bool | int | float
LARGEST_NUMBER = 2.0**63  # of a table's whole numbers


def as_scalar(value: Any, where: str) -> Scalar:
    """Return a value as plain str, bool, int or float, or say why it is none of them."""
    if isinstance(value, np.generic):
        value = float(str(value)) if isinstance(value, np.floating) else value.item()  # 0.1 also in single precision
    if not isinstance(value, (str, bool, int, float)) or text_of(value) is None:
        raise InvalidInputError(
            f"{where} must be text, whole or decimal numbers, or true and false, got {shown(value)} "
            f"({type(value).__name__}); in a YAML file, put quotes around text"
        )
    return str(value) if isinstance(value, str) else value  # a plain str, also for numpy's


def as_scalars(values: Any, where: str) -> tuple[Scalar, ...]:
    """Return a list of values as a tuple of scalars."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{where} must be a list of values, got {shown(values)}")
    return tuple(as_scalar(value, where) for value in values)


def text_of(value: Any) -> str | None:
    """Text by which values of different types are matched: 1, 1.0 and "1" have the same; None for other objects."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, np.timedelta64):
        return None  # an integer to numpy, and none to anybody else
    number = float(value) if isinstance(value, np.floating) else value  # a float16 cannot be held against 2**63
    if isinstance(number, (int, float, np.integer)) and -LARGEST_NUMBER <= number <= LARGEST_NUMBER:
        return str(int(number)) if number == int(number) else str(value)  # the shortest decimals, also of a float32
    return None  # missing, infinite, or no number at all


class ValueIndex:
    """Finds the position of a value in a list of known ones.

    Numbers match by their value, true and false also as 1 and 0, text exactly. Where a value has another type than the
    list (numbers read from a file as text, or the other way round) it is matched by its text: no two entries of a
    list have the same text, so that there is never more than one match.
    """

    def __init__(self, values: tuple[Scalar, ...], where: str) -> None:
        self._exact: dict[Scalar, int] = {}
        self._text: dict[str | None, int] = {}
        for i, value in enumerate(values):
            text = text_of(value)
            if value in self._exact or text in self._text:
                first = values[self._exact.get(value, self._text.get(text, 0))]
                raise InvalidInputError(
                    f"{where} must differ in more than their type, got {shown(first)} and {shown(value)}"
                )
            self._exact[value] = i
            self._text[text] = i

    def position(self, value: Any) -> int:
        """Return the index of a value, -1 if it is not in the list."""
        text = text_of(value)
        if text is None:
            return -1
        found = self._exact.get(value)
        return self._text.get(text, -1) if found is None else found
