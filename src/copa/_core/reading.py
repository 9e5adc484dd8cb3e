"""Reading single arguments of a caller: counts, numbers, shares, words and flags.

Every function returns the value as a plain Python object, or raises an `InvalidInputError` that says what is allowed
and what was received.
"""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from copa._core.arrays import require_size
from copa._core.words import listed, nearest, shown
from copa.exceptions import InvalidInputError

NEAR = 0.3  # likeness from which a known word is suggested: there are few of them, so that a poor guess still helps


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number by its type; true and false are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.timedelta64))


def is_number(value: Any) -> bool:
    """Return whether a value is a real number by its type; true and false are none, nor are durations."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.timedelta64))


def read_count(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Read a whole number.

    Parameters
    ----------
    value : object
        What the caller gave.
    name : str
        What messages call it.
    least : int
        Smallest number that is allowed.
    most : int, optional
        Largest number that is allowed.

    Returns
    -------
    int

    Examples
    --------
    >>> read_count(np.int64(3), "n_options")
    3
    >>> read_count(0, "n_options")
    Traceback (most recent call last):
    copa.exceptions.InvalidInputError: n_options must be a whole number of at least 1, got 0
    """
    value = _entry(value)
    if not is_whole(value) or value < least or (most is not None and value > most):
        allowed = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidInputError(f"{name} must be a whole number {allowed}, got {shown(value)}")
    return int(value)


def read_number(value: Any, name: str, *, least: float = 0.0, positive: bool = False) -> float:
    """Read one finite number: a weight, a margin, a budget, a radius.

    Parameters
    ----------
    value : object
        What the caller gave; an array without axes counts as its entry.
    name : str
        What messages call it.
    least : float
        Smallest number that is allowed; minus infinity if any is.
    positive : bool
        Refuse zero too.

    Returns
    -------
    float

    Examples
    --------
    >>> read_number(np.float32(0.25), "margin")
    0.25
    >>> read_number("0.25", "margin")
    Traceback (most recent call last):
    copa.exceptions.InvalidInputError: margin must be a finite number of at least 0, got '0.25'
    """
    if np.ndim(value) != 0:
        raise InvalidInputError(f"{name} must be one number, got shape {np.shape(value)}")
    number = _as_float(value)
    if not math.isfinite(number) or number < least or (positive and number <= 0.0):
        finite = "a finite number" if math.isinf(least) else f"a finite number of at least {least:g}"
        raise InvalidInputError(f"{name} must be {'a positive number' if positive else finite}, got {shown(value)}")
    require_size(np.array(number), name)
    return number


def read_share(value: Any, name: str, *, or_one: bool = False) -> float:
    """Read a number above 0 and below 1, or up to 1.

    Parameters
    ----------
    value : object
        What the caller gave.
    name : str
        What messages call it.
    or_one : bool
        Allow 1 too.

    Returns
    -------
    float
    """
    number = _as_float(value)
    if not 0.0 < number < 1.0 and not (or_one and number == 1.0):
        allowed = "a share, above 0 and at most 1" if or_one else "a probability, above 0 and below 1"
        raise InvalidInputError(f"{name} must be {allowed}, got {shown(value)}")
    return number


def read_word(value: Any, known: Sequence[str], name: str) -> str:
    """Read one of a few known words; the message for another one names the nearest.

    Parameters
    ----------
    value : object
        What the caller gave.
    known : sequence of str
    name : str
        What messages call it.

    Returns
    -------
    str

    Examples
    --------
    >>> read_word("L2", ("l1", "l2"), "cost")
    Traceback (most recent call last):
    copa.exceptions.InvalidInputError: cost must be one of 'l1', 'l2', got 'L2'; did you mean 'l2'?
    """
    if isinstance(value, str) and value in known:
        return str(value)
    near = nearest(value, known, NEAR)
    advice = f"; did you mean {near!r}?" if near else ""
    raise InvalidInputError(f"{name} must be one of {listed(known)}, got {shown(value)}{advice}")


def read_flag(value: Any, name: str) -> bool:
    """Read true or false.

    Parameters
    ----------
    value : object
        What the caller gave.
    name : str
        What messages call it.

    Returns
    -------
    bool
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInputError(f"{name} must be true or false, got {shown(value)}")
    return bool(value)


def _entry(value: Any) -> Any:
    """Return the entry of an array without axes, any other value as it is."""
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _as_float(value: Any) -> float:
    """Return a value as a float, NaN if it is no number."""
    entry = _entry(value)
    if not is_number(entry):
        return math.nan
    try:
        return float(entry)
    except OverflowError:
        return math.inf
