"""Multiples of a step, as exact as decimal numbers are: three steps of 0.1 are 0.3, not 0.30000000000000004."""

from decimal import Decimal
from typing import Any, Literal

import numpy as np

from copa._core.arrays import Array

MOST_DIGITS = 9  # significant digits of a step
EXACT = 2.0**53  # whole numbers up to here are floats


def whole_and_digits(step: float) -> tuple[int, int]:
    """Return p and q with step = p / 10**q, both whole and p as small as it can be."""
    _, digits, exponent = Decimal(repr(step)).normalize().as_tuple()
    return int("".join(map(str, digits))), -int(exponent)


def largest_exact(step: float) -> float:
    """Size below which every multiple of a step is a number of its own, printed with the decimals that it has.

    Whole numbers are exact up to 2**53, and 15 decimal digits survive any way through a float.
    """
    _, digits = whole_and_digits(step)
    return EXACT if digits <= 0 else 10.0**15 / 10.0**digits


def multiples(counts: Any, step: float) -> Array:
    """Return counts * step, each the float nearest to the decimal product.

    A quotient of two whole numbers that are floats themselves is rounded once, hence to the nearest float.
    """
    counts = np.asarray(counts, dtype=np.float64)
    whole, digits = whole_and_digits(step)
    units = counts * whole
    if 0 <= digits <= 22 and np.abs(units).max(initial=0.0) <= EXACT:
        exact: Array = units / 10.0**digits + 0.0  # no negative zero
        return exact
    products = [float(Decimal(repr(count)) * Decimal(repr(step))) for count in counts.ravel().tolist()]
    return np.array(products, dtype=np.float64).reshape(counts.shape)


def snap(values: Any, step: float, rounding: Literal["nearest", "down", "up"] = "nearest") -> Array:
    """Return the multiples of `step` nearest to the values, or the nearest that are not above or below them.

    Parameters
    ----------
    values : array_like of finite numbers, any shape
    step : float > 0
    rounding : "nearest", "down" or "up"

    Returns
    -------
    Array of the same shape; a value that is a multiple already is returned as it is
    """
    values = np.asarray(values, dtype=np.float64)
    counts = np.rint(values / step)
    snapped = multiples(counts, step)
    if rounding == "down":
        snapped = multiples(counts - (snapped > values), step)
    elif rounding == "up":
        snapped = multiples(counts + (snapped < values), step)
    return snapped
